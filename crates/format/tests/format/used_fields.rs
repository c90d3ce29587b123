//! Fields of structs that a caller uses, also within lists and maps: only they are read, and their values are those of a whole read.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Int32Array, Int64Array, ListArray, MapArray, RecordBatch, StringArray, StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema};
use arrow::util::display::array_value_to_string;
use lakerace_format::{
    ColumnUnion, DeletedRows, Expr, FindBy, InputFile, OrcSink, OrcSource, ParquetOptions, ParquetSink, ParquetSource,
    ReadPlan, ReadRequest, Sink, Source, TableSchema, WriteOptions,
};
use lakerace_io::{IfExists, Location, Output, StorageOptions};

use crate::common;
use crate::common::{columns, greater, job, objects, read};

const ROWS: i64 = 2000;

fn numbers(count: i64) -> ArrayRef {
    Arc::new((0..count).map(|n| (n % 5 != 1).then_some(n * 3)).collect::<Int64Array>())
}

fn texts(count: i64) -> ArrayRef {
    Arc::new((0..count).map(|n| (n % 6 != 2).then(|| format!("a rather long text for {n}"))).collect::<StringArray>())
}

fn nullable(name: &str, array: &ArrayRef) -> FieldRef {
    Arc::new(Field::new(name, array.data_type().clone(), true))
}

/// A struct of each row, null in each `every`th.
fn structs(children: Vec<(&str, ArrayRef)>, every: usize) -> ArrayRef {
    let rows = children[0].1.len();
    let fields: Fields = children.iter().map(|(name, child)| nullable(name, child)).collect();
    let nulls = NullBuffer::from((0..rows).map(|row| row % every != every - 1).collect::<Vec<bool>>());
    Arc::new(StructArray::new(fields, children.into_iter().map(|(_, child)| child).collect(), Some(nulls)))
}

/// As many items as a row has: 0 to 3.
fn lengths() -> Vec<usize> {
    (0..ROWS as usize).map(|row| row % 4).collect()
}

fn items() -> i64 {
    lengths().iter().sum::<usize>() as i64
}

/// Lists, null in each 8th row.
fn lists(values: ArrayRef) -> ArrayRef {
    let nulls = NullBuffer::from((0..ROWS).map(|row| row % 8 != 4).collect::<Vec<bool>>());
    let offsets = OffsetBuffer::from_lengths(lengths());
    Arc::new(ListArray::new(nullable("item", &values), offsets, values, Some(nulls)))
}

fn maps(values: ArrayRef) -> ArrayRef {
    let keys: ArrayRef = Arc::new(StringArray::from_iter_values((0..values.len()).map(|n| format!("key {n}"))));
    let fields =
        Fields::from(vec![Field::new("key", DataType::Utf8, false), nullable("value", &values).as_ref().clone()]);
    let entries = StructArray::new(fields, vec![keys, values], None);
    let field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
    let nulls = NullBuffer::from((0..ROWS).map(|row| row % 8 != 4).collect::<Vec<bool>>());
    Arc::new(MapArray::new(field, OffsetBuffer::from_lengths(lengths()), entries, Some(nulls), false))
}

/// `id`; the struct `s` of `a`, the struct `b` of `x` and `text`, and the list `items`; the list `l`, and the map `m`, of structs.
fn table() -> RecordBatch {
    let pair = |count: i64, every| structs(vec![("x", numbers(count)), ("text", texts(count))], every);
    let item = |count: i64| structs(vec![("q", numbers(count)), ("w", texts(count)), ("deep", pair(count, 5))], 9);
    let s = structs(
        vec![("text", texts(ROWS)), ("a", numbers(ROWS)), ("b", pair(ROWS, 4)), ("items", lists(item(items())))],
        7,
    );
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
    let (l, m) = (lists(item(items())), maps(item(items())));
    RecordBatch::try_from_iter([("id", id), ("s", s), ("l", l), ("m", m)]).unwrap()
}

fn output(path: &Path) -> Output {
    let (store, path) =
        Location::parse(path.to_str().unwrap()).unwrap().open(&StorageOptions::default(), &job(2)).unwrap();
    Output::create(&store, &path, IfExists::Error).unwrap()
}

