#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, Int64Array, StringArray, StructArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Fields};
use lakerace_io::ErrorKind;
use parquet_variant_compute::{VariantArray, json_to_variant, shred_variant, variant_to_json};

use super::is_variant;
use crate::FindBy;
use crate::conform::{check, conform};

fn stored() -> Fields {
    ["metadata", "value"].into_iter().map(|name| Field::new(name, DataType::Binary, false)).collect()
}

fn in_table(array: &ArrayRef, find_by: FindBy) -> lakerace_io::Result<ArrayRef> {
    let to = DataType::Struct(stored());
    check(array.data_type(), &to, &to, find_by)?;
    conform(array, &to, &to, find_by)
}

fn texts(array: &dyn Array) -> Vec<Option<String>> {
    let variants: ArrayRef = Arc::new(VariantArray::try_new(array).unwrap().into_inner());
    let texts = variant_to_json(&variants).unwrap();
    texts.iter().map(|text| text.map(str::to_owned)).collect()
}

#[test]
fn parts_of_a_type_are_put_together_again() {
    let rows = [
        Some(r#"{"a":1,"b":"x"}"#),
        Some(r#"{"a":"not a number","c":[1,2.5,null]}"#),
        None,
        Some(r#"{"b":"y"}"#),
        Some("17"),
        Some("null"),
        Some(r#"{"a":9007199254740993,"b":null,"d":{"a":true}}"#),
    ];
    let plain = json_to_variant(&(Arc::new(StringArray::from(rows.to_vec())) as ArrayRef)).unwrap();
    let parts = Fields::from(vec![Field::new("a", DataType::Int64, true), Field::new("b", DataType::Utf8, true)]);
    for parts in [DataType::Struct(parts), DataType::Int64] {
        let shredded: ArrayRef = Arc::new(shred_variant(&plain, &parts).unwrap().into_inner());
        assert!(shredded.as_struct().column_by_name("typed_value").is_some());
        for find_by in [FindBy::Name, FindBy::Id] {
            let read = in_table(&shredded, find_by).unwrap();
            assert_eq!(texts(&read), rows.map(|row| row.map(str::to_owned)));
            assert_eq!(read.data_type(), &DataType::Struct(stored()));
        }
    }
    let plain: ArrayRef = Arc::new(plain.into_inner());
    assert_eq!(texts(&in_table(&plain, FindBy::Id).unwrap()), rows.map(|row| row.map(str::to_owned)));
}

/// Numbers that are stored as such, without a column for other values.
fn numbers(metadata: &[u8], numbers: Vec<Option<i64>>) -> ArrayRef {
    let metadata: ArrayRef = Arc::new(BinaryArray::from_iter_values(numbers.iter().map(|_| metadata)));
    let nulls = NullBuffer::from(vec![true; numbers.len()]);
    let fields =
        vec![Field::new("metadata", DataType::Binary, false), Field::new("typed_value", DataType::Int64, true)];
    Arc::new(StructArray::new(fields.into(), vec![metadata, Arc::new(Int64Array::from(numbers))], Some(nulls)))
}

#[test]
fn bytes_are_those_of_the_specification() {
    // Of version 1 and without names; an int64 is primitive type 6, in the upper six bits of its header.
    let read = in_table(&numbers(&[1, 0, 0], vec![Some(-2), None]), FindBy::Name).unwrap();
    let values = read.as_struct().column(1).as_binary::<i32>();
    assert_eq!(values.value(0), [[6 << 2].as_slice(), &(-2i64).to_le_bytes()].concat());
    // What is in no column is the null of variants, a value like others.
    assert_eq!(values.value(1), [0]);
    assert_eq!(read.null_count(), 0);
}

#[test]
fn damaged_variants_are_errors() {
    for metadata in [[].as_slice(), &[9, 0, 0], &[1, 200, 0]] {
        let error = in_table(&numbers(metadata, vec![Some(1)]), FindBy::Name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{metadata:?}: {error}");
    }
}

#[test]
fn structs_of_other_fields_are_no_variants() {
    assert!(is_variant(&stored()));
    let nullable: Fields = stored().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
    assert!(!is_variant(&nullable));
    let renamed: Fields = stored().iter().map(|field| field.as_ref().clone().with_name("x")).collect();
    assert!(!is_variant(&renamed));
    let three: Fields = stored().iter().cloned().chain([Arc::new(Field::new("z", DataType::Binary, false))]).collect();
    assert!(!is_variant(&three));
}
