//! Files of other writers: their rows are those that the reference implementation prints; damaged ones are errors.

use std::io::Read;

use bytes::Bytes;
use lakerace_orc::ErrorKind;
use lakerace_orc::read::ReadOptions;
use serde_json::Value;

use lakerace_testing::corpus;

use crate::common;
use crate::json;

/// Compares a file with rows as JSON, one a line.
fn compare(name: &str, file: &Bytes, text: &str) {
    let expected: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for batch_rows in [1000, 77] {
        let options = ReadOptions { batch_rows, ..Default::default() };
        let batches = common::read(file, &options).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut wanted = expected.iter();
        for batch in &batches {
            for row in 0..batch.num_rows() {
                let wanted = wanted.next().unwrap_or_else(|| panic!("{name}: more than {} rows", expected.len()));
                let schema = batch.schema();
                let unnamed = schema.field(0).name() == lakerace_orc::schema::UNNAMED_COLUMN && !wanted.is_object();
                for (field, column) in schema.fields().iter().zip(batch.columns()) {
                    let value = if unnamed { wanted } else { &wanted[field.name()] };
                    if let Some(found) = json::difference(column, row, value) {
                        panic!("{name}: {}: {found}, in {}", field.name(), json::shown(column, row));
                    }
                }
            }
        }
        assert_eq!(wanted.next(), None, "{name}: too few rows");
    }
}

#[test]
fn rows_are_those_of_the_reference() {
    corpus("orc", |folder| {
        let mut compared = 0;
        for (name, file) in common::files(folder) {
            let Ok(rows) = std::fs::read(folder.join("expected").join(format!("{name}.jsn.gz"))) else { continue };
            let mut text = String::new();
            flate2::read::MultiGzDecoder::new(&rows[..]).read_to_string(&mut text).unwrap();
            compare(&name, &file, &text);
            compared += 1;
        }
        assert!(compared >= 9, "only {compared} files");
    });
}

#[test]
fn rows_are_those_that_were_written() {
    let folder = common::fixtures();
    for name in ["types_zlib", "types_zstd_v11"] {
        let file = Bytes::from(std::fs::read(folder.join(format!("{name}.orc"))).unwrap());
        compare(name, &file, &std::fs::read_to_string(folder.join("types.jsn")).unwrap());
    }
}

/// Those without expected rows: as many as the footer says, or the error that is due.
#[test]
fn other_files_are_read() {
    corpus("orc", |folder| {
        for (name, file) in common::files(folder) {
            let rows = common::read(&file, &ReadOptions::default());
            let rows = rows.map(|batches| batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>());
            match name.as_str() {
                // An empty file is nobody's.
                "zero" => assert_eq!(rows.unwrap_err().kind(), ErrorKind::Corrupt),
                _ => assert_eq!(
                    rows.unwrap_or_else(|e| panic!("{name}: {e}")),
                    common::tail(&file).unwrap().rows(),
                    "{name}"
                ),
            }
        }
    });
}

#[test]
fn damaged_files_are_errors() {
    corpus("orc", |folder| {
        let files = common::files(&folder.join("corrupt"));
        assert!(!files.is_empty());
        for (name, file) in files {
            let error = common::read(&file, &ReadOptions::default()).expect_err(&name);
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}: {error}");
            eprintln!("{name}: {error}");
        }
    });
}
