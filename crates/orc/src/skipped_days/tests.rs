use super::*;

const FIRST: i64 = FIRST_GREGORIAN_DAY;

#[test]
fn skipped_days_have_others() {
    let others = |day| TimeScale::DAYS.others(day).collect::<Vec<_>>();
    assert_eq!(others(FIRST - 10), [FIRST, FIRST]);
    assert_eq!(others(FIRST - 1), [FIRST, FIRST + 9]);
    assert!([FIRST - 11, FIRST, i64::MIN, i64::MAX].into_iter().all(|day| others(day).is_empty()));
}

#[test]
fn times_keep_their_hour() {
    for (scale, units_per_second) in [(TimeScale::MILLISECONDS, 1000), (TimeScale::MICROSECONDS, 1_000_000)] {
        let at = |day: i64| (day * 24 + 1) * 3600 * units_per_second;
        assert_eq!(scale.others(at(FIRST - 3)).collect::<Vec<_>>(), [FIRST - 1, FIRST, FIRST + 1, FIRST + 7].map(at));
        assert!([FIRST - 12, FIRST + 1].into_iter().all(|day| scale.others(at(day)).count() == 0));
        assert_eq!([FIRST - 12, FIRST + 11].map(at).map(|time| scale.outward(time)), [FIRST - 12, FIRST + 11].map(at));
        let end = (FIRST + 11) * 86_400 * units_per_second;
        assert_eq!([FIRST - 11, FIRST, FIRST + 10].map(at).map(|time| scale.outward(time)), [end; 3]);
    }
}

#[test]
fn bounds_tell_of_doubtful_values() {
    let days = TimeScale::DAYS;
    assert!(days.has_doubtful(i64::MIN, i64::MAX) && days.has_doubtful(FIRST, FIRST));
    assert!(days.has_doubtful(i64::MIN, FIRST) && days.has_doubtful(FIRST - 10, FIRST - 10));
    assert!(!days.has_doubtful(FIRST + 10, i64::MAX) && !days.has_doubtful(i64::MIN, FIRST - 11));
}
