//! Statistics of a column in a file, stripe or row group, without those that old writers are known to have stored
//! wrongly.

use prost::Message;

use super::calendar::from_julian;
use super::java_clock::FIRST_AGREED_SECOND;
use super::tail::FileTail;
use super::wire;
use super::writer_kind::WriterSoftware;
use crate::error::{Error, Result};
use crate::proto;
use crate::schema::{OrcKind, OrcType};

/// The version of Java's writer that repaired the statistics of strings (HIVE-8732).
const STRINGS_REPAIRED: u32 = 1;
/// The first version of Java's writer that writes timestamps' statistics in UTC (ORC-135).
const TIMESTAMPS_REPAIRED: u32 = 6;
/// The version of Java's writer that repaired the statistics of short decimals (ORC-517).
const DECIMALS_REPAIRED: u32 = 7;

/// The known statistics of the values of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnStats {
    /// Values that aren't null; `None` where unknown.
    pub values: Option<u64>,
    /// True if there may be nulls; true also where unknown.
    pub has_null: bool,
    /// Bounds of the values that aren't null.
    pub bounds: Bounds,
    /// Bytes that the column takes in the file, where known.
    pub bytes_on_disk: Option<u64>,
}

/// The least and the greatest value, both contained; strings and timestamps may be wider than the values are.
#[derive(Debug, Clone, PartialEq)]
pub enum Bounds {
    /// Not known, or not to be trusted.
    Unknown,
    /// Bounds of tinyint, smallint, int and bigint.
    Integer(i64, i64),
    /// Bounds of float and double; there are no NaNs.
    Double(f64, f64),
    /// Bounds of string, char and varchar, as bytes. Cut values are widened; the upper bound is missing where it isn't known.
    Text(Vec<u8>, Option<Vec<u8>>),
    /// Bounds of decimal, without the point, at the column's scale.
    Decimal(i128, i128),
    /// Bounds of date, in days since 1970-01-01 of the proleptic Gregorian calendar.
    Date(i32, i32),
    /// Bounds of timestamps, in nanoseconds since 1970-01-01, as the reader makes them.
    Timestamp(i128, i128),
    /// How many values of a boolean are true.
    True(u64),
}

impl FileTail {
    /// The file's statistics of a column; `None` where it has none.
    pub fn statistics(&self, column: u32) -> Option<ColumnStats> {
        let wire = self.footer.statistics.get(column as usize)?;
        Some(ColumnStats::new(wire, self.root.find(column)?, self))
    }

    /// A stripe's statistics of all columns; `None` where the file has none.
    ///
    /// # Errors
    /// Corrupt where they can't be decoded.
    pub fn stripe_statistics(&self, stripe: usize) -> Result<Option<Vec<ColumnStats>>> {
        let Some(&(from, to)) = self.stripe_statistics.get(stripe) else { return Ok(None) };
        let place = |e: Error| e.at(format!("metadata, stripe {stripe}"));
        let wire = proto::StripeStatistics::decode(&self.metadata[from..to]).map_err(|e| place(wire::broken(&e)))?;
        let typed = wire.col_stats.iter().enumerate();
        let typed = typed.map_while(|(id, wire)| Some(ColumnStats::new(wire, self.root.find(id as u32)?, self)));
        Ok(Some(typed.collect()))
    }
}

