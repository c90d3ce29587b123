//! A merge from one version.

use std::ops::RangeInclusive;

use arrow::array::{RecordBatch, RecordBatchOptions, UInt32Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::take_record_batch;
use arrow::datatypes::Schema;
use delta_kernel::transaction::UpdateTableOperation;
use lakerace_format::WriteOptions;
use lakerace_io::{Error, Result};
use roaring::RoaringTreemap;

use super::clauses::BoundAction;
use super::made_rows::{FileRowSets, MadeRows, hit_rows};
use super::parameters::parameters;
use super::plan::MergePlan;
use super::unkeyed_rows::UnkeyedRows;
use super::unmatched::UnmatchedRows;
use super::{MergeOptions, MergeOutcome, MergeStatement};
use crate::commit::{PendingCommit, WriteBase};
use crate::deletion_vector::commit::{MergeFigures, RemovalCommit, RemovalMethod, RowDependency, change};
use crate::probe::RowProbe;
use crate::row_reader::read_rows;
use crate::row_writer::{RowWriter, RowWriterOptions};
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;
use crate::upsert::{KeyProbe, KeyWindows, Match, SortedChunk, SourceKeys, visible_matches};
use crate::write::within_memory;

/// The most pairs, or rows, that clauses are evaluated on at a time.
const SLICE_ROWS: usize = 65_536;
/// The parts of the memory of which a batch of rows takes one.
const BATCHES_IN_MEMORY: u64 = 16;
/// Rows of files that are searched together, at least and at most. Each one that is found takes so many bytes.
const SEARCHED_ROWS: RangeInclusive<u64> = (64 << 10)..=(4 << 20);
const FOUND_ROW_BYTES: u64 = 32;
const SEARCHED_FILES: usize = 256;

/// An attempt from one version.
pub(crate) struct MergeAttempt<'a> {
    pub snapshot: &'a Snapshot,
    pub plan: &'a MergePlan,
    pub statement: &'a MergeStatement,
    pub options: &'a MergeOptions,
    pub source_rows: u64,
    /// True if rows are only made, and nothing is written.
    pub is_dry: bool,
}

/// A row of the table that a window has the key of.
#[derive(Clone, Copy)]
struct MatchedRow {
    row: u64,
    file: u32,
    key: u32,
}

