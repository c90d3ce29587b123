//! Finding the rows for which a condition is true.

use arrow::array::RecordBatch;
use lakerace_format::predicate::ColumnStatistics;
use lakerace_format::{Expr, Predicate};
use lakerace_io::{Error, Result};
use roaring::RoaringTreemap;

use crate::probe::{BatchPlace, ExcludedRows, FileLookup, RowProbe, StatsPredicate, by_file};
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;
use crate::snapshot::statistics::FileStatistics;

/// A condition as a probe. Files, row groups and pages that can't have such a row are not read.
pub(crate) struct ConditionProbe {
    predicate: Predicate,
    /// The columns that it needs.
    names: Vec<String>,
}

impl ConditionProbe {
    /// The probe of a condition on the columns of a version.
    ///
    /// # Errors
    /// Those of [`Predicate::bind`].
    pub fn new(snapshot: &Snapshot, condition: &Expr) -> Result<Self> {
        let predicate = Predicate::bind(condition, snapshot.schema())?;
        let names = predicate.columns().iter().map(|at| snapshot.schema().field(*at).name().clone()).collect();
        Ok(Self { predicate, names })
    }

    /// Adds the rows of a batch for which the condition is true.
    fn find_in(
        &self,
        found: &mut RoaringTreemap,
        place: BatchPlace,
        batch: &RecordBatch,
        excluded: &ExcludedRows,
    ) -> Result<()> {
        let matches = self.predicate.true_among(batch, &excluded.asked_in(place, batch.num_rows()))?;
        let rows = matches.set_indices().map(|row| place.first_row + row as u64);
        found.append(rows).map_err(|e| Error::internal("rows were found out of order").because(e))?;
        Ok(())
    }
}

impl StatsPredicate for ConditionProbe {
    fn may_be_in(&self, statistics: &dyn ColumnStatistics) -> bool {
        self.predicate.can_match(statistics).is_ok()
    }

    fn places_in(&self, _: &dyn ColumnStatistics) -> u64 {
        // A range of values, or a few.
        if self.predicate.decided_by().is_empty() { u64::MAX } else { 0 }
    }
}

impl RowProbe for ConditionProbe {
    fn find(&self, snapshot: &Snapshot, files: &[&TableFile]) -> Result<Vec<Option<RoaringTreemap>>> {
        let may_match = |file: &TableFile| self.may_be_in(&FileStatistics { file, columns: snapshot.columns() });
        let wanted: Vec<usize> = (0..files.len()).filter(|number| may_match(files[*number])).collect();
        let kept: Vec<&TableFile> = wanted.iter().map(|number| files[*number]).collect();
        let look = FileLookup { snapshot, columns: self.names.clone(), sought: self };
        let excluded = ExcludedRows::hidden(snapshot, &kept, std::iter::once(&self.predicate))?;
        let found = look.through(&kept, &|found, place, batch| self.find_in(found, place, batch, &excluded));
        let found = found.map_err(|error| error.or_at(snapshot.table().location()))?;
        let mut all = vec![None; files.len()];
        for (number, rows) in wanted.into_iter().zip(by_file(kept.len(), found)) {
            all[number] = rows;
        }
        Ok(all)
    }
}
