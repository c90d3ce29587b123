//! Rows of the table that no row of the source matches.

use arrow::array::RecordBatch;
use lakerace_format::predicate::ColumnStatistics;
use lakerace_io::{Error, Result};
use roaring::RoaringTreemap;

use super::clauses::{BoundAction, MergeClauses};
use super::made_rows::{FileRowSets, MadeRows};
use crate::deletion_vector;
use crate::probe::{BatchPlace, ExcludedRows, FileLookup, StatsPredicate};
use crate::row_reader::read_rows;
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;
use crate::snapshot::statistics::FileStatistics;

/// The changes of rows that no row of the source matches.
pub(crate) struct UnmatchedRows<'a> {
    pub snapshot: &'a Snapshot,
    pub clauses: &'a MergeClauses,
    /// Approximate bytes of the rows that are read and made at a time.
    pub batch_bytes: u64,
}

/// The rows of a file that each clause decides on.
type ClauseRows = Vec<RoaringTreemap>;

impl UnmatchedRows<'_> {
    /// Changes the rows. Files, row groups and pages that no condition can be true of are not read.
    pub fn change(&self, files: &[&TableFile], made: &mut MadeRows, seen: &mut FileRowSets) -> Result<()> {
        if self.clauses.is_empty() {
            return Ok(());
        }
        let may_match = |file: &TableFile| self.may_be_in(&FileStatistics { file, columns: self.snapshot.columns() });
        let numbers: Vec<usize> = (0..files.len()).filter(|number| may_match(files[*number])).collect();
        let wanted: Vec<&TableFile> = numbers.iter().map(|number| files[*number]).collect();
        let conditions = self.clauses.iter().filter_map(|clause| clause.condition.as_ref());
        let mut excluded = ExcludedRows::hidden(self.snapshot, &wanted, conditions)?;
        numbers.iter().enumerate().for_each(|(at, number)| excluded.add(at, &seen.matched[*number]));
        let found = self.find(&wanted, &excluded)?;
        let touched: Vec<usize> =
            (0..wanted.len()).filter(|at| found[*at].iter().any(|rows| !rows.is_empty())).collect();
        let with_rows: Vec<&TableFile> = touched.iter().map(|at| wanted[*at]).collect();
        let hidden = deletion_vector::treemaps(self.snapshot.table(), &with_rows)
            .map_err(|error| self.snapshot.broken(error))?;
        numbers.iter().for_each(|number| seen.searched[*number] = true);
        let mut by_clause: Vec<Vec<(usize, RoaringTreemap)>> = self.clauses.iter().map(|_| Vec::new()).collect();
        for (at, hidden) in touched.into_iter().zip(hidden) {
            let number = numbers[at];
            let known = &seen.matched[number] | &hidden.unwrap_or_default();
            for (rows, clause) in found[at].iter().zip(&mut by_clause) {
                let rows = rows - &known;
                seen.changed[number] |= &rows;
                if !rows.is_empty() {
                    clause.push((number, rows));
                }
            }
        }
        for (clause, rows) in self.clauses.iter().zip(by_clause) {
            let rows: Vec<_> = rows.into_iter().map(|(number, rows)| (files[number], rows)).collect();
            self.apply(&clause.action, &rows, made)?;
        }
        Ok(())
    }

    fn apply(&self, action: &BoundAction, rows: &[(&TableFile, RoaringTreemap)], made: &mut MadeRows) -> Result<()> {
        let all: Vec<String> = self.snapshot.schema().fields().iter().map(|field| field.name().clone()).collect();
        let needs_old = made.writer.needs_old_rows();
        let count: u64 = rows.iter().map(|(_, rows)| rows.len()).sum();
        match action {
            BoundAction::Delete => {
                made.deleted += count;
                made.unmatched.1 += count;
                if !needs_old {
                    return Ok(());
                }
                read_rows(self.snapshot, rows, &all, self.batch_bytes, &mut |rows| made.writer.deleted(|| Ok(rows)))
            }
            BoundAction::Write(values) => {
                made.updated += count;
                made.unmatched.0 += count;
                let columns = match values.needed() {
                    _ if needs_old => all,
                    // Rows without a column are rows all the same.
                    [] => all[..1].to_vec(),
                    needed => needed.to_vec(),
                };
                read_rows(self.snapshot, rows, &columns, self.batch_bytes, &mut |old| {
                    let new = values.rows(&old)?;
                    made.writer.updated(|| Ok(old), &new)
                })
            }
        }
    }

    /// The rows of each file that each clause decides on, hidden and matched ones included unless they are excluded.
    fn find(&self, files: &[&TableFile], excluded: &ExcludedRows) -> Result<Vec<ClauseRows>> {
        let columns = self.clauses.condition_columns(self.snapshot.schema());
        let look = FileLookup { snapshot: self.snapshot, columns, sought: self };
        let none = || self.clauses.iter().map(|_| RoaringTreemap::new()).collect::<ClauseRows>();
        let each = |found: &mut ClauseRows, place: BatchPlace, batch: &RecordBatch| -> Result<()> {
            if found.is_empty() {
                *found = none();
            }
            let asked = excluded.asked_in(place, batch.num_rows());
            for (found, hits) in found.iter_mut().zip(self.clauses.hits(batch, asked)?) {
                let rows = hits.values().set_indices().map(|row| place.first_row + row as u64);
                found.append(rows).map_err(|e| Error::internal("rows were found out of order").because(e))?;
            }
            Ok(())
        };
        let mut all = vec![none(); files.len()];
        for (file, rows) in look.through(files, &each)? {
            all[file].iter_mut().zip(rows).for_each(|(all, rows)| *all |= rows);
        }
        Ok(all)
    }
}

impl StatsPredicate for UnmatchedRows<'_> {
    fn may_be_in(&self, statistics: &dyn ColumnStatistics) -> bool {
        let may_match = |condition: &lakerace_format::Predicate| condition.can_match(statistics).is_ok();
        self.clauses.iter().any(|clause| clause.condition.as_ref().is_none_or(may_match))
    }

    fn places_in(&self, _: &dyn ColumnStatistics) -> u64 {
        // A range of values, or a few, of each condition.
        let is_decided = |condition: &lakerace_format::Predicate| !condition.decided_by().is_empty();
        let all = self.clauses.iter().all(|clause| clause.condition.as_ref().is_some_and(is_decided));
        if all { 0 } else { u64::MAX }
    }
}
