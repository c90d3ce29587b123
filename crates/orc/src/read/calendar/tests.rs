#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

#[test]
fn names_of_days_stay() {
    // 1582-10-04 was the day before 1582-10-15.
    let last_julian = FIRST_GREGORIAN_DAY - 1;
    assert_eq!(from_julian(FIRST_GREGORIAN_DAY), FIRST_GREGORIAN_DAY);
    assert_eq!(from_julian(last_julian), FIRST_GREGORIAN_DAY - 11);
    // 1500-03-01 of the Julian calendar was ten days behind; 1500-02-29 has no Gregorian name and becomes the day after it.
    let march = gregorian(1500, 0, 1);
    assert_eq!(from_julian(march + 10), march);
    assert_eq!(from_julian(march + 9), march);
    assert_eq!(from_julian(march + 8), march - 1);
    // 0001-01-01 was two days ahead.
    let first = gregorian(0, 10, 1);
    assert_eq!(first, -719_162);
    assert_eq!(from_julian(first - 2), first);
    // The earliest days keep their order.
    let earliest = i64::from(i32::MIN);
    assert!(from_julian(earliest) < from_julian(earliest + 1));
}

#[test]
fn names_lead_back() {
    for day in (-2_000_000..FIRST_GREGORIAN_DAY - 10).step_by(97).chain([FIRST_GREGORIAN_DAY, 0]) {
        assert_eq!(from_julian(to_julian(day)), day);
    }
}
