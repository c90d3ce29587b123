//! Times in zip archives.

use zip::extra_fields::ExtraField;
use zip::write::FullFileOptions;

use super::from_zip;

const DAY_SECONDS: i64 = 86_400;

/// The options with a time: that of DOS in steps of two seconds, taken as UTC, and the extended timestamp, in seconds.
pub(super) fn with_time(
    options: FullFileOptions<'static, 'static>,
    mtime_ms: i64,
) -> lakerace_io::Result<FullFileOptions<'static, 'static>> {
    let seconds = mtime_ms.div_euclid(1000);
    let options = options.last_modified_time(to_dos(seconds).unwrap_or_default());
    match i32::try_from(seconds) {
        Ok(seconds) => options.with_extended_timestamp(Some(seconds.cast_unsigned()), None, None).map_err(from_zip),
        // Readers take it for signed.
        Err(_) => Ok(options),
    }
}

/// The time of an entry, by its extended timestamp where it has one.
pub(super) fn time_of<'a>(extra: impl IntoIterator<Item = &'a ExtraField>, dos: Option<zip::DateTime>) -> Option<i64> {
    let extended = extra.into_iter().find_map(|field| match field {
        ExtraField::ExtendedTimestamp(times) => times.mod_time(),
        _ => None,
    });
    let seconds = extended.map(|seconds| i64::from(seconds.cast_signed())).or_else(|| dos.map(from_dos))?;
    Some(seconds * 1000)
}

fn from_dos(time: zip::DateTime) -> i64 {
    let days = days_of(i64::from(time.year()), i64::from(time.month()), i64::from(time.day()));
    let (hour, minute, second) = (i64::from(time.hour()), i64::from(time.minute()), i64::from(time.second()));
    days * DAY_SECONDS + hour * 3600 + minute * 60 + second
}

/// `None` outside of the years from 1980 to 2107.
fn to_dos(seconds: i64) -> Option<zip::DateTime> {
    let (year, month, day) = date_of(seconds.div_euclid(DAY_SECONDS));
    let second = seconds.rem_euclid(DAY_SECONDS);
    let part = |number: i64| u8::try_from(number).ok();
    let (hour, minute, second) = (part(second / 3600)?, part(second / 60 % 60)?, part(second % 60)?);
    zip::DateTime::from_date_and_time(u16::try_from(year).ok()?, part(month)?, part(day)?, hour, minute, second).ok()
}

/// Days since 1970-01-01 of a date. Years are counted from March, so that the leap day is their last.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leap_days + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// The date of a day since 1970-01-01.
fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (carry, month) = if month < 10 { (0, month + 3) } else { (1, month - 9) };
    (era * 400 + year + carry, month, day)
}

#[cfg(test)]
mod tests;
