#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Date64Array, Decimal128Array, DictionaryArray, Int8Array, RecordBatch, StringArray, UInt32Array,
};
use arrow::datatypes::{DataType, Field, Fields, Int8Type, IntervalUnit, Schema, TimeUnit};
use lakerace_io::ErrorKind;

use super::StoredTable;
use crate::avro::schema::AvroType;

fn table(data_type: DataType) -> lakerace_io::Result<StoredTable> {
    StoredTable::new(&Schema::new(vec![Field::new("c", data_type, true)]))
}

fn list(data_type: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(data_type, true)))
}

fn map(key: DataType, value: DataType) -> DataType {
    let pair = Fields::from(vec![Field::new("k", key, false), Field::new("v", value, true)]);
    DataType::Map(Arc::new(Field::new("e", DataType::Struct(pair), false)), false)
}

#[test]
fn types_that_avro_lacks_are_refused_with_their_column_at_any_depth() {
    let refused = [
        (DataType::Null, "nulls only"),
        (DataType::UInt64, "decimal(20,0)"),
        (DataType::Time64(TimeUnit::Nanosecond), "microseconds"),
        (DataType::Timestamp(TimeUnit::Nanosecond, None), "microseconds"),
        (DataType::Duration(TimeUnit::Second), "bigint"),
        (DataType::Interval(IntervalUnit::MonthDayNano), "text"),
        (DataType::Struct(Fields::empty()), "omit the column"),
        (DataType::FixedSizeBinary(0), "omit the column"),
        (DataType::Decimal128(10, -2), "scale"),
        (DataType::Decimal128(3, 4), "scale"),
        (map(DataType::Int64, DataType::Int64), "keys of text"),
    ];
    for (data_type, says) in refused {
        let inner = Field::new("f", data_type.clone(), true);
        for (outer, place) in [
            (data_type.clone(), "\"c\""),
            (list(data_type.clone()), "\"c._elem\""),
            (map(DataType::Utf8, data_type.clone()), "\"c._value\""),
            (DataType::Struct(vec![inner].into()), "\"c.f\""),
            (DataType::Dictionary(Box::new(DataType::Int8), Box::new(data_type.clone())), "\"c\""),
        ] {
            let error = table(outer).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            let text = error.to_string();
            assert!(text.contains(says) && text.contains(place) && error.advice_text().is_some(), "{text}");
        }
    }
    let error = StoredTable::new(&Schema::empty()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn names_that_avro_lacks_are_refused_with_one_that_it_has() {
    for (name, proposed) in
        [("a b", "a_b"), ("1st", "_1st"), ("", "_"), ("größe", "gr__e"), ("a.b", "a_b"), ("a-b", "a_b")]
    {
        let field = Field::new(name, DataType::Int64, true);
        let within = DataType::Struct(vec![field.clone()].into());
        for schema in [Schema::new(vec![field]), Schema::new(vec![Field::new("c", within, true)])] {
            let error = StoredTable::new(&schema).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            let text = error.to_string();
            assert!(text.contains(&format!("for example to {proposed};")) && text.contains(name), "{text}");
        }
    }
    assert!(StoredTable::new(&Schema::new(vec![Field::new("_a1B", DataType::Int64, true)])).is_ok());
}

#[test]
fn schemas_are_avro_and_their_names_are_unique() {
    let nested = DataType::Struct(Fields::from(vec![
        Field::new("s", DataType::Struct(vec![Field::new("s", DataType::FixedSizeBinary(2), false)].into()), true),
        Field::new("t", list(DataType::FixedSizeBinary(2)), true),
        Field::new(
            "m",
            map(DataType::Utf8View, DataType::Timestamp(TimeUnit::Second, Some("Europe/Berlin".into()))),
            false,
        ),
    ]));
    let table = table(nested).unwrap();
    let parsed = AvroType::parse(&table.text).unwrap();
    let instants =
        AvroType::Map(Box::new(AvroType::Nullable(true, Box::new(AvroType::Long(Some("timestamp-millis"))))));
    let AvroType::Nullable(true, record) = &parsed[0].1 else { panic!("{parsed:?}") };
    let AvroType::Record(fields) = record.as_ref() else { panic!("{record:?}") };
    assert_eq!(fields[2], ("m".to_owned(), instants));
    for name in ["type1_c", "type2_s", "type3_s", "type4__elem"] {
        assert_eq!(table.text.matches(&format!("\"name\":\"{name}\"")).count(), 1, "{}", table.text);
    }
}

#[test]
fn values_are_cast_without_a_loss() {
    let texts: DictionaryArray<Int8Type> = vec![Some("a"), None, Some("a")].into_iter().collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("small", Arc::new(Int8Array::from(vec![-128, 0, 127]))),
        ("whole", Arc::new(UInt32Array::from(vec![0, 1, u32::MAX]))),
        ("texts", Arc::new(texts)),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true))).unwrap();
    let table = StoredTable::new(&batch.schema()).unwrap();
    let rows = table.rows(&batch, 1).unwrap();
    let types: Vec<_> = rows.columns().iter().map(|column| column.data_type().clone()).collect();
    assert_eq!(types, [DataType::Int32, DataType::Int64, DataType::Utf8]);
    assert_eq!(
        rows.column(2).as_ref(),
        &StringArray::from(vec![Some("a"), None, Some("a")]) as &dyn arrow::array::Array
    );
}

#[test]
fn dates_with_a_time_are_refused() {
    let dates = Date64Array::from(vec![Some(86_400_000), None, Some(-1)]);
    let batch = RecordBatch::try_from_iter([("d", Arc::new(dates) as ArrayRef)]).unwrap();
    let table = StoredTable::new(&batch.schema()).unwrap();
    assert_eq!(table.rows(&batch.slice(0, 2), 1).unwrap().column(0).data_type(), &DataType::Date32);
    let error = table.rows(&batch, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("column \"d\": the date64 value -1 ms"), "{error}");
}

#[test]
fn decimals_with_too_many_digits_are_refused() {
    let long = Decimal128Array::from(vec![99, 100]).with_precision_and_scale(2, 0).unwrap();
    let batch = RecordBatch::try_from_iter([("d", Arc::new(long) as ArrayRef)]).unwrap();
    let error = StoredTable::new(&batch.schema()).unwrap().rows(&batch, 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("column \"d\""), "{error}");
}
