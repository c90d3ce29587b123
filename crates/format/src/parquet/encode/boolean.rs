//! Encoding boolean columns: one bit a value, which no dictionary improves on.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanBufferBuilder};
use lakerace_io::Result;
use parquet::basic::Encoding;
use parquet::schema::types::ColumnDescPtr;

use super::encoder::{ColumnEncoder, EncoderScratch, PAGE_ROWS, PageNulls};
use super::page::{EncodedChunk, PageSummary, PageWriter};
use super::statistics::{ValueBounds, ValueOrder};
use super::values::{plain_array, wrong_type};
use crate::parquet::write::options::CheckedOptions;

/// Encodes booleans.
pub(crate) struct BooleanEncoder {
    writer: PageWriter,
    levels: PageNulls,
    values: BooleanBufferBuilder,
}

impl BooleanEncoder {
    /// An encoder for one chunk of `column`.
    pub(crate) fn new(column: ColumnDescPtr, settings: Arc<CheckedOptions>) -> Self {
        let levels = PageNulls::new(column.max_def_level() > 0);
        Self { writer: PageWriter::new(column, settings), levels, values: BooleanBufferBuilder::new(0) }
    }

    fn flush_page(&mut self, scratch: &mut EncoderScratch) -> Result<()> {
        let (rows, nulls) = (self.levels.rows(), self.levels.nulls());
        if rows == 0 {
            return Ok(());
        }
        scratch.body.clear();
        self.levels.flush(&mut scratch.body);
        let values = self.values.finish();
        scratch.body.extend_from_slice(&values.values()[..values.len().div_ceil(8)]);
        let trues = values.count_set_bits();
        let min_max = (!values.is_empty() && self.writer.wanted_order() != ValueOrder::None)
            .then(|| (vec![u8::from(trues == values.len())], vec![u8::from(trues > 0)]));
        let bounds = ValueBounds { min_max, nans: 0 };
        let summary = PageSummary { rows, nulls, encoding: Encoding::PLAIN, bounds, value_bytes: None };
        self.writer.data_page(&scratch.body, summary, &mut scratch.compressor)
    }
}

impl ColumnEncoder for BooleanEncoder {
    fn write(&mut self, array: &ArrayRef, scratch: &mut EncoderScratch) -> Result<()> {
        let array = plain_array(array)?;
        let Some(booleans) = array.as_boolean_opt() else { return Err(wrong_type(&array, self.writer.column())) };
        let mut at = 0;
        while at < booleans.len() {
            let rows = (booleans.len() - at).min(PAGE_ROWS - self.levels.rows());
            let values = booleans.values().slice(at, rows);
            match booleans.nulls().map(|nulls| nulls.slice(at, rows)).filter(|nulls| nulls.null_count() > 0) {
                None => {
                    self.levels.push_valid(rows);
                    self.values.append_buffer(&values);
                }
                Some(nulls) => {
                    self.levels.push(&nulls)?;
                    nulls
                        .valid_slices()
                        .for_each(|(from, to)| self.values.append_buffer(&values.slice(from, to - from)));
                }
            }
            at += rows;
            if self.levels.rows() == PAGE_ROWS {
                self.flush_page(scratch)?;
            }
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.writer.compressed_bytes() + self.values.len() as u64 / 8
    }

    fn finish(mut self: Box<Self>, scratch: &mut EncoderScratch) -> Result<Vec<EncodedChunk>> {
        self.flush_page(scratch)?;
        Ok(vec![self.writer.finish(None)?])
    }
}
