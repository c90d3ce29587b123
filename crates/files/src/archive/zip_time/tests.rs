#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::{DAY_SECONDS, date_of, days_of, from_dos, to_dos};

#[test]
fn dates_and_days_are_each_others_inverse() {
    for (days, date) in [(0, (1970, 1, 1)), (-1, (1969, 12, 31)), (11_016, (2000, 2, 29)), (47_541, (2100, 3, 1))] {
        assert_eq!((date_of(days), days_of(date.0, date.1, date.2)), (date, days));
    }
    for days in -200_000..200_000 {
        let (year, month, day) = date_of(days);
        assert_eq!(days_of(year, month, day), days);
    }
}

#[test]
fn dos_times_are_of_their_years_and_in_steps_of_two_seconds() {
    let first = 3652 * DAY_SECONDS;
    assert_eq!(from_dos(to_dos(first).unwrap()), first);
    assert_eq!(from_dos(to_dos(1_700_000_001).unwrap()), 1_700_000_000);
    assert!(to_dos(first - 1).is_none() && to_dos(4_354_819_200).is_none());
}
