//! Instants cut to the start of a unit of time.

use std::sync::Arc;

use arrow::array::types::*;
use arrow::array::*;
use arrow::datatypes::{DataType, TimeUnit};
use lakerace_io::{Error, Result};

use crate::calendar::{civil_from_days, days_from_civil, units_per_second};
use crate::schema_text::print_type;

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub(super) enum DateUnit {
    Microsecond,
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    /// Starts on Monday.
    Week,
    Month,
    Quarter,
    Year,
}

impl DateUnit {
    const ALL: [(&'static str, Self); 10] = [
        ("microsecond", Self::Microsecond),
        ("millisecond", Self::Millisecond),
        ("second", Self::Second),
        ("minute", Self::Minute),
        ("hour", Self::Hour),
        ("day", Self::Day),
        ("week", Self::Week),
        ("month", Self::Month),
        ("quarter", Self::Quarter),
        ("year", Self::Year),
    ];

    /// The unit of a name, in the singular or plural.
    pub fn parse(name: &str) -> Result<Self> {
        let lower = name.to_lowercase();
        let found = Self::ALL.iter().find(|(known, _)| *known == lower || lower.strip_suffix('s') == Some(known));
        found.map(|(_, unit)| *unit).ok_or_else(|| {
            let names = Self::ALL.map(|(name, _)| name).join(", ");
            Error::usage(format!("{name:?} is not a unit of time")).advice(format!("choose one of {names}"))
        })
    }

    /// The first day of the unit that a day is in, of units of a day and more.
    fn first_day(self, day: i64) -> i64 {
        let (year, month, _) = civil_from_days(day);
        match self {
            // 1970-01-01 was a Thursday.
            Self::Week => day - (day + 3).rem_euclid(7),
            Self::Month => days_from_civil(year, month, 1),
            Self::Quarter => days_from_civil(year, (month - 1) / 3 * 3 + 1, 1),
            Self::Year => days_from_civil(year, 1, 1),
            _ => day,
        }
    }

    /// Parts of it in a second, or seconds in it; `None` for those of a day and more.
    fn length(self, per_second: i64) -> Option<i64> {
        Some(match self {
            Self::Microsecond => per_second / 1_000_000,
            Self::Millisecond => per_second / 1_000,
            Self::Second => per_second,
            Self::Minute => 60 * per_second,
            Self::Hour => 3_600 * per_second,
            _ => return None,
        })
    }

    fn start(self, value: i64, per_second: i64) -> Option<i64> {
        match self.length(per_second) {
            Some(length) => {
                let length = length.max(1);
                value.checked_sub(value.rem_euclid(length))
            }
            None => {
                let day = value.div_euclid(86_400 * per_second);
                self.first_day(day).checked_mul(86_400 * per_second)
            }
        }
    }
}

/// The starts of units that instants are in, as values of their own type.
pub(super) fn truncated(instants: &ArrayRef, unit: DateUnit, data_type: &DataType) -> Result<ArrayRef> {
    let out_of_range = || Error::invalid("the start of a unit of time is out of range");
    match instants.data_type() {
        DataType::Date32 => {
            let day = |day: i32| i32::try_from(unit.first_day(i64::from(day))).map_err(|_| out_of_range());
            let days = instants.as_primitive::<Date32Type>().try_unary::<_, Date32Type, Error>(day)?;
            Ok(Arc::new(days))
        }
        DataType::Timestamp(stored, _) => {
            let per_second = units_per_second(*stored);
            let start = |value: i64| unit.start(value, per_second).ok_or_else(out_of_range);
            macro_rules! cut {
                ($Type:ident) => {{
                    let array = instants.as_primitive::<$Type>();
                    let cut = array.try_unary::<_, $Type, Error>(start)?;
                    Arc::new(cut.with_data_type(result(data_type, *stored))) as ArrayRef
                }};
            }
            Ok(match stored {
                TimeUnit::Second => cut!(TimestampSecondType),
                TimeUnit::Millisecond => cut!(TimestampMillisecondType),
                TimeUnit::Microsecond => cut!(TimestampMicrosecondType),
                TimeUnit::Nanosecond => cut!(TimestampNanosecondType),
            })
        }
        other => {
            Err(Error::invalid(format!("a value of type {} can't be truncated to a unit of time", print_type(other))))
        }
    }
}

/// The type of the argument, with its zone. A date of milliseconds is a timestamp.
fn result(data_type: &DataType, unit: TimeUnit) -> DataType {
    match data_type {
        DataType::Timestamp(..) => data_type.clone(),
        _ => DataType::Timestamp(unit, None),
    }
}
