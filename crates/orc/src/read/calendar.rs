//! Days of the Julian calendar, which Java's writers count before 1582-10-15, as days of the Gregorian calendar of the same
//! name: year, month and day stay, as Java's readers keep them.

/// The first day of the Gregorian calendar, 1582-10-15, in days since 1970-01-01.
pub const FIRST_GREGORIAN_DAY: i64 = -141_427;

/// The Julian day number of 1970-01-01.
const EPOCH_JULIAN_DAY: i64 = 2_440_588;

/// The day in the proleptic Gregorian calendar that has the name of `day` in the calendar that changed in 1582.
pub(crate) fn from_julian(day: i64) -> i64 {
    if day >= FIRST_GREGORIAN_DAY {
        return day;
    }
    // Years start in March here, so that leap days come last. 4801 BC is before all days that fit 32 bits, or is
    // handled by the Euclidean divisions.
    let count = day + EPOCH_JULIAN_DAY + 32_082;
    let year = (4 * count + 3).div_euclid(1461);
    let in_year = count - (1461 * year).div_euclid(4);
    let month = (5 * in_year + 2) / 153;
    let day = in_year - (153 * month + 2) / 5 + 1;
    gregorian(year - 4800, month, day)
}

/// The day in the calendar that changed in 1582 that has the name of `day` in the proleptic Gregorian calendar.
pub(crate) fn to_julian(day: i64) -> i64 {
    if day >= FIRST_GREGORIAN_DAY {
        return day;
    }
    let (era, of_era) = ((day + 719_468).div_euclid(146_097), (day + 719_468).rem_euclid(146_097));
    let of_era_year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let in_year = of_era - (365 * of_era_year + of_era_year / 4 - of_era_year / 100);
    let year = era * 400 + of_era_year + 4800;
    in_year + (1461 * year).div_euclid(4) - 32_082 - EPOCH_JULIAN_DAY
}

/// Days since 1970-01-01 of a proleptic Gregorian date, by years that start in March (`month` 0).
fn gregorian(year: i64, month: i64, day: i64) -> i64 {
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests;
