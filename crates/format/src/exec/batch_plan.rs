//! The steps of a read in order. They are computed on demand, so neither small steps nor a damaged count of rows costs
//! memory.

use std::ops::Range;

/// A step of a read: the same rows of every column of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadStep {
    /// The unit.
    pub unit: usize,
    /// The number of its first row in the unit.
    pub start: u64,
    /// Pruned rows before it.
    pub gap: u64,
    /// Its rows.
    pub rows: usize,
}

impl ReadStep {
    /// Its rows in the unit.
    pub fn range(&self) -> Range<u64> {
        self.start..self.start + self.rows as u64
    }
}

/// The steps through all units, ordered by unit.
#[derive(Debug)]
pub(crate) struct BatchPlan {
    runs: Vec<RowRun>,
    count: usize,
}

/// Rows of a unit without gaps.
#[derive(Debug)]
struct RowRun {
    unit: usize,
    first_step: usize,
    /// The number of its first row in the unit.
    start: u64,
    /// Pruned rows before it.
    gap: u64,
    rows: u64,
    /// The most rows of its steps.
    step_rows: u64,
}

impl BatchPlan {
    /// Cuts units, each with these ranges of rows, into steps with this limit of rows, and ends after `limit` rows.
    pub fn new<'a>(units: impl IntoIterator<Item = (&'a [Range<u64>], usize)>, limit: Option<u64>) -> Self {
        let mut left = limit.unwrap_or(u64::MAX);
        let (mut runs, mut count) = (Vec::new(), 0);
        for (unit, (ranges, step_rows)) in units.into_iter().enumerate() {
            let step_rows = step_rows.max(1) as u64;
            let mut at = 0;
            for range in ranges {
                let rows = (range.end - range.start).min(left);
                if rows == 0 {
                    continue;
                }
                runs.push(RowRun {
                    unit,
                    first_step: count,
                    start: range.start,
                    gap: range.start - at,
                    rows,
                    step_rows,
                });
                count += rows.div_ceil(step_rows) as usize;
                left -= rows;
                at = range.end;
            }
        }
        Self { runs, count }
    }

    /// The number of steps.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The step of this number.
    pub fn get(&self, step: usize) -> Option<ReadStep> {
        if step >= self.count {
            return None;
        }
        let run = self.runs.partition_point(|run| run.first_step <= step).checked_sub(1)?;
        let RowRun { unit, first_step, start, gap, rows, step_rows } = self.runs[run];
        let passed = (step - first_step) as u64 * step_rows;
        let gap = if passed == 0 { gap } else { 0 };
        Some(ReadStep { unit, start: start + passed, gap, rows: (rows - passed).min(step_rows) as usize })
    }

    /// The largest number of steps of a unit.
    pub fn largest_unit(&self) -> usize {
        let last = self.runs.last().map_or(0, |run| run.unit + 1);
        (0..last).map(|unit| self.first_of(unit + 1) - self.first_of(unit)).max().unwrap_or(0)
    }

    /// The number of the first step of a unit, or of the next one that has any.
    pub fn first_of(&self, unit: usize) -> usize {
        let run = self.runs.partition_point(|run| run.unit < unit);
        self.runs.get(run).map_or(self.count, |run| run.first_step)
    }
}

#[cfg(test)]
mod tests;
