#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int32Array, Int64Array, ListArray, MapArray, StringArray, StructArray};
use arrow::datatypes::{DataType, Field, Fields, Int64Type, Schema};
use lakerace_io::ErrorKind;

use super::TableSchema;
use crate::Constants;
use crate::FindBy;
use crate::conform::conform;
use crate::predicate::Value;

fn with_id(field: Field, id: u32) -> Field {
    field.with_metadata(HashMap::from([("PARQUET:field_id".to_owned(), id.to_string())]))
}

fn table(logical: Vec<Field>, stored: Vec<Field>, find_by: FindBy) -> TableSchema {
    TableSchema::new(Schema::new(logical), Schema::new(stored), find_by).unwrap()
}

fn names(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

#[test]
fn columns_are_found_by_stored_name_even_where_another_has_it_as_its_own() {
    // `a` was renamed to `b` and `b` to `a`.
    let logical = vec![Field::new("b", DataType::Int32, true), Field::new("a", DataType::Int32, true)];
    let stored = vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Int32, true)];
    let table = table(logical, stored, FindBy::Name);
    let file = Schema::new(vec![
        Field::new("dropped", DataType::Int32, true),
        Field::new("b", DataType::Int32, true),
        Field::new("a", DataType::Int32, true),
    ]);
    let found = table.of_file(&file, None).unwrap();
    assert_eq!(names(&found)[1..], ["a", "b"]);
    assert_ne!(names(&found)[0], "dropped");
}

