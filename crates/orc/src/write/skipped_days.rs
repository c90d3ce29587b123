//! The days 1582-10-05 to 1582-10-14, which the calendar of Java's old classes does not have.
//!
//! Readers in Java look for such a day by another one: Spark by 1582-10-15, classes that take the name for a Julian one by the
//! day ten days later. Bounds and bloom filters include what they look for.

use std::ops::RangeInclusive;

use crate::read::FIRST_GREGORIAN_DAY;

const MILLIS_A_DAY: i64 = 86_400_000;
/// Days that the calendar skips, 1582-10-05 to 1582-10-14.
const SKIPPED: RangeInclusive<i64> = FIRST_GREGORIAN_DAY - 10..=FIRST_GREGORIAN_DAY - 1;
/// The day after all days that stand for a skipped one: 1582-10-25.
const BEYOND: i64 = FIRST_GREGORIAN_DAY + 10;

/// The greatest day as a bound. `day > 1582-10-12` comes as `day > 1582-10-15`, or as a later day still.
pub(crate) fn outward_day(greatest: i32) -> i32 {
    if (*SKIPPED.start()..BEYOND).contains(&i64::from(greatest)) { BEYOND as i32 } else { greatest }
}

/// The greatest point in time as a bound, wherever the reader's day begins.
pub(crate) fn outward_instant(greatest: (i64, u32)) -> (i64, u32) {
    let day = greatest.0.div_euclid(MILLIS_A_DAY);
    if (SKIPPED.start() - 1..=BEYOND).contains(&day) { ((BEYOND + 1) * MILLIS_A_DAY, 0) } else { greatest }
}

/// Days that readers look for in place of `day`; none unless the calendar skips it.
pub(crate) fn other_days(day: i64) -> impl Iterator<Item = i64> {
    SKIPPED.contains(&day).then_some([FIRST_GREGORIAN_DAY, day + 10]).into_iter().flatten()
}

/// Times of the same hour that readers look for in place of one, in milliseconds; none unless its day is skipped in some zone.
pub(crate) fn other_millis(millis: i64) -> impl Iterator<Item = i64> {
    let day = millis.div_euclid(MILLIS_A_DAY);
    let is_near = (SKIPPED.start() - 1..=SKIPPED.end() + 1).contains(&day);
    // The reader's own day is this one, the one before or the one after.
    let to_first = FIRST_GREGORIAN_DAY - day;
    let shifts = [to_first - 1, to_first, to_first + 1, 10];
    is_near.then_some(shifts).into_iter().flatten().map(move |days| millis + days * MILLIS_A_DAY)
}

#[cfg(test)]
mod tests;
