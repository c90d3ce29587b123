#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

#[test]
fn offsets_follow_summer_time() {
    let mut zone = Zone::named("America/Los_Angeles").unwrap();
    assert_eq!(zone.base, BASE_SECONDS + 8 * 3600);
    // 2015-03-08 10:00 UTC: the clock jumps from 2:00 to 3:00.
    let jump = 1_425_808_800;
    for (seconds, hours) in
        [(jump - 1, -8), (jump, -7), (jump - 1, -8), (0, -8), (jump + 86_400, -7), (jump + 86_401, -7)]
    {
        assert_eq!(zone.offset(seconds), hours * 3600, "{seconds}");
    }
    // Beyond any calendar.
    zone.offset(i64::MAX);
    zone.offset(i64::MIN);
    assert!(Zone::named("Nowhere/Town").is_err());
}

#[test]
fn fixed_zones() {
    for (name, seconds) in [("GMT+08:00", 28_800), ("UTC-3", -10_800), ("+05:30", 19_800), ("GMT-0130", -5_400)] {
        let mut zone = Zone::named(name).unwrap();
        assert_eq!((zone.offset(7), zone.base), (seconds, BASE_SECONDS - seconds), "{name}");
    }
    assert!(Zone::named("GMT").unwrap().is_utc());
    assert!(Zone::named("GMT+99").is_err());
}
