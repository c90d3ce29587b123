//! The rows of a source in the windows by which an upsert walks through a table: all together where they fit into
//! memory, or else sorted on the local disk and read again in the order of keys.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use lakerace_exec::map_ordered;
use lakerace_format::predicate::ColumnStatistics;
use lakerace_format::{Batches, is_large_row};
use lakerace_io::{Error, Job, Result};
use roaring::RoaringTreemap;

use super::external_sort::ExternalSort;
use super::operator::MergeOperators;
use super::sorted_chunk::{ChunkBuilder, ChunkReader, EqualKeys, SortedChunk};
use crate::deletion_vector;
use crate::key::{KeyColumns, KeySet, Keys};
use crate::probe::{FileLookup, RowProbe, StatsPredicate, by_file};
use crate::rows::value_bytes;
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;
use crate::snapshot::statistics::FileStatistics;
use crate::write::BatchFit;

/// The rows of a source by the windows of their keys. They can be gone through more than once.
#[derive(Debug)]
pub(crate) enum KeyWindows {
    /// A window in memory.
    Memory(SortedChunk),
    /// One window or more on disk.
    Disk(ExternalSort),
}

/// The gathering of rows into windows.
pub(crate) struct WindowGathering<'a> {
    pub columns: &'a KeyColumns,
    /// From the source's columns to the table's.
    pub fit: &'a BatchFit,
    pub equal_keys: EqualKeys,
    pub operators: &'a MergeOperators,
    /// Bytes that windows may take.
    pub memory_bytes: usize,
    pub job: &'a Job,
}

/// The least and the most rows of a piece: a source may return all of its rows in one batch.
const PIECE_ROWS: RangeInclusive<usize> = 4096..=131_072;
/// The least rows of a piece where the memory does not allow [`UNDER_WAY_BYTES`] in addition to the rows.
const LEAST_PIECE_ROWS: usize = 64;
/// Approximate bytes of all pieces in progress: with many threads, pieces are smaller. They are no more than a quarter
/// of the bytes of the rows.
const UNDER_WAY_BYTES: usize = 96 << 20;
/// Pieces that wait while others are packed: without them, the source's threads would wait for that.
pub(super) const PIECES_AHEAD: usize = 2;
/// Sources count their rows from 1, for people.
pub(super) const FIRST_ROW: u64 = 1;

impl WindowGathering<'_> {
    /// All rows of a source.
    pub fn gather(&self, batches: Batches) -> Result<KeyWindows> {
        let (schema, threads) = (self.fit.schema(), self.job.options().threads);
        let reader = ChunkReader::new(self.columns.clone(), schema, threads);
        let builder = |first_row| ChunkBuilder::packed_by(&reader, Arc::clone(schema), first_row, threads);
        let (mut first_row, mut open, mut runs) = (FIRST_ROW, builder(FIRST_ROW), None);
        // Once rows have come out of order, later ones are not expected to be in order.
        let packs = AtomicBool::new(false);
        let read = |thread, (first_row, piece): (u64, RecordBatch)| {
            self.job.check()?;
            reader.read(self.fit.fit(&piece)?, first_row, packs.load(Ordering::Relaxed), thread)
        };
        map_ordered(numbered_pieces(batches, threads, self.memory_bytes), (PIECES_AHEAD, threads), read, |rows| {
            open.push_read(rows)?;
            packs.fetch_or(open.is_packed(), Ordering::Relaxed);
            open.make_room(self.memory_bytes);
            if open.is_full(self.memory_bytes) {
                first_row += open.rows() as u64;
                let full = std::mem::replace(&mut open, builder(first_row));
                self.spill(full, schema, &mut runs)?;
            }
            Ok(())
        })?;
        if runs.is_some() && open.rows() > 0 {
            let last = std::mem::replace(&mut open, builder(first_row));
            self.spill(last, schema, &mut runs)?;
        }
        match runs {
            Some(mut runs) => {
                runs.settle()?;
                Ok(KeyWindows::Disk(runs))
            }
            None => open.finish(self.equal_keys, self.operators).map(KeyWindows::Memory),
        }
    }

    fn spill(&self, full: ChunkBuilder, schema: &SchemaRef, runs: &mut Option<ExternalSort>) -> Result<()> {
        let chunk = full.finish(self.equal_keys, self.operators)?;
        let runs = match runs {
            Some(runs) => runs,
            None => runs.insert(ExternalSort::new(
                self.columns.clone(),
                Arc::clone(schema),
                self.equal_keys,
                self.operators.clone(),
                self.memory_bytes,
            )?),
        };
        runs.push(&chunk)
    }
}

