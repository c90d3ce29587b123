//! Functions of values, over arrays.

use std::sync::Arc;

use arrow::array::types::*;
use arrow::array::*;
use arrow::compute::kernels::regexp::regexp_is_match_scalar;
use arrow::compute::kernels::zip::zip;
use arrow::compute::{
    CastOptions, DatePart, cast_with_options, date_part, is_not_null, nullif, prep_null_mask_filter, take,
};
use arrow::datatypes::{DataType, TimeUnit};
use arrow::util::display::FormatOptions;
use lakerace_io::{Error, Result};

use super::arithmetic::converted;
use super::date_trunc::{DateUnit, truncated};
use super::kernels::internal;
use super::like::{LikePattern, like};
use super::operand::RowOperand;
use super::rounding::{absolute, negated, rounded};
use crate::schema_text::print_type;
use crate::uuids::{uuid_texts, uuids_of};

/// A function, with its parts that are the same for all rows.
#[derive(Debug, Clone)]
pub(super) enum FunctionCall {
    /// The first argument that is not null. All are of one type.
    Coalesce,
    /// Conditions and values by turns, then the value where none is true. All values are of one type.
    Case,
    Lower,
    Upper,
    /// A text, a place, perhaps a length.
    Substr,
    Length,
    Trim {
        at_start: bool,
        at_end: bool,
    },
    Concat,
    Replace,
    StartsWith,
    Abs,
    Negate,
    /// To so many digits after the point.
    Round {
        digits: i32,
    },
    DateTrunc(DateUnit),
    DatePart(DatePart),
    /// Seconds since 1970, with their fraction.
    Epoch,
    Like(LikePattern),
    Regexp {
        pattern: String,
        flags: Option<String>,
    },
    Cast {
        to: DataType,
        is_lenient: bool,
    },
    /// A UUID of a text, or of its bytes.
    Uuid {
        is_lenient: bool,
    },
    /// The text of a UUID.
    UuidText,
}

impl FunctionCall {
    /// A value for each of `rows` rows, or a single one for all if all arguments are constant.
    pub fn evaluate(&self, arguments: &[RowOperand], rows: usize) -> Result<RowOperand> {
        let is_scalar = arguments.iter().all(|argument| argument.is_scalar);
        let rows = if is_scalar { 1 } else { rows };
        let array = match self {
            Self::Coalesce => coalesce(arguments, rows)?,
            Self::Case => case(arguments, rows)?,
            Self::Lower => text(arguments, |text| text.to_lowercase())?,
            Self::Upper => text(arguments, |text| text.to_uppercase())?,
            Self::Substr => substr(arguments, rows)?,
            Self::Length => length(&arguments[0])?,
            Self::Trim { at_start, at_end } => trim(arguments, rows, *at_start, *at_end)?,
            Self::Concat => concat(arguments, rows)?,
            Self::Replace => replaced(arguments, rows)?,
            Self::StartsWith => starts_with(arguments, rows)?,
            Self::Abs => absolute(&arguments[0])?,
            Self::Negate => negated(&arguments[0])?,
            Self::Round { digits } => rounded(&arguments[0], *digits)?,
            Self::DateTrunc(unit) => truncated(&in_utc(&arguments[0])?, *unit, arguments[0].array.data_type())?,
            Self::DatePart(part) => {
                let parts = date_part(&in_utc(&arguments[0])?, *part);
                let parts = parts
                    .map_err(|e| Error::unsupported(format!("this part of a date or time is not available: {e}")))?;
                internal(arrow::compute::cast(&parts, &DataType::Int64))?
            }
            Self::Epoch => epoch(&arguments[0])?,
            Self::Like(pattern) => Arc::new(like(&arguments[0].array, pattern)?),
            Self::Regexp { pattern, flags } => {
                let texts = converted(&arguments[0], &DataType::Utf8View)?;
                let found = regexp_is_match_scalar(texts.array.as_string_view(), pattern, flags.as_deref());
                Arc::new(
                    found.map_err(|e| Error::usage(format!("the regular expression {pattern:?} is not valid: {e}")))?,
                )
            }
            Self::Cast { to, is_lenient } => cast_to(&arguments[0], to, *is_lenient)?,
            Self::Uuid { is_lenient } => uuids_of(&arguments[0].array, *is_lenient)?,
            Self::UuidText => internal(arrow::compute::cast(&uuid_texts(&arguments[0].array), &DataType::Utf8View))?,
        };
        Ok(RowOperand { array, is_scalar })
    }
}

/// The values of an operand, one for each row.
fn expanded(operand: &RowOperand, rows: usize) -> Result<ArrayRef> {
    if !operand.is_scalar || rows == 1 {
        return Ok(Arc::clone(&operand.array));
    }
    internal(take(&operand.array, &UInt32Array::from(vec![0; rows]), None))
}

