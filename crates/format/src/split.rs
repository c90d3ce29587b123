//! Splitting a plan into tasks for other workers.

use crate::ReadPlan;

/// See [`ReadPlan::split`].
pub(crate) fn split(_plan: &ReadPlan, _n: usize) -> Vec<ReadPlan> {
    unimplemented!()
}
