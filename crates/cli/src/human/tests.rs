use super::*;

#[test]
fn numbers_read_well() {
    assert_eq!([count(0), count(999), count(1000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
    assert_eq!([bytes(0), bytes(999), bytes(1000), bytes(52_100_000)], ["0 B", "999 B", "1.0 kB", "52.1 MB"]);
    assert_eq!([bytes(999_949), bytes(999_999), bytes(u64::MAX)], ["999.9 kB", "1.0 MB", "18446.7 PB"]);
    assert_eq!([seconds(0.0123), seconds(1.234), seconds(61.24)], ["0.012 s", "1.23 s", "61.2 s"]);
    assert_eq!([dollars(0.0), dollars(0.0000004), dollars(1.5)], ["$0", "$0.0000004", "$1.50"]);
    assert_eq!([plural(1, "row"), plural(0, "row")], ["1 row", "0 rows"]);
}
