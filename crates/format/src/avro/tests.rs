#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array, FixedSizeBinaryArray,
    Float64Array, Int32Array, Int64Array, ListArray, MapArray, RecordBatch, RecordBatchOptions, StringArray,
    StringViewArray, StructArray, Time32MillisecondArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Fields, Int64Type, i256};
use lakerace_io::{Error, ErrorKind, IfExists, Job, JobOptions, Location, Output, Result, StorageOptions};
use tempfile::TempDir;

use super::AvroSource;
use super::container::{FileHeader, put_block};
use crate::{AVRO, Codec, CompareOp, Compression, Expr, InputFile, Literal, ReadRequest, Source, WriteOptions};

const SYNC: [u8; 16] = [7; 16];

fn job() -> Job {
    Job::new(JobOptions { threads: 2, ..JobOptions::default() })
}

fn write_as(batches: &[RecordBatch], path: &Path, options: &WriteOptions) -> Result<u64> {
    let job = job();
    let (store, path) = Location::parse(path.to_str().unwrap())?.open(&StorageOptions::default(), &job)?;
    let output = Output::create(&store, &path, IfExists::Replace)?;
    let mut sink = (AVRO.create)(output, batches[0].schema(), options, &job)?;
    batches.iter().try_for_each(|batch| sink.write(batch.clone()))?;
    Ok(sink.finish()?.rows)
}

fn open(paths: &[PathBuf]) -> Result<AvroSource> {
    let job = job();
    let file = |path: &PathBuf| {
        Location::parse(path.to_str().unwrap())?.object(&StorageOptions::default(), &job).map(InputFile::from)
    };
    AvroSource::open_files(paths.iter().map(file).collect::<Result<_>>()?, &job)
}

fn read(source: &AvroSource, request: &ReadRequest) -> Result<RecordBatch> {
    let batches = source.read(&source.plan(request)?)?;
    let schema = Arc::clone(batches.schema());
    let batches = batches.collect::<Result<Vec<_>>>()?;
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    if schema.fields().is_empty() {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        return Ok(RecordBatch::try_new_with_options(schema, vec![], &options).unwrap());
    }
    Ok(concat_batches(&schema, &batches).unwrap())
}

/// A file of these blocks, each its rows and bytes, without a codec.
fn foreign(schema: &str, blocks: &[(u64, &[u8])]) -> Vec<u8> {
    let mut bytes = FileHeader::encode(schema, "null", std::iter::empty(), &SYNC);
    blocks.iter().for_each(|(rows, block)| put_block(*rows, block, &SYNC, &mut bytes));
    bytes
}

fn read_bytes(bytes: &[u8]) -> Result<RecordBatch> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.avro");
    std::fs::write(&path, bytes).unwrap();
    read(&open(&[path])?, &ReadRequest::default())
}

