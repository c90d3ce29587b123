#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, ListArray, StructArray, TimestampMicrosecondArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, TimeUnit, TimestampMicrosecondType};

use super::{nan_as_null, whole_milliseconds};

#[test]
fn nan_is_null_and_infinities_stay() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![Some(f64::NAN), None, Some(f64::INFINITY), Some(-0.0)]));
    let kept = nan_as_null(&floats).unwrap();
    let expected = Float64Array::from(vec![None, None, Some(f64::INFINITY), Some(-0.0)]);
    assert_eq!(kept.as_primitive(), &expected);
}

#[test]
fn times_are_cut_wherever_they_are() {
    let utc = || DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let times = TimestampMicrosecondArray::from(vec![Some(1_999), None, Some(-1), Some(5_000)]).with_timezone("UTC");
    let cut = TimestampMicrosecondArray::from(vec![Some(1_000), None, Some(-1_000), Some(5_000)]).with_timezone("UTC");
    let item = Arc::new(Field::new("item", utc(), true));
    let list = ListArray::new(item, OffsetBuffer::new(vec![0, 1, 4].into()), Arc::new(times), None);
    let field = Arc::new(Field::new("list", list.data_type().clone(), true));
    let nested: ArrayRef = Arc::new(StructArray::from(vec![(field, Arc::new(list) as ArrayRef)]));
    for (nested, expected) in [(nested.clone(), cut.clone()), (nested.slice(1, 1), cut.slice(1, 3))] {
        let kept = whole_milliseconds(&nested).unwrap();
        let list = kept.as_struct().column(0).as_list::<i32>();
        let (first, last) = (list.offsets()[0] as usize, list.offsets()[list.len()] as usize);
        let values = list.values().slice(first, last - first);
        assert_eq!(values.as_primitive::<TimestampMicrosecondType>(), &expected);
    }
}
