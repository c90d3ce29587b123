#![allow(clippy::unwrap_used, reason = "a test may panic")]

use arrow::array::{Array, ArrayRef, Int64Array, ListArray, StringArray, StructArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, Fields, Int64Type};
use lakerace_format::MAX_NESTING;
use lakerace_io::ErrorKind;

use super::*;

fn flatten(separator: &str) -> ColumnNesting {
    ColumnNesting::from_options(Some(separator.to_owned()), None).unwrap()
}

fn unflatten(separator: &str) -> ColumnNesting {
    ColumnNesting::from_options(None, Some(separator.to_owned())).unwrap()
}

fn integers(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(values.iter().copied().collect::<Int64Array>())
}

fn nested(fields: Vec<(&str, ArrayRef)>, valid: &[bool]) -> ArrayRef {
    let (fields, arrays): (Vec<_>, Vec<_>) =
        fields.into_iter().map(|(name, array)| (Field::new(name, array.data_type().clone(), true), array)).unzip();
    Arc::new(StructArray::try_new(fields.into(), arrays, Some(NullBuffer::from(valid.to_vec()))).unwrap())
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn changed(nesting: &ColumnNesting, batch: &RecordBatch) -> RecordBatch {
    let batches = Batches::new(batch.schema(), std::iter::once(Ok(batch.clone())));
    let changed = nesting.batches(batches).unwrap().collect::<Result<Vec<_>>>().unwrap().pop().unwrap();
    assert_eq!(changed.schema(), nesting.schema(&batch.schema()).unwrap());
    changed
}

fn schema(fields: Vec<Field>) -> SchemaRef {
    Arc::new(Schema::new(fields))
}

fn text(name: &str) -> Field {
    Field::new(name, DataType::Utf8, true)
}

fn of(name: &str, fields: Vec<Field>) -> Field {
    Field::new(name, DataType::Struct(fields.into()), true)
}

fn names(schema: &Schema) -> Vec<&str> {
    schema.fields().iter().map(|field| field.name().as_str()).collect()
}

/// The message of a schema that can't be changed.
fn refused(nesting: &ColumnNesting, fields: Vec<Field>) -> String {
    let error = nesting.schema(&schema(fields)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    error.message().to_owned()
}

fn user() -> RecordBatch {
    let city: ArrayRef = Arc::new(StringArray::from(vec![Some("Rome"), Some("Bonn"), Some("Oslo"), None]));
    let address =
        nested(vec![("city", city), ("zip", integers(&[Some(1), None, Some(3), None]))], &[true, true, false, false]);
    let user = nested(
        vec![("age", integers(&[Some(30), None, Some(50), None])), ("address", address)],
        &[true, false, true, false],
    );
    batch(vec![("id", integers(&[Some(1), Some(2), Some(3), Some(4)])), ("user", user), ("z", integers(&[None; 4]))])
}

#[test]
fn fields_of_structs_take_their_place() {
    let city: ArrayRef = Arc::new(StringArray::from(vec![Some("Rome"), None, None, None]));
    let expected = batch(vec![
        ("id", integers(&[Some(1), Some(2), Some(3), Some(4)])),
        ("user.age", integers(&[Some(30), None, Some(50), None])),
        ("user.address.city", city),
        ("user.address.zip", integers(&[Some(1), None, None, None])),
        ("z", integers(&[None; 4])),
    ]);
    let flat = changed(&flatten("."), &user());
    assert_eq!(flat, expected);
    assert_eq!(
        names(&changed(&flatten("__"), &user()).schema()),
        ["id", "user__age", "user__address__city", "user__address__zip", "z"]
    );
    // A struct whose fields are all null is null.
    assert_eq!(changed(&flatten("."), &changed(&unflatten("."), &flat)), expected);
    let user = changed(&unflatten("."), &flat).column(1).clone();
    assert_eq!((0..4).map(|row| user.is_null(row)).collect::<Vec<_>>(), [false, true, false, true]);
}

#[test]
fn slices_keep_their_rows() {
    let (all, nesting) = (user(), flatten("."));
    for (at, rows) in [(0, 0), (1, 2), (3, 1)] {
        let flat = changed(&nesting, &all.slice(at, rows));
        assert_eq!(flat, changed(&nesting, &all).slice(at, rows));
        assert_eq!(changed(&nesting, &changed(&unflatten("."), &flat)), flat);
    }
}

#[test]
fn only_a_struct_with_nullable_fields_can_be_null() {
    let required = || Field::new("a", DataType::Int64, false);
    let nullable_of_required = schema(vec![Field::new("s", DataType::Struct(vec![required()].into()), true)]);
    let flat = flatten(".").schema(&nullable_of_required).unwrap();
    assert_eq!(flat.fields().to_vec(), [Arc::new(Field::new("s.a", DataType::Int64, true))]);
    let required = schema(vec![Field::new("s", DataType::Struct(vec![required(), text("b")].into()), false)]);
    let flat = flatten(".").schema(&required).unwrap();
    assert!(!flat.field(0).is_nullable() && flat.field(1).is_nullable());
    assert_eq!(unflatten(".").schema(&flat).unwrap(), required);
}

#[test]
fn lists_maps_and_extension_types_stay() {
    let list = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1)])]);
    let item = Arc::new(Field::new_list_field(DataType::Struct(vec![text("a")].into()), true));
    let extension = of("v", vec![text("a")]).with_metadata([("ARROW:extension:name".to_owned(), "x".to_owned())]);
    let fields =
        vec![Field::new("l", list.data_type().clone(), true), Field::new("m", DataType::List(item), true), extension];
    let source = schema(fields);
    assert_eq!(flatten(".").schema(&source).unwrap(), source);
    assert!(NestedProjection::new(&flatten("."), &source).unwrap().is_none());
    assert!(NestedProjection::new(&unflatten("."), &source).unwrap().is_none());
    assert!(NestedProjection::new(&ColumnNesting::Unchanged, &source).unwrap().is_none());
}