fn record(fields: &str) -> String {
    format!(r#"{{"type":"record","name":"r","fields":[{fields}]}}"#)
}

fn columns(names: &[&str]) -> ReadRequest {
    ReadRequest { columns: Some(names.iter().map(|name| (*name).to_owned()).collect()), ..ReadRequest::default() }
}

/// A table of each type that Avro has, with nulls at all levels.
fn all_types() -> RecordBatch {
    const ROWS: i64 = 1000;
    let row = 0..ROWS;
    let some = |row: i64| (row % 3 > 0).then_some(row - 500);
    let ids = || Int64Array::from_iter(row.clone().map(some));
    let nulls = |every: i64| NullBuffer::from_iter(row.clone().map(|row| row % every > 0));
    let pairs = OffsetBuffer::<i32>::from_lengths(row.clone().map(|row| if row % 5 > 0 { 2 } else { 0 }));
    let count = i64::from(pairs.last());
    let items: ArrayRef = Arc::new(Int64Array::from_iter((0..count).map(some)));
    let keys: ArrayRef = Arc::new(StringArray::from_iter_values((0..count).map(|key| format!("key {key}"))));
    let item = Arc::new(Field::new_list_field(DataType::Int64, true));
    let list: ArrayRef = Arc::new(ListArray::new(item, pairs.clone(), Arc::clone(&items), Some(nulls(5))));
    let fields =
        Fields::from(vec![Field::new("n", DataType::Int64, true), Field::new("list", list.data_type().clone(), true)]);
    let group = StructArray::new(fields, vec![Arc::new(ids()), Arc::clone(&list)], Some(nulls(7)));
    let entry =
        Fields::from(vec![Field::new("key", DataType::Utf8, false), Field::new("value", DataType::Int64, true)]);
    let entries = StructArray::new(entry.clone(), vec![keys, items], None);
    let entries_field = Arc::new(Field::new("entries", DataType::Struct(entry), false));
    let wide = ids().unary::<_, arrow::datatypes::Decimal256Type>(|n| i256::from_i128(i128::from(n) * 10_i128.pow(30)));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("flag", Arc::new(BooleanArray::from_iter(row.clone().map(|row| some(row).map(|row| row % 2 == 0))))),
        ("int", Arc::new(Int32Array::from_iter(row.clone().map(|row| some(row).map(|row| row as i32 * 4_000_000))))),
        ("long", Arc::new(ids().unary::<_, Int64Type>(|n| n.wrapping_mul(i64::MAX / 500)))),
        ("double", Arc::new(Float64Array::from_iter(row.clone().map(|row| some(row).map(|row| row as f64 / 7.0))))),
        (
            "text",
            Arc::new(StringArray::from_iter(
                row.clone().map(|row| some(row).map(|row| "é".repeat(row.unsigned_abs() as usize % 9))),
            )),
        ),
        (
            "view",
            Arc::new(StringViewArray::from_iter(
                row.clone().map(|row| some(row).map(|row| format!("a text of some length {row}"))),
            )),
        ),
        (
            "fixed",
            Arc::new(
                FixedSizeBinaryArray::try_from_sparse_iter_with_size(
                    row.clone().map(|row| some(row).map(i64::to_be_bytes)),
                    8,
                )
                .unwrap(),
            ),
        ),
        ("date", Arc::new(Date32Array::from_iter(row.clone().map(|row| some(row).map(|row| row as i32 * 1000))))),
        (
            "time",
            Arc::new(Time32MillisecondArray::from_iter(row.clone().map(|row| some(row).map(|row| row.abs() as i32)))),
        ),
        ("micros", Arc::new(Time64MicrosecondArray::from_iter(row.clone().map(|row| some(row).map(i64::abs))))),
        ("at", Arc::new(TimestampMicrosecondArray::from_iter(row.clone().map(some)).with_timezone("UTC"))),
        ("local", Arc::new(TimestampMillisecondArray::from_iter(row.clone().map(some)))),
        (
            "decimal",
            Arc::new(
                Decimal128Array::from_iter(row.clone().map(|row| some(row).map(i128::from)))
                    .with_precision_and_scale(20, 3)
                    .unwrap(),
            ),
        ),
        ("wide", Arc::new(Decimal256Array::from(wide.into_data()).with_precision_and_scale(60, 5).unwrap())),
        ("list", list),
        ("map", Arc::new(MapArray::new(entries_field, pairs, entries, Some(nulls(5)), false))),
        ("group", Arc::new(group)),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true))).unwrap()
}

/// The table that a read returns: texts are not views.
fn plain(batch: &RecordBatch) -> RecordBatch {
    let columns = batch.columns().iter().map(|column| match column.as_string_view_opt() {
        Some(views) => Arc::new(views.iter().collect::<StringArray>()) as ArrayRef,
        None => Arc::clone(column),
    });
    let fields = batch.schema();
    let named = fields.fields().iter().map(|field| field.name()).zip(columns);
    RecordBatch::try_from_iter_with_nullable(named.map(|(name, column)| (name, column, true))).unwrap()
}

