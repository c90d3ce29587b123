//! Times and days of any year by ORC Java 1.9.5, in two zones, by the calendar that changed in 1582 and by the proleptic one:
//! the rows are the clock and the calendar that the writer showed.
//!
//! The files hold the texts below as `timestamp` (`t`), as `timestamp with local time zone` (`i`) and the days of them (`d`).

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::TimeUnit;
use arrow::util::display::array_value_to_string;
use lakerace_orc::read::{Bounds, ReadOptions};

use crate::common;

const WRITTEN: [&str; 9] = [
    "0001-01-03T12:34:56.123456",
    "1500-02-28T01:02:03.500",
    "1582-10-04T23:59:59",
    "1582-10-15T00:00:00",
    // Java's zones begin in 1900.
    "1850-06-01T12:00:00.000001",
    "1899-12-31T23:00:00",
    "1920-07-01T12:00:00",
    "2020-07-01T12:00:00.999999",
    "2300-01-01T00:00:00",
];

fn texts(array: &ArrayRef) -> Vec<String> {
    (0..array.len()).map(|row| array_value_to_string(array, row).unwrap()).collect()
}

#[test]
fn the_writers_clock_and_calendar_are_kept() {
    let files = common::files(&common::fixtures().join("java"));
    assert_eq!(files.len(), 4);
    for (name, file) in files {
        let options = ReadOptions { timestamp_unit: TimeUnit::Microsecond, ..ReadOptions::default() };
        let batches = common::read(&file, &options).unwrap();
        let batch = &batches[0];
        assert_eq!(texts(batch.column(0)), WRITTEN, "{name}");
        assert_eq!(texts(batch.column(2)), WRITTEN.map(|text| &text[..10]), "{name}");
        let instants: Vec<i64> = batch.column(1).to_data().buffers()[0].typed_data::<i64>().to_vec();
        let hours = if name.starts_with("Berlin") { [-1, -1, -2] } else { [8, 8, 7] };
        let clocks =
            [1_850, 1_899, 2_020].map(|year| WRITTEN.iter().position(|t| t.starts_with(&year.to_string())).unwrap());
        let walls: Vec<i64> = batch.column(0).to_data().buffers()[0].typed_data::<i64>().to_vec();
        assert_eq!(clocks.map(|row| (instants[row] - walls[row]) / 3_600_000_000), hours, "{name}");
        let tail = common::tail(&file).unwrap();
        let Bounds::Timestamp(min, max) = tail.statistics(1).unwrap().bounds else { panic!("{name}: no bounds") };
        let (least, most) = (i128::from(walls[0]) * 1000, i128::from(walls[8]) * 1000);
        assert!(min <= least && most <= max, "{name}: {min} to {max}, not {least} to {most}");
    }
}
