use super::*;

#[test]
fn skipped_days_have_others() {
    let first = FIRST_GREGORIAN_DAY;
    assert_eq!(other_days(first - 10).collect::<Vec<_>>(), [first, first]);
    assert_eq!(other_days(first - 1).collect::<Vec<_>>(), [first, first + 9]);
    assert!([first - 11, first].into_iter().all(|day| other_days(day).count() == 0));
}

#[test]
fn times_keep_their_hour() {
    let hour = 3_600_000;
    let at = |day: i64| day * MILLIS_A_DAY + hour;
    let first = FIRST_GREGORIAN_DAY;
    assert_eq!(other_millis(at(first - 3)).collect::<Vec<_>>(), [first - 1, first, first + 1, first + 7].map(at));
    assert!([first - 12, first + 1].into_iter().all(|day| other_millis(at(day)).count() == 0));
}