#[test]
fn each_type_and_codec_comes_back() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.avro");
    let batch = all_types();
    let codecs = [None, Some(Codec::None), Some(Codec::Snappy), Some(Codec::Gzip), Some(Codec::Zstd)];
    for codec in codecs {
        let options = WriteOptions { compression: codec.map(Compression::new), ..WriteOptions::default() };
        assert_eq!(write_as(&[batch.slice(0, 1), batch.slice(1, 999)], &path, &options).unwrap(), 1000);
        let source = open(std::slice::from_ref(&path)).unwrap();
        assert_eq!(read(&source, &ReadRequest::default()).unwrap(), plain(&batch), "{codec:?}");
    }
}

#[test]
fn a_column_alone_has_the_values_that_it_has_among_others() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.avro");
    let batch = all_types();
    write_as(std::slice::from_ref(&batch), &path, &WriteOptions::default()).unwrap();
    let source = open(&[path]).unwrap();
    let batch = plain(&batch);
    for (at, field) in batch.schema().fields().iter().enumerate() {
        let request = ReadRequest { batch_rows: Some(7), ..columns(&[field.name()]) };
        assert_eq!(read(&source, &request).unwrap().column(0), batch.column(at), "{field}");
    }
    assert_eq!(read(&source, &columns(&[])).unwrap().num_rows(), 1000);
    let turned = read(&source, &columns(&["group", "flag"])).unwrap();
    assert_eq!(turned.columns(), [batch.column(16).clone(), batch.column(0).clone()]);
    assert_eq!(source.plan(&columns(&["flags"])).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn filters_and_limits_leave_the_rows_that_they_ask_for() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.avro");
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..200_000));
    let batch = RecordBatch::try_from_iter([("id", Arc::clone(&ids)), ("other", ids)]).unwrap();
    write_as(&[batch], &path, &WriteOptions::default()).unwrap();
    let source = open(&[path]).unwrap();
    let filter = Expr::Compare {
        op: CompareOp::GreaterOrEq,
        left: Box::new(Expr::Column("id".to_owned())),
        right: Box::new(Expr::Literal(Literal::Number { digits: 150_000, scale: 0 })),
    };
    let request = ReadRequest { filter: Some(filter), limit: Some(3), ..columns(&["other"]) };
    let found = read(&source, &request).unwrap();
    assert_eq!(found.column(0).as_primitive::<Int64Type>().values(), &[150_000, 150_001, 150_002]);
    let limited = ReadRequest { limit: Some(70_000), ..ReadRequest::default() };
    assert_eq!(read(&source, &limited).unwrap().num_rows(), 70_000);
}

#[test]
fn files_without_rows_have_their_columns() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.avro");
    let batch = all_types().slice(0, 0);
    assert_eq!(write_as(std::slice::from_ref(&batch), &path, &WriteOptions::default()).unwrap(), 0);
    assert_eq!(read(&open(&[path]).unwrap(), &ReadRequest::default()).unwrap(), plain(&batch));
}

