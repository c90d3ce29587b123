#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{ArrayRef, IntervalDayTimeArray, IntervalMonthDayNanoArray, IntervalYearMonthArray, ListArray};
use arrow::datatypes::{IntervalDayTime, IntervalMonthDayNano, IntervalMonthDayNanoType};
use lakerace_io::ErrorKind;

use super::{check_intervals, interval_bytes};

fn one(months: i32, days: i32, nanoseconds: i64) -> ArrayRef {
    Arc::new(IntervalMonthDayNanoArray::from(vec![Some(IntervalMonthDayNano::new(months, days, nanoseconds))]))
}

#[test]
fn parts_stand_one_after_the_other_whatever_the_unit() {
    let bytes = interval_bytes(&one(14, 3, 4_000_000_000)).unwrap();
    assert_eq!(bytes.as_slice(), [14, 0, 0, 0, 3, 0, 0, 0, 0xa0, 0x0f, 0, 0]);
    let longest = one(i32::MAX, i32::MAX, i64::from(u32::MAX) * 1_000_000);
    assert_eq!(interval_bytes(&longest).unwrap()[8..], [255; 4]);
    let months: ArrayRef = Arc::new(IntervalYearMonthArray::from(vec![Some(7), None]));
    assert_eq!(interval_bytes(&months).unwrap().as_slice(), [&[7][..], &[0; 23]].concat());
    let days: ArrayRef = Arc::new(IntervalDayTimeArray::from(vec![IntervalDayTime::new(2, 5)]));
    assert_eq!(interval_bytes(&days).unwrap().as_slice(), [0, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0]);
}

#[test]
fn what_would_be_lost_is_refused_by_value() {
    let day_time: ArrayRef = Arc::new(IntervalDayTimeArray::from(vec![IntervalDayTime::new(0, -5)]));
    let year_month: ArrayRef = Arc::new(IntervalYearMonthArray::from(vec![-1]));
    let wrong =
        [one(-1, 0, 0), one(0, -3, 0), one(0, 0, -1_000_000), one(0, 0, 1), one(0, 0, 1 << 62), day_time, year_month];
    for array in wrong {
        let error = interval_bytes(&array).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("can't be stored in Parquet"), "{error}");
        check_intervals(array.as_ref()).unwrap_err();
    }
}

#[test]
fn intervals_within_lists_are_checked() {
    let list = |nanoseconds| {
        let values = vec![Some(vec![Some(IntervalMonthDayNano::new(0, 1, nanoseconds)), None])];
        ListArray::from_iter_primitive::<IntervalMonthDayNanoType, _, _>(values)
    };
    check_intervals(&list(1_000_000)).unwrap();
    check_intervals(&list(-1_000_000)).unwrap_err();
}
