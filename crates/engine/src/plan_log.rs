//! Events of the decisions of a plan: the parts that are read, and the reasons to leave out others.

use arrow::datatypes::Schema;
use lakerace_format::ReadPlan;
use tracing::{Level, debug, enabled, info};

use crate::explain::row_filters;
use crate::options::ReadOptions;

/// The target of the events of plans.
const PLANS: &str = "lakerace::plans";

/// Logs the plan of reading `location`, whose columns are those of `schema`.
pub(crate) fn log(location: &str, plan: &ReadPlan, options: &ReadOptions, schema: &Schema) {
    if !enabled!(target: PLANS, Level::INFO) {
        return;
    }
    let filter = options.filter.as_deref();
    let is_read = |file: &&lakerace_format::FilePlan| file.units.iter().any(|unit| unit.pruned.is_none());
    let units = || plan.files.iter().flat_map(|file| &file.units);
    let row_filters = filter.map(|filter| row_filters(filter, schema)).unwrap_or_default();
    info!(
        target: PLANS,
        location,
        files = plan.files.len(),
        files_read = plan.files.iter().filter(is_read).count(),
        parts = units().count(),
        parts_read = units().filter(|unit| unit.pruned.is_none()).count(),
        columns = plan.schema.fields().len(),
        columns_of_source = schema.fields().len(),
        requests = plan.requests.requests.len(),
        wanted_bytes = plan.requests.wanted_bytes,
        read_through_bytes = plan.requests.read_through_bytes,
        filter,
        order_by = options.order_by,
        limit = options.limit,
        "plan"
    );
    if !row_filters.is_empty() {
        let conditions = row_filters.join(" AND ");
        info!(target: PLANS, location, conditions, "no statistics can decide these conditions: checked row by row");
    }
    if !enabled!(target: PLANS, Level::DEBUG) {
        return;
    }
    for file in &plan.files {
        for unit in &file.units {
            if let Some(reason) = &unit.pruned {
                debug!(target: PLANS, file = file.url, part = unit.index, reason, "pruned");
            }
        }
    }
}