impl MergeAttempt<'_> {
    /// Makes rows, writes and commits them. `None`: another writer has changed rows that they depend on.
    pub fn run(&self, windows: &KeyWindows, unkeyed: &UnkeyedRows) -> Result<Option<MergeOutcome>> {
        let named = |error: Error| error.at(self.snapshot.table().location());
        let files: Vec<&TableFile> = self.snapshot.files()?.files.iter().collect();
        let mut commit = self.commit(windows.keys_alone()).map_err(named)?;
        let mut made = self.made_rows(&commit).map_err(named)?;
        let mut seen = FileRowSets::of_files(files.len());
        let mut count = 0;
        windows.each(&mut |window| {
            count += u64::from(window.rows() > 0);
            self.window(window, &files, &mut made, &mut seen)
        })?;
        unkeyed.each(&mut |rows| self.insert(rows, &mut made))?;
        let batch_bytes = self.batch_bytes();
        let unmatched = UnmatchedRows { snapshot: self.snapshot, clauses: &self.plan.by_source, batch_bytes };
        unmatched.change(&files, &mut made, &mut seen)?;
        let MadeRows { writer, inserted, updated, deleted, unmatched } = made;
        let outcome = MergeOutcome {
            from_version: self.snapshot.version(),
            source_rows: self.source_rows,
            inserted,
            updated,
            deleted,
            ..MergeOutcome::default()
        };
        if self.is_dry {
            return Ok(Some(outcome));
        }
        let has_unmatched = !self.plan.by_source.is_empty();
        let figures = MergeFigures { updated, unmatched: has_unmatched.then_some(unmatched) };
        seen.note(commit.action(), self.snapshot, self.depends(), count)?;
        commit.action().count_merge(self.source_rows, figures);
        let (published, changes) = writer.publish()?;
        match change(&mut commit, published, changes) {
            Ok(changed) => Ok(Some(MergeOutcome { changed, ..outcome })),
            Err(_) if commit.action().is_outdated() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The dependency of new rows on those of the table.
    fn depends(&self) -> RowDependency {
        let only_inserts = self.plan.matched.is_empty() && self.plan.by_source.is_empty();
        if only_inserts { RowDependency::Presence } else { RowDependency::Values }
    }

    fn commit(&self, keys: KeyWindows) -> Result<PendingCommit<RemovalCommit>> {
        let probe = MergeProbe {
            keys: SourceKeys { columns: self.plan.columns.clone(), windows: keys },
            takes_all: !self.plan.by_source.is_empty(),
        };
        let removal =
            RemovalMethod::for_snapshot(self.snapshot, self.options.enables_vectors, || self.write_options())?;
        let action = RemovalCommit::new(Box::new(probe), UpdateTableOperation::Merge, removal)
            .with_parameters(parameters(self.statement))
            .depending(self.depends());
        let base = WriteBase::Existing(Box::new(self.snapshot.clone()));
        PendingCommit::new(self.snapshot.table().clone(), base, action)
    }

    fn made_rows(&self, commit: &PendingCommit<RemovalCommit>) -> Result<MadeRows> {
        let options = RowWriterOptions {
            write: self.write_options(),
            sort_bytes: Some(self.options.memory_bytes / 4),
            feeds: self.depends() == RowDependency::Values && self.snapshot.has_change_feed(),
            is_dry: self.is_dry,
        };
        let writer = RowWriter::new(self.snapshot, commit, &self.plan.table, &options)?;
        Ok(MadeRows::new(writer))
    }

    /// Approximate bytes of the rows that are read and made at a time.
    fn batch_bytes(&self) -> u64 {
        self.options.memory_bytes / BATCHES_IN_MEMORY
    }

    /// Rows of files that are searched together.
    fn searched_rows(&self) -> u64 {
        (self.batch_bytes() / FOUND_ROW_BYTES).clamp(*SEARCHED_ROWS.start(), *SEARCHED_ROWS.end())
    }

    /// Rows of a window that are put together at a time.
    fn slice_rows(&self, window: &SortedChunk) -> usize {
        let row_bytes = window.row_bytes() / window.row_count().max(1);
        let batch_bytes = usize::try_from(self.batch_bytes()).unwrap_or(usize::MAX);
        (batch_bytes / row_bytes.max(1)).clamp(1, SLICE_ROWS)
    }

    fn write_options(&self) -> WriteOptions {
        within_memory(&self.options.write, self.options.memory_bytes, self.plan.table.fields().len())
    }

    /// Finds the rows of the table that have the keys of a window, and makes the rows of the window.
    fn window(
        &self,
        window: &SortedChunk,
        files: &[&TableFile],
        made: &mut MadeRows,
        seen: &mut FileRowSets,
    ) -> Result<()> {
        let probe = KeyProbe { columns: &self.plan.columns, keys: window.keys() };
        if window.rows() == 0 {
            return Ok(());
        }
        let mut is_known = vec![false; window.rows()];
        for numbers in groups(probe.wanted(self.snapshot, files), files, self.searched_rows()) {
            let some: Vec<&TableFile> = numbers.iter().map(|number| files[*number]).collect();
            let found = visible_matches(self.snapshot, &some, probe.matches(self.snapshot, &some)?)?;
            let mut matched = Vec::new();
            for (number, matches) in numbers.into_iter().zip(found) {
                seen.searched[number] = true;
                let Some(matches) = matches.filter(|matches| !matches.is_empty()) else { continue };
                matches.iter().for_each(|(_, key)| is_known[*key as usize] = true);
                seen.matched[number].extend(matches.iter().map(|(row, _)| *row));
                matched.push((number, matches));
            }
            if !self.plan.matched.is_empty() {
                self.change_matched(window, files, matched, made, seen)?;
            }
        }
        if self.plan.not_matched.is_empty() {
            return Ok(());
        }
        let new = (0..window.rows() as u32).filter(|key| !is_known[*key as usize]);
        each_slice(new.flat_map(|key| window.places_of(key)), self.slice_rows(window), &mut |places| {
            self.insert(&window.sorted().take(places)?, made)
        })
    }

    /// Applies the clauses of pairs to rows of files, which have keys of a window.
    fn change_matched(
        &self,
        window: &SortedChunk,
        files: &[&TableFile],
        matched: Vec<(usize, Vec<Match>)>,
        made: &mut MadeRows,
        seen: &mut FileRowSets,
    ) -> Result<()> {
        let mut rows: Vec<MatchedRow> = Vec::with_capacity(matched.iter().map(|(_, matches)| matches.len()).sum());
        let mut by_file = Vec::with_capacity(matched.len());
        for (file, matches) in matched {
            by_file.push((files[file], matches.iter().map(|(row, _)| *row).collect::<RoaringTreemap>()));
            rows.extend(matches.into_iter().map(|(row, key)| MatchedRow { row, file: file as u32, key }));
        }
        let columns = self.plan.target_columns(made.writer.needs_old_rows());
        if columns.is_empty() {
            return rows.chunks(SLICE_ROWS).try_for_each(|rows| {
                let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
                let none = RecordBatch::try_new_with_options(Schema::empty().into(), Vec::new(), &options);
                self.change_rows(window, rows, &none.map_err(Error::unexpected)?, made, seen)
            });
        }
        let mut next = 0;
        read_rows(self.snapshot, &by_file, &columns, self.batch_bytes(), &mut |target| {
            let these = &rows[next..next + target.num_rows()];
            next += target.num_rows();
            self.change_rows(window, these, &target, made, seen)
        })
    }

    /// Applies the clauses of pairs to rows of the table, which are those of a batch.
    fn change_rows(
        &self,
        window: &SortedChunk,
        rows: &[MatchedRow],
        target: &RecordBatch,
        made: &mut MadeRows,
        seen: &mut FileRowSets,
    ) -> Result<()> {
        let clauses = &self.plan.matched;
        let most = if clauses.delete_all() { 1 } else { usize::MAX };
        let of_row =
            |(at, row): (usize, &MatchedRow)| window.places_of(row.key).take(most).map(move |place| (at as u32, place));
        let mut is_changed = vec![false; rows.len()];
        let pairs = rows.iter().enumerate().flat_map(of_row);
        each_slice(pairs, self.slice_rows(window), &mut |pairs: &[(u32, u32)]| {
            let pairs_of = self.pairs(window, target, pairs)?;
            for (clause, hits) in
                clauses.iter().zip(clauses.hits(&pairs_of, BooleanBuffer::new_set(pairs_of.num_rows()))?)
            {
                for pair in hits.values().set_indices() {
                    let at = pairs[pair].0 as usize;
                    if std::mem::replace(&mut is_changed[at], true) {
                        return Err(self.changed_twice(window, rows[at].key));
                    }
                    seen.changed[rows[at].file as usize].insert(rows[at].row);
                }
                let old = |pairs: &RecordBatch| self.plan.old_rows(pairs);
                made.apply(&clause.action, &pairs_of, &hits, &old)?;
            }
            Ok(())
        })
    }

    /// Pairs of rows of a batch of the table, by their numbers, and of rows of a window, by their places.
    fn pairs(&self, window: &SortedChunk, target: &RecordBatch, pairs: &[(u32, u32)]) -> Result<RecordBatch> {
        let places: Vec<u32> = pairs.iter().map(|(_, place)| *place).collect();
        let source = window.sorted().take(&places)?;
        let is_whole =
            pairs.len() == target.num_rows() && pairs.iter().enumerate().all(|(n, (at, _))| n == *at as usize);
        if is_whole || target.num_columns() == 0 {
            return self.plan.pairs(target, &source);
        }
        let numbers = UInt32Array::from_iter_values(pairs.iter().map(|(at, _)| *at));
        self.plan.pairs(&take_record_batch(target, &numbers).map_err(Error::unexpected)?, &source)
    }

    /// The error of a row of the table that several rows of the source change.
    fn changed_twice(&self, window: &SortedChunk, key: u32) -> Error {
        let names = self.plan.columns.names();
        let first = window.sorted().take(&[window.places_of(key).start]);
        let values = first.map(|row| {
            let value = |(at, name): (usize, &str)| {
                format!("{name} = {}", lakerace_format::value_text(row.column(at), 0).unwrap_or_default())
            };
            names.enumerate().map(value).collect::<Vec<_>>().join(", ")
        });
        let message =
            format!("several rows of the source change one row of the table ({})", values.unwrap_or_default());
        Error::invalid(message).at(self.snapshot.table().location()).advice(
            "merge a source with one row for each key, or give the clauses conditions that only one of the rows meets",
        )
    }

    /// Applies the clauses of inserts to rows in the columns of windows.
    fn insert(&self, rows: &RecordBatch, made: &mut MadeRows) -> Result<()> {
        let (rows, clauses) = (self.plan.source_rows(rows)?, &self.plan.not_matched);
        for (clause, hits) in clauses.iter().zip(clauses.hits(&rows, BooleanBuffer::new_set(rows.num_rows()))?) {
            let BoundAction::Write(values) = &clause.action else { continue };
            if let Some(some) = hit_rows(&rows, &hits)? {
                let new = values.rows(&some)?;
                made.writer.inserted(&new)?;
                made.inserted += new.num_rows() as u64;
            }
        }
        Ok(())
    }
}

/// Visits items in slices of at most so many.
fn each_slice<T>(items: impl Iterator<Item = T>, most: usize, visit: &mut dyn FnMut(&[T]) -> Result<()>) -> Result<()> {
    let mut slice = Vec::new();
    for item in items {
        slice.push(item);
        if slice.len() == most {
            visit(&slice)?;
            slice.clear();
        }
    }
    if slice.is_empty() { Ok(()) } else { visit(&slice) }
}

/// Files by their numbers, in groups of up to so many rows, unless a file has more.
fn groups(numbers: Vec<usize>, files: &[&TableFile], most_rows: u64) -> Vec<Vec<usize>> {
    let (mut groups, mut rows): (Vec<Vec<usize>>, u64) = (Vec::new(), 0);
    for number in numbers {
        let more = files[number].rows.unwrap_or(most_rows);
        match groups.last_mut() {
            Some(last) if rows + more <= most_rows && last.len() < SEARCHED_FILES => {
                last.push(number);
                rows += more;
            }
            _ => {
                groups.push(vec![number]);
                rows = more;
            }
        }
    }
    groups
}

/// The rows that a merge would have to look at again: those with a key of the source, or all.
struct MergeProbe {
    keys: SourceKeys,
    /// True if clauses are for rows that no row of the source matches.
    takes_all: bool,
}

impl RowProbe for MergeProbe {
    fn find(&self, snapshot: &Snapshot, files: &[&TableFile]) -> Result<Vec<Option<RoaringTreemap>>> {
        if !self.takes_all {
            return self.keys.find(snapshot, files);
        }
        let all = |file: &&TableFile| {
            let mut rows = RoaringTreemap::new();
            rows.insert_range(0..file.rows.unwrap_or(1));
            Some(rows)
        };
        Ok(files.iter().map(all).collect())
    }
}
