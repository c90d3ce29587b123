//! The highest value of a column.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int32Array, Int64Array, Scalar, StringArray, UInt64Array,
};
use arrow::compute::kernels::cmp::{eq, gt};
use arrow::compute::{SortOptions, cast, concat, is_null, nullif, sort_to_indices, take};
use arrow::datatypes::{DataType, Date32Type, Decimal128Type, Float64Type, Int64Type, TimeUnit, UInt64Type};
use lakerace_format::schema_text::{parse_type, print_type};
use lakerace_io::option::{OVERLAP, SINCE, WHERE};
use lakerace_io::{Error, Result};
use serde_json::{Map, Value};

use crate::maintain::parse_duration;
use crate::options::Since;

/// A value, as an array of one row.
#[derive(Debug, Clone)]
pub(super) struct WatermarkValue(ArrayRef);

impl PartialEq for WatermarkValue {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_data() == other.0.to_data()
    }
}

/// The type in which values of a column are kept; `None` where they have no order that a filter knows.
fn kept_type(data_type: &DataType) -> Option<DataType> {
    Some(match data_type {
        DataType::UInt64 => DataType::UInt64,
        other if other.is_integer() => DataType::Int64,
        other if other.is_floating() => DataType::Float64,
        DataType::Decimal128(..) | DataType::Date32 | DataType::Timestamp(..) => data_type.clone(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
        DataType::Dictionary(_, values) => return kept_type(values),
        _ => return None,
    })
}

/// The rows of a column, grouped by their values.
pub(super) struct MarkedPlaces {
    /// The value of a mark.
    pub at: BooleanArray,
    /// No value.
    pub without: BooleanArray,
}

/// A column in the type in which its values are stored, without floats that are not finite; `None` where its values
/// have no order.
fn values(column: &ArrayRef) -> Result<Option<ArrayRef>> {
    let Some(kept) = kept_type(column.data_type()) else { return Ok(None) };
    let column = cast(column, &kept).map_err(Error::unexpected)?;
    let Some(floats) = column.as_primitive_opt::<Float64Type>() else { return Ok(Some(column)) };
    let is_left_out = floats.iter().map(|float| Some(float.is_some_and(|float| !float.is_finite()))).collect();
    nullif(&column, &is_left_out).map(Some).map_err(Error::unexpected)
}

impl WatermarkValue {
    /// Checks that columns of this type have watermarks, and support this overlap.
    pub fn check(data_type: &DataType, since: &Since) -> Result<()> {
        let Some(kept) = kept_type(data_type) else {
            let message = format!("column {:?} is of type {}", since.column, print_type(data_type));
            return Err(Error::unsupported(message).at(SINCE).advice(
                "name a column of numbers, dates, timestamps or text whose values are higher in new rows than in old \
                 ones",
            ));
        };
        since.overlap.as_deref().map_or(Ok(()), |overlap| MarkOverlap::parse(overlap, &kept).map(drop))
    }

    /// The higher one of a mark and a column's values; nulls and floats that are not finite count for nothing.
    ///
    /// No later value is above an infinity, and a filter has no literal for it.
    pub fn highest(mark: Option<Self>, column: &ArrayRef) -> Result<Option<Self>> {
        let Some(mut column) = values(column)? else { return Ok(mark) };
        if let Some(Self(mark)) = &mark {
            // The column's type may have become wider since.
            let mark = cast(mark, column.data_type()).map_err(Error::unexpected)?;
            column = concat(&[&mark, &column]).map_err(Error::unexpected)?;
        }
        let highest_first = SortOptions { descending: true, nulls_first: false };
        let first = sort_to_indices(&column, Some(highest_first), Some(1)).map_err(Error::unexpected)?;
        let highest = take(&column, &first, None).map_err(Error::unexpected)?;
        Ok(if highest.null_count() == highest.len() { mark } else { Some(Self(highest)) })
    }

    /// The lower one of two marks.
    pub fn lower(one: Self, other: Self) -> Result<Self> {
        let is_below = one.is_below(&other.0)?;
        Ok(if is_below.is_valid(0) && is_below.value(0) { one } else { other })
    }

    /// Compares the mark with the values of a column: true where it is below them, null where a row has none.
    pub fn is_below(&self, column: &ArrayRef) -> Result<BooleanArray> {
        match values(column)? {
            Some(column) => gt(&column, &self.scalar(&column)?).map_err(Error::unexpected),
            None => Ok(BooleanArray::new_null(column.len())),
        }
    }

    /// The rows of a column that have this value, and those that have none.
    pub fn places(&self, column: &ArrayRef) -> Result<MarkedPlaces> {
        let none = || BooleanArray::from(vec![false; column.len()]);
        let Some(column) = values(column)? else { return Ok(MarkedPlaces { at: none(), without: none() }) };
        let at = eq(&column, &self.scalar(&column)?).map_err(Error::unexpected)?;
        let at = at.iter().map(|is_at| Some(is_at == Some(true))).collect();
        Ok(MarkedPlaces { at, without: is_null(&column).map_err(Error::unexpected)? })
    }

    fn scalar(&self, column: &ArrayRef) -> Result<Scalar<ArrayRef>> {
        cast(&self.0, column.data_type()).map(Scalar::new).map_err(Error::unexpected)
    }

    /// The type and the value, in their stored form.
    pub fn print(&self) -> Result<(Value, Value)> {
        Ok((print_type(self.0.data_type()).into(), self.text()?.into()))
    }

    /// The error of a stored watermark that is damaged.
    pub fn damaged() -> Error {
        Error::corrupt("the value that is stored with the target can't be read").at(SINCE).advice(format!(
            "read all rows again as a separate unload, with another condition such as {}",
            WHERE.to("1 = 1")
        ))
    }

    /// Parses a stored watermark.
    pub fn parse(kept: &Map<String, Value>) -> Result<Self> {
        let damaged = Self::damaged;
        let text_of = |key: &str| kept.get(key).and_then(Value::as_str);
        let (Some(data_type), Some(value)) = (text_of("type"), text_of("value")) else { return Err(damaged()) };
        let data_type = parse_type(data_type).map_err(|_| damaged())?;
        let text: ArrayRef = Arc::new(StringArray::from(vec![value]));
        let value = match &data_type {
            // Units since 1970 have one meaning in every zone.
            DataType::Timestamp(..) => cast(&text, &DataType::Int64).and_then(|units| cast(&units, &data_type)),
            _ => cast(&text, &data_type),
        };
        let value = value.map_err(|_| damaged())?;
        let is_finite = value.as_primitive_opt::<Float64Type>().is_none_or(|float| float.value(0).is_finite());
        if value.null_count() > 0 || !is_finite { Err(damaged()) } else { Ok(Self(value)) }
    }

    fn text(&self) -> Result<String> {
        let value = match self.0.data_type() {
            DataType::Timestamp(..) => cast(&self.0, &DataType::Int64).map_err(Error::unexpected)?,
            _ => Arc::clone(&self.0),
        };
        if let Some(floats) = value.as_primitive_opt::<Float64Type>() {
            return Ok(format!("{:?}", floats.value(0)));
        }
        Ok(cast(&value, &DataType::Utf8).map_err(Error::unexpected)?.as_string::<i32>().value(0).to_owned())
    }

    /// The filter of rows from this value minus the overlap, and of those without a value: null, or NaN where the
    /// source has such.
    pub fn condition(&self, column: &str, overlap: Option<&str>, has_nan: bool) -> Result<String> {
        let lower = match overlap {
            Some(overlap) => Self(MarkOverlap::parse(overlap, self.0.data_type())?.below(&self.0)?),
            None => self.clone(),
        };
        let literal = match lower.0.data_type() {
            DataType::Utf8 => format!("'{}'", lower.text()?.replace('\'', "''")),
            DataType::Date32 => format!("DATE '{}'", lower.text()?),
            DataType::Timestamp(unit, zone) => {
                let wall = cast(&lower.0, &DataType::Int64)
                    .and_then(|units| cast(&units, &DataType::Timestamp(*unit, None)))
                    .and_then(|wall| cast(&wall, &DataType::Utf8))
                    .map_err(Error::unexpected)?;
                let wall = wall.as_string::<i32>();
                format!("TIMESTAMP '{}{}'", wall.value(0), if zone.is_some() { "Z" } else { "" })
            }
            _ => lower.text()?,
        };
        let column = column.replace('"', "\"\"");
        // NaN is not less than anything.
        let from = match has_nan && lower.0.data_type().is_floating() {
            true => format!("NOT \"{column}\" < {literal}"),
            false => format!("\"{column}\" >= {literal}"),
        };
        Ok(format!("({from} OR \"{column}\" IS NULL)"))
    }
}

/// The distance below the highest value in which rows may still arrive.
enum MarkOverlap {
    Integer(i64),
    Float(f64),
    /// An unscaled number of the column's own type.
    Decimal(i128),
    Days(i32),
    /// Units of the column.
    Units(i64),
}

impl MarkOverlap {
    fn parse(text: &str, kept: &DataType) -> Result<Self> {
        let wrong = |form: &str| {
            Error::usage(format!("{text:?} is not a valid overlap for {}", print_type(kept)))
                .at(OVERLAP)
                .advice(format!("write {form}"))
        };
        let seconds = || parse_duration(text).map_err(|_| wrong("a time such as 10m, 12h or 7d"));
        match kept {
            DataType::Int64 | DataType::UInt64 => {
                text.parse().ok().filter(|n| *n >= 0).map(Self::Integer).ok_or_else(|| wrong("a whole number"))
            }
            DataType::Float64 => text
                .parse()
                .ok()
                .filter(|n: &f64| n.is_finite() && *n >= 0.0)
                .map(Self::Float)
                .ok_or_else(|| wrong("a number")),
            DataType::Decimal128(..) => {
                let number = cast(&StringArray::from(vec![text]), kept).map_err(Error::unexpected)?;
                let number = number.as_primitive::<Decimal128Type>();
                let is_number = !number.is_null(0) && number.value(0) >= 0;
                is_number.then(|| Self::Decimal(number.value(0))).ok_or_else(|| wrong("a number"))
            }
            DataType::Date32 => {
                let days = seconds()?.as_secs().div_ceil(SECONDS_OF_A_DAY);
                i32::try_from(days).map(Self::Days).map_err(|_| wrong("a shorter time"))
            }
            DataType::Timestamp(unit, _) => {
                let time = seconds()?;
                let units = match unit {
                    TimeUnit::Second => u128::from(time.as_secs()),
                    TimeUnit::Millisecond => time.as_millis(),
                    TimeUnit::Microsecond => time.as_micros(),
                    TimeUnit::Nanosecond => time.as_nanos(),
                };
                i64::try_from(units).map(Self::Units).map_err(|_| wrong("a shorter time"))
            }
            _ => Err(wrong("none: text values have no distance")),
        }
    }

    /// The value at this distance below another one.
    fn below(&self, value: &ArrayRef) -> Result<ArrayRef> {
        let kept = value.data_type();
        Ok(match self {
            Self::Integer(by) if *kept == DataType::UInt64 => {
                let value = value.as_primitive::<UInt64Type>().value(0);
                Arc::new(UInt64Array::from(vec![value.saturating_sub(by.unsigned_abs())]))
            }
            Self::Integer(by) => {
                Arc::new(Int64Array::from(vec![value.as_primitive::<Int64Type>().value(0).saturating_sub(*by)]))
            }
            Self::Float(by) => Arc::new(Float64Array::from(vec![value.as_primitive::<Float64Type>().value(0) - by])),
            Self::Decimal(by) => {
                let value = value.as_primitive::<Decimal128Type>().value(0).saturating_sub(*by);
                let array = arrow::array::Decimal128Array::from(vec![value]);
                Arc::new(array.with_data_type(kept.clone()))
            }
            Self::Days(by) => {
                let days = value.as_primitive::<Date32Type>().value(0).saturating_sub(*by);
                cast(&(Arc::new(Int32Array::from(vec![days])) as ArrayRef), kept).map_err(Error::unexpected)?
            }
            Self::Units(by) => {
                let units = cast(value, &DataType::Int64).map_err(Error::unexpected)?;
                let units = units.as_primitive::<Int64Type>().value(0).saturating_sub(*by);
                cast(&(Arc::new(Int64Array::from(vec![units])) as ArrayRef), kept).map_err(Error::unexpected)?
            }
        })
    }
}

const SECONDS_OF_A_DAY: u64 = 86_400;

#[cfg(test)]
mod tests;
