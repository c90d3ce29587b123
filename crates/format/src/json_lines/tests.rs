#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, Date32Array, DurationSecondArray, FixedSizeListArray, Float64Array, Int64Array, Int64Builder,
    ListArray, MapBuilder, RecordBatch, StringBuilder, StructArray, Time32SecondArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{Field, Fields, Float64Type};
use lakerace_io::ErrorKind;

use super::JsonLines;

/// Maps of these keys.
fn maps(rows: &[&[&str]]) -> ArrayRef {
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    for (row, keys) in rows.iter().enumerate() {
        for key in *keys {
            maps.keys().append_value(key);
            maps.values().append_value(row as i64);
        }
        maps.append(true).unwrap();
    }
    Arc::new(maps.finish())
}

fn encode(column: ArrayRef) -> lakerace_io::Result<String> {
    let batch = RecordBatch::try_from_iter_with_nullable([("v", column, true)]).unwrap();
    let lines = JsonLines::new(&batch.schema())?.encode(&batch, 1)?;
    Ok(String::from_utf8(lines).unwrap())
}

fn within(column: ArrayRef) -> ArrayRef {
    let fields = Fields::from(vec![Field::new("x", column.data_type().clone(), true)]);
    Arc::new(StructArray::new(fields, vec![column], None))
}

#[test]
fn values_without_a_text_are_refused_at_every_level() {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(TimestampMicrosecondArray::from(vec![Some(0), None, Some(i64::MAX)])),
        Arc::new(TimestampMicrosecondArray::from(vec![i64::MIN]).with_timezone("UTC")),
        Arc::new(Date32Array::from(vec![0, i32::MAX])),
        Arc::new(Time32SecondArray::from(vec![-1])),
        Arc::new(DurationSecondArray::from(vec![i64::MAX])),
        Arc::new(Float64Array::from(vec![1.0, f64::NAN])),
        Arc::new(Float64Array::from(vec![f64::INFINITY])),
        Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>([Some(vec![Some(f64::NEG_INFINITY)])])),
    ];
    for column in columns {
        for column in [Arc::clone(&column), within(column)] {
            let kind = column.data_type().clone();
            let error = encode(column).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{kind}");
            assert!(error.to_string().contains("column \"v\""), "{kind}: {error}");
        }
    }
}

#[test]
fn ordinary_values_and_nulls_are_written() {
    let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![Some(0), None]));
    assert_eq!(encode(Arc::clone(&times)).unwrap(), "{\"v\":\"1970-01-01T00:00:00\"}\n{\"v\":null}\n");
    assert_eq!(encode(within(times)).unwrap(), "{\"v\":{\"x\":\"1970-01-01T00:00:00\"}}\n{\"v\":{\"x\":null}}\n");
    assert_eq!(encode(Arc::new(DurationSecondArray::from(vec![90]))).unwrap(), "{\"v\":\"PT90S\"}\n");
    assert_eq!(encode(Arc::new(Date32Array::from(vec![None, None]))).unwrap(), "{\"v\":null}\n{\"v\":null}\n");
    assert_eq!(encode(Arc::new(Int64Array::from(Vec::<i64>::new()))).unwrap(), "");
}

#[test]
fn a_map_with_a_key_twice_is_refused_at_every_level() {
    let twice = maps(&[&["x", "x"], &["a", "b"], &[], &["b", "a", "b"]]);
    // A row that is cut off is no row of the column.
    let twice = twice.slice(1, 3);
    let field = || Arc::new(Field::new("item", twice.data_type().clone(), true));
    let offsets = arrow::buffer::OffsetBuffer::from_lengths([1, 0, 2]);
    let list: ArrayRef = Arc::new(ListArray::new(field(), offsets, Arc::clone(&twice), None));
    let fixed: ArrayRef = Arc::new(FixedSizeListArray::new(field(), 1, Arc::clone(&twice), None));
    for column in [Arc::clone(&twice), within(Arc::clone(&twice)), list, fixed] {
        let kind = column.data_type().clone();
        let error = encode(column).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{kind}");
        let says = error.to_string();
        assert!(says.contains("column \"v\": the map of row 3 has the key \"b\" twice"), "{kind}: {says}");
    }
    assert_eq!(encode(twice.slice(0, 2)).unwrap(), "{\"v\":{\"a\":1,\"b\":1}}\n{\"v\":{}}\n");
}
