//! Logical types of Parquet that Arrow has in the metadata of fields.

use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, FieldRef};
use lakerace_format::{ParquetSource, ReadRequest, WriteOptions, is_uuid};
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, FixedLenByteArray, FixedLenByteArrayType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{SchemaDescPtr, Type, TypePtr};
use tempfile::TempDir;

use crate::common::{job, objects, read};
use crate::parquet_write::write;

/// Writes a file of one row, which has one value in each column: 16 bytes, `{}` or 0.
fn put(path: &Path, schema: TypePtr) {
    let file = std::fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(WriterProperties::default())).unwrap();
    let levels = writer.schema_descr().columns().to_vec();
    let mut group = writer.next_row_group().unwrap();
    for column in levels {
        let (definition, repetition) = ([column.max_def_level()], [0]);
        let levels = (Some(&definition[..]), (column.max_rep_level() > 0).then_some(&repetition[..]));
        let mut writer = group.next_column().unwrap().unwrap();
        match column.physical_type() {
            Physical::FIXED_LEN_BYTE_ARRAY => {
                let id = FixedLenByteArray::from(vec![0x12; 16]);
                writer.typed::<FixedLenByteArrayType>().write_batch(&[id], levels.0, levels.1).unwrap()
            }
            Physical::BYTE_ARRAY => {
                writer.typed::<ByteArrayType>().write_batch(&[ByteArray::from("{}")], levels.0, levels.1).unwrap()
            }
            _ => writer.typed::<Int64Type>().write_batch(&[0], levels.0, levels.1).unwrap(),
        };
        writer.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

fn read_all(path: &Path) -> RecordBatch {
    let job = job(1);
    let source = ParquetSource::open(objects(&[path], &job).unwrap(), &job).unwrap();
    read(&source, &ReadRequest::default()).unwrap()
}

fn stored(path: &Path) -> SchemaDescPtr {
    let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
    reader.metadata().file_metadata().schema_descr_ptr()
}

fn item(field: &FieldRef) -> &FieldRef {
    match field.data_type() {
        DataType::List(item) => item,
        other => panic!("{other} is no list"),
    }
}

#[test]
fn a_copy_keeps_logical_types_at_every_level() {
    const MESSAGE: &str = "message m {
        required fixed_len_byte_array(16) u (UUID);
        optional group s { optional fixed_len_byte_array(16) u (UUID); optional binary j (JSON); }
        optional group l (LIST) { repeated group list { optional fixed_len_byte_array(16) element (UUID); } }
        repeated fixed_len_byte_array(16) many (UUID);
        required binary j (JSON);
        required int64 utc (TIME(MICROS, true));
        required int64 local (TIME(MICROS, false));
        required fixed_len_byte_array(16) bytes;
        required binary text (STRING);
    }";
    let folder = TempDir::new().unwrap();
    let (from, to) = (folder.path().join("from.parquet"), folder.path().join("to.parquet"));
    put(&from, Arc::new(parse_message_type(MESSAGE).unwrap()));
    let batch = read_all(&from);
    let (schema, uuid) = (batch.schema(), |field: &FieldRef| is_uuid(field));
    assert!(uuid(&schema.fields()[0]) && uuid(item(&schema.fields()[2])) && uuid(item(&schema.fields()[3])));
    assert_eq!(schema.field_with_name("j").unwrap().extension_type_name(), Some("arrow.json"));
    assert!(!is_uuid(schema.field_with_name("bytes").unwrap()));
    write(&to, std::slice::from_ref(&batch), &WriteOptions::default(), 1);
    assert_eq!(read_all(&to).columns()[..3], batch.columns()[..3]);
    for (before, after) in stored(&from).columns().iter().zip(stored(&to).columns()) {
        assert_eq!(before.logical_type_ref(), after.logical_type_ref(), "{}", before.path());
        assert_eq!(before.converted_type(), after.converted_type(), "{}", before.path());
    }
}

#[test]
fn json_of_old_writers_is_json() {
    let old = |name: &str, converted: ConvertedType| {
        let column = Type::primitive_type_builder(name, Physical::BYTE_ARRAY).with_repetition(Repetition::REQUIRED);
        Arc::new(column.with_converted_type(converted).build().unwrap())
    };
    let columns = vec![old("j", ConvertedType::JSON), old("b", ConvertedType::BSON), old("t", ConvertedType::UTF8)];
    let schema = Type::group_type_builder("m").with_fields(columns).build().unwrap();
    let folder = TempDir::new().unwrap();
    let (from, to) = (folder.path().join("from.parquet"), folder.path().join("to.parquet"));
    put(&from, Arc::new(schema));
    let batch = read_all(&from);
    write(&to, std::slice::from_ref(&batch), &WriteOptions::default(), 1);
    let types: Vec<_> = stored(&to).columns().iter().map(|column| column.logical_type_ref().cloned()).collect();
    assert_eq!(types, [Some(LogicalType::Json), None, Some(LogicalType::String)]);
    assert_eq!(read_all(&to), batch);
}

#[test]
fn enumerations_are_texts() {
    const MESSAGE: &str = "message m {
        required binary e (ENUM);
        optional group s { repeated binary e (ENUM); optional binary b; }
    }";
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("e.parquet");
    put(&path, Arc::new(parse_message_type(MESSAGE).unwrap()));
    let batch = read_all(&path);
    let schema = batch.schema();
    assert_eq!(schema.field(0).data_type(), &DataType::Utf8View);
    let DataType::Struct(fields) = schema.field(1).data_type() else { panic!("no struct") };
    assert_eq!((item(&fields[0]).data_type(), fields[1].data_type()), (&DataType::Utf8, &DataType::Binary));
}