fn write(path: &Path, batch: &RecordBatch) {
    let options =
        WriteOptions { compression: Some("none".parse().unwrap()), dictionary: false, ..WriteOptions::default() };
    let (output, schema, job) = (output(path), batch.schema(), job(2));
    let mut sink: Box<dyn Sink> = match path.extension().unwrap().to_str() {
        Some("orc") => OrcSink::create(output, schema, &options, &job).unwrap(),
        _ => ParquetSink::create(output, schema, &options, &job).unwrap(),
    };
    sink.write(batch.clone()).unwrap();
    sink.finish().unwrap();
}

fn parquet(paths: &[&Path]) -> ParquetSource {
    ParquetSource::open(objects(paths, &job(2)).unwrap(), &job(2)).unwrap()
}

/// The table as a file of each format.
fn sources(folder: &Path) -> Vec<Box<dyn Source>> {
    let (a, b) = (folder.join("a.parquet"), folder.join("a.orc"));
    write(&a, &table());
    write(&b, &table());
    vec![Box::new(parquet(&[&a])), Box::new(OrcSource::open(objects(&[&b], &job(2)).unwrap(), &job(2)).unwrap())]
}

/// A read of some columns, and of one of them the fields at these paths.
fn used(names: &[&str], column: &str, paths: &[&str]) -> ReadRequest {
    let path = |path: &&str| path.split('.').map(str::to_owned).collect();
    let fields = [(column.to_owned(), paths.iter().map(path).collect())].into();
    ReadRequest { fields, ..columns(names) }
}

/// A value without the fields that a type lacks; those that the array lacks are null.
fn text(array: &ArrayRef, row: usize, to: &DataType) -> String {
    if array.is_null(row) {
        return "null".to_owned();
    }
    let all = |items: &ArrayRef, to: &Field| {
        let items = (0..items.len()).map(|item| text(items, item, to.data_type())).collect::<Vec<_>>();
        format!("[{}]", items.join(", "))
    };
    match (array.data_type(), to) {
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let child = |field: &FieldRef| match array.as_struct().column_by_name(field.name()) {
                Some(child) => format!("{}: {}", field.name(), text(child, row, field.data_type())),
                None => format!("{}: null", field.name()),
            };
            format!("{{{}}}", fields.iter().map(child).collect::<Vec<_>>().join(", "))
        }
        (DataType::List(_), DataType::List(item)) => all(&array.as_list::<i32>().value(row), item),
        (DataType::Map(..), DataType::Map(entries, _)) => {
            let DataType::Struct(pair) = entries.data_type() else { panic!("{entries}") };
            let found = array.as_map().value(row);
            let (keys, values) = (found.column(0), found.column(1));
            format!("{} to {}", all(keys, &pair[0]), all(values, &pair[1]))
        }
        _ => array_value_to_string(array, row).unwrap(),
    }
}

/// Reads a request by the parts of a plan that was written and read back, and holds its first column against that of whole rows.
fn check(source: &dyn Source, request: &ReadRequest, whole: &ArrayRef) -> ArrayRef {
    let plan = source.plan(request).unwrap();
    let plan: ReadPlan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    let rows = common::read_plan(source, &plan).unwrap();
    let ours = Arc::clone(rows.column(0));
    assert_eq!(ours.data_type(), plan.schema.field(0).data_type());
    assert_eq!(ours.len(), whole.len());
    for row in 0..ours.len() {
        let (found, wanted) = (text(&ours, row, ours.data_type()), text(whole, row, ours.data_type()));
        assert_eq!(found, wanted, "row {row} of {request:?}");
    }
    ours
}

/// A type in few words.
fn shape(data_type: &DataType) -> String {
    match data_type {
        DataType::Struct(fields) => {
            let field = |field: &FieldRef| match field.data_type().is_nested() {
                true => format!("{}{}", field.name(), shape(field.data_type())),
                false => field.name().clone(),
            };
            format!("<{}>", fields.iter().map(field).collect::<Vec<_>>().join(","))
        }
        DataType::List(item) => format!("[{}]", shape(item.data_type())),
        DataType::Map(entries, _) => shape(entries.data_type()),
        other => other.to_string(),
    }
}