fn coalesce(arguments: &[RowOperand], rows: usize) -> Result<ArrayRef> {
    let mut values: Option<ArrayRef> = None;
    for argument in arguments.iter().rev() {
        let array = expanded(argument, rows)?;
        values = Some(match values {
            None => array,
            Some(after) => internal(zip(&internal(is_not_null(&array))?, &array, &after))?,
        });
    }
    values.ok_or_else(|| Error::internal("coalesce has no arguments"))
}

fn case(arguments: &[RowOperand], rows: usize) -> Result<ArrayRef> {
    let (otherwise, branches) = arguments.split_last().ok_or_else(|| Error::internal("CASE has no value"))?;
    let mut values = expanded(otherwise, rows)?;
    for branch in branches.chunks_exact(2).rev() {
        let condition = expanded(&branch[0], rows)?;
        let value = expanded(&branch[1], rows)?;
        // Null is not true.
        let condition = match condition.null_count() {
            0 => condition.as_boolean().clone(),
            _ => prep_null_mask_filter(condition.as_boolean()),
        };
        values = internal(zip(&condition, &value, &values))?;
    }
    Ok(values)
}

fn texts(operand: &RowOperand) -> Result<RowOperand> {
    converted(operand, &DataType::Utf8View)
}

/// The value of an operand at a row.
fn at(operand: &RowOperand, row: usize) -> usize {
    if operand.is_scalar { 0 } else { row }
}

fn text(arguments: &[RowOperand], change: impl Fn(&str) -> String) -> Result<ArrayRef> {
    let texts = texts(&arguments[0])?;
    let changed = texts.array.as_string_view().iter().map(|text| text.map(&change));
    Ok(Arc::new(changed.collect::<StringViewArray>()))
}

fn length(operand: &RowOperand) -> Result<ArrayRef> {
    let texts = texts(operand)?;
    let counts = texts.array.as_string_view().iter().map(|text| text.map(|text| text.chars().count() as i64));
    Ok(Arc::new(counts.collect::<Int64Array>()))
}

fn substr(arguments: &[RowOperand], rows: usize) -> Result<ArrayRef> {
    let source = texts(&arguments[0])?;
    let numbers =
        arguments[1..].iter().map(|operand| converted(operand, &DataType::Int64)).collect::<Result<Vec<_>>>()?;
    let number = |index: usize, row: usize| -> Option<i64> {
        let operand = &numbers[index];
        let array = operand.array.as_primitive::<Int64Type>();
        let row = at(operand, row);
        array.is_valid(row).then(|| array.value(row))
    };
    let strings = source.array.as_string_view();
    let value = |row: usize| {
        let place = at(&source, row);
        let text = strings.is_valid(place).then(|| strings.value(place))?;
        let start = number(0, row)?;
        let length = match numbers.len() {
            1 => None,
            _ => Some(number(1, row)?),
        };
        Some(part_of(text, start, length))
    };
    Ok(Arc::new((0..rows).map(value).collect::<StringViewArray>()))
}

/// So many characters of a text from a place on, or all without a length: 1 is the first, -1 the last, and 0 is before
/// the first. A negative length counts the characters before the place. Places outside of the text hold no characters,
/// but count.
fn part_of(text: &str, start: i64, length: Option<i64>) -> &str {
    let start = match start {
        1.. => i128::from(start) - 1,
        0 => -1,
        _ => i128::from(start) + text.chars().count() as i128,
    };
    let end = length.map_or(i128::MAX, |length| start + i128::from(length));
    let byte = |place: i128| {
        let place = usize::try_from(place.max(0)).unwrap_or(usize::MAX);
        text.char_indices().nth(place).map_or(text.len(), |(byte, _)| byte)
    };
    &text[byte(start.min(end))..byte(start.max(end))]
}

fn trim(arguments: &[RowOperand], rows: usize, at_start: bool, at_end: bool) -> Result<ArrayRef> {
    let source = texts(&arguments[0])?;
    let characters = arguments.get(1).map(texts).transpose()?;
    let value = |row: usize| {
        let strings = source.array.as_string_view();
        let place = at(&source, row);
        let mut text = strings.is_valid(place).then(|| strings.value(place))?;
        let trimmed = match &characters {
            None => " ",
            Some(characters) => {
                let (array, place) = (characters.array.as_string_view(), at(characters, row));
                array.is_valid(place).then(|| array.value(place))?
            }
        };
        if at_start {
            text = text.trim_start_matches(|c| trimmed.contains(c));
        }
        if at_end {
            text = text.trim_end_matches(|c| trimmed.contains(c));
        }
        Some(text)
    };
    Ok(Arc::new((0..rows).map(value).collect::<StringViewArray>()))
}

