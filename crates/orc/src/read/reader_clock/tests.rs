#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

fn read(reader: &str, writer: Option<&str>, seconds: i64, julian: bool) -> i64 {
    let mut clock = ReaderClock::in_zone(reader).unwrap();
    let mut zone = clock.writer_zone(writer).unwrap();
    clock.instant(&mut zone, seconds, julian).unwrap().unwrap()
}

#[test]
fn instants_of_the_same_zone_stay() {
    // 2024-11-03 01:30:00, which the clock of New York shows twice, and 2024-03-10 03:20:00, after its jump.
    for seconds in [1_730_611_800, 1_730_615_400, 1_710_055_800, 0, -2_208_988_800] {
        assert_eq!(read("America/New_York", Some("America/New_York"), seconds, true), seconds);
        assert_eq!(read("America/New_York", Some("US/Eastern"), seconds, true), seconds);
        assert_eq!(read("America/New_York", None, seconds, true), seconds);
        assert_eq!(read("UTC", Some("GMT"), seconds, true), seconds);
    }
}

#[test]
fn clocks_of_other_zones_show_the_same() {
    // 2024-07-01 12:00:00 in Berlin, in UTC and in New York.
    assert_eq!(read("UTC", Some("Europe/Berlin"), 1_719_828_000, true), 1_719_835_200);
    assert_eq!(read("Europe/Berlin", Some("UTC"), 1_719_835_200, true), 1_719_828_000);
    assert_eq!(read("America/New_York", Some("Europe/Berlin"), 1_719_828_000, true), 1_719_849_600);
    // 2024-03-10 02:30:00 of UTC, which the clock of New York leaves out: Java takes 01:30:00.
    assert_eq!(read("America/New_York", Some("UTC"), 1_710_037_800, true), 1_710_052_200);
}

#[test]
fn old_days_keep_their_names() {
    // 1500-01-01 00:00:00 UTC, by the old calendar and by the new one.
    assert_eq!(read("UTC", Some("UTC"), -14_830_992_000, true), -14_831_769_600);
    assert_eq!(read("UTC", Some("UTC"), -14_831_769_600, false), -14_831_769_600);
    let unknown = ReaderClock::in_zone("EST").unwrap().instant(&mut WriterZone::utc(), -14_831_769_600, false);
    assert!(unknown.unwrap_err().to_string().contains("before 1900"));
}
