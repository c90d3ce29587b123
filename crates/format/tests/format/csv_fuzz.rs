//! Random text: never a panic, the same rows from any number of threads, and those that a plain reader of RFC 4180 finds.

use std::path::Path;

use arrow::array::{Array, AsArray};
use arrow::record_batch::RecordBatch;
use lakerace_format::csv::{CsvSource, Dialect};
use lakerace_format::{CsvOptions, OnBadRow, ReadRequest, Source};
use lakerace_io::{Job, JobOptions, Location, Result, StorageOptions};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

fn read(path: &Path, dialect: Dialect, options: &CsvOptions, threads: usize) -> Result<Vec<RecordBatch>> {
    let job = Job::new(JobOptions { threads, ..JobOptions::default() });
    let object = Location::parse(path.to_str().unwrap())?.object(&StorageOptions::default(), &job)?;
    let source = CsvSource::open(vec![object], dialect, options, &job)?;
    source.read(&source.plan(&ReadRequest::default())?)?.collect()
}

/// One byte after the other, as the rules are written down; rows with another number of fields are left out.
fn reference(text: &[u8], columns: usize) -> Vec<Vec<Option<String>>> {
    let mut rows = Vec::new();
    let (mut row, mut field): (Vec<Option<Vec<u8>>>, Vec<u8>) = (Vec::new(), Vec::new());
    let (mut quoted, mut inside, mut bad, mut touched) = (false, false, false, false);
    let mut at = 0;
    let end_field = |row: &mut Vec<Option<Vec<u8>>>, field: &mut Vec<u8>, quoted: &mut bool| {
        let text = std::mem::take(field);
        row.push(if text.is_empty() && !*quoted { None } else { Some(text) });
        *quoted = false;
    };
    while at <= text.len() {
        let byte = text.get(at).copied();
        let ends = byte == Some(b'\n')
            || byte.is_none()
            || (byte == Some(b'\r') && matches!(text.get(at + 1), Some(b'\n') | None));
        if inside {
            match byte {
                None => panic!("an open quote"),
                Some(b'"') if text.get(at + 1) == Some(&b'"') => {
                    field.push(b'"');
                    at += 1;
                }
                Some(b'"') => inside = false,
                Some(byte) => field.push(byte),
            }
        } else if ends {
            if touched || !row.is_empty() {
                end_field(&mut row, &mut field, &mut quoted);
                let whole = row.len() == columns && !bad;
                if whole {
                    rows.push(row.drain(..).map(|f| f.map(|f| String::from_utf8(f).unwrap())).collect());
                }
                row.clear();
            }
            (bad, touched) = (false, false);
            at += usize::from(byte == Some(b'\r'));
        } else if byte == Some(b',') {
            end_field(&mut row, &mut field, &mut quoted);
            touched = true;
        } else if byte == Some(b'"') && field.is_empty() && !quoted {
            (inside, quoted, touched) = (true, true, true);
        } else {
            // Something behind a closing quote.
            bad |= quoted;
            touched = true;
            field.extend(byte);
        }
        at += 1;
    }
    rows
}

fn texts(batches: &[RecordBatch]) -> Vec<Vec<Option<String>>> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let value = |column: &dyn Array| {
                let column = column.as_string_view();
                column.is_valid(row).then(|| column.value(row).to_owned())
            };
            rows.push(batch.columns().iter().map(|c| value(c.as_ref())).collect());
        }
    }
    rows
}

#[test]
fn random_text_gives_the_rows_of_a_plain_reader() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let mut random = StdRng::seed_from_u64(3);
    let options = CsvOptions {
        header: Some(false),
        schema: Some("a utf8_view, b utf8_view, c utf8_view".into()),
        on_bad_row: OnBadRow::Skip,
        ..CsvOptions::default()
    };
    let mut rows_seen = 0;
    for _ in 0..3000 {
        let alphabet: &[&str] =
            &["\"", "\"\"", ",", ",", "\n", "\r\n", "x", "a long piece of text", "é", "\"y\"", "\r"];
        let len = random.random_range(0..60);
        let mut text: String = (0..len).map(|_| alphabet[random.random_range(0..alphabet.len())]).collect();
        std::fs::write(&path, &text).unwrap();
        let got = match read(&path, Dialect::Csv, &options, 1) {
            Ok(batches) => texts(&batches),
            Err(error) => {
                // Closing the quote makes it whole.
                assert!(error.to_string().contains("never closed"), "{error} {text:?}");
                text.push('"');
                std::fs::write(&path, &text).unwrap();
                texts(&read(&path, Dialect::Csv, &options, 1).unwrap())
            }
        };
        rows_seen += got.len();
        assert_eq!(got, reference(text.as_bytes(), 3), "{text:?}");
    }
    assert!(rows_seen > 1000);
}

#[test]
fn random_bytes_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = StdRng::seed_from_u64(4);
    let schemas =
        [None, Some("a int64, b float64, c decimal(9,2)"), Some("a date32, b timestamp(us, UTC), c time64(ns)")];
    for round in 0..1500 {
        let len = random.random_range(0..300);
        let bytes: Vec<u8> = if round % 2 == 0 {
            (0..len).map(|_| random.random()).collect()
        } else {
            let alphabet = b"\"\",,\n\r|0123456789-+.:TZeE \\naif\xef\xbb\xbf\x1f\x8b\x08";
            (0..len).map(|_| alphabet[random.random_range(0..alphabet.len())]).collect()
        };
        let name = ["t.csv", "t.csv.gz", "t.csv.zst", "u.csv"][round % 4];
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let dialect = if random.random_bool(0.3) { Dialect::Tbl } else { Dialect::Csv };
        let options = CsvOptions {
            schema: schemas[round % 3].map(str::to_owned),
            header: Some(random.random_bool(0.3)),
            escape: random.random_bool(0.3).then_some(b'\\'),
            on_bad_row: [OnBadRow::Error, OnBadRow::Skip, OnBadRow::Null][random.random_range(0..3)],
            ..CsvOptions::default()
        };
        let one = read(&path, dialect, &options, 1);
        let many = read(&path, dialect, &options, 2);
        match (one, many) {
            (Ok(one), Ok(many)) => assert_eq!(one, many),
            (Err(one), Err(many)) => assert_eq!(one.to_string(), many.to_string()),
            (one, many) => panic!("{one:?} {many:?}"),
        }
    }
}
