//! Finding rows in the files of a version: the numbers that they have in their file.

use arrow::buffer::BooleanBuffer;
use arrow::record_batch::RecordBatch;
use lakerace_exec::map_slice;
use lakerace_format::predicate::ColumnStatistics;
use lakerace_format::{InputFile, ParquetSource, Predicate, RowGroup};
use lakerace_io::Result;
use roaring::RoaringTreemap;

use crate::deletion_vector;
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;

/// Defines the wanted rows.
pub(crate) trait RowProbe: Send + Sync {
    /// The wanted rows of each of these files, deleted ones included; `None` for a file that can't have any and was not
    /// searched.
    fn find(&self, snapshot: &Snapshot, files: &[&TableFile]) -> Result<Vec<Option<RoaringTreemap>>>;
}

/// The wanted keys, for decisions by statistics.
pub(crate) trait StatsPredicate: Sync {
    /// Returns true if rows with these statistics have to be searched.
    fn may_be_in(&self, statistics: &dyn ColumnStatistics) -> bool;

    /// The most places of these rows that have the keys, if the rows are in order; `u64::MAX` where no statistics bound
    /// it.
    fn places_in(&self, statistics: &dyn ColumnStatistics) -> u64;
}

/// The place of a batch of rows.
#[derive(Clone, Copy)]
pub(crate) struct BatchPlace {
    /// The number of the file among those that are searched.
    pub file: usize,
    /// The number that the first row has in its file.
    pub first_row: u64,
}

/// Rows of files, by the number of the file, that a condition is not asked of: a cast in it may fail there.
pub(crate) struct ExcludedRows(Vec<Option<RoaringTreemap>>);

impl ExcludedRows {
    /// The rows that deletion vectors hide, if one of the conditions may fail.
    pub fn hidden<'a>(
        snapshot: &Snapshot,
        files: &[&TableFile],
        mut conditions: impl Iterator<Item = &'a Predicate>,
    ) -> Result<Self> {
        if !conditions.any(Predicate::may_fail) {
            return Ok(Self(Vec::new()));
        }
        let hidden = deletion_vector::treemaps(snapshot.table(), files);
        Ok(Self(hidden.map_err(|error| snapshot.broken(error))?))
    }

    /// Excludes further rows of a file, if any are excluded.
    pub fn add(&mut self, file: usize, rows: &RoaringTreemap) {
        if let Some(excluded) = self.0.get_mut(file) {
            *excluded.get_or_insert_default() |= rows;
        }
    }

    /// The rows of a batch that are asked.
    pub fn asked_in(&self, place: BatchPlace, rows: usize) -> BooleanBuffer {
        match self.0.get(place.file) {
            Some(Some(excluded)) => {
                BooleanBuffer::collect_bool(rows, |row| !excluded.contains(place.first_row + row as u64))
            }
            _ => BooleanBuffer::new_set(rows),
        }
    }
}

/// A way of looking through files.
pub(crate) struct FileLookup<'a> {
    pub snapshot: &'a Snapshot,
    /// The columns that are read.
    pub columns: Vec<String>,
    pub sought: &'a dyn StatsPredicate,
}

/// Opened files with their row groups, or pages, that have to be searched.
pub(crate) struct ProbedFile {
    source: ParquetSource,
    columns: Vec<String>,
    pub groups: Vec<RowGroup>,
}

/// Files that are open at the same time at most.
const FILES_AT_ONCE: usize = 256;
/// Row groups, or page indexes, that are fetched concurrently from a remote store, to hide its latency.
const REMOTE_AT_ONCE: usize = 8;
/// Approximate rows of a page, times four: where more than a quarter of the pages would be read, scattered requests
/// cost more than the bytes between them, and the page index is not requested.
const ROWS_PER_PLACE: u64 = 4 * 20_000;

