//! The least and the greatest values that footers tell.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use lakerace_format::predicate::Value;
use lakerace_format::{ColumnUnion, DeletedRows, Extremes, InputFile, ParquetOptions, ParquetSource, Source};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use crate::common::{job, objects};

fn number(value: i128) -> Option<Value> {
    Some(Value::Integer(arrow::datatypes::i256::from_i128(value)))
}

/// What two files with these columns tell, with statistics in the second one or without.
fn told(columns: [Vec<(&str, ArrayRef)>; 2], second: EnabledStatistics, name: &str) -> Option<Extremes> {
    let folder = tempfile::tempdir().unwrap();
    let paths = [folder.path().join("0.parquet"), folder.path().join("1.parquet")];
    for ((path, columns), statistics) in paths.iter().zip(columns).zip([EnabledStatistics::Chunk, second]) {
        let table = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true))).unwrap();
        let properties = WriterProperties::builder().set_statistics_enabled(statistics);
        let properties = properties.set_max_row_group_row_count(Some(2)).build();
        let file = std::fs::File::create(path).unwrap();
        let mut writer = ArrowWriter::try_new(file, table.schema(), Some(properties)).unwrap();
        writer.write(&table).unwrap();
        writer.close().unwrap();
    }
    let job = job(1);
    let source = ParquetSource::open(objects(&[&paths[0], &paths[1]], &job).unwrap(), &job).unwrap();
    source.extremes(name).unwrap()
}

fn numbers(values: &[Option<i64>]) -> Vec<(&'static str, ArrayRef)> {
    vec![("k", Arc::new(Int64Array::from(values.to_vec())))]
}

#[test]
fn of_all_row_groups_of_all_files() {
    let columns = || [numbers(&[Some(3), None, Some(-7), Some(2), None, None]), numbers(&[Some(9), Some(4)])];
    let expected = Extremes { min: number(-7), max: number(9) };
    assert_eq!(told(columns(), EnabledStatistics::Chunk, "k"), Some(expected));
    assert_eq!(told(columns(), EnabledStatistics::None, "k"), None);
    assert_eq!(told(columns(), EnabledStatistics::Chunk, "nope"), None);
}

#[test]
fn of_columns_that_files_lack_or_that_are_null() {
    let other = vec![("d", Arc::new(Date32Array::from(vec![5])) as ArrayRef)];
    let nulls = [numbers(&[None, None, None]), numbers(&[None])];
    assert_eq!(told(nulls, EnabledStatistics::Chunk, "k"), Some(Extremes::default()));
    let lacking = [numbers(&[Some(1)]), [numbers(&[None]), other].concat()];
    assert_eq!(told(lacking, EnabledStatistics::Chunk, "d"), Some(Extremes { min: number(5), max: number(5) }));
}

#[test]
fn not_of_texts_and_floats() {
    let both = || -> Vec<(&'static str, ArrayRef)> {
        vec![
            ("t", Arc::new(StringArray::from(vec!["a", "b"]))),
            ("f", Arc::new(Float64Array::from(vec![1.0, f64::NAN]))),
        ]
    };
    assert_eq!(told([both(), both()], EnabledStatistics::Chunk, "t"), None);
    assert_eq!(told([both(), both()], EnabledStatistics::Chunk, "f"), None);
}

#[test]
fn not_where_rows_are_hidden() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("0.parquet");
    let table = RecordBatch::try_from_iter(numbers(&[Some(1), Some(2)])).unwrap();
    let mut writer = ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), table.schema(), None).unwrap();
    writer.write(&table).unwrap();
    writer.close().unwrap();
    let job = job(1);
    let object = objects(&[&path], &job).unwrap().remove(0);
    let hidden = Some(Arc::new(DeletedRows::new([1], Some(1), 2).unwrap()));
    let file = InputFile { hidden, ..InputFile::from(object) };
    let source =
        ParquetSource::open_files(vec![file], ParquetOptions::default(), ColumnUnion::default(), &job).unwrap();
    assert_eq!(source.extremes("k").unwrap(), None);
}
