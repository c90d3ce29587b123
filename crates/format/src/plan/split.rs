//! Splitting a plan into tasks for other workers.

use std::ops::Range;

use lakerace_io::RequestPlan;

use crate::plan::{FilePlan, ReadPlan};

/// See [`ReadPlan::split`]. Tasks are runs of units in the plan's order, so that joining the tasks' rows in order gives
/// the rows of the plan.
pub(crate) fn split(plan: &ReadPlan, n: usize) -> Vec<ReadPlan> {
    let units: Vec<(usize, usize, u64)> = plan
        .files
        .iter()
        .enumerate()
        .flat_map(|(file, f)| f.units.iter().enumerate().map(move |(unit, u)| (file, unit, u)))
        .filter(|(_, _, u)| u.pruned.is_none())
        // A unit without bytes (a count of rows) still is work.
        .map(|(file, unit, u)| (file, unit, u.wanted_bytes.max(1)))
        .collect();
    // With a limit only the first rows are wanted, and no task knows how many the others find.
    let parts = if plan.request.limit.is_some() { 1 } else { n.clamp(1, units.len().max(1)) };
    if parts == 1 {
        return vec![plan.clone()];
    }
    balance(&units.iter().map(|unit| unit.2).collect::<Vec<_>>(), parts)
        .into_iter()
        .filter_map(|range| units.get(range))
        .map(|run| part(plan, run))
        .collect()
}

/// Cuts `weights` into `parts` runs, none empty, of approximately the same weight.
fn balance(weights: &[u64], parts: usize) -> Vec<Range<usize>> {
    let mut left: u64 = weights.iter().sum();
    let mut runs = Vec::with_capacity(parts);
    let mut start = 0;
    for part in 0..parts {
        let parts_left = parts - part;
        // Each later run needs one unit at least.
        let last = weights.len() - (parts_left - 1);
        let target = left / parts_left as u64;
        let mut end = start + 1;
        let mut sum = weights[start];
        // Takes the next unit while that brings the run nearer to its share.
        while end < last && (parts_left == 1 || sum + weights[end] / 2 <= target) {
            sum += weights[end];
            end += 1;
        }
        left -= sum;
        runs.push(start..end);
        start = end;
    }
    runs
}

/// The plan with these units alone: files without any of them are left out, and files are numbered again.
fn part(plan: &ReadPlan, run: &[(usize, usize, u64)]) -> ReadPlan {
    let mut files: Vec<FilePlan> = Vec::new();
    let mut last_file = None;
    for (file, unit, _) in run {
        let whole = &plan.files[*file];
        if last_file != Some(file) {
            last_file = Some(file);
            files.push(FilePlan { units: Vec::new(), ..whole.clone() });
        }
        if let Some(last) = files.last_mut() {
            last.units.push(whole.units[*unit].clone());
        }
    }
    // Only the source knows which request serves which unit, so it plans a part's requests when it reads the part.
    ReadPlan { request: plan.request.clone(), schema: plan.schema.clone(), files, requests: RequestPlan::none() }
}

#[cfg(test)]
mod tests;
