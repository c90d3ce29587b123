#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

#[test]
fn offsets_follow_summer_time() {
    let mut zone = Zone::named("America/Los_Angeles", Writer::Java).unwrap();
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
    assert!(Zone::named("Nowhere/Town", Writer::Java).is_err());
}

#[test]
fn fixed_zones() {
    for (name, seconds) in [("GMT+08:00", 28_800), ("UTC-3", -10_800), ("+05:30", 19_800), ("GMT-0130", -5_400)] {
        let mut zone = Zone::named(name, Writer::Cpp).unwrap();
        assert_eq!((zone.offset(7), zone.base), (seconds, BASE_SECONDS - seconds), "{name}");
    }
    assert!(Zone::named("GMT", Writer::Cpp).unwrap().is_utc());
    assert!(Zone::named("GMT+99", Writer::Cpp).is_err());
}

#[test]
fn times_before_1900_have_the_offset_that_their_writer_knew() {
    // 1850: Los Angeles' own time was 7:52:58 behind Greenwich; Java's zones don't know that.
    let offset = |name, writer, seconds| Zone::named(name, writer).unwrap().offset(seconds);
    assert_eq!(offset("America/Los_Angeles", Writer::Cpp, -3_786_825_600), -28_378);
    assert_eq!(offset("America/Los_Angeles", Writer::Java, -3_786_825_600), -28_800);
    assert_eq!(offset("Europe/Berlin", Writer::Java, -13_000_000_000), 3600);
    // From 1900 on both know the same.
    assert_eq!(
        offset("Europe/Amsterdam", Writer::Java, JAVA_FIRST_SECOND),
        offset("Europe/Amsterdam", Writer::Cpp, JAVA_FIRST_SECOND)
    );
}
