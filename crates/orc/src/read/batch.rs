//! Record batches of a stripe.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;
use bytes::Bytes;

use super::column::{SectionBuilder, SubtreeReader};
use super::input::SharedDecompressor;
use super::options::ReadOptions;
use super::stripe::{Stripe, StripeRead, StripeSection};
use super::zone::WriterZone;
use crate::compress::Decompressor;
use crate::error::{Error, Result};
use crate::schema::{OrcKind, OrcType};

/// The batches of some rows of a stripe, one after the other; ends after the first error.
pub struct BatchReader {
    stripe: Arc<Stripe>,
    schema: SchemaRef,
    options: ReadOptions,
    decompressor: SharedDecompressor,
    zone: WriterZone,
    bytes: Vec<Bytes>,
    /// The sections still to be read, the next one last.
    sections: Vec<StripeSection>,
    current: Option<CurrentSection>,
    dictionaries: HashMap<u32, super::column::DictionaryViews>,
}

struct CurrentSection {
    column: SubtreeReader,
    row: u64,
    left: u64,
}

impl StripeRead {
    /// The batches, from the bytes of every range in the order of [`ranges`](Self::ranges).
    ///
    /// # Errors
    /// Invalid where bytes and ranges don't fit; Unsupported for a time zone that isn't known or a version of the format.
    pub fn read(self, bytes: Vec<Bytes>, options: &ReadOptions) -> Result<BatchReader> {
        let fits = bytes.iter().zip(&self.ranges).all(|(bytes, range)| bytes.len() as u64 == range.length);
        if !fits || bytes.len() != self.ranges.len() {
            return Err(Error::invalid(format!(
                "the bytes of {} ranges differ from those that were requested",
                bytes.len()
            )));
        }
        let place = format!("stripe {}", self.stripe.number);
        BatchReader::new(self.stripe, self.sections, bytes, options).map_err(|e| e.at(place))
    }
}

impl BatchReader {
    fn new(
        stripe: Arc<Stripe>,
        mut sections: Vec<StripeSection>,
        bytes: Vec<Bytes>,
        options: &ReadOptions,
    ) -> Result<Self> {
        if options.batch_rows == 0 {
            return Err(Error::invalid("a batch needs at least one row"));
        }
        let zone = match (&stripe.file.clock, &stripe.zone) {
            _ if !has_timestamps(&stripe.root) => WriterZone::utc(),
            (Some(clock), name) => clock.writer_zone(name.as_deref())?,
            (None, Some(name)) => WriterZone::named(name, stripe.file.writer())?,
            (None, None) => WriterZone::utc(),
        };
        sections.reverse();
        let decompressor = Decompressor::new(stripe.file.codec(), stripe.file.block_size());
        Ok(Self {
            schema: stripe.root.to_arrow_schema(options.timestamp_unit),
            decompressor: Arc::new(Mutex::new(decompressor)),
            stripe,
            options: *options,
            zone,
            bytes,
            sections,
            current: None,
            dictionaries: HashMap::new(),
        })
    }

    /// The schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The number in the stripe of the first row of the next batch; `None` after the last one.
    pub fn next_row(&self) -> Option<u64> {
        match &self.current {
            Some(current) if current.left > 0 => Some(current.row),
            _ => self.sections.last().map(|section| section.first_row),
        }
    }

    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        while self.current.as_ref().is_none_or(|current| current.left == 0) {
            let Some(section) = self.sections.pop() else { return Ok(None) };
            let mut builder = SectionBuilder {
                stripe: &self.stripe,
                section: &section,
                bytes: &self.bytes,
                decompressor: &self.decompressor,
                zone: &self.zone,
                options: &self.options,
                in_rows: true,
                dictionaries: &mut self.dictionaries,
            };
            let column = builder.column(&self.stripe.root)?;
            self.current = Some(CurrentSection { column, row: section.first_row, left: section.rows });
        }
        let Some(current) = &mut self.current else { return Ok(None) };
        let rows = current.left.min(self.options.batch_rows as u64);
        let columns: Vec<ArrayRef> = current.column.read_root(rows as usize)?;
        current.row += rows;
        current.left -= rows;
        let options = RecordBatchOptions::new().with_row_count(Some(rows as usize));
        Ok(Some(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?))
    }
}

fn has_timestamps(node: &OrcType) -> bool {
    matches!(node.kind, OrcKind::Timestamp | OrcKind::ClockInstant) || node.children().any(has_timestamps)
}

impl Iterator for BatchReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.advance().map_err(|e| e.at(format!("stripe {}", self.stripe.number)));
        if step.is_err() {
            self.current = None;
            self.sections.clear();
        }
        step.transpose()
    }
}