#[test]
fn only_the_fields_that_are_used_are_read() {
    let folder = tempfile::tempdir().unwrap();
    for source in sources(folder.path()) {
        let bytes = |request: &ReadRequest| source.plan(request).unwrap().requests.wanted_bytes;
        for (column, paths, wanted) in [
            ("s", &["a"][..], "<a>"),
            ("s", &["b.x", "a"], "<a,b<x>>"),
            ("s", &["items.q"], "<items[<q>]>"),
            ("s", &["items.deep.x", "b"], "<b<x,text>,items[<deep<x>>]>"),
            ("s", &[], "<a>"),
            ("l", &["q"], "[<q>]"),
            ("l", &["deep.x"], "[<deep<x>>]"),
            ("l", &[], "[<q>]"),
            ("m", &["deep.text"], "<key,value<deep<text>>>"),
            ("m", &["q", "deep.x"], "<key,value<q,deep<x>>>"),
            ("m", &[], "<key,value<q>>"),
        ] {
            let whole = read(source.as_ref(), &columns(&[column])).unwrap();
            let request = used(&[column, "id"], column, paths);
            let ours = check(source.as_ref(), &request, whole.column(0));
            assert_eq!(shape(ours.data_type()), wanted);
            let (part, all) = (bytes(&request), bytes(&columns(&[column, "id"])));
            assert!(part < all * 3 / 4, "{part} of {all} bytes for {paths:?} of {column}");
        }
        let all = ["text", "a", "b.x", "b.text", "items"];
        assert_eq!(bytes(&used(&["s"], "s", &all)), bytes(&columns(&["s"])));
        // All columns, of which one is not whole.
        let request = ReadRequest { columns: None, ..used(&[], "s", &["a"]) };
        assert_eq!(read(source.as_ref(), &request).unwrap().num_columns(), 4);
        assert!(bytes(&request) < bytes(&ReadRequest::default()));
        // What is not there says nothing of the rest.
        for paths in [&["zzz"][..], &["a", "b.zzz", "b.x"]] {
            let request = used(&["s"], "s", paths);
            let whole = read(source.as_ref(), &columns(&["s"])).unwrap();
            check(source.as_ref(), &request, whole.column(0));
        }
        assert_eq!(bytes(&used(&["id"], "id", &["x"])), bytes(&columns(&["id"])));
    }
}

#[test]
fn fewer_bytes_come_from_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    // Enough rows that gaps are not read through.
    let batch = table();
    let options =
        WriteOptions { compression: Some("none".parse().unwrap()), dictionary: false, ..WriteOptions::default() };
    let mut sink = ParquetSink::create(output(&path), batch.schema(), &options, &job(2)).unwrap();
    (0..30).for_each(|_| sink.write(batch.clone()).unwrap());
    sink.finish().unwrap();
    let bytes = |request: &ReadRequest| {
        let job = job(2);
        let source = ParquetSource::open(objects(&[&path], &job).unwrap(), &job).unwrap();
        let before = job.meter().counts().bytes_read;
        assert_eq!(read(&source, request).unwrap().num_rows(), 30 * ROWS as usize);
        job.meter().counts().bytes_read - before
    };
    let whole = bytes(&columns(&["l"]));
    let part = bytes(&used(&["l"], "l", &["q"]));
    assert!(part * 2 < whole, "{part} of {whole}");
}

fn is_null(column: &str) -> Expr {
    Expr::IsNull(Box::new(Expr::Column(column.to_owned())))
}

fn not(inner: Expr) -> Expr {
    Expr::Not(Box::new(inner))
}

#[test]
fn filters_have_the_fields_that_they_need() {
    let folder = tempfile::tempdir().unwrap();
    for source in sources(folder.path()) {
        for (column, paths) in [("s", &["a"][..]), ("s", &["items.w"]), ("l", &["deep.x"]), ("m", &["q"])] {
            for filter in [
                not(is_null("s")),
                is_null("l"),
                not(is_null("l")),
                not(is_null("m")),
                is_null("s.b"),
                greater("s.b.x", 900),
                greater("id", ROWS as i128 / 2),
                Expr::And(vec![not(is_null("s")), greater("s.a", 100), not(is_null("s.items"))]),
            ] {
                let filtered = |request| ReadRequest { filter: Some(filter.clone()), ..request };
                let whole = read(source.as_ref(), &filtered(columns(&[column, "id"]))).unwrap();
                let all = read(source.as_ref(), &ReadRequest::default()).unwrap();
                assert_eq!(whole.num_rows(), common::rows_left(&all, &filtered(columns(&[]))).num_rows());
                assert!(whole.num_rows() > 0);
                check(source.as_ref(), &filtered(used(&[column, "id"], column, paths)), whole.column(0));
            }
        }
        // Where a struct is null is told by one of its leaf columns.
        let bytes = |request: ReadRequest| source.plan(&request).unwrap().requests.wanted_bytes;
        let filter = Some(not(is_null("s")));
        if source.info().format == "parquet" {
            let request = ReadRequest { filter, ..columns(&["id"]) };
            assert!(bytes(request) * 4 < bytes(columns(&["id", "s"])));
        }
    }
}