impl FileLookup<'_> {
    /// Searches these files, several row groups together. `each` gets the batches of a row group one after the other,
    /// with their places; its result is returned with the number of the file, in order.
    pub fn through<T: Default + Send>(
        &self,
        files: &[&TableFile],
        each: &(dyn Fn(&mut T, BatchPlace, &RecordBatch) -> Result<()> + Sync),
    ) -> Result<Vec<(usize, T)>> {
        let mut all = Vec::new();
        for (number, files) in files.chunks(FILES_AT_ONCE).enumerate() {
            let opened = self.open(files)?;
            let file_of = |group: &RowGroup| number * FILES_AT_ONCE + group.file;
            let look = |group: &RowGroup| opened.look_into(group, file_of(group), each);
            let results = map_slice(&opened.groups, self.at_once(), look)?;
            all.extend(opened.groups.iter().map(file_of).zip(results));
        }
        Ok(all)
    }

    /// Opens files.
    pub fn open(&self, files: &[&TableFile]) -> Result<ProbedFile> {
        let inputs = files.iter().map(|file| InputFile {
            object: file.object.clone(),
            constants: file.constants.clone(),
            // With the hidden rows, so that their numbers are those of the file.
            hidden: None,
            stated_rows: file.rows,
        });
        // Row groups are read side by side, each by one thread.
        let job = self.snapshot.table().job().with_threads(1);
        let source = ParquetSource::open_table(inputs.collect(), self.snapshot.table_schema(), &job)
            .map_err(|error| self.snapshot.broken(error))?;
        let mut by_file: Vec<Vec<RowGroup>> = vec![Vec::new(); files.len()];
        for group in source.row_groups() {
            if source.with_statistics(&group, |statistics| self.sought.may_be_in(statistics)) {
                by_file[group.file].push(group);
            }
        }
        by_file.retain(|groups| !groups.is_empty());
        let narrowed = map_slice(&by_file, self.at_once(), |groups| self.narrow(&source, groups))?;
        Ok(ProbedFile { source, columns: self.columns.clone(), groups: narrowed.into_iter().flatten().collect() })
    }

    /// The pages of a file's row groups that have to be searched.
    fn narrow(&self, source: &ParquetSource, groups: &[RowGroup]) -> Result<Vec<RowGroup>> {
        let mut narrowed = Vec::with_capacity(groups.len());
        for group in groups {
            let places = source.with_statistics(group, |statistics| self.sought.places_in(statistics));
            if places.saturating_mul(ROWS_PER_PLACE) >= group.rows() {
                narrowed.push(group.clone());
                continue;
            }
            let pages = source.narrow(group, &self.columns, &|statistics| self.sought.may_be_in(statistics))?;
            if pages.rows() > 0 {
                narrowed.push(pages);
            }
        }
        Ok(narrowed)
    }

    fn at_once(&self) -> usize {
        let table = self.snapshot.table();
        if table.is_local() { table.job().options().threads } else { REMOTE_AT_ONCE }
    }
}

impl ProbedFile {
    /// The cost of reading a row group: bytes, and requests.
    pub fn cost(&self, group: &RowGroup) -> Result<(u64, u64)> {
        self.source.cost(group, &self.columns)
    }

    fn look_into<T: Default>(
        &self,
        group: &RowGroup,
        file: usize,
        each: &(dyn Fn(&mut T, BatchPlace, &RecordBatch) -> Result<()> + Sync),
    ) -> Result<T> {
        let mut result = T::default();
        for batch in self.source.read_row_group(group, &self.columns)? {
            let (first_row, batch) = batch?;
            each(&mut result, BatchPlace { file, first_row }, &batch)?;
        }
        Ok(result)
    }
}

/// Combines the rows that were found in row groups, by files.
pub(crate) fn by_file(files: usize, found: Vec<(usize, RoaringTreemap)>) -> Vec<Option<RoaringTreemap>> {
    let mut all: Vec<Option<RoaringTreemap>> = vec![Some(RoaringTreemap::new()); files];
    for (file, rows) in found {
        if let Some(Some(all)) = all.get_mut(file) {
            *all |= rows;
        }
    }
    all
}