#[test]
fn several_files_need_the_same_columns() {
    let folder = TempDir::new().unwrap();
    let paths = ["a.avro", "b.avro", "c.avro"].map(|name| folder.path().join(name));
    std::fs::write(&paths[0], foreign(&record(r#"{"name":"a","type":"int"}"#), &[(2, &[2, 4])])).unwrap();
    std::fs::write(&paths[1], foreign(&record(r#"{"name":"a","type":["int","null"]}"#), &[(2, &[2, 0, 6])])).unwrap();
    std::fs::write(&paths[2], foreign(&record(r#"{"name":"a","type":"long"}"#), &[])).unwrap();
    let found = read(&open(&paths[..2]).unwrap(), &ReadRequest::default()).unwrap();
    let wanted: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(2), None, Some(3)]));
    assert_eq!(found.column(0), &wanted);
    let error = open(&paths).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("c.avro"), "{error}");
}

#[test]
fn enums_are_texts_and_unions_keep_their_types() {
    let schema = record(
        r#"{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]}},{"name":"u","type":["null","int","string"]}"#,
    );
    let found = read_bytes(&foreign(&schema, &[(3, &[2, 2, 8, 0, 4, 2, b'x', 2, 0])])).unwrap();
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["B", "A", "B"]));
    assert_eq!(found.column(0), &texts);
    assert_eq!(found.schema().field(0), &Field::new("e", DataType::Utf8, false));
    let union = found.column(1).as_any().downcast_ref::<arrow::array::UnionArray>().unwrap();
    assert_eq!(union.type_ids().as_ref(), [1, 2, 0]);
    assert_eq!(union.value(1).as_string::<i32>().value(0), "x");
}

#[test]
fn nulls_and_records_without_fields_are_read() {
    let schema = record(
        r#"{"name":"n","type":"null"},{"name":"r","type":{"type":"record","name":"E","fields":[]}},{"name":"a","type":"int"}"#,
    );
    let found = read_bytes(&foreign(&schema, &[(2, &[6, 8])])).unwrap();
    assert_eq!((found.num_rows(), found.column(0).data_type()), (2, &DataType::Null));
    assert!(found.schema().field(0).is_nullable());
    assert_eq!(found.column(2).as_primitive::<arrow::datatypes::Int32Type>().values(), &[3, 4]);
    // Rows without bytes: their number is all that the block has.
    let empty = read_bytes(&foreign(&record(""), &[(70_000, b"")])).unwrap();
    assert_eq!((empty.num_rows(), empty.num_columns()), (70_000, 0));
    assert_eq!(read_bytes(&foreign(&record(""), &[(1 << 40, b"")])).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn rows_and_bytes_of_a_block_have_to_fit() {
    let schema = record(r#"{"name":"a","type":"int"}"#);
    for (rows, block, says) in [
        (3, &[2, 4][..], "row 3 of 3 can't be read: the bytes of the block end within it"),
        (1, &[2, 4], "1 bytes are left after the 1 rows"),
        (0, &[2, 4], "no rows"),
        (2, &[2, 0x80], "row 2 of 2"),
        (1, &[0xff, 0xff, 0xff, 0xff, 0xff, 1], "32 bits"),
    ] {
        let error = read_bytes(&foreign(&schema, &[(1, &[2]), (rows, block)])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        let at = foreign(&schema, &[(1, &[2])]).len();
        let text = error.to_string();
        assert!(
            text.contains(says) && text.contains("a.avro") && text.contains(&format!("block at byte {at}")),
            "{text}"
        );
    }
}

#[test]
fn rows_before_damage_are_given_first() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.avro");
    let schema = record(r#"{"name":"a","type":"int"}"#);
    let mut bytes = foreign(&schema, &[(2, &[2, 4]), (1, &[6])]);
    bytes.truncate(bytes.len() - 1);
    std::fs::write(&path, bytes).unwrap();
    let source = open(&[path]).unwrap();
    let limited = ReadRequest { limit: Some(2), ..ReadRequest::default() };
    assert_eq!(read(&source, &limited).unwrap().num_rows(), 2);
    let found: Vec<Result<RecordBatch, Error>> =
        source.read(&source.plan(&ReadRequest::default()).unwrap()).unwrap().collect();
    assert_eq!(found[0].as_ref().unwrap().num_rows(), 2);
    assert_eq!((found.len(), found[1].as_ref().unwrap_err().kind()), (2, ErrorKind::Corrupt));
}

#[test]
fn truncated_and_changed_files_are_errors_or_rows() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.avro");
    let batch = all_types().slice(0, 6);
    let kept = ["flag", "text", "decimal", "list", "map"].map(|name| batch.schema().index_of(name).unwrap());
    let batch = batch.project(&kept).unwrap();
    write_as(
        &[batch],
        &path,
        &WriteOptions { compression: Some(Compression::new(Codec::None)), ..WriteOptions::default() },
    )
    .unwrap();
    let whole = std::fs::read(&path).unwrap();
    let header = FileHeader::parse(&whole.clone().into()).unwrap().unwrap().length as usize;
    for length in 0..whole.len() {
        match read_bytes(&whole[..length]) {
            Ok(found) => assert_eq!((length, found.num_rows()), (header, 0)),
            Err(error) => assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Invalid), "{length}: {error}"),
        }
    }
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= [0x01, 0x80, 0xff][at % 3];
        if let Err(error) = read_bytes(&bytes) {
            assert_ne!(error.kind(), ErrorKind::Internal, "{at}: {error}");
        }
    }
}