impl ColumnStats {
    pub(super) fn new(wire: &proto::ColumnStatistics, column: &OrcType, file: &FileTail) -> Self {
        let java = file.writer() == WriterSoftware::Java;
        // Java's writers gather statistics with the row index: without one, they write empty ones.
        if java && file.row_group_rows().is_none() {
            return Self { values: None, has_null: true, bounds: Bounds::Unknown, bytes_on_disk: wire.bytes_on_disk };
        }
        let trusted = |since: u32| !java || file.writer_version() >= since;
        let bounds = match &column.kind {
            OrcKind::Byte | OrcKind::Short | OrcKind::Int | OrcKind::Long => {
                wire.int_statistics.as_ref().and_then(|s| Some(Bounds::Integer(s.minimum?, s.maximum?)))
            }
            OrcKind::Micros => wire.int_statistics.as_ref().and_then(|s| {
                let nanos = |micros: i64| i128::from(micros) * 1_000;
                Some(Bounds::Timestamp(nanos(s.minimum?), nanos(s.maximum?)))
            }),
            OrcKind::Float | OrcKind::Double => wire.double_statistics.as_ref().and_then(|s| {
                let (min, max) = (s.minimum?, s.maximum?);
                // If the sum is NaN, some values are NaN, and the bounds leave them out.
                let known = !min.is_nan() && !max.is_nan() && !s.sum.is_some_and(f64::is_nan);
                known.then_some(Bounds::Double(min, max))
            }),
            OrcKind::String | OrcKind::Varchar(_) | OrcKind::Char(_) if trusted(STRINGS_REPAIRED) => {
                wire.string_statistics.as_ref().and_then(|s| {
                    let min = s.minimum.as_ref().or(s.lower_bound.as_ref())?;
                    let max = s.maximum.as_ref().or(s.upper_bound.as_ref());
                    Some(Bounds::Text(min.clone(), max.cloned()))
                })
            }
            OrcKind::Decimal { scale, .. } if trusted(DECIMALS_REPAIRED) => {
                wire.decimal_statistics.as_ref().and_then(|s| {
                    let min = decimal(s.minimum.as_deref()?, *scale, false)?;
                    Some(Bounds::Decimal(min, decimal(s.maximum.as_deref()?, *scale, true)?))
                })
            }
            OrcKind::Date => wire.date_statistics.as_ref().and_then(|s| {
                let day = |day: i32| if file.julian() { from_julian(day.into()) } else { day.into() };
                Some(Bounds::Date(day(s.minimum?).try_into().ok()?, day(s.maximum?).try_into().ok()?))
            }),
            OrcKind::Timestamp | OrcKind::TimestampInstant | OrcKind::ClockInstant if trusted(TIMESTAMPS_REPAIRED) => {
                wire.timestamp_statistics.as_ref().and_then(|s| {
                    // Digits below milliseconds are stored plus one; where they are missing, any may be.
                    let below = |digits: Option<i32>, missing: i128| match digits {
                        Some(digits @ 1..=1_000_000) => i128::from(digits) - 1,
                        _ => missing,
                    };
                    let min = nanos(s.minimum_utc?, file) + below(s.minimum_nanos, 0);
                    // Arrow's C++ writer cuts milliseconds before 1970 towards zero.
                    let cut = file.writer() == WriterSoftware::Cpp && s.minimum_utc? <= 0;
                    let min = if cut { min - 999_999 } else { min };
                    let max = nanos(s.maximum_utc?, file) + below(s.maximum_nanos, 999_999);
                    if column.kind == OrcKind::ClockInstant {
                        of_instants(min, max)
                    } else {
                        Some(Bounds::Timestamp(min, max))
                    }
                })
            }
            OrcKind::Boolean => wire.bucket_statistics.as_ref().and_then(|s| Some(Bounds::True(*s.count.first()?))),
            _ => None,
        };
        Self {
            values: wire.number_of_values,
            has_null: wire.has_null.unwrap_or(true),
            bounds: bounds.unwrap_or(Bounds::Unknown),
            bytes_on_disk: wire.bytes_on_disk,
        }
    }
}

/// Bounds of instants by a reader's clock, from the times that writers' clocks showed: every clock is less than a day
/// from UTC. Before 1900, Java's clocks and calendars differ, so there are no bounds.
fn of_instants(min: i128, max: i128) -> Option<Bounds> {
    const SECOND: i128 = 1_000_000_000;
    const DAY: i128 = 86_400 * SECOND;
    let is_recent = min > i128::from(FIRST_AGREED_SECOND) * SECOND + DAY;
    is_recent.then_some(Bounds::Timestamp(min - DAY, max + DAY))
}

/// Nanoseconds of milliseconds since 1970-01-01, in the calendar that the reader makes timestamps in.
fn nanos(millis: i64, file: &FileTail) -> i128 {
    const DAY: i64 = 86_400_000;
    let day = millis.div_euclid(DAY);
    let shift = if file.julian() { from_julian(day) - day } else { 0 };
    (i128::from(millis) + i128::from(shift) * i128::from(DAY)) * 1_000_000
}

/// A decimal number without its point at `scale`; digits beyond it are rounded down, or up where `up` is set.
fn decimal(text: &str, scale: u8, up: bool) -> Option<i128> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let numeric = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || !numeric(whole) || !numeric(fraction) {
        return None;
    }
    let kept = fraction.len().min(usize::from(scale));
    let mut value = 0i128;
    let padding = std::iter::repeat_n(b'0', usize::from(scale) - kept);
    for digit in whole.bytes().chain(fraction.bytes().take(kept)).chain(padding) {
        value = value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
    }
    let inexact = fraction.bytes().skip(kept).any(|digit| digit != b'0');
    value = if inexact && up != negative { value.checked_add(1)? } else { value };
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests;
