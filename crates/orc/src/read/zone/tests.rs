#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

#[test]
fn offsets_follow_summer_time() {
    let mut zone = WriterZone::named("America/Los_Angeles", WriterSoftware::Java).unwrap();
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
    assert!(WriterZone::named("Nowhere/Town", WriterSoftware::Java).is_err());
}

#[test]
fn fixed_zones() {
    for (name, seconds) in [("GMT+08:00", 28_800), ("UTC-3", -10_800), ("+05:30", 19_800), ("GMT-0130", -5_400)] {
        let mut zone = WriterZone::named(name, WriterSoftware::Cpp).unwrap();
        assert_eq!((zone.offset(7), zone.base), (seconds, BASE_SECONDS - seconds), "{name}");
    }
    assert!(WriterZone::named("GMT", WriterSoftware::Cpp).unwrap().is_utc());
    assert!(WriterZone::named("GMT+99", WriterSoftware::Cpp).is_err());
}

#[test]
fn times_before_1900_have_the_offset_that_their_writer_knew() {
    // 1850: Los Angeles' own time was 7:52:58 behind Greenwich; Java's zones don't know that.
    let offset = |name, writer, seconds| WriterZone::named(name, writer).unwrap().offset(seconds);
    assert_eq!(offset("America/Los_Angeles", WriterSoftware::Cpp, -3_786_825_600), -28_378);
    assert_eq!(offset("America/Los_Angeles", WriterSoftware::Java, -3_786_825_600), -28_800);
    assert_eq!(offset("Europe/Berlin", WriterSoftware::Java, -13_000_000_000), 3600);
    // From 1900 on both know the same.
    assert_eq!(
        offset("Europe/Amsterdam", WriterSoftware::Java, JAVA_FIRST_SECOND),
        offset("Europe/Amsterdam", WriterSoftware::Cpp, JAVA_FIRST_SECOND)
    );
}

#[test]
fn the_last_rule_goes_on_for_ever() {
    // 2038-01-01, 2050, 2100 and 9999 in January and July, and the same days of the year 292277 and, to the end, beyond.
    let january = [2_145_916_800, 2_524_608_000, 4_102_444_800, 253_370_764_800];
    let july = [2_161_555_200, 2_540_246_400, 4_118_083_200, 253_386_403_200];
    let far = |seconds: i64| seconds + (i64::MAX - CYCLE_SECONDS * 2 - seconds) / CYCLE_SECONDS * CYCLE_SECONDS;
    for (name, in_january, in_july) in [
        ("America/Los_Angeles", -8 * 3600, -7 * 3600),
        ("Europe/Berlin", 3600, 7200),
        ("Europe/London", 0, 3600),
        ("Australia/Sydney", 11 * 3600, 10 * 3600),
        ("Australia/Lord_Howe", 11 * 3600, 37_800),
        ("America/Santiago", -3 * 3600, -4 * 3600),
        ("Pacific/Chatham", 49_500, 45_900),
        ("Asia/Tokyo", 9 * 3600, 9 * 3600),
        ("America/Sao_Paulo", -3 * 3600, -3 * 3600),
    ] {
        for writer in [WriterSoftware::Java, WriterSoftware::Cpp] {
            let mut zone = WriterZone::named(name, writer).unwrap();
            for (seconds, wanted) in january.map(|at| (at, in_january)).into_iter().chain(july.map(|at| (at, in_july)))
            {
                for seconds in [seconds, far(seconds)] {
                    assert_eq!(zone.offset(seconds), wanted, "{name} {seconds}");
                    assert_eq!(zone.offset(seconds + 7), wanted, "{name} {seconds}");
                }
            }
        }
    }
    // 2050-03-13 10:00 UTC and 2050-11-06 9:00 UTC: Los Angeles' clock jumps.
    let mut zone = WriterZone::named("America/Los_Angeles", WriterSoftware::Java).unwrap();
    for (jump, before, behind) in [(2_530_778_400i64, -8, -7), (2_551_338_000, -7, -8)] {
        let around: Vec<i64> = [jump - 1, jump].map(|at| zone.offset(at) / 3600).to_vec();
        assert_eq!(around, [before, behind]);
    }
}
