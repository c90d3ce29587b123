#![allow(clippy::unwrap_used)]

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow::array::{ArrayRef, AsArray, Int64Array};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use lakerace_io::{Error, Job, Result};

use super::super::{BatchPlan, ColumnReader, DecodeUnits, RowMask, run, steps_ahead};
use super::ScanTask;
use crate::ReadRequest;
use crate::columns::ReadColumns;

const UNIT_ROWS: u64 = 1000;
const STEP_ROWS: usize = 100;

/// Units of one column with the numbers from 0 on. The reader of unit 0 waits until unit 1 is opened.
struct WaitingUnits {
    opened: Sender<()>,
    awaited: Mutex<Option<Receiver<()>>>,
}

struct CountingReader {
    next: u64,
    awaited: Option<Receiver<()>>,
}

impl DecodeUnits for WaitingUnits {
    type ColumnReader = CountingReader;

    fn count(&self) -> usize {
        4
    }

    fn open(&self, unit: usize, _column: usize) -> Result<CountingReader> {
        let awaited = if unit == 0 { self.awaited.lock().unwrap().take() } else { None };
        if unit == 1 {
            self.opened.send(()).unwrap();
        }
        Ok(CountingReader { next: unit as u64 * UNIT_ROWS, awaited })
    }

    fn unit_place(&self, unit: usize) -> String {
        format!("unit {unit}")
    }
}

impl ColumnReader for CountingReader {
    fn next(&mut self, gap: u64, rows: usize, _selection: Option<&RowMask>) -> Result<ArrayRef> {
        if let Some(awaited) = self.awaited.take() {
            // The limit is for a schedule that never opens the second unit.
            awaited.recv_timeout(Duration::from_secs(60)).map_err(|_| Error::internal("unit 1 was not opened"))?;
        }
        let start = self.next + gap;
        self.next = start + rows as u64;
        Ok(Arc::new(Int64Array::from_iter_values((start..self.next).map(|number| number as i64))))
    }

    fn skip(&mut self, gap: u64, rows: usize) -> Result<()> {
        self.next += gap + rows as u64;
        Ok(())
    }
}

#[test]
fn two_threads_decode_two_units_of_one_column() {
    let schema = Arc::new(Schema::new(vec![Field::new("number", DataType::Int64, false)]));
    let columns = ReadColumns::resolve(&schema, &ReadRequest::default()).unwrap();
    let fields = columns.fields(&schema);
    let rows = 0..UNIT_ROWS;
    let steps = BatchPlan::new((0..4).map(|_| (std::slice::from_ref(&rows), STEP_ROWS)), None);
    assert_eq!(steps.largest_unit(), 10);
    let steps_ahead = steps_ahead(STEP_ROWS, &[8], &[8], steps.largest_unit(), 2);
    let (opened, awaited) = channel();
    let units = WaitingUnits { opened, awaited: Mutex::new(Some(awaited)) };
    let job = Job::default().with_threads(2);
    let task = ScanTask { columns, fields, units, steps, steps_ahead, job };
    let mut numbers = Vec::new();
    for batch in run(task, STEP_ROWS, None).unwrap() {
        numbers.extend_from_slice(batch.unwrap().column(0).as_primitive::<Int64Type>().values());
    }
    assert_eq!(numbers, (0..4 * UNIT_ROWS as i64).collect::<Vec<_>>());
}
