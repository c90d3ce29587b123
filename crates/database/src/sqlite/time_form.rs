//! The form of a column's timestamps in a table that another program made: the texts that it has stay what they are.

use arrow::datatypes::TimeUnit;
use lakerace_format::calendar::{fraction_digits, units_per_second};
use lakerace_io::Result;
use rusqlite::Connection;

use super::error::failed;
use super::location::quoted;
use super::times::{SECONDS_PER_DAY, parse_timestamp, write_date, write_time, write_timestamp};

/// Rows of a table that are looked at.
const SAMPLE_ROWS: u32 = 10_000;

/// The form of timestamps as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TimestampForm {
    /// Between the date and the time.
    separator: char,
    /// A midnight is its date alone.
    is_date_alone: bool,
    has_seconds: bool,
    /// Digits of a fraction.
    digits: usize,
    /// A fraction of zero is left out.
    is_trimmed: bool,
    /// The offset of an instant, which is zero.
    offset: String,
}

impl TimestampForm {
    /// The form that SQLite's own functions, pandas, Django and SQLAlchemy write into columns of timestamps.
    pub fn of_declared() -> Self {
        Self {
            separator: ' ',
            is_date_alone: false,
            has_seconds: true,
            digits: 0,
            is_trimmed: true,
            offset: "Z".to_owned(),
        }
    }

    /// The form of the texts of a column; `None` if none of the first rows has a timestamp.
    pub fn of_column(connection: &Connection, table: &str, column: &str) -> Result<Option<Self>> {
        let (table, column) = (quoted(table), quoted(column));
        let sql = format!(
            "SELECT value FROM (SELECT {column} AS value FROM {table} LIMIT {SAMPLE_ROWS}) WHERE typeof(value) = 'text'"
        );
        let mut statement = connection.prepare(&sql).map_err(failed)?;
        let texts = statement.query_map([], |row| row.get::<_, String>(0)).map_err(failed)?;
        // A text that is not UTF-8 is no timestamp.
        Ok(Self::of_texts(texts.filter_map(rusqlite::Result::ok)))
    }

    /// The form of a column that has these texts.
    fn of_texts(texts: impl Iterator<Item = String>) -> Option<Self> {
        let mut form: Option<Self> = None;
        for text in texts {
            let Some(next) = Self::of_text(&text) else { continue };
            form = Some(match form {
                None => next,
                Some(known) if known.is_date_alone && !next.is_date_alone => next,
                Some(known) if next.is_date_alone => known,
                Some(known) => Self {
                    has_seconds: known.has_seconds || next.has_seconds,
                    is_trimmed: known.is_trimmed || next.is_trimmed,
                    digits: known.digits.max(next.digits),
                    ..known
                },
            });
        }
        form
    }

    fn of_text(text: &str) -> Option<Self> {
        parse_timestamp(text, TimeUnit::Nanosecond)?;
        let Some(at) = text.find(['T', ' ']) else {
            return Some(Self { is_date_alone: true, ..Self::of_declared() });
        };
        let clock = &text[at + 1..];
        let end = clock.find(['Z', 'z', '+', '-']).unwrap_or(clock.len());
        let (clock, offset) = clock.split_at(end);
        let is_zero = offset.bytes().all(|byte| matches!(byte, b'Z' | b'z' | b'+' | b'-' | b'0' | b':'));
        let (seconds, fraction) = clock.split_once('.').unwrap_or((clock, ""));
        Some(Self {
            separator: char::from(text.as_bytes()[at]),
            is_date_alone: false,
            has_seconds: seconds.len() > "00:00".len(),
            digits: fraction.len(),
            is_trimmed: fraction.is_empty(),
            offset: if is_zero && !offset.is_empty() { offset } else { "Z" }.to_owned(),
        })
    }

    /// Writes a timestamp with all of its digits.
    pub fn write(&self, value: i64, unit: TimeUnit, is_utc: bool, text: &mut String) {
        let per_second = units_per_second(unit);
        let per_day = SECONDS_PER_DAY * per_second;
        let (days, of_day) = (value.div_euclid(per_day), value.rem_euclid(per_day));
        let (seconds, fraction) = (of_day / per_second, of_day % per_second);
        write_date(days, text);
        if self.is_date_alone && of_day == 0 {
            return;
        }
        text.push(self.separator);
        let start = text.len();
        write_time(seconds, TimeUnit::Second, text);
        if !self.has_seconds && seconds % 60 == 0 && fraction == 0 {
            text.truncate(start + "00:00".len());
        } else if fraction != 0 || (self.digits > 0 && !self.is_trimmed) {
            self.write_fraction(fraction, unit, text);
        }
        if is_utc {
            text.push_str(&self.offset);
        }
    }

    fn write_fraction(&self, fraction: i64, unit: TimeUnit, text: &mut String) {
        let unit_digits = fraction_digits(unit) as usize;
        let all = if unit_digits == 0 { String::new() } else { format!("{fraction:0unit_digits$}") };
        let needed = all.trim_end_matches('0').len();
        // A column that has fractions of this length has no others; of one without any, those of the unit.
        let digits = if self.digits >= needed { self.digits } else { unit_digits };
        text.push('.');
        text.push_str(&format!("{:0<digits$}", &all[..all.len().min(digits)]));
    }
}

/// Writes a timestamp in a form; without one, in that of tables that lakerace makes.
pub(super) fn write_in_form(
    form: Option<&TimestampForm>,
    value: i64,
    (unit, is_utc): (TimeUnit, bool),
    text: &mut String,
) {
    match form {
        Some(form) => form.write(value, unit, is_utc, text),
        None => write_timestamp(value, unit, is_utc, text),
    }
}

#[cfg(test)]
mod tests;
