//! Dates as fields of indices have them: ISO 8601 in all forms that a server takes, and seconds or milliseconds since 1970.

use lakerace_format::calendar::{days_from_civil, is_date};

/// Nanoseconds in a day.
pub(super) const DAY_NS: i128 = 86_400_000_000_000;
const SECOND_NS: i128 = 1_000_000_000;
/// Digits of a year without a sign.
const YEAR_DIGITS: usize = 4;
const MOST_YEAR_DIGITS: usize = 9;
/// Digits of a fraction that nanoseconds hold.
const FRACTION_DIGITS: usize = 9;

/// The formats of a field, in their order: a text is read by the first one that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DateFormats {
    formats: Vec<DateFormat>,
    /// True if numbers without quotes are milliseconds in any case, because the field has no date type.
    has_plain_numbers: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DateFormat {
    /// ISO 8601, from a year to nanoseconds and an offset.
    Iso,
    /// A number of these nanoseconds.
    Epoch(i128),
}

impl DateFormats {
    /// The formats of a field of the type `date` or `date_nanos`; without a format, the server's own. `None` where one is not known.
    pub fn of_field(format: Option<&str>) -> Option<Self> {
        let formats =
            format.unwrap_or("strict_date_optional_time||epoch_millis").split("||").map(DateFormat::from_name);
        Some(Self { formats: formats.collect::<Option<_>>()?, has_plain_numbers: false })
    }

    /// The formats of texts and numbers in a field of another type.
    pub fn of_text() -> Self {
        Self { formats: vec![DateFormat::Iso], has_plain_numbers: true }
    }

    /// Returns true if texts of ISO 8601 are among them.
    pub fn has_iso(&self) -> bool {
        self.formats.contains(&DateFormat::Iso)
    }

    /// Nanoseconds since 1970 of a number without quotes. The server takes it for a text.
    pub fn number(&self, digits: &str) -> Option<i128> {
        if self.has_plain_numbers { epoch(digits, SECOND_NS / 1000) } else { self.text(digits) }
    }

    /// Nanoseconds since 1970 of a text.
    pub fn text(&self, text: &str) -> Option<i128> {
        self.formats.iter().find_map(|format| match format {
            DateFormat::Iso => iso(text.as_bytes()),
            DateFormat::Epoch(unit) => epoch(text, *unit),
        })
    }
}

impl DateFormat {
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "strict_date_optional_time"
            | "date_optional_time"
            | "strict_date_optional_time_nanos"
            | "strict_date_time"
            | "date_time"
            | "strict_date"
            | "date"
            | "strict_date_time_no_millis"
            | "date_time_no_millis"
            | "yyyy-MM-dd"
            | "yyyy-MM-dd HH:mm:ss" => Some(Self::Iso),
            "epoch_millis" => Some(Self::Epoch(SECOND_NS / 1000)),
            "epoch_second" => Some(Self::Epoch(SECOND_NS)),
            _ => None,
        }
    }
}

/// A number of units, perhaps with a fraction, in nanoseconds.
fn epoch(text: &str, unit: i128) -> Option<i128> {
    let (is_negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
        return None;
    }
    let mut nanoseconds = whole.parse::<i128>().ok()?.checked_mul(unit)?;
    let mut unit = unit;
    for digit in fraction.bytes().map(|byte| i128::from(byte - b'0')) {
        if digit != 0 && unit < 10 {
            return None;
        }
        unit /= 10;
        nanoseconds = nanoseconds.checked_add(digit * unit)?;
    }
    Some(if is_negative { -nanoseconds } else { nanoseconds })
}

/// A text of ISO 8601. Parts that are missing are the first of their kind: a year alone is its first second in UTC.
fn iso(text: &[u8]) -> Option<i128> {
    let mut rest = UnparsedText(text);
    let sign = rest.taken(b"-+");
    let most_digits = if sign.is_some() { MOST_YEAR_DIGITS } else { YEAR_DIGITS };
    let year = rest.number(YEAR_DIGITS, most_digits)?;
    let year = if sign == Some(b'-') { -year } else { year };
    let mut part = || if rest.taken(b"-").is_some() { rest.number(1, 2) } else { Some(1) };
    let (month, day) = (part()?, part()?);
    if !is_date(year, month, day) {
        return None;
    }
    let midnight = i128::from(days_from_civil(year, month, day)) * DAY_NS;
    if rest.0.is_empty() {
        return Some(midnight);
    }
    rest.taken(b"T ")?;
    let in_day = if rest.0.first().is_some_and(u8::is_ascii_digit) { rest.clock()? } else { 0 };
    let offset = rest.offset()?;
    rest.0.is_empty().then_some(midnight + in_day - offset)
}

/// The rest of a text.
struct UnparsedText<'a>(&'a [u8]);

impl UnparsedText<'_> {
    /// Skips one of these bytes, and returns it.
    fn taken(&mut self, bytes: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first().filter(|(first, _)| bytes.contains(first))?;
        self.0 = rest;
        Some(*first)
    }

    /// Skips a number of so many digits.
    fn number(&mut self, least: usize, most: usize) -> Option<i64> {
        let digits = self.0.iter().take(most).take_while(|byte| byte.is_ascii_digit()).count();
        if digits < least {
            return None;
        }
        let (number, rest) = self.0.split_at(digits);
        self.0 = rest;
        Some(number.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
    }

    /// Nanoseconds since midnight of hours, perhaps with minutes, seconds and a fraction.
    fn clock(&mut self) -> Option<i128> {
        let hour = self.number(1, 2)?;
        let minute = if self.taken(b":").is_some() { Some(self.number(1, 2)?) } else { None };
        let second = match minute {
            Some(_) if self.taken(b":").is_some() => Some(self.number(1, 2)?),
            _ => None,
        };
        let fraction = if second.is_some() && self.taken(b".,").is_some() { self.fraction()? } else { 0 };
        let (minute, second) = (minute.unwrap_or(0), second.unwrap_or(0));
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        Some(i128::from((hour * 60 + minute) * 60 + second) * SECOND_NS + fraction)
    }

    /// Nanoseconds of the digits of a fraction. Those beyond the ninth must be zeros.
    fn fraction(&mut self) -> Option<i128> {
        let length = self.0.len();
        let value = self.number(1, FRACTION_DIGITS)?;
        let digits = length - self.0.len();
        while self.taken(b"0").is_some() {}
        Some(i128::from(value) * 10_i128.pow((FRACTION_DIGITS - digits) as u32))
    }

    /// Nanoseconds east of UTC of `Z`, `+02`, `+0200`, `+02:00`, `+02:00:30` or `UTC+2`. Without an offset, a time is in UTC.
    fn offset(&mut self) -> Option<i128> {
        if self.taken(b"Zz").is_some() {
            return Some(0);
        }
        for name in [b"UTC".as_slice(), b"GMT", b"UT"] {
            if let Some(rest) = self.0.strip_prefix(name) {
                self.0 = rest;
                break;
            }
        }
        let Some(sign) = self.taken(b"+-") else { return Some(0) };
        let mut seconds = self.number(1, 2)? * 3600;
        for unit in [60, 1] {
            let has_colon = self.taken(b":").is_some();
            if !has_colon && self.0.is_empty() {
                break;
            }
            seconds += self.number(2, 2)? * unit;
        }
        let nanoseconds = i128::from(seconds) * SECOND_NS;
        Some(if sign == b'-' { -nanoseconds } else { nanoseconds })
    }
}

#[cfg(test)]
mod tests;
