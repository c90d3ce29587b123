//! Files of other writers that are valid and odd.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, NullArray, RecordBatch, StringArray, StructArray};
use arrow::datatypes::{DataType, Field, Fields, Int64Type, Schema, TimestampMicrosecondType};
use lakerace_format::{ParquetSource, ReadRequest};
use lakerace_io::{ErrorKind, Result};
use parquet::arrow::ArrowWriter;
use parquet::data_type::{Int96, Int96Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use tempfile::TempDir;

use crate::common::{job, objects, read};

fn open_parquet<P: AsRef<Path>>(paths: &[P]) -> Result<ParquetSource> {
    let (paths, job): (Vec<&Path>, _) = (paths.iter().map(AsRef::as_ref).collect(), job(2));
    ParquetSource::open(objects(&paths, &job)?, &job)
}

fn put(folder: &Path, name: &str, columns: Vec<(&str, ArrayRef)>) {
    let fields: Vec<Field> = columns.iter().map(|(name, c)| Field::new(*name, c.data_type().clone(), true)).collect();
    let arrays = columns.into_iter().map(|(_, column)| column).collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    let file = std::fs::File::create(folder.join(name)).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn int(value: i64) -> ArrayRef {
    Arc::new(Int64Array::from(vec![value]))
}

#[test]
fn names_that_stand_twice_are_refused_at_every_level() {
    let folder = TempDir::new().unwrap();
    put(folder.path(), "x.parquet", vec![("a", int(1)), ("b", int(2)), ("a", int(3))]);
    let fields = Fields::from(vec![Field::new("f", DataType::Int64, true), Field::new("f", DataType::Int64, true)]);
    let twice: ArrayRef = Arc::new(StructArray::new(fields, vec![int(1), int(2)], None));
    put(folder.path(), "y.parquet", vec![("s", twice)]);
    for (name, says) in [("x.parquet", "columns 1 and 3 are both named \"a\""), ("y.parquet", "fields 1 and 2")] {
        let error = open_parquet(&[folder.path().join(name)]).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains(says) && error.to_string().contains(name), "{error}");
    }
}

#[test]
fn columns_of_nulls_and_added_fields_join_those_of_other_files() {
    let folder = TempDir::new().unwrap();
    let narrow = Fields::from(vec![Field::new("x", DataType::Int64, true)]);
    let wide = Fields::from(vec![Field::new("y", DataType::Utf8, true), Field::new("x", DataType::Int64, true)]);
    let narrow: ArrayRef = Arc::new(StructArray::new(narrow, vec![int(1)], None));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["t"]));
    let wide: ArrayRef = Arc::new(StructArray::new(wide, vec![Arc::clone(&text), int(2)], None));
    put(folder.path(), "1.parquet", vec![("n", Arc::new(NullArray::new(1))), ("s", narrow)]);
    put(folder.path(), "2.parquet", vec![("n", text), ("s", wide)]);
    for order in [["1.parquet", "2.parquet"], ["2.parquet", "1.parquet"]] {
        let source = open_parquet(&order.map(|name| folder.path().join(name))).unwrap();
        let batch = read(&source, &ReadRequest::default()).unwrap();
        let first = usize::from(order[0] == "2.parquet");
        let n = batch.column_by_name("n").unwrap();
        assert_eq!((n.data_type(), n.is_null(first), n.is_valid(1 - first)), (&DataType::Utf8View, true, true));
        let s = batch.column_by_name("s").unwrap().as_struct();
        let x = s.column_by_name("x").unwrap().as_primitive::<Int64Type>();
        let y = s.column_by_name("y").unwrap();
        assert_eq!((x.value(first), x.value(1 - first)), (1, 2));
        assert_eq!((y.is_null(first), y.is_valid(1 - first)), (true, true));
        let part = ReadRequest { columns: Some(vec!["s.y".to_owned()]), ..ReadRequest::default() };
        let part = read(&source, &part).unwrap();
        assert_eq!(part.column(0).as_struct().column(0).null_count(), 1);
    }
}