#[test]
fn structs_without_fields_are_left_out() {
    let empty = Field::new("e", DataType::Struct(Fields::empty()), true);
    let source = schema(vec![empty.clone(), text("a"), of("s", vec![empty])]);
    assert_eq!(names(&flatten(".").schema(&source).unwrap()), ["a"]);
}

#[test]
fn columns_with_one_name_are_refused() {
    assert_eq!(
        refused(&flatten("."), vec![of("a", vec![of("b", vec![text("c")])]), text("a.b.c")]),
        "`flatten`: two columns would have the name \"a.b.c\": \"c\" of \"b\" of \"a\", and \"a.b.c\""
            .replace("`flatten`", &FLATTEN.to_string())
    );
    assert!(
        refused(&flatten("_"), vec![of("a_b", vec![text("c")]), of("a", vec![text("b_c")])])
            .contains("\"b_c\" of \"a\"")
    );
    // They are two in the source.
    let twice = schema(vec![text("a"), text("a"), of("s", vec![text("b")])]);
    assert_eq!(names(&flatten(".").schema(&twice).unwrap()), ["a", "a", "s.b"]);

    for fields in [vec![text("a"), text("a.b")], vec![text("a.b"), text("a")], vec![of("a", vec![]), text("a.b")]] {
        assert!(refused(&unflatten("."), fields).ends_with("column \"a\" can't be the struct of column \"a.b\", too"));
    }
    assert!(refused(&unflatten("."), vec![text("x.a.b"), text("x.a")]).contains("column \"x.a\" can't be the struct"));
    assert!(
        refused(&unflatten("."), vec![text("x.a"), text("y"), text("x.a")])
            .ends_with("two columns have the name \"x.a\"")
    );
}

#[test]
fn a_name_with_an_empty_part_stays() {
    let source = schema([".", "No.", "a..b", "Art. Nr.", ".x", "a.b"].into_iter().map(text).collect());
    let result = unflatten(".").schema(&source).unwrap();
    assert_eq!(names(&result), [".", "No.", "a..b", "Art. Nr.", ".x", "a"]);
}

#[test]
fn fields_are_grouped_at_the_first_of_them() {
    let source = schema(["a.x", "b", "a.y.z", "c.d", "a.w", "a.y.v"].into_iter().map(text).collect());
    let expected = schema(vec![
        of("a", vec![text("x"), of("y", vec![text("z"), text("v")]), text("w")]),
        text("b"),
        of("c", vec![text("d")]),
    ]);
    assert_eq!(unflatten(".").schema(&source).unwrap(), expected);
    let projection = NestedProjection::new(&unflatten("."), &source).unwrap().unwrap();
    assert_eq!(projection.sources(&["c".to_owned(), "a".to_owned()]), ["a.x", "a.y.z", "c.d", "a.w", "a.y.v"]);
    assert!(projection.keeps("b") && !projection.keeps("a") && !projection.keeps("c.d"));
    let back = NestedProjection::new(&flatten("."), &expected).unwrap().unwrap();
    assert_eq!(back.sources(&["a.y.v".to_owned(), "b".to_owned()]), ["a", "b"]);
    assert!(back.keeps("b") && !back.keeps("a.x"));
}

#[test]
fn the_depth_is_bounded() {
    let deep = |levels: usize| (0..levels).fold(text("leaf"), |inner, _| of("s", vec![inner]));
    let flat = flatten(".").schema(&schema(vec![deep(MAX_NESTING)])).unwrap();
    assert_eq!(flat.field(0).name(), &format!("{}leaf", "s.".repeat(MAX_NESTING)));
    assert_eq!(flatten(".").schema(&schema(vec![deep(MAX_NESTING + 1)])).unwrap_err().kind(), ErrorKind::Unsupported);
    let parts = |count: usize| schema(vec![text(&vec!["s"; count].join("."))]);
    assert!(unflatten(".").schema(&parts(MAX_NESTING)).is_ok());
    for count in [MAX_NESTING + 2, 100_000] {
        assert_eq!(unflatten(".").schema(&parts(count)).unwrap_err().kind(), ErrorKind::Unsupported);
    }
}

#[test]
fn options_are_checked() {
    let error = |flatten: Option<&str>, unflatten: Option<&str>| {
        ColumnNesting::from_options(flatten.map(str::to_owned), unflatten.map(str::to_owned)).unwrap_err().kind()
    };
    assert_eq!(error(Some("."), Some("_")), ErrorKind::Usage);
    assert_eq!(error(Some(""), None), ErrorKind::Usage);
    assert_eq!(error(None, Some("")), ErrorKind::Usage);
    assert_eq!(ColumnNesting::from_options(None, None).unwrap(), ColumnNesting::Unchanged);
}

#[test]
fn text_that_becomes_structs_has_the_types_of_their_fields() {
    let target = schema(vec![text("id"), of("user", vec![text("name"), Field::new("age", DataType::Int32, false)])]);
    let fields = |nesting: ColumnNesting| {
        nesting.source_fields(&target).iter().map(|field| field.name().clone()).collect::<Vec<_>>()
    };
    assert_eq!(fields(unflatten("_")), ["id", "user_name", "user_age"]);
    assert_eq!(fields(flatten("_")), ["id", "user"]);
}