fn concat(arguments: &[RowOperand], rows: usize) -> Result<ArrayRef> {
    let parts = arguments.iter().map(texts).collect::<Result<Vec<_>>>()?;
    let value = |row: usize| {
        let mut all = String::new();
        for part in &parts {
            let (array, place) = (part.array.as_string_view(), at(part, row));
            all.push_str(array.is_valid(place).then(|| array.value(place))?);
        }
        Some(all)
    };
    Ok(Arc::new((0..rows).map(value).collect::<StringViewArray>()))
}

/// The text of an operand at a row; `None` if it is null.
fn text_at(texts: &RowOperand, row: usize) -> Option<&str> {
    let (array, place) = (texts.array.as_string_view(), at(texts, row));
    array.is_valid(place).then(|| array.value(place))
}

/// An empty text to look for is nowhere.
fn replaced(arguments: &[RowOperand], rows: usize) -> Result<ArrayRef> {
    let texts = arguments.iter().map(texts).collect::<Result<Vec<_>>>()?;
    let value = |row: usize| {
        let (text, from, to) = (text_at(&texts[0], row)?, text_at(&texts[1], row)?, text_at(&texts[2], row)?);
        Some(if from.is_empty() { text.to_owned() } else { text.replace(from, to) })
    };
    Ok(Arc::new((0..rows).map(value).collect::<StringViewArray>()))
}

fn starts_with(arguments: &[RowOperand], rows: usize) -> Result<ArrayRef> {
    let texts = arguments.iter().map(texts).collect::<Result<Vec<_>>>()?;
    let value = |row: usize| Some(text_at(&texts[0], row)?.starts_with(text_at(&texts[1], row)?));
    Ok(Arc::new((0..rows).map(value).collect::<BooleanArray>()))
}

/// Instants in UTC, without a zone.
fn in_utc(operand: &RowOperand) -> Result<ArrayRef> {
    let array = &operand.array;
    match array.data_type() {
        DataType::Timestamp(unit, Some(_)) => {
            // The stored number counts in UTC.
            let data = array.to_data().into_builder().data_type(DataType::Timestamp(*unit, None)).build();
            Ok(make_array(internal(data)?))
        }
        DataType::Date64 => internal(arrow::compute::cast(array, &DataType::Timestamp(TimeUnit::Millisecond, None))),
        _ => Ok(Arc::clone(array)),
    }
}

fn epoch(operand: &RowOperand) -> Result<ArrayRef> {
    let array = in_utc(operand)?;
    let per_second = match array.data_type() {
        DataType::Timestamp(unit, _) => crate::calendar::units_per_second(*unit) as f64,
        DataType::Date32 => 1.0 / 86_400.0,
        other => {
            return Err(Error::invalid(format!("a value of type {} has no seconds since 1970", print_type(other))));
        }
    };
    let storage = if array.data_type() == &DataType::Date32 { DataType::Int32 } else { DataType::Int64 };
    let numbers = internal(arrow::compute::cast(&array, &storage))?;
    let numbers = internal(arrow::compute::cast(&numbers, &DataType::Float64))?;
    let seconds = numbers.as_primitive::<Float64Type>().unary::<_, Float64Type>(|number| number / per_second);
    Ok(Arc::new(seconds))
}

fn cast_to(operand: &RowOperand, to: &DataType, is_lenient: bool) -> Result<ArrayRef> {
    let formats = FormatOptions::default()
        .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
        .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f%:z"));
    let options = CastOptions { safe: is_lenient, format_options: formats };
    let array = &operand.array;
    let failure = |why: &dyn std::fmt::Display| {
        Error::invalid(format!("a value can't be cast to {}: {why}", print_type(to)))
            .advice("use TRY_CAST, which returns null for values that don't fit")
    };
    let made = cast_with_options(array, to, &options).map_err(|e| failure(&e))?;
    // A finite number that a narrower float can't hold would be an infinite one.
    let is_narrowed = to.is_floating() && *to != DataType::Float64 && array.data_type().is_numeric();
    if !is_narrowed {
        return Ok(made);
    }
    let (wide, narrow) = (as_doubles(array)?, as_doubles(&made)?);
    let is_lost = |row: usize| wide.is_valid(row) && wide.value(row).is_finite() && !narrow.value(row).is_finite();
    let lost: BooleanArray = (0..made.len()).map(|row| Some(is_lost(row))).collect();
    match lost.true_count() {
        0 => Ok(made),
        _ if is_lenient => internal(nullif(&made, &lost)),
        _ => Err(failure(&"it is out of range")),
    }
}

fn as_doubles(array: &ArrayRef) -> Result<Float64Array> {
    Ok(internal(arrow::compute::cast(array, &DataType::Float64))?.as_primitive::<Float64Type>().clone())
}
