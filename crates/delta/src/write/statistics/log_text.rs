//! A file's statistics as the log states them: bounds that hold for every reader.
//!
//! - To some readers NaN is above all numbers, to others it is nowhere: a column with a NaN has no bounds.
//! - To some readers -0.0 is below 0.0: a least zero is -0.0, and a greatest one 0.0.
//! - JSON has no infinities: such a bound is left out.
//! - Floats of 32 bits have the digits of 64: where the column is widened, readers take the shortest text for another number.
//! - Timestamps are in milliseconds, as the protocol demands. The greatest one is rounded up: not all readers allow for digits
//!   that are cut off.
//! - Years of more than four digits have no text that all readers know: such a bound is left out.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, Float64Array, PrimitiveArray, StructArray, TimestampMicrosecondArray,
};
use arrow::compute::cast;
use arrow::datatypes::{ArrowPrimitiveType, DataType, Date32Type, Float64Type, TimeUnit, TimestampMicrosecondType};
use delta_kernel::engine::arrow_expression::evaluate_expression::to_json;
use lakerace_io::{Error, Result};

use super::map_child;

/// 0001-01-01 and 9999-12-31, in days since 1970-01-01.
const DAYS: std::ops::RangeInclusive<i32> = -719_162..=2_932_896;
/// The instants of these days, in microseconds.
const MICROS: std::ops::RangeInclusive<i64> = -62_135_596_800_000_000..=253_402_300_799_999_999;
const MICROS_OF_A_MILLISECOND: i64 = 1000;

/// The JSON text of the statistics of one file.
pub(crate) fn log_text(statistics: &StructArray) -> Result<String> {
    let mut stated = statistics.clone();
    let bounds = ["minValues", "maxValues"].map(|name| statistics.column_by_name(name).cloned());
    if let [Some(min), Some(max)] = bounds {
        let (min, max) = held_by_all(&min, &max)?;
        stated = map_child(&stated, "minValues", &|_| Ok(Arc::clone(&min)))?;
        stated = map_child(&stated, "maxValues", &|_| Ok(Arc::clone(&max)))?;
    }
    let text = to_json(&stated).map_err(Error::unexpected)?;
    match text.as_string_opt::<i32>() {
        Some(text) if text.len() == 1 && text.is_valid(0) => Ok(text.value(0).to_owned()),
        _ => Err(Error::internal("statistics without a text")),
    }
}

/// The bounds of a column, or of the fields of a struct, that hold for every reader; null where there is none.
fn held_by_all(min: &ArrayRef, max: &ArrayRef) -> Result<(ArrayRef, ArrayRef)> {
    if min.data_type() != max.data_type() {
        return Err(Error::internal("a column's bounds have two types"));
    }
    Ok(match min.data_type() {
        DataType::Struct(_) => of_fields(min.as_struct(), max.as_struct())?,
        DataType::Float32 | DataType::Float64 => of_floats(min, max)?,
        DataType::Date32 => {
            let held = |bound: &ArrayRef| -> ArrayRef {
                Arc::new(Date32Array::from(vec![value::<Date32Type>(bound).filter(|day| DAYS.contains(day))]))
            };
            (held(min), held(max))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => of_timestamps(min, max),
        _ => (Arc::clone(min), Arc::clone(max)),
    })
}

fn of_fields(min: &StructArray, max: &StructArray) -> Result<(ArrayRef, ArrayRef)> {
    let (mut mins, mut maxes) = (min.clone(), max.clone());
    for (field, min) in min.fields().iter().zip(min.columns()) {
        let Some(max) = max.column_by_name(field.name()) else { continue };
        let (min, max) = held_by_all(min, max)?;
        mins = map_child(&mins, field.name(), &|_| Ok(Arc::clone(&min)))?;
        maxes = map_child(&maxes, field.name(), &|_| Ok(Arc::clone(&max)))?;
    }
    Ok((Arc::new(mins), Arc::new(maxes)))
}

/// In their total order NaNs are outside of all numbers, so one of the bounds is a NaN where any value is.
fn of_floats(min: &ArrayRef, max: &ArrayRef) -> Result<(ArrayRef, ArrayRef)> {
    let wide = |bound: &ArrayRef| cast(bound, &DataType::Float64).map_err(Error::unexpected);
    let bounds = [value::<Float64Type>(&wide(min)?), value::<Float64Type>(&wide(max)?)];
    let has_nan = bounds.iter().flatten().any(|bound| bound.is_nan());
    let held = |bound: Option<f64>, zero: f64| -> ArrayRef {
        let bound = bound.filter(|bound| !has_nan && bound.is_finite());
        Arc::new(Float64Array::from(vec![bound.map(|bound| if bound == 0.0 { zero } else { bound })]))
    };
    Ok((held(bounds[0], -0.0), held(bounds[1], 0.0)))
}

fn of_timestamps(min: &ArrayRef, max: &ArrayRef) -> (ArrayRef, ArrayRef) {
    let rounded_up = |micros: i64| {
        let millis = micros.div_euclid(MICROS_OF_A_MILLISECOND);
        let is_cut = micros.rem_euclid(MICROS_OF_A_MILLISECOND) > 0;
        (millis + i64::from(is_cut)).checked_mul(MICROS_OF_A_MILLISECOND)
    };
    let held = |bound: Option<i64>| -> ArrayRef {
        let bound = TimestampMicrosecondArray::from(vec![bound.filter(|micros| MICROS.contains(micros))]);
        Arc::new(bound.with_data_type(min.data_type().clone()))
    };
    let (min, max) = (value::<TimestampMicrosecondType>(min), value::<TimestampMicrosecondType>(max));
    (held(min), held(max.and_then(rounded_up)))
}

/// The one value of a bound.
fn value<T: ArrowPrimitiveType>(bound: &ArrayRef) -> Option<T::Native> {
    let bound: &PrimitiveArray<T> = bound.as_primitive_opt()?;
    (bound.len() == 1 && bound.is_valid(0)).then(|| bound.value(0))
}

#[cfg(test)]
mod tests;
