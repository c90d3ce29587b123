//! Intervals as Parquet stores them: months, days and milliseconds, each of 32 bits, little-endian and without a sign.
//!
//! Source: parquet-format, `LogicalTypes.md`.

use arrow::array::{Array, ArrayRef, AsArray, make_array};
use arrow::buffer::Buffer;
use arrow::datatypes::{
    DataType, IntervalDayTimeType, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit, IntervalYearMonthType,
};
use lakerace_io::{Error, Result};

use crate::nested_types::contains_type;

/// Bytes of an interval.
const WIDTH: usize = 12;
const NANOSECONDS: i64 = 1_000_000;

/// The stored bytes of an array of intervals, one after the other. Those of nulls are zeros.
pub(super) fn interval_bytes(array: &ArrayRef) -> Result<Buffer> {
    let mut bytes = Vec::with_capacity(array.len() * WIDTH);
    for interval in whole_intervals(array.as_ref()) {
        for part in interval.map_or(Ok([0; 3]), stored)? {
            bytes.extend_from_slice(&part.to_le_bytes());
        }
    }
    Ok(bytes.into())
}

/// Fails where an interval within a nested array has no place in Parquet.
pub(crate) fn check_intervals(array: &dyn Array) -> Result<()> {
    match array.data_type() {
        DataType::Interval(_) => whole_intervals(array).flatten().try_for_each(|interval| stored(interval).map(drop)),
        nested if has_intervals(nested) => array
            .to_data()
            .child_data()
            .iter()
            .try_for_each(|child| check_intervals(make_array(child.clone()).as_ref())),
        _ => Ok(()),
    }
}

/// Returns true if a type has an interval at some level.
fn has_intervals(data_type: &DataType) -> bool {
    contains_type(data_type, &|inner| matches!(inner, DataType::Interval(_)))
}

/// Intervals of any unit.
fn whole_intervals(array: &dyn Array) -> Box<dyn Iterator<Item = Option<IntervalMonthDayNano>> + '_> {
    let whole = IntervalMonthDayNano::new;
    match array.data_type() {
        DataType::Interval(IntervalUnit::YearMonth) => {
            Box::new(array.as_primitive::<IntervalYearMonthType>().iter().map(move |v| v.map(|v| whole(v, 0, 0))))
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            let intervals = array.as_primitive::<IntervalDayTimeType>().iter();
            Box::new(intervals.map(move |v| v.map(|v| whole(0, v.days, i64::from(v.milliseconds) * NANOSECONDS))))
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            Box::new(array.as_primitive::<IntervalMonthDayNanoType>().iter())
        }
        _ => Box::new(std::iter::empty()),
    }
}

/// Months, days and milliseconds, where no part has another sign or more digits.
fn stored(interval: IntervalMonthDayNano) -> Result<[u32; 3]> {
    let unfit = |why: &str| {
        let IntervalMonthDayNano { months, days, nanoseconds } = interval;
        let value = format!("the interval of {months} months, {days} days and {nanoseconds} ns");
        Err(Error::unsupported(format!("{value} can't be stored in Parquet: {why}"))
            .advice("write another format, or cast the column to a duration or to text"))
    };
    let (Ok(months), Ok(days)) = (u32::try_from(interval.months), u32::try_from(interval.days)) else {
        return unfit("its intervals can't be negative");
    };
    if interval.nanoseconds % NANOSECONDS != 0 {
        return unfit("its intervals have whole milliseconds only");
    }
    match (interval.nanoseconds < 0, u32::try_from(interval.nanoseconds / NANOSECONDS)) {
        (true, _) => unfit("its intervals can't be negative"),
        (false, Ok(milliseconds)) => Ok([months, days, milliseconds]),
        (false, Err(_)) => unfit("its milliseconds have only 32 bits"),
    }
}

#[cfg(test)]
mod tests;
