//! Fields of structs by their names behind dots: only they are read, of Parquet and ORC alike.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, ListArray, RecordBatch, StringViewArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use lakerace_format::{
    CompareOp, OrcSink, OrcSource, ParquetSink, ParquetSource, ReadRequest, Sink, Source, WriteOptions,
};
use lakerace_io::{ErrorKind, IfExists, Location, Output, StorageOptions};

use crate::common;
use crate::common::{columns, compare, greater, job, number, objects, read};

const ROWS: i64 = 3000;

fn field(name: &str, array: &ArrayRef) -> FieldRef {
    Arc::new(Field::new(name, array.data_type().clone(), true))
}

/// `id`, the struct `s` of `a`, `b` (a struct of `x` and `text`) and `items` (lists of numbers), null in every seventh row,
/// and a column whose own name has a dot.
fn table() -> RecordBatch {
    let numbers =
        |times: i64| -> ArrayRef { Arc::new(Int64Array::from_iter_values((0..ROWS).map(move |i| i * times))) };
    let text: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..ROWS).map(|i| format!("the text of row {i}"))));
    let b = StructArray::from(vec![(field("x", &numbers(2)), numbers(2)), (field("text", &text), text)]);
    let b: ArrayRef = Arc::new(b);
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let items: ArrayRef =
        Arc::new(ListArray::new(item, OffsetBuffer::from_lengths((0..ROWS).map(|_| 1)), numbers(9), None));
    let children = vec![numbers(3), Arc::clone(&b), Arc::clone(&items)];
    let fields = vec![field("a", &numbers(3)), field("b", &b), field("items", &items)];
    let nulls = (0..ROWS).map(|i| i % 7 != 3).collect::<Vec<bool>>().into();
    let s: ArrayRef = Arc::new(StructArray::new(fields.into(), children, Some(nulls)));
    RecordBatch::try_from_iter([("id", numbers(1)), ("s", s), ("s.odd", numbers(5))]).unwrap()
}

/// The table as a file of each format.
fn sources(folder: &Path) -> Vec<Box<dyn Source>> {
    let job = job(2);
    let output = |name: &str| {
        let (store, path) = Location::parse(folder.join(name).to_str().unwrap())
            .unwrap()
            .open(&StorageOptions::default(), &job)
            .unwrap();
        Output::create(&store, &path, IfExists::Error).unwrap()
    };
    let options =
        WriteOptions { compression: Some("none".parse().unwrap()), dictionary: false, ..WriteOptions::default() };
    let schema = table().schema();
    let sinks: [Box<dyn Sink>; 2] = [
        ParquetSink::create(output("a.parquet"), schema.clone(), &options, &job).unwrap(),
        OrcSink::create(output("a.orc"), schema, &options, &job).unwrap(),
    ];
    for mut sink in sinks {
        sink.write(table()).unwrap();
        sink.finish().unwrap();
    }
    let open = |name: &str| objects(&[&folder.join(name)], &job).unwrap();
    vec![
        Box::new(ParquetSource::open(open("a.parquet"), &job).unwrap()),
        Box::new(OrcSource::open(open("a.orc"), &job).unwrap()),
    ]
}

fn child<'a>(array: &'a ArrayRef, name: &str) -> &'a ArrayRef {
    array.as_struct().column_by_name(name).unwrap()
}

fn names(data_type: &DataType) -> Vec<&str> {
    let DataType::Struct(fields) = data_type else { panic!("{data_type}") };
    fields.iter().map(|field| field.name().as_str()).collect()
}

#[test]
fn fields_are_read_without_the_others() {
    let folder = tempfile::tempdir().unwrap();
    for source in sources(folder.path()) {
        let bytes = |names: &[&str]| source.plan(&columns(names)).unwrap().requests.wanted_bytes;
        assert!(bytes(&["s.a"]) * 4 < bytes(&["s"]), "{} of {}", bytes(&["s.a"]), bytes(&["s"]));
        assert!(bytes(&["s.a", "s.b.x"]) < bytes(&["s.a", "s.b"]));
        assert_eq!(bytes(&["s.a", "s.b", "s.items"]), bytes(&["s"]));
        let rows = read(source.as_ref(), &columns(&["s.b.x", "id", "s.a"])).unwrap();
        assert_eq!(rows.schema().fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>(), ["s", "id"]);
        let (ours, whole) = (rows.column(0), table().column(1).clone());
        assert_eq!(names(ours.data_type()), ["a", "b"]);
        assert_eq!(names(child(ours, "b").data_type()), ["x"]);
        assert_eq!(ours.logical_nulls(), whole.logical_nulls());
        for row in (0..ROWS as usize).filter(|row| whole.is_valid(*row)) {
            let number = |array: &ArrayRef| array.as_primitive::<Int64Type>().value(row);
            assert_eq!(number(child(ours, "a")), 3 * row as i64);
            assert_eq!(number(child(child(ours, "b"), "x")), 2 * row as i64);
        }
        let whole = read(source.as_ref(), &columns(&["s", "s.a"])).unwrap();
        assert_eq!((names(whole.column(0).data_type()).len(), names(whole.column(1).data_type())), (3, vec!["a"]));
    }
}

#[test]
fn filters_read_the_fields_that_they_need() {
    let folder = tempfile::tempdir().unwrap();
    for source in sources(folder.path()) {
        let request = ReadRequest { filter: Some(greater("s.a", 8990)), ..columns(&["s.b.text"]) };
        let plan = source.plan(&request).unwrap();
        assert!(plan.requests.wanted_bytes < source.plan(&columns(&["s"])).unwrap().requests.wanted_bytes);
        let rows = common::read_plan(source.as_ref(), &plan).unwrap();
        // Of rows 2997 to 2999 the last one is null.
        assert_eq!((rows.num_rows(), names(rows.column(0).data_type())), (2, vec!["b"]));
        let text = cast(child(child(rows.column(0), "b"), "text"), &DataType::Utf8View).unwrap();
        assert_eq!(text.as_string_view().value(0), "the text of row 2997");
        let request = ReadRequest { filter: Some(compare("s.b.x", CompareOp::Eq, number(4000))), ..columns(&["id"]) };
        assert_eq!(read(source.as_ref(), &request).unwrap().column(0).as_primitive::<Int64Type>().values(), &[2000]);
    }
}

#[test]
fn whole_names_win_and_wrong_ones_name_the_nearest() {
    let folder = tempfile::tempdir().unwrap();
    for source in sources(folder.path()) {
        let rows = read(source.as_ref(), &columns(&["s.odd"])).unwrap();
        assert_eq!(rows.column(0), table().column(2));
        let error = |name: &str| {
            let error = source.plan(&columns(&[name])).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
            error.to_string()
        };
        assert!(error("s.bb").contains("\"s.b\""), "{}", error("s.bb"));
        assert!(error("s.b.y").contains("\"s.b.x\""), "{}", error("s.b.y"));
        assert!(error("ss").contains("\"s\""), "{}", error("ss"));
        // Lists stay whole.
        assert!(error("s.items.item").contains("there is no column"), "{}", error("s.items.item"));
    }
}
