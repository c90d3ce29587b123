#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::sync::{Arc, Mutex};

use arrow::array::{ArrayRef, AsArray, StringViewArray};
use lakerace_io::JobOptions;

use super::*;

/// A text a line.
struct Lines;

impl TextRows for Lines {
    fn append(&self, batch: &RecordBatch, _: u64, out: &mut Vec<u8>) -> Result<()> {
        for text in batch.column(0).as_string_view().iter().flatten() {
            out.extend_from_slice(text.as_bytes());
            out.push(b'\n');
        }
        Ok(())
    }
}

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn texts(bytes: usize, rows: usize) -> RecordBatch {
    let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..rows).map(|_| "x".repeat(bytes))));
    RecordBatch::try_from_iter([("text", texts)]).unwrap()
}

/// What has been written after each batch, by one thread.
fn written_after_each(batches: &[RecordBatch]) -> Vec<usize> {
    let job = Job::new(JobOptions { threads: 1, ..JobOptions::default() });
    let written = Written::default();
    let output = Output::stream(Box::new(written.clone()), "lines", &job);
    let mut sink =
        TextSink::create(output, batches[0].schema(), Box::new(Lines), &WriteOptions::default(), &job).unwrap();
    let length = || written.0.lock().unwrap().len();
    let mut lengths = Vec::new();
    for batch in batches {
        sink.write(batch.clone()).unwrap();
        lengths.push(length());
    }
    sink.finish().unwrap();
    lengths.push(length());
    lengths
}

#[test]
fn large_rows_are_not_gathered() {
    let bytes = 4 << 20;
    let lengths = written_after_each(&[texts(bytes, 1), texts(bytes, 2), texts(10, 3), texts(bytes, 1)]);
    let line = bytes + 1;
    // After large rows, one small row tells how much text comes of such rows. The others wait, and go with the next batch.
    assert_eq!(lengths, [line, 3 * line, 3 * line + 11, 4 * line + 33, 4 * line + 33]);
}

#[test]
fn small_rows_are_gathered() {
    assert_eq!(written_after_each(&[texts(10, 3), texts(10, 3)]), [0, 0, 66]);
}
