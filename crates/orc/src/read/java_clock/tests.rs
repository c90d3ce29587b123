#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

#[test]
fn names_of_days_and_hours_stay() {
    // From these seconds on, Spark's own tables of these zones add so many seconds.
    for (zone, second, more) in [
        ("Asia/Shanghai", -62_135_798_400, 172_457),
        ("Asia/Shanghai", -14_825_836_800, -864_343),
        ("Asia/Shanghai", -12_219_321_600, -343),
        ("Asia/Shanghai", -2_208_988_801, -343),
        ("Asia/Shanghai", -2_208_988_800, 0),
        ("America/Los_Angeles", -14_825_779_200, -864_422),
        ("America/Los_Angeles", -2_717_640_001, -422),
        ("America/Los_Angeles", -2_717_640_000, 0),
        ("Europe/Berlin", -17_981_571_600, -777_208),
        ("Europe/Berlin", -2_422_054_409, 392),
        ("Europe/Berlin", -2_422_054_408, 0),
        ("UTC", -14_825_808_000, -864_000),
        ("UTC", -12_219_292_801, -864_000),
        ("UTC", -12_219_292_800, 0),
        // Pacific time of Canada and Mountain time of it have changed since.
        ("Canada/Pacific", -2_713_880_853, 748),
        // Java knows offsets behind GMT alone.
        ("GMT+8", -12_219_321_601, -864_000),
        ("GMT+8", -12_219_321_600, 0),
        ("+08:00", -12_219_321_600, -864_000),
    ] {
        let mut clock = JavaClock::in_zone(zone).unwrap();
        assert_eq!(clock.instant(second), Some(second + more), "{zone} at {second}");
    }
}

#[test]
fn zones_that_are_not_known_and_times_that_do_not_fit() {
    for zone in ["Nowhere/Town", "Asia/Manila", "est"] {
        assert!(JavaClock::in_zone(zone).is_err(), "{zone}");
    }
    let mut clock = JavaClock::in_zone("America/Los_Angeles").unwrap();
    assert_eq!(clock.instant(i64::MIN), None);
    assert_eq!(clock.instant(i64::MAX), Some(i64::MAX));
}
