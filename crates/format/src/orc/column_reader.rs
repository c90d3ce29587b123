//! A column of a stripe as a state machine that yields the next rows.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::compute::concat;
use arrow::datatypes::{FieldRef, TimeUnit};
use bytes::Bytes;
use lakerace_io::{Error, ErrorKind, Fetcher, Result};
use lakerace_orc::read::{BatchReader, ReadOptions};

use super::error::from_orc;
use super::file::FINEST;
use super::timestamps::{advise, read_options, unit_of};
use super::unit::{StripeUnit, spans};
use crate::conform::widen;
use crate::exec::{ColumnReader, DecodeUnits, RowMask};
use crate::options::TimestampUnit;

/// The stripes of a read, and the data for decoding their columns.
pub(crate) struct StripeSet {
    units: Vec<StripeUnit>,
    /// The fields of the decoded columns.
    fields: Vec<FieldRef>,
    /// The most rows of a step.
    step_rows: usize,
    timestamp_unit: TimestampUnit,
    fetcher: Fetcher,
}

impl StripeSet {
    /// Stripes, from the bytes of `fetcher`. Their footers must have been read.
    pub fn new(
        units: Vec<StripeUnit>,
        fields: Vec<FieldRef>,
        step_rows: usize,
        timestamp_unit: TimestampUnit,
        fetcher: Fetcher,
    ) -> Self {
        Self { units, fields, step_rows, timestamp_unit, fetcher }
    }
}

impl DecodeUnits for StripeSet {
    type ColumnReader = OrcColumnReader;

    fn count(&self) -> usize {
        self.units.len()
    }

    fn open(&self, unit: usize, column: usize) -> Result<OrcColumnReader> {
        let (unit, field) = (&self.units[unit], &self.fields[column]);
        let mut lane = OrcColumnReader {
            unit: unit.clone(),
            field: Arc::clone(field),
            fetcher: self.fetcher.clone(),
            reader: None,
            at: 0,
            decoded: None,
            held: Vec::new(),
        };
        let options = read_options(field.data_type(), self.step_rows, self.timestamp_unit);
        lane.begin(options).map_err(|e| lane.with_location(e))?;
        Ok(lane)
    }

    fn unit_place(&self, unit: usize) -> String {
        let unit = &self.units[unit];
        format!("{}: stripe {}", unit.file.url, unit.stripe)
    }
}

/// Yields the rows of one column of one stripe.
pub(crate) struct OrcColumnReader {
    unit: StripeUnit,
    field: FieldRef,
    fetcher: Fetcher,
    /// `None` where the file does not have the column.
    reader: Option<BatchReader>,
    /// The number in the stripe of the next row.
    at: u64,
    /// Decoded rows from there on that are not requested yet.
    decoded: Option<ArrayRef>,
    /// The ranges that the reader's bytes are from, ascending.
    held: Vec<Range<u64>>,
}

impl OrcColumnReader {
    /// Fetches the column's streams and opens its reader.
    fn begin(&mut self, options: ReadOptions) -> Result<()> {
        let Some(read) = self.unit.read(&self.field)? else { return Ok(()) };
        self.held = spans(&read);
        let fetch = |span: &Range<u64>| self.fetcher.bytes(self.unit.file_number, span.clone());
        let spans: Vec<Bytes> = self.held.iter().map(fetch).collect::<Result<_>>()?;
        let stream = |range: &lakerace_orc::read::Range| {
            if range.length == 0 {
                return Bytes::new();
            }
            let nth = self.held.partition_point(|span| span.end <= range.offset);
            let at = (range.offset - self.held[nth].start) as usize;
            spans[nth].slice(at..at + range.length as usize)
        };
        let bytes = read.ranges().iter().map(stream).collect();
        self.reader = Some(read.read(bytes, &options).map_err(from_orc)?);
        Ok(())
    }