/// `s` of `text`, and of `b` and `a` in another order, `a` of fewer bits, and a field of its own.
fn other_table() -> RecordBatch {
    let item = |count| structs(vec![("own", texts(count)), ("q", numbers(count))], 4);
    let a: ArrayRef = Arc::new((0..ROWS).map(|n| (n % 3 != 1).then_some(n as i32)).collect::<Int32Array>());
    let s = structs(vec![("b", structs(vec![("more", texts(ROWS))], 3)), ("own", texts(ROWS)), ("a", a)], 5);
    RecordBatch::try_from_iter([("s", s), ("l", lists(item(items())))]).unwrap()
}

#[test]
fn files_may_have_other_fields() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("1.parquet"), folder.path().join("2.parquet"));
    write(&first, &table());
    write(&second, &other_table());
    for paths in [[&first, &second], [&second, &first]] {
        let files = objects(&[paths[0], paths[1]], &job(2)).unwrap().into_iter().map(InputFile::from).collect();
        let source = ParquetSource::open_files(files, ParquetOptions::default(), ColumnUnion::Any, &job(2)).unwrap();
        for (column, used_paths) in [
            ("s", &["a"][..]),
            ("s", &["own"]),
            ("s", &["b.more"]),
            ("s", &["b.x"]),
            ("s", &["b.x", "b.more", "text"]),
            ("s", &["items.q"]),
            ("s", &[]),
            ("l", &["q"]),
            ("l", &["own"]),
            ("l", &["deep.x"]),
            ("l", &[]),
        ] {
            let whole = read(&source, &columns(&[column])).unwrap();
            assert_eq!(whole.num_rows(), 2 * ROWS as usize);
            check(&source, &used(&[column], column, used_paths), whole.column(0));
            let filter = Some(not(is_null(column)));
            let whole = read(&source, &ReadRequest { filter: filter.clone(), ..columns(&[column]) }).unwrap();
            check(&source, &ReadRequest { filter, ..used(&[column], column, used_paths) }, whole.column(0));
        }
    }
}

/// A field with another name, and an id, at every level; entries of maps and items of lists have none.
fn stored(field: &FieldRef, next: &mut u32, is_named: bool) -> FieldRef {
    let mut below = |field: &FieldRef, is_named| stored(field, next, is_named);
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|field| below(field, true)).collect()),
        DataType::List(item) => DataType::List(below(item, false)),
        DataType::Map(entries, sorted) => {
            let DataType::Struct(pair) = entries.data_type() else { panic!("{entries}") };
            let pair = DataType::Struct(pair.iter().map(|field| below(field, false)).collect());
            DataType::Map(Arc::new(entries.as_ref().clone().with_data_type(pair)), *sorted)
        }
        other => other.clone(),
    };
    let typed = field.as_ref().clone().with_data_type(data_type);
    if !is_named {
        return Arc::new(typed);
    }
    *next += 1;
    let id = HashMap::from([("PARQUET:field_id".to_owned(), next.to_string())]);
    Arc::new(typed.with_name(format!("col-{next}")).with_metadata(id))
}

/// The same values under other names.
fn renamed(array: &ArrayRef, to: &DataType) -> ArrayRef {
    let data = array.to_data();
    let children: Vec<DataType> = match to {
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type().clone()).collect(),
        DataType::List(item) | DataType::Map(item, _) => vec![item.data_type().clone()],
        _ => Vec::new(),
    };
    let child = |(child, to): (&arrow::array::ArrayData, &DataType)| {
        renamed(&arrow::array::make_array(child.clone()), to).to_data()
    };
    let children = data.child_data().iter().zip(&children).map(child).collect();
    arrow::array::make_array(data.into_builder().data_type(to.clone()).child_data(children).build().unwrap())
}

