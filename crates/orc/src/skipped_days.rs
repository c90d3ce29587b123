//! The days 1582-10-05 to 1582-10-14, which the calendar of Java's old classes does not have.
//!
//! Readers in Java search for such a day by another one: Spark by 1582-10-15, classes that read the date as a Julian
//! one by the day ten days later. Bounds and bloom filters include these days.

use std::ops::Range;

use crate::read::FIRST_GREGORIAN_DAY;

/// Days that the calendar skips.
const SKIPPED_DAYS: i64 = 10;

/// How a column counts days, or points in time, since 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeScale {
    ticks_a_day: i64,
    /// Days by which the reader's day may differ, as its zone is not known.
    zone_days: i64,
}

impl TimeScale {
    /// Days.
    pub const DAYS: Self = Self { ticks_a_day: 1, zone_days: 0 };

    /// Points in time, in milliseconds.
    pub const MILLISECONDS: Self = Self { ticks_a_day: 86_400_000, zone_days: 1 };

    /// Points in time, in microseconds.
    pub const MICROSECONDS: Self = Self { ticks_a_day: 86_400_000_000, zone_days: 1 };

    /// The values that stand for a skipped day, or are one.
    fn doubtful(self) -> Range<i64> {
        let start = FIRST_GREGORIAN_DAY - SKIPPED_DAYS - self.zone_days;
        let end = FIRST_GREGORIAN_DAY + SKIPPED_DAYS + self.zone_days;
        start * self.ticks_a_day..end * self.ticks_a_day
    }

    /// True where readers take this value for another one, or another one for it.
    pub fn is_doubtful(self, value: i64) -> bool {
        self.doubtful().contains(&value)
    }

    /// True where values between these bounds may be doubtful.
    pub fn has_doubtful(self, least: i64, greatest: i64) -> bool {
        let doubtful = self.doubtful();
        least < doubtful.end && greatest >= doubtful.start
    }

    /// The greatest value as a bound. `day > 1582-10-12` comes as `day > 1582-10-15`, or as a later day still.
    pub fn outward(self, greatest: i64) -> i64 {
        if self.is_doubtful(greatest) { self.doubtful().end } else { greatest }
    }

    /// Values that readers look for in place of this one, at the same time of the day; none unless its day is skipped, in some zone.
    pub fn others(self, value: i64) -> impl Iterator<Item = i64> {
        let (day, zones) = (value.div_euclid(self.ticks_a_day), self.zone_days);
        let is_skipped = (FIRST_GREGORIAN_DAY - SKIPPED_DAYS - zones..FIRST_GREGORIAN_DAY + zones).contains(&day);
        // The reader's own day is this one, the one before or the one after.
        let first_days = (-zones..=zones).map(move |zone| FIRST_GREGORIAN_DAY + zone - day);
        let shifts = is_skipped.then(|| first_days.chain([SKIPPED_DAYS]));
        shifts.into_iter().flatten().map(move |days| value + days * self.ticks_a_day)
    }
}

#[cfg(test)]
mod tests;