    /// Skips rows: those of row groups that are not read, and decoded ones.
    fn pass(&mut self, rows: u64) -> Result<()> {
        let target = self.at + rows;
        while self.at < target {
            if let Some(decoded) = self.decoded.take() {
                let passed = (target - self.at).min(decoded.len() as u64) as usize;
                self.at += passed as u64;
                self.decoded = Some(decoded.slice(passed, decoded.len() - passed)).filter(|rest| !rest.is_empty());
                continue;
            }
            match self.reader.as_ref().and_then(BatchReader::next_row) {
                Some(row) if row < target => {
                    self.at = self.at.max(row);
                    self.decoded = Some(self.next_array(target - self.at)?);
                }
                _ => self.at = target,
            }
        }
        Ok(())
    }

    /// The next `rows` rows as the file has them.
    fn decode(&mut self, rows: usize) -> Result<ArrayRef> {
        let mut parts: Vec<ArrayRef> = Vec::with_capacity(1);
        let mut missing = rows;
        while missing > 0 {
            let array = match self.decoded.take() {
                Some(rest) => rest,
                None => self.next_array(missing as u64)?,
            };
            let taken = missing.min(array.len());
            if taken < array.len() {
                self.decoded = Some(array.slice(taken, array.len() - taken));
            }
            parts.push(if taken < array.len() { array.slice(0, taken) } else { array });
            self.at += taken as u64;
            missing -= taken;
        }
        if parts.len() == 1 {
            return Ok(parts.swap_remove(0));
        }
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        concat(&parts).map_err(Error::unexpected)
    }

    /// The reader's next rows, which must be those that are due.
    fn next_array(&mut self, missing: u64) -> Result<ArrayRef> {
        let unit = self.time_unit();
        let reader = self.reader.as_mut().ok_or_else(|| Error::internal("a missing column has rows"))?;
        match reader.next_row() {
            Some(row) if row != self.at => {
                return Err(Error::internal(format!("row {row} of the stripe comes next instead of {}", self.at)));
            }
            _ => {}
        }
        let ended = || Error::corrupt(format!("the stripe ends {missing} rows before its row count says"));
        let batch = reader.next().ok_or_else(ended)?.map_err(|e| advise(from_orc(e), unit))?;
        let column = batch.columns().first();
        Ok(Arc::clone(column.ok_or_else(|| Error::internal("a batch of one column has no column"))?))
    }

    fn time_unit(&self) -> TimeUnit {
        unit_of(self.field.data_type()).unwrap_or(FINEST)
    }

    fn next_rows(&mut self, rows: usize, selection: Option<&RowMask>) -> Result<ArrayRef> {
        let kept = selection.map_or(rows, RowMask::count);
        let array = if self.reader.is_some() {
            let array = self.decode(rows)?;
            match selection {
                Some(selection) => selection.filter(&array)?,
                None => array,
            }
        } else if let Some(constants) = &self.unit.file.constants
            && let Some(array) = constants.array(self.field.name(), kept)?
        {
            array
        } else {
            return Ok(new_null_array(self.field.data_type(), kept));
        };
        let same = array.data_type() == self.field.data_type();
        if same { Ok(array) } else { widen(&array, self.field.data_type()) }
    }

    /// Names file, stripe and column in an error.
    fn with_location(&self, error: Error) -> Error {
        let (url, stripe) = (&self.unit.file.url, format!("stripe {}", self.unit.stripe));
        match error.location() {
            // Stores name their object already.
            Some(place) if place.starts_with(url) => error,
            _ if error.kind() == ErrorKind::Cancelled => error,
            Some(place) if place.starts_with(&stripe) => error.at(format!("{url}: column {:?}", self.field.name())),
            _ => error.at(format!("{url}: {stripe}, column {:?}", self.field.name())),
        }
    }
}

impl ColumnReader for OrcColumnReader {
    fn next(&mut self, gap: u64, rows: usize, selection: Option<&RowMask>) -> Result<ArrayRef> {
        self.pass(gap).and_then(|()| self.next_rows(rows, selection)).map_err(|e| self.with_location(e))
    }

    fn skip(&mut self, gap: u64, rows: usize) -> Result<()> {
        self.pass(gap + rows as u64).map_err(|e| self.with_location(e))
    }
}

impl Drop for OrcColumnReader {
    fn drop(&mut self) {
        // The reader holds slices of them.
        self.reader = None;
        for range in self.held.drain(..) {
            self.fetcher.release(self.unit.file_number, range);
        }
    }
}