/// Pieces of batches for so many threads, in addition to so many bytes of rows, and the number of their first row.
pub(super) fn numbered_pieces(
    mut batches: impl Iterator<Item = Result<RecordBatch>>,
    threads: usize,
    memory_bytes: usize,
) -> impl Iterator<Item = Result<(u64, RecordBatch)>> {
    let (mut next_row, mut rest): (u64, Option<(RecordBatch, usize)>) = (FIRST_ROW, None);
    std::iter::from_fn(move || {
        let (batch, most_rows) = match rest.take() {
            Some(rest) => rest,
            None => match batches.find(|batch| !matches!(batch, Ok(batch) if batch.num_rows() == 0))? {
                Ok(batch) => {
                    let rows = piece_rows(&batch, threads, memory_bytes);
                    (batch, rows)
                }
                Err(error) => return Some(Err(error)),
            },
        };
        let rows = most_rows.min(batch.num_rows());
        let (piece, behind) = (batch.slice(0, rows), batch.slice(rows, batch.num_rows() - rows));
        rest = (behind.num_rows() > 0).then_some((behind, most_rows));
        let first_row = next_row;
        next_row += rows as u64;
        Some(Ok((first_row, piece)))
    })
}

/// Rows of each piece of a batch.
fn piece_rows(batch: &RecordBatch, threads: usize, memory_bytes: usize) -> usize {
    // The pieces that are packed, those that wait for an earlier one, and those ahead.
    let pieces = 2 * threads.max(1) + PIECES_AHEAD;
    let bytes: usize = batch.columns().iter().map(value_bytes).sum();
    let row_bytes = bytes.div_ceil(batch.num_rows().max(1)).max(1);
    let under_way_bytes = UNDER_WAY_BYTES.min(memory_bytes / 4);
    let least = match under_way_bytes {
        _ if is_large_row(row_bytes as u64, batch.num_columns()) => 1,
        UNDER_WAY_BYTES => *PIECE_ROWS.start(),
        _ => LEAST_PIECE_ROWS,
    };
    (under_way_bytes / pieces / row_bytes).clamp(least, *PIECE_ROWS.end())
}

impl KeyWindows {
    /// Returns true if there is no row.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Memory(chunk) if chunk.rows() == 0)
    }

    /// Visits the windows in the order of keys.
    pub fn each(&self, visit: &mut dyn FnMut(&SortedChunk) -> Result<()>) -> Result<()> {
        match self {
            Self::Memory(chunk) => visit(chunk),
            Self::Disk(runs) => runs.merge()?.try_for_each(|chunk| visit(&chunk?)),
        }
    }

    /// Visits the keys of windows, in their order.
    pub fn each_keys(&self, visit: &mut dyn FnMut(&KeySet) -> Result<()>) -> Result<()> {
        match self {
            Self::Memory(chunk) => visit(chunk.keys()),
            Self::Disk(runs) => runs.merge_keys()?.try_for_each(|chunk| visit(chunk?.keys())),
        }
    }

    /// Keeps the keys, without the rows where these are in memory.
    pub fn keys_alone(&self) -> Self {
        match self {
            Self::Memory(chunk) => Self::Memory(chunk.keys_alone()),
            Self::Disk(runs) => Self::Disk(runs.clone()),
        }
    }
}

/// Keys, and the columns of a table that they are in.
pub(crate) struct SourceKeys {
    pub columns: KeyColumns,
    pub windows: KeyWindows,
}

impl RowProbe for SourceKeys {
    fn find(&self, snapshot: &Snapshot, files: &[&TableFile]) -> Result<Vec<Option<RoaringTreemap>>> {
        let mut all = vec![None; files.len()];
        if files.is_empty() {
            return Ok(all);
        }
        self.windows.each_keys(&mut |keys| {
            join(&mut all, KeyProbe { columns: &self.columns, keys }.rows(snapshot, files)?);
            Ok(())
        })?;
        Ok(all)
    }
}

/// Merges the rows that were found for one window into those of others.
pub(crate) fn join(all: &mut [Option<RoaringTreemap>], found: Vec<Option<RoaringTreemap>>) {
    for (all, found) in all.iter_mut().zip(found) {
        match (all.as_mut(), found) {
            (Some(all), Some(found)) => *all |= found,
            (None, found) => *all = found,
            (Some(_), None) => {}
        }
    }
}

/// The keys of one window.
pub(crate) struct KeyProbe<'a> {
    pub columns: &'a KeyColumns,
    pub keys: &'a KeySet,
}

/// A row of a file that has a key: the number of the row, and of the key.
pub(crate) type Match = (u64, u32);

/// The matches in files of a version that no deletion vector hides.
pub(crate) fn visible_matches(
    snapshot: &Snapshot,
    files: &[&TableFile],
    found: Vec<Option<Vec<Match>>>,
) -> Result<Vec<Option<Vec<Match>>>> {
    let has_rows = |number: &usize| found[*number].as_ref().is_some_and(|rows| !rows.is_empty());
    let numbers: Vec<usize> = (0..files.len()).filter(has_rows).collect();
    let touched: Vec<&TableFile> = numbers.iter().map(|number| files[*number]).collect();
    let hidden = deletion_vector::treemaps(snapshot.table(), &touched).map_err(|error| snapshot.broken(error))?;
    let mut visible = found;
    for (number, hidden) in numbers.into_iter().zip(hidden) {
        if let (Some(matches), Some(hidden)) = (&mut visible[number], hidden) {
            matches.retain(|(row, _)| !hidden.contains(*row));
        }
    }
    Ok(visible)
}