/// Days since 1970-01-01 and nanoseconds of the day.
fn int96(days: i64, nanoseconds: u64) -> Int96 {
    let mut value = Int96::new();
    value.set_data(nanoseconds as u32, (nanoseconds >> 32) as u32, (days + 2_440_588) as u32);
    value
}

fn put_int96(path: &Path, message: &str, values: &[Int96], is_of_spark: bool) {
    let schema = Arc::new(parse_message_type(message).unwrap());
    let spark = is_of_spark.then(|| vec![KeyValue::new("org.apache.spark.version".to_owned(), "4.0.0".to_owned())]);
    let properties = WriterProperties::builder().set_key_value_metadata(spark).build();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    while let Some(mut column) = group.next_column().unwrap() {
        column.typed::<Int96Type>().write_batch(values, None, None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn timestamps_of_96_bits_are_right_or_refused() {
    const FLAT: &str = "message m { required int96 t; }";
    const NESTED: &str = "message m { required group s { required int96 t; } }";
    const DAY_MICROS: i64 = 86_400_000_000;
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("t.parquet");
    // 9999-12-31 and 0001-01-01, whose nanoseconds take more than 64 bits.
    let (last, first) = (2_932_896, -719_162);
    let far = [int96(last, 0), int96(first, 1_000), int96(0, 0)];
    let wanted = [last * DAY_MICROS, first * DAY_MICROS + 1, 0];

    put_int96(&path, FLAT, &far, true);
    let batch = read(&open_parquet(&[&path]).unwrap(), &ReadRequest::default()).unwrap();
    assert_eq!(batch.column(0).as_primitive::<TimestampMicrosecondType>().values(), &wanted);
    for is_of_spark in [true, false] {
        put_int96(&path, NESTED, &far, is_of_spark);
        let batch = read(&open_parquet(&[&path]).unwrap(), &ReadRequest::default()).unwrap();
        let inner = batch.column(0).as_struct().column(0);
        assert_eq!(inner.as_primitive::<TimestampMicrosecondType>().values(), &wanted);
    }

    for (values, is_of_spark) in
        [(&far[..], false), (&[int96(0, 1_001)], true), (&[int96(i64::from(i32::MAX) - 2_440_588, 0)], true)]
    {
        put_int96(&path, FLAT, values, is_of_spark);
        let error = read(&open_parquet(&[&path]).unwrap(), &ReadRequest::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("t.parquet: row group 0, column \"t\""), "{error}");
    }
    put_int96(&path, FLAT, &[int96(0, 1_001)], false);
    read(&open_parquet(&[&path]).unwrap(), &ReadRequest::default()).unwrap();
}

/// Puts a group without fields in front of the columns of a file, by its footer: the crate writes none.
fn add_empty_group(path: &Path) {
    const ROOT: &[u8] = b"\x48\x0carrow_schema\x15";
    let whole = std::fs::read(path).unwrap();
    let end = whole.len() - 8;
    let length = u32::from_le_bytes(whole[end..end + 4].try_into().unwrap()) as usize;
    let footer = &whole[end - length..end];
    let root = footer.windows(ROOT.len()).position(|window| window == ROOT).unwrap();
    // The list of the schema's elements begins right before the root: its type, and how many they are.
    let list = footer[..root].iter().rposition(|byte| byte & 0x0f == 0x0c).unwrap();
    let mut made = footer[..root + ROOT.len() + 2].to_vec();
    made[list] += 0x10;
    made[root + ROOT.len()] += 2;
    made.extend_from_slice(b"\x35\x02\x18\x01e\x15\x00\x00");
    made.extend_from_slice(&footer[root + ROOT.len() + 2..]);
    let file = [&whole[..end - length], &made, &(made.len() as u32).to_le_bytes(), b"PAR1"].concat();
    std::fs::write(path, file).unwrap();
}

#[test]
fn a_group_without_fields_is_left_out() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.parquet");
    put(folder.path(), "x.parquet", vec![("a", int(1)), ("b", int(2))]);
    add_empty_group(&path);
    let batch = read(&open_parquet(&[&path]).unwrap(), &ReadRequest::default()).unwrap();
    assert_eq!(batch.schema().fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(batch.column(1).as_primitive::<Int64Type>().value(0), 2);
}
