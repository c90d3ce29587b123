//! Keys that are read ahead of their rows.
//!
//! If the keys of a source are known before its rows, these need not be in memory together: they are sorted and written
//! run by run while they are read ([`StreamingWrite`](super::streaming_write::StreamingWrite)), and in the meantime the
//! table is searched for rows with one of the keys.

use std::sync::Arc;

use lakerace_io::{Job, Result};

use super::key_windows::FIRST_ROW;
use super::row_mapping::RowMapping;
use super::sorted_chunk::{OnDuplicate, SortedChunk, kept_rows};
use super::source::RereadableRows;
use crate::key::{KeySet, Keys};
use crate::rows::SORTING_BYTES_PER_ROW;

/// The keys of all rows of a source.
pub(crate) struct KeyPrescan {
    /// The different ones, in order, without rows.
    pub keys: SortedChunk,
    /// The number of the source's rows, including those that a later one replaces.
    pub rows: u32,
    /// The rows that no later one replaces, in the order of their keys, counted from 0. `None`: all of them in the
    /// original order.
    pub order: Option<Vec<u32>>,
}

impl KeyPrescan {
    /// Reads the keys of a source. `None` where the rows are needed instead: the keys do not fit into `limit_bytes`, or
    /// one occurs twice and is an error, which needs the rows.
    ///
    /// Errors: those of the source, and `Invalid` for rows without a key.
    pub fn read(
        mapping: &RowMapping,
        source: &RereadableRows,
        on_duplicate: OnDuplicate,
        limit_bytes: usize,
        job: &Job,
    ) -> Result<Option<Self>> {
        if source.rows > u64::from(u32::MAX / 2) {
            return Ok(None);
        }
        let names: Vec<String> = mapping.columns.names().map(str::to_owned).collect();
        let mut keys = mapping.columns.no_keys();
        keys.reserve(source.rows as usize);
        let batches = source.columns(&names)?;
        let fit = mapping.fit_keys(batches.schema())?;
        for batch in batches {
            job.check()?;
            let first_row = FIRST_ROW + keys.len() as u64;
            keys.append(mapping.columns.keys(&fit.fit(&batch?)?, first_row)?);
            let rows = keys.len();
            let bytes = keys.memory_bytes() + rows * SORTING_BYTES_PER_ROW + KeySet::lookup_bytes(rows);
            if bytes > limit_bytes || rows as u64 > source.rows {
                return Ok(None);
            }
        }
        Ok(Self::from_keys(mapping, keys, on_duplicate, job.options().threads))
    }

    fn from_keys(mapping: &RowMapping, keys: Keys, on_duplicate: OnDuplicate, threads: usize) -> Option<Self> {
        let rows = keys.len() as u32;
        let (keys, order) = keys.sorted(threads);
        let repeated = keys.repeated();
        let ahead = |keys, order| {
            let keys = SortedChunk::of_keys(Arc::clone(&mapping.written), KeySet::new(keys));
            Some(Self { keys, rows, order })
        };
        if repeated.is_empty() {
            return ahead(keys, order);
        }
        if on_duplicate == OnDuplicate::Error {
            return None;
        }
        let kept = kept_rows(keys.len(), &repeated);
        let keys = keys.take(&kept);
        let order = order.map(|order| kept.iter().map(|place| order[*place as usize]).collect());
        ahead(keys, order.or(Some(kept)))
    }
}