/// The known keys of some rows.
pub(crate) enum KnownKeys {
    /// They have none.
    None,
    /// They are in this range; without an upper end where that is not known.
    Between(Keys, Option<Keys>),
    /// They may be any.
    Any,
}

impl KnownKeys {
    /// Derives the range of the keys from the statistics of the first of these columns.
    pub fn from_statistics(columns: &KeyColumns, statistics: &dyn ColumnStatistics) -> Self {
        let rows = statistics.row_count();
        let bounds = statistics.bounds(&columns.first()).plausible(rows);
        if rows.is_some_and(|rows| rows == 0 || bounds.null_count == Some(rows)) {
            return Self::None;
        }
        columns.range(&bounds).map_or(Self::Any, |(low, high)| Self::Between(low, high))
    }
}

impl StatsPredicate for KeyProbe<'_> {
    fn may_be_in(&self, statistics: &dyn ColumnStatistics) -> bool {
        if self.places_in(statistics) == 0 {
            return false;
        }
        self.columns.others().iter().enumerate().all(|(number, column)| {
            match KnownKeys::from_statistics(column, statistics) {
                KnownKeys::None => false,
                KnownKeys::Any => true,
                KnownKeys::Between(low, high) => {
                    self.keys.values(self.columns)[number].any_between(&low, high.as_ref())
                }
            }
        })
    }

    fn places_in(&self, statistics: &dyn ColumnStatistics) -> u64 {
        match KnownKeys::from_statistics(self.columns, statistics) {
            KnownKeys::None => 0,
            KnownKeys::Any => u64::MAX,
            KnownKeys::Between(low, high) => self.keys.count_between(&low, high.as_ref()) as u64,
        }
    }
}

impl KeyProbe<'_> {
    /// The files that have to be searched, by their numbers.
    pub fn wanted(&self, snapshot: &Snapshot, files: &[&TableFile]) -> Vec<usize> {
        let keeps = |file: &TableFile| self.may_be_in(&FileStatistics { file, columns: snapshot.columns() });
        (0..files.len()).filter(|number| keeps(files[*number])).collect()
    }

    /// The rows that have one of the keys.
    pub fn rows(&self, snapshot: &Snapshot, files: &[&TableFile]) -> Result<Vec<Option<RoaringTreemap>>> {
        let wanted = self.wanted(snapshot, files);
        let kept: Vec<&TableFile> = wanted.iter().map(|number| files[*number]).collect();
        let found = self.look(snapshot).through(&kept, &|found: &mut RoaringTreemap, place, batch| {
            let mut rows = Vec::with_capacity(batch.num_rows());
            self.find_in(batch, |row, _| rows.push(place.first_row + row as u64))?;
            found.append(rows).map_err(|_| Error::internal("the rows of a file were read in another order"))?;
            Ok(())
        })?;
        let mut all = vec![None; files.len()];
        for (number, rows) in wanted.into_iter().zip(by_file(kept.len(), found)) {
            all[number] = rows;
        }
        Ok(all)
    }

    /// The rows that have one of the keys, and the numbers of their keys.
    pub fn matches(&self, snapshot: &Snapshot, files: &[&TableFile]) -> Result<Vec<Option<Vec<Match>>>> {
        let wanted = self.wanted(snapshot, files);
        let kept: Vec<&TableFile> = wanted.iter().map(|number| files[*number]).collect();
        let found = self.look(snapshot).through(&kept, &|found: &mut Vec<Match>, place, batch| {
            self.find_in(batch, |row, key| found.push((place.first_row + row as u64, key as u32)))
        })?;
        let mut all = vec![None; files.len()];
        wanted.iter().for_each(|number| all[*number] = Some(Vec::new()));
        for (kept, matches) in found {
            if let Some(all) = &mut all[wanted[kept]] {
                all.extend(matches);
            }
        }
        Ok(all)
    }

    /// The way in which files are searched.
    pub fn look<'a>(&'a self, snapshot: &'a Snapshot) -> FileLookup<'a> {
        FileLookup { snapshot, columns: self.columns.names().map(str::to_owned).collect(), sought: self }
    }

    fn find_in(&self, batch: &RecordBatch, mut found: impl FnMut(usize, usize)) -> Result<()> {
        let (keys, nulls) = self.columns.keys_and_nulls(batch)?;
        match nulls {
            None => self.keys.find(&keys, found),
            Some(nulls) => self.keys.find(&keys, |row, key| {
                if nulls.is_valid(row) {
                    found(row, key);
                }
            }),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
