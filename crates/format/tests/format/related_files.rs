//! Files that are read as one table: columns come and go, but files of different tables are an error.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use lakerace_format::{
    ColumnUnion, InputFile, OrcOptions, OrcSink, OrcSource, ParquetOptions, ParquetSink, ParquetSource, ReadRequest,
    Sink, Source, WriteOptions,
};
use lakerace_io::{ErrorKind, IfExists, Location, Output, Result, StorageOptions};

use crate::common::{job, objects, read};

/// Writes a row with these columns as a file.
fn write(path: &Path, names: &str) {
    let one: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let row = RecordBatch::try_from_iter(names.split_whitespace().map(|name| (name, Arc::clone(&one)))).unwrap();
    let location = Location::parse(path.to_str().unwrap()).unwrap();
    let (store, at) = location.open(&StorageOptions::default(), &job(1)).unwrap();
    let output = Output::create(&store, &at, IfExists::Error).unwrap();
    let options = WriteOptions::default();
    let mut sink: Box<dyn Sink> = match path.extension().unwrap().to_str() {
        Some("orc") => OrcSink::create(output, row.schema(), &options, &job(1)).unwrap(),
        _ => ParquetSink::create(output, row.schema(), &options, &job(1)).unwrap(),
    };
    sink.write(row).unwrap();
    sink.finish().unwrap();
}

/// Opens files with these columns as one table, and counts its columns and rows.
fn union(files: &[&str], format: &str, union: ColumnUnion) -> Result<(usize, usize)> {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = (0..files.len()).map(|n| folder.path().join(format!("{n}.{format}"))).collect();
    paths.iter().zip(files).for_each(|(path, names)| write(path, names));
    let job = job(1);
    let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let inputs = objects(&paths, &job).unwrap().into_iter().map(InputFile::from).collect();
    let source: Box<dyn Source> = match format {
        "orc" => Box::new(OrcSource::open_files(inputs, OrcOptions::default(), union, &job)?),
        _ => Box::new(ParquetSource::open_files(inputs, ParquetOptions::default(), union, &job)?),
    };
    let all = read(source.as_ref(), &ReadRequest::default())?;
    Ok((all.num_columns(), all.num_rows()))
}

#[test]
fn columns_come_and_go() {
    for format in ["parquet", "orc"] {
        for (files, columns) in [
            (&["a b c", "a b c"][..], 3),
            (&["a b c", "c b a d e f g h"], 8),
            (&["a b c d e f g", "a b"], 7),
            (&["a b c d", "a b", "c d e f"], 6),
            (&["a b", "b c"], 3),
            (&["a", "a b"], 2),
        ] {
            assert_eq!(union(files, format, ColumnUnion::Related).unwrap(), (columns, files.len()), "{files:?}");
        }
    }
}

#[test]
fn files_of_different_tables_are_an_error() {
    for format in ["parquet", "orc"] {
        for (files, shared, columns) in [
            (&["a b c", "d e f"][..], "none of its 3 columns", 6),
            (&["a", "b"], "none of its 1 column ", 2),
            (&["id b c", "id e f"], "1 of its 3 columns", 5),
            (&["id b c", "id b c", "id x y z"], "1 of its 4 columns", 6),
        ] {
            let error = union(files, format, ColumnUnion::Related).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            let (said, last) = (error.to_string(), files.len() - 1);
            assert!(said.contains(shared) && said.contains("`union_columns`"), "{said}");
            assert!(said.contains(&format!("0.{format}")) && said.contains(&format!("{last}.{format}")), "{said}");
            assert_eq!(union(files, format, ColumnUnion::Any).unwrap(), (columns, files.len()), "{files:?}");
        }
    }
}
