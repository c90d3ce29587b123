//! Values in other notations than the usual ones: with a decimal comma, or dates and times in a given format.

use std::borrow::Cow;

use chrono::format::{Fixed, Item, Numeric, Parsed, StrftimeItems, parse};
use chrono::{NaiveDate, NaiveDateTime, SecondsFormat};
use lakerace_io::option::{DATE_FORMAT, OptionDefinition, SCHEMA, TIMESTAMP_FORMAT};
use lakerace_io::{Error, Result};

use crate::options::CsvOptions;
use crate::predicate::time::parse_timestamp;

/// The notation of values that differs from the usual one, which is that of [`crate::text::value`].
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ValueTexts {
    /// The point of numbers is a comma.
    pub decimal_comma: bool,
    date: Option<TimeFormat>,
    timestamp: Option<TimeFormat>,
}

/// A parsed format of `strftime`.
#[derive(Debug, Clone, PartialEq)]
struct TimeFormat(Vec<Item<'static>>);

impl TimeFormat {
    fn new(option: &'static OptionDefinition, format: &str) -> Result<Self> {
        let items = StrftimeItems::new(format).parse_to_owned();
        let items = items.map_err(|_| Error::usage(format!("{option}: {format:?} is not a valid strftime format")));
        let items = items.map_err(|error| error.advice("write it like %d.%m.%Y or %Y/%m/%d %H:%M:%S"))?;
        if items.iter().any(|item| matches!(item, Item::Fixed(Fixed::TimezoneName))) {
            return Err(Error::usage(format!(
                "{option}: {format:?} has the name of a time zone, which does not give an offset"
            ))
            .advice("write the values with offsets, and read them with %z"));
        }
        let is_field = |item: &Item<'_>| matches!(item, Item::Numeric(..) | Item::Fixed(_));
        match items.iter().any(is_field) {
            true => Ok(Self(items)),
            false => Err(Error::usage(format!("{option}: {format:?} has no date or time field"))
                .advice("write it like %d.%m.%Y or %Y/%m/%d %H:%M:%S")),
        }
    }

    /// Returns true if the values are numbers of seconds, which look like those of any column of integers.
    fn is_number(&self) -> bool {
        self.0.iter().all(|item| !matches!(item, Item::Numeric(part, _) if *part != Numeric::Timestamp))
            && self.0.iter().any(|item| matches!(item, Item::Numeric(Numeric::Timestamp, _)))
    }

    fn parse(&self, text: &str) -> Option<Parsed> {
        let mut parsed = Parsed::new();
        parse(&mut parsed, text, self.0.iter()).ok().map(|()| parsed)
    }
}

/// Returns true for a part of a time of day, or of a zone.
fn is_of_time(item: &Item<'_>) -> bool {
    use Numeric::{Hour, Hour12, Minute, Nanosecond, Second, Timestamp};
    match item {
        Item::Numeric(part, _) => matches!(part, Hour | Hour12 | Minute | Second | Nanosecond | Timestamp),
        Item::Fixed(part) => !matches!(
            part,
            Fixed::ShortMonthName | Fixed::LongMonthName | Fixed::ShortWeekdayName | Fixed::LongWeekdayName
        ),
        _ => false,
    }
}

impl ValueTexts {
    pub fn new(options: &CsvOptions) -> Result<Self> {
        let format =
            |option, given: &Option<String>| given.as_deref().map(|format| TimeFormat::new(option, format)).transpose();
        let date = format(&DATE_FORMAT, &options.date_format)?;
        if let (Some(TimeFormat(items)), Some(text)) = (&date, &options.date_format)
            && items.iter().any(is_of_time)
        {
            return Err(Error::usage(format!(
                "{DATE_FORMAT}: {text:?} has a time of day or a zone, which a date can't hold"
            ))
            .advice(format!("read such values with {}", TIMESTAMP_FORMAT.to(text))));
        }
        let timestamp = format(&TIMESTAMP_FORMAT, &options.timestamp_format)?;
        let has_types = options.schema.is_some() || options.types.is_some();
        if let Some(text) = options.timestamp_format.as_ref().filter(|_| !has_types)
            && timestamp.as_ref().is_some_and(TimeFormat::is_number)
        {
            return Err(Error::usage(format!("{TIMESTAMP_FORMAT}: {text:?} fits every column of integers")).advice(
                format!(
                    "say which columns are timestamps by {SCHEMA}, as in \"t timestamp(s)\" or \"t timestamp(s, UTC)\""
                ),
            ));
        }
        Ok(Self { decimal_comma: options.decimal_comma, date, timestamp })
    }

    /// Returns true if values are written in the usual notation.
    pub fn is_plain(&self) -> bool {
        !self.decimal_comma && self.date.is_none() && self.timestamp.is_none()
    }

    /// Returns true if dates have a given format.
    pub fn has_date_format(&self) -> bool {
        self.date.is_some()
    }

    /// Returns true if timestamps have a format of their own.
    pub fn has_timestamp_format(&self) -> bool {
        self.timestamp.is_some()
    }

    /// A number with a decimal point; `None` for a field with a point, which is invalid next to a decimal comma.
    pub fn number<'a>(&self, field: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        if !self.decimal_comma {
            return Some(Cow::Borrowed(field));
        }
        if field.contains(&b'.') {
            return None;
        }
        let Some(comma) = memchr::memchr(b',', field) else { return Some(Cow::Borrowed(field)) };
        let mut number = field.to_vec();
        number[comma] = b'.';
        Some(Cow::Owned(number))
    }

    /// A date in ISO 8601; `None` if the field does not have the format.
    pub fn date<'a>(&self, field: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let Some(format) = &self.date else { return Some(Cow::Borrowed(field)) };
        let date = format.parse(std::str::from_utf8(field).ok()?.trim_ascii())?.to_naive_date().ok()?;
        Some(Cow::Owned(iso_date(date)?.into_bytes()))
    }

    /// A timestamp in ISO 8601, with an offset if the format has one; `None` if the field does not have the format.
    pub fn timestamp<'a>(&self, field: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let Some(format) = &self.timestamp else { return Some(Cow::Borrowed(field)) };
        let parsed = format.parse(std::str::from_utf8(field).ok()?.trim_ascii())?;
        if parsed.offset().is_some() || parsed.timestamp().is_some() {
            let instant = parsed.to_datetime().ok()?.to_utc();
            iso_date(instant.date_naive())?;
            return Some(Cow::Owned(instant.to_rfc3339_opts(SecondsFormat::AutoSi, true).into_bytes()));
        }
        let at = parsed.to_naive_datetime_with_offset(0).or_else(|error| match parsed.to_naive_date() {
            // A format without a time of day is that of midnights.
            Ok(date) if parsed.hour_div_12().is_none() && parsed.hour_mod_12().is_none() => {
                date.and_hms_opt(0, 0, 0).ok_or(error)
            }
            _ => Err(error),
        });
        Some(Cow::Owned(iso_timestamp(at.ok()?)?.into_bytes()))
    }

    /// [`Self::timestamp`] for a column without a time zone: seconds since 1970 are a date and time of UTC.
    pub fn zoneless_timestamp<'a>(&self, field: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let mut text = self.timestamp(field)?;
        if self.timestamp.as_ref().is_some_and(TimeFormat::is_number) && text.ends_with(b"Z") {
            text.to_mut().pop();
        }
        Some(text)
    }

    /// Returns true if a field is a timestamp with a time zone, in the given format or else in the usual one.
    pub fn has_zone(&self, field: &[u8]) -> bool {
        let usual = self.timestamp(field);
        let text = usual.as_deref().and_then(|text| std::str::from_utf8(text).ok());
        text.and_then(parse_timestamp).is_some_and(|(_, has_zone)| has_zone)
    }

    /// The text for type inference: a value in another notation is converted to the usual one. `None`: only text.
    pub fn inferred<'a>(&self, field: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        if self.timestamp.as_ref().is_some_and(|format| !format.is_number())
            && let Some(timestamp) = self.timestamp(field)
        {
            return Some(timestamp);
        }
        if self.date.is_some()
            && let Some(date) = self.date(field)
        {
            return Some(date);
        }
        if let [b'0'..=b'9' | b'-', b'0'..=b'9', ..] = field {
            let is_time = field.len() >= 10 && field[1..].contains(&b'-');
            let is_timestamp = is_time && field.contains(&b':');
            // A text of the usual form is not of the one that was given.
            if (is_timestamp && self.timestamp.is_some()) || (is_time && !is_timestamp && self.date.is_some()) {
                return None;
            }
            if is_timestamp {
                return Some(Cow::Borrowed(field));
            }
        }
        self.number(field)
    }
}

/// Years that ISO 8601 has four digits for.
fn iso_date(date: NaiveDate) -> Option<String> {
    let text = date.format("%Y-%m-%d").to_string();
    (text.len() == 10).then_some(text)
}

fn iso_timestamp(at: NaiveDateTime) -> Option<String> {
    iso_date(at.date())?;
    Some(at.format("%Y-%m-%dT%H:%M:%S%.f").to_string())
}

#[cfg(test)]
mod tests;