#[test]
fn columns_are_found_by_id_and_files_without_ids_refused() {
    let logical = vec![Field::new("a", DataType::Int64, true)];
    let stored = vec![with_id(Field::new("col-1", DataType::Int64, true), 7)];
    let table = table(logical, stored, FindBy::Id);
    let file = Schema::new(vec![
        with_id(Field::new("col-1", DataType::Int32, true), 8),
        with_id(Field::new("other", DataType::Int32, true), 7),
    ]);
    assert_eq!(names(&table.of_file(&file, None).unwrap())[1], "a");
    let plain = Schema::new(vec![Field::new("col-1", DataType::Int64, true)]);
    assert_eq!(table.of_file(&plain, None).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn types_that_do_not_fit_are_refused_by_name() {
    let of = |table_type: DataType, file_type: DataType| {
        let field = |data_type| vec![Field::new("c", data_type, true)];
        table(field(table_type.clone()), field(table_type), FindBy::Name)
            .of_file(&Schema::new(field(file_type)), None)
            .map(drop)
    };
    let error = of(DataType::Int32, DataType::Utf8View).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("\"c\""), "{error}");
    assert!(of(DataType::Utf8, DataType::Int32).is_err());
    assert!(of(DataType::Float32, DataType::Float64).is_err());
    assert!(of(DataType::Decimal128(10, 1), DataType::Decimal128(10, 2)).is_err());
    assert!(of(DataType::Decimal128(12, 3), DataType::Decimal128(10, 2)).is_ok());
    assert!(of(DataType::Float64, DataType::Int32).is_ok());
    assert!(of(DataType::Float64, DataType::Int64).is_err());
}

#[test]
fn constants_win_over_the_columns_of_files() {
    let field = || vec![Field::new("day", DataType::Int32, true)];
    let table = table(field(), field(), FindBy::Name);
    let constants = Constants::new([(Field::new("day", DataType::Int32, true), None::<Value>)]);
    let found = table.of_file(&Schema::new(field()), Some(&constants)).unwrap();
    assert_ne!(names(&found)[0], "day");
}

#[test]
fn nested_fields_are_renamed_reordered_widened_and_filled() {
    let file_fields: Fields =
        vec![Field::new("p_y", DataType::Utf8, true), Field::new("p_x", DataType::Int32, true)].into();
    let children: Vec<ArrayRef> =
        vec![Arc::new(StringArray::from(vec!["u", "v"])), Arc::new(Int32Array::from(vec![Some(1), None]))];
    let structs = StructArray::new(file_fields.clone(), children, None);
    let item = Arc::new(Field::new("element", DataType::Struct(file_fields), true));
    let offsets = arrow::buffer::OffsetBuffer::from_lengths([2, 0]);
    let lists: ArrayRef = Arc::new(ListArray::new(item, offsets, Arc::new(structs), None));

    let fields = |x: &str, y: &str, z: &str| -> Fields {
        vec![
            Field::new(x, DataType::Int64, true),
            Field::new(y, DataType::Utf8, true),
            Field::new(z, DataType::Boolean, true),
        ]
        .into()
    };
    let list = |fields| DataType::List(Arc::new(Field::new("element", DataType::Struct(fields), true)));
    let (to, stored) = (list(fields("x", "y", "z")), list(fields("p_x", "p_y", "p_z")));
    let made = conform(&lists, &to, &stored, FindBy::Name).unwrap();
    assert_eq!(made.data_type(), &to);
    let values = made.as_list::<i32>().values().as_struct();
    assert_eq!(values.column(0).as_primitive::<Int64Type>(), &Int64Array::from(vec![Some(1), None]));
    assert_eq!(values.column(1).as_string::<i32>().value(1), "v");
    assert_eq!(values.column(2).null_count(), 2);
}

#[test]
fn maps_keep_their_entries() {
    let entries = |key: &str, value: DataType| {
        let fields: Fields = vec![Field::new(key, DataType::Utf8, false), Field::new("value", value, true)].into();
        Arc::new(Field::new("entries", DataType::Struct(fields), false))
    };
    let file = entries("k", DataType::Int32);
    let DataType::Struct(fields) = file.data_type() else { unreachable!() };
    let children: Vec<ArrayRef> =
        vec![Arc::new(StringArray::from(vec!["a", "b"])), Arc::new(Int32Array::from(vec![Some(1), None]))];
    let pairs = StructArray::new(fields.clone(), children, None);
    let offsets = arrow::buffer::OffsetBuffer::from_lengths([0, 2]);
    let maps: ArrayRef = Arc::new(MapArray::new(file, offsets, pairs, None, false));
    let to = DataType::Map(entries("key", DataType::Int64), false);
    let made = conform(&maps, &to, &to, FindBy::Name).unwrap();
    assert_eq!(made.data_type(), &to);
    assert_eq!(made.as_map().values().as_primitive::<Int64Type>(), &Int64Array::from(vec![Some(1), None]));
}

#[test]
fn a_part_of_a_column_is_the_same_part_of_what_files_have() {
    let pair = |names: [&str; 2]| {
        let fields = names.map(|name| Field::new(name, DataType::Binary, false));
        DataType::Struct(fields.to_vec().into())
    };
    let column = |names: [&str; 4]| {
        let fields = vec![
            Field::new(names[0], DataType::Int64, true),
            Field::new_list(names[1], Field::new("item", pair([names[2], names[3]]), true), true),
            Field::new("v", pair(["metadata", "value"]), true),
        ];
        Field::new("s", DataType::Struct(fields.into()), true)
    };
    let table = table(vec![column(["a", "l", "x", "y"])], vec![column(["c1", "c2", "c3", "c4"])], FindBy::Name);
    let of = |part: DataType| table.part(&Field::new("s", part, true)).unwrap();
    let one = |name: &str, data_type: DataType| DataType::Struct(vec![Field::new(name, data_type, true)].into());
    let item = |name: &str| {
        let fields = vec![Field::new(name, DataType::Binary, false)];
        DataType::List(Arc::new(Field::new("item", DataType::Struct(fields.into()), true)))
    };
    let part = of(one("l", item("y")));
    assert_eq!((part.logical, part.stored), (one("l", item("y")), one("c2", item("c4"))));
    // All of a variant is needed for any part of it.
    let part = of(one("v", one("value", DataType::Binary)));
    assert_eq!(part.stored, one("v", pair(["metadata", "value"])));
    assert!(table.part(&Field::new("t", DataType::Int64, true)).is_none());
}

#[test]
fn a_part_that_looks_like_a_variant_is_none() {
    let fields = ["metadata", "value", "typed_value"].map(|name| Field::new(name, DataType::Binary, false));
    let column = |count: usize| Field::new("s", DataType::Struct(fields[..count].to_vec().into()), true);
    let table = table(vec![column(3)], vec![column(3)], FindBy::Name);
    assert_eq!(table.part(&column(2)).unwrap().stored, *column(3).data_type());
    assert_eq!(table.part(&column(1)).unwrap().stored, *column(1).data_type());
}
