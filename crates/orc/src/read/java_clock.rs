//! Times as Java's old classes count them: by a calendar that changed in 1582, and with zones that start in 1900. Other
//! formats also have files of such writers.

use super::calendar::from_julian;
use super::writer_kind::WriterSoftware;
use super::zone::{JAVA_FIRST_SECOND, WriterZone};
use crate::error::{Error, Result};

/// The end of 2019: Spark's own tables date from that time. Some zones have changed their standard time since.
const YEAR_END: i64 = 1_577_836_799;

const DAY_SECONDS: i64 = 86_400;

/// All calendars and zones agree from 1900-01-01 00:00:00 UTC on.
pub const FIRST_AGREED_SECOND: i64 = JAVA_FIRST_SECOND;

/// Zones whose history was corrected since, or that have become aliases of others: their offsets in a writer's version
/// aren't known.
const CORRECTED: &[&str] = &[
    "Africa/Blantyre",
    "Africa/Bujumbura",
    "Africa/Gaborone",
    "Africa/Harare",
    "Africa/Juba",
    "Africa/Kigali",
    "Africa/Lubumbashi",
    "Africa/Lusaka",
    "Africa/Maputo",
    "America/Dawson",
    "America/Matamoros",
    "America/Nipigon",
    "America/Rainy_River",
    "America/Thunder_Bay",
    "America/Whitehorse",
    "America/Yellowknife",
    "Antarctica/Casey",
    "Antarctica/Vostok",
    "Asia/Choibalsan",
    "Asia/Manila",
    "CET",
    "Canada/Yukon",
    "EET",
    "EST",
    "Europe/Uzhgorod",
    "Europe/Volgograd",
    "Europe/Zaporozhye",
    "HST",
    "MET",
    "MST",
    "WET",
];

/// The clock of a program in Java, in a time zone.
#[derive(Debug, Clone)]
pub struct JavaClock {
    /// The zone as the clock knows it.
    old: WriterZone,
    /// The zone with the local mean times of the place.
    place: WriterZone,
}

impl JavaClock {
    /// The clock in a zone. Its name is that of a place, such as `Europe/Berlin`, or an offset such as `GMT+8`. Java's old classes take
    /// offsets without `GMT` for `GMT` itself.
    ///
    /// # Errors
    /// The zone, or its history, is not known.
    pub fn in_zone(name: &str) -> Result<Self> {
        if CORRECTED.iter().any(|known| known.eq_ignore_ascii_case(name)) {
            return Err(Error::unsupported(format!("the offsets of time zone {name:?} before 1900 aren't known")));
        }
        let after = ["UTC", "UT", ""].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
        let name = if after.starts_with(['+', '-']) { "GMT" } else { name };
        Ok(Self {
            old: WriterZone::named(name, WriterSoftware::Cpp)?.with_ancient_of(YEAR_END),
            place: WriterZone::named(name, WriterSoftware::Cpp)?,
        })
    }

    /// The second, since 1970 in UTC, at which a local calendar and clock show the date and time that the program reads
    /// at `seconds`. `None` where it does not fit 64 bits.
    pub fn instant(&mut self, seconds: i64) -> Option<i64> {
        if seconds >= FIRST_AGREED_SECOND {
            return Some(seconds);
        }
        let shown = seconds.checked_add(self.old.offset(seconds))?;
        let day = shown.div_euclid(DAY_SECONDS);
        let shown = (from_julian(day) - day).checked_mul(DAY_SECONDS)?.checked_add(shown)?;
        self.place_instant(shown)
    }

    /// The instant at which the place's clock shows `shown`. It is the later one where the clock shows it twice; where
    /// the clock skips it, the instant at which the clock would have shown it without the jump.
    fn place_instant(&mut self, shown: i64) -> Option<i64> {
        let (before, after) = (shown.checked_sub(DAY_SECONDS)?, shown.checked_add(DAY_SECONDS)?);
        let (before, after) = (self.place.offset(before), self.place.offset(after));
        let late = shown.checked_sub(after)?;
        if before == after || self.place.offset(late) == after {
            return Some(late);
        }
        shown.checked_sub(before)
    }
}

/// The day in today's calendar, carried back, that has the name of `day` in the calendar that changed in 1582. Both are
/// counted from 1970-01-01.
pub fn day_of_same_name(day: i64) -> i64 {
    from_julian(day)
}

#[cfg(test)]
mod tests;
