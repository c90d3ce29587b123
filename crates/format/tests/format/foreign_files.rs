//! Files of other writers that are valid and odd.

use std::path::Path;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, DictionaryArray, Int64Array, LargeListArray, LargeStringArray, ListArray, NullArray,
    RecordBatch, StringArray, StructArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{
    DataType, Field, Fields, Int32Type, Int64Type, Schema, TimestampMicrosecondType, TimestampNanosecondType,
};
use lakerace_format::{ParquetSource, ReadRequest};
use lakerace_io::{ErrorKind, Result};
use parquet::arrow::ArrowWriter;
use parquet::data_type::{Int96, Int96Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterVersion};
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
    put_int96(&path, NESTED, &far, true);
    let batch = read(&open_parquet(&[&path]).unwrap(), &ReadRequest::default()).unwrap();
    let inner = batch.column(0).as_struct().column(0);
    assert_eq!(inner.as_primitive::<TimestampMicrosecondType>().values(), &wanted);
    put_int96(&path, NESTED, &[int96(0, 1_001)], false);
    let batch = read(&open_parquet(&[&path]).unwrap(), &ReadRequest::default()).unwrap();
    let inner = batch.column(0).as_struct().column(0);
    assert_eq!(inner.as_primitive::<TimestampNanosecondType>().values(), &[1_001]);

    let too_late = [int96(i64::from(i32::MAX) - 2_440_588, 0)];
    for message in [FLAT, NESTED] {
        for (values, is_of_spark) in [(&far[..], false), (&[int96(0, 1_001)], true), (&too_late, true)] {
            put_int96(&path, message, values, is_of_spark);
            let error = read(&open_parquet(&[&path]).unwrap(), &ReadRequest::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.to_string().contains("t.parquet: row group 0, column"), "{error}");
        }
    }
    put_int96(&path, FLAT, &[int96(0, 1_001)], false);
    read(&open_parquet(&[&path]).unwrap(), &ReadRequest::default()).unwrap();
}

/// Lists of two and of no timestamps, and a null; the second timestamp of the first list is null.
fn put_int96_lists(path: &Path, value: Int96, version: WriterVersion, dictionary: bool) {
    const LISTS: &str =
        "message m { optional group l (LIST) { repeated group list { optional int96 element; } } optional int96 t; }";
    let schema = Arc::new(parse_message_type(LISTS).unwrap());
    let properties = WriterProperties::builder().set_writer_version(version).set_dictionary_enabled(dictionary).build();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut lists = group.next_column().unwrap().unwrap();
    lists.typed::<Int96Type>().write_batch(&[value], Some(&[3, 2, 1, 0]), Some(&[0, 1, 0, 0])).unwrap();
    lists.close().unwrap();
    let mut times = group.next_column().unwrap().unwrap();
    times.typed::<Int96Type>().write_batch(&[int96(0, 0)], Some(&[1, 0, 0]), None).unwrap();
    times.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn timestamps_of_96_bits_in_lists_are_right_or_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("l.parquet");
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for dictionary in [false, true] {
            put_int96_lists(&path, int96(18_262, 123_456_789), version, dictionary);
            let batch = read(&open_parquet(&[&path]).unwrap(), &ReadRequest::default()).unwrap();
            let lists = batch.column(0).as_list::<i32>();
            assert_eq!((lists.value_length(0), lists.value_length(1), lists.is_null(2)), (2, 0, true));
            let first = lists.value(0);
            let times = first.as_primitive::<TimestampNanosecondType>();
            assert_eq!((times.value(0), times.is_null(1)), (18_262 * 86_400_000_000_000 + 123_456_789, true));

            put_int96_lists(&path, int96(2_932_896, 0), version, dictionary);
            let source = open_parquet(&[&path]).unwrap();
            let error = read(&source, &ReadRequest::default()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.to_string().contains("l.parquet: row group 0, column \"l\""), "{error}");
            let other = ReadRequest { columns: Some(vec!["t".to_owned()]), ..ReadRequest::default() };
            assert_eq!(read(&source, &other).unwrap().num_rows(), 3);
        }
    }
}

#[test]
fn lists_and_texts_of_other_widths_join_those_of_other_files() {
    let folder = TempDir::new().unwrap();
    let item = |fields: Vec<(&str, ArrayRef)>| -> ArrayRef {
        let types = fields.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
        let types: Fields = types.collect();
        Arc::new(StructArray::new(types, fields.into_iter().map(|(_, array)| array).collect(), None))
    };
    let field = |array: &ArrayRef| Arc::new(Field::new_list_field(array.data_type().clone(), true));
    let text = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    let (narrow, wide) = (item(vec![("x", int(1)), ("t", text("a"))]), {
        let large: ArrayRef = Arc::new(LargeStringArray::from(vec!["b"]));
        item(vec![("t", large), ("x", int(2)), ("y", int(3))])
    });
    let narrow: ArrayRef = Arc::new(ListArray::new(field(&narrow), OffsetBuffer::from_lengths([1]), narrow, None));
    let wide: ArrayRef = Arc::new(LargeListArray::new(field(&wide), OffsetBuffer::from_lengths([1]), wide, None));
    let keys: DictionaryArray<Int32Type> = ["d"].into_iter().collect();
    put(folder.path(), "1.parquet", vec![("l", narrow), ("s", item(vec![("t", Arc::new(keys))]))]);
    put(folder.path(), "2.parquet", vec![("l", wide), ("s", item(vec![("t", text("e"))]))]);
    for order in [["1.parquet", "2.parquet"], ["2.parquet", "1.parquet"]] {
        let source = open_parquet(&order.map(|name| folder.path().join(name))).unwrap();
        let batch = read(&source, &ReadRequest::default()).unwrap();
        let (first, second) = if order[0] == "1.parquet" { (0, 1) } else { (1, 0) };
        let lists = batch.column_by_name("l").unwrap().as_list::<i64>();
        let (narrow, wide) = (lists.value(first), lists.value(second));
        let (narrow, wide) = (narrow.as_struct(), wide.as_struct());
        let int = |of: &StructArray, name: &str| of.column_by_name(name).unwrap().as_primitive::<Int64Type>().clone();
        assert_eq!((int(narrow, "x").value(0), int(narrow, "y").null_count()), (1, 1));
        assert_eq!((int(wide, "x").value(0), int(wide, "y").value(0)), (2, 3));
        let texts = |of: &StructArray| of.column_by_name("t").unwrap().as_string::<i64>().clone();
        assert_eq!((texts(narrow).value(0), texts(wide).value(0)), ("a", "b"));
        let texts = batch.column_by_name("s").unwrap().as_struct().column(0).clone();
        let texts = arrow::compute::cast(&texts, &DataType::Utf8).unwrap();
        assert_eq!((texts.as_string::<i32>().value(first), texts.as_string::<i32>().value(second)), ("d", "e"));
    }
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