/// The last field of `s`, of its list and of `l` is one that files do not have.
fn with_late_fields(field: &FieldRef) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => {
            let late = Arc::new(Field::new("late", DataType::Int64, true));
            DataType::Struct(fields.iter().map(with_late_fields).chain([late]).collect())
        }
        DataType::List(item) => DataType::List(with_late_fields(item)),
        other => other.clone(),
    };
    Arc::new(field.as_ref().clone().with_data_type(data_type))
}

#[test]
fn tables_find_their_fields_by_the_names_and_ids_that_files_have() {
    let folder = tempfile::tempdir().unwrap();
    for find_by in [FindBy::Name, FindBy::Id] {
        let path = folder.path().join(format!("{find_by:?}.parquet"));
        let logical: Vec<FieldRef> = table().schema().fields().iter().map(with_late_fields).collect();
        let mut next = 0;
        let stored_fields: Vec<FieldRef> = logical.iter().map(|field| stored(field, &mut next, true)).collect();
        // The file lacks the late fields.
        let mut file = parquet_of(&table(), &stored_fields);
        if find_by == FindBy::Id {
            // Names say nothing there.
            let other = |field: &FieldRef| field.as_ref().clone().with_name(format!("x{}", field.name()));
            let schema = Arc::new(Schema::new(file.schema().fields().iter().map(other).collect::<Vec<_>>()));
            file = RecordBatch::try_new(schema, file.columns().to_vec()).unwrap();
        }
        write(&path, &file);
        let schema = TableSchema::new(Schema::new(logical), Schema::new(stored_fields), find_by).unwrap();
        let hidden = Arc::new(
            DeletedRows::new((0..ROWS as u64).filter(|row| row % 3 == 0), Some(ROWS as u64 - 1), ROWS as u64).unwrap(),
        );
        let [object] = objects(&[&path], &job(2)).unwrap().try_into().unwrap();
        let file = InputFile { hidden: Some(hidden), ..InputFile::from(object) };
        let source = ParquetSource::open_table(vec![file], &Arc::new(schema), &job(2)).unwrap();
        let bytes = |request: &ReadRequest| source.plan(request).unwrap().requests.wanted_bytes;
        for (column, paths, wanted) in [
            ("s", &["a"][..], "<a>"),
            ("s", &["b.x", "late"], "<b<x>,late>"),
            ("s", &["late"], "<late>"),
            ("s", &["items.q", "items.late"], "<items[<q,late>]>"),
            ("s", &["items.deep.late"], "<items[<deep<late>>]>"),
            ("s", &[], "<a>"),
            ("l", &["q", "deep.x"], "[<q,deep<x>>]"),
            ("l", &["late"], "[<late>]"),
            ("m", &["deep.x"], "<key,value<deep<x>>>"),
        ] {
            for filter in [None, Some(greater("id", 700)), Some(not(is_null(column)))] {
                let whole = read(&source, &ReadRequest { filter: filter.clone(), ..columns(&[column, "id"]) }).unwrap();
                let request = ReadRequest { filter, ..used(&[column, "id"], column, paths) };
                let ours = check(&source, &request, whole.column(0));
                assert_eq!(shape(ours.data_type()), wanted);
                assert!(bytes(&request) * 4 < bytes(&columns(&[column, "id"])) * 3, "{paths:?} of {column}");
            }
        }
    }
}

/// The rows of a batch under the names that files have, without the fields that the batch lacks.
fn parquet_of(batch: &RecordBatch, stored: &[FieldRef]) -> RecordBatch {
    fn without(own: &DataType, stored: &DataType) -> DataType {
        let of = |own: &FieldRef, stored: &FieldRef| {
            Arc::new(stored.as_ref().clone().with_data_type(without(own.data_type(), stored.data_type())))
        };
        match (own, stored) {
            (DataType::Struct(own), DataType::Struct(stored)) => {
                DataType::Struct(own.iter().zip(stored).map(|(own, stored)| of(own, stored)).collect())
            }
            (DataType::List(own), DataType::List(stored)) => DataType::List(of(own, stored)),
            _ => stored.clone(),
        }
    }
    let columns = batch.columns().iter().zip(stored).map(|(column, field)| {
        let to = without(column.data_type(), field.data_type());
        (field.as_ref().clone().with_data_type(to.clone()), renamed(column, &to))
    });
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = columns.unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}
