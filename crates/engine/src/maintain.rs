//! Maintenance of Delta tables: properties, history, vacuum, compaction, restoring; and their changes.

use std::time::Duration;

use arrow::datatypes::{Field, SchemaRef};
use lakerace_delta::{
    AlterOptions, Altered, Compacted, HistoryEntry, Layout, Restored, VacuumOptions, Vacuumed, Verified, VerifyOptions,
    VersionSpec,
};
use lakerace_format::Batches;
use lakerace_format::schema_text::parse_schema;
use lakerace_io::option::{ADD_COLUMN, SORT_BY, ZORDER};
use lakerace_io::{Error, Job, Result, StorageOptions};

use crate::delta::open_table;
use crate::dry_run::{DryRun, plural};
use crate::filter::parse_filter;

/// The options of a compaction.
#[derive(Debug, Clone, Default)]
pub struct CompactOptions {
    /// Sizes, limits and the order of rows. Its condition is that of `filter`.
    pub rules: lakerace_delta::CompactOptions,
    /// The partitions to compact: a SQL expression over partition columns.
    pub filter: Option<String>,
}

/// The least number of small files that a compaction after a write rewrites.
const AUTO_MIN_FILES: usize = 50;
/// The size of files that it makes of them: it should not hold up the write for long.
const AUTO_TARGET_BYTES: u64 = 128 << 20;
/// The share of a file's rows that may be hidden before it rewrites the file, independently of the other files. At this
/// share, a reader of this file decodes at most twice the rows that it returns, and each row that is rewritten removes
/// a hidden one.
const AUTO_MAX_HIDDEN_SHARE: f64 = 0.5;
/// Hidden rows for each visible one that it leaves in the files of an eighth of its target and more: readers of all
/// these files decode at most three tenths more rows than they return. Each tenth less costs more rewritten rows than
/// the one before.
const AUTO_MAX_HIDDEN_PER_VISIBLE: f64 = 0.3;

impl CompactOptions {
    /// The options for a compaction after a write: small files are left alone until there are 50 of them. Files of 16
    /// MiB and more, however, are rewritten when more than half of their rows are hidden, and those that hide most when
    /// all of them together hide more than three rows for ten visible ones.
    pub fn auto() -> Self {
        let rules = lakerace_delta::CompactOptions {
            min_files: AUTO_MIN_FILES,
            target_bytes: AUTO_TARGET_BYTES,
            max_hidden_share: AUTO_MAX_HIDDEN_SHARE,
            max_hidden_per_visible: Some(AUTO_MAX_HIDDEN_PER_VISIBLE),
            ..lakerace_delta::CompactOptions::default()
        };
        Self { rules, filter: None }
    }
}

/// The versions of a Delta table whose entries its log has, the newest first, at most `limit`.
pub fn history(table: &str, limit: Option<usize>, storage: &StorageOptions, job: &Job) -> Result<Vec<HistoryEntry>> {
    lakerace_delta::history(&open_table(table, storage, job)?, limit)
}

/// Removes the files of a Delta table's folder that no retained version needs.
pub fn vacuum(table: &str, options: &VacuumOptions, storage: &StorageOptions, job: &Job) -> Result<Vacuumed> {
    lakerace_delta::vacuum(&open_table(table, storage, job)?, options)
}

/// Checks the log, the files and the keys of a Delta table against each other, and repairs provable damage.
pub fn verify(table: &str, options: &VerifyOptions, storage: &StorageOptions, job: &Job) -> Result<Verified> {
    lakerace_delta::verify(&open_table(table, storage, job)?, options)
}

/// Makes few files of many small ones, and drops rows that are deleted. The table's rows stay the same.
pub fn compact(table: &str, options: &CompactOptions, storage: &StorageOptions, job: &Job) -> Result<Compacted> {
    let condition = options.filter.as_deref().map(parse_filter).transpose()?;
    let condition_text = options.filter.clone();
    let rules = lakerace_delta::CompactOptions { condition, condition_text, ..options.rules.clone() };
    lakerace_delta::compact(&open_table(table, storage, job)?, &rules)
}

/// The files that [`compact`] would rewrite. Writes nothing.
pub fn plan_compact(table: &str, options: &CompactOptions, storage: &StorageOptions, job: &Job) -> Result<DryRun> {
    let condition = options.filter.as_deref().map(parse_filter).transpose()?;
    let rules = lakerace_delta::CompactOptions { condition, ..options.rules.clone() };
    let table = open_table(table, storage, job)?;
    let plan = lakerace_delta::plan_compact(&table, &rules)?;
    let place = table.location();
    let would = match plan.files {
        0 => format!("would change nothing: no file of {place} needs it"),
        files => format!(
            "would rewrite {} of {place} in {}, and drop {}",
            plural(files, "file"),
            plural(plan.groups, "group"),
            plural(plan.rows_dropped, "deleted row"),
        ),
    };
    let (rows, files, bytes) = (plan.rows, Some(plan.files), Some(plan.bytes));
    Ok(DryRun { would, from_version: Some(plan.version), rows, files, bytes })
}

/// The changes of a Delta table's rows in the versions from `from` to `to`, both included: its columns, `_change_type`,
/// `_commit_version` and `_commit_timestamp`.
pub fn changes(table: &str, from: u64, to: Option<u64>, storage: &StorageOptions, job: &Job) -> Result<Batches> {
    lakerace_delta::changes(&open_table(table, storage, job)?, from, to)
}

/// The versions of a change data feed in ranges that can be read independently, and their common columns: [`changes`]
/// of each range returns these. Without `to` the last range ends with the last version.
pub fn change_ranges(
    table: &str,
    from: u64,
    to: Option<u64>,
    storage: &StorageOptions,
    job: &Job,
) -> Result<(Vec<(u64, u64)>, SchemaRef)> {
    lakerace_delta::change_ranges(&open_table(table, storage, job)?, from, to)
}

/// Makes a version of a Delta table that has the rows, the schema and the properties of an earlier one: `at` is its number or
/// a timestamp.
pub fn restore(table: &str, at: &str, storage: &StorageOptions, job: &Job) -> Result<Restored> {
    let at: VersionSpec = at.parse()?;
    lakerace_delta::restore(&open_table(table, storage, job)?, at)
}

/// Changes the columns, properties and constraints of a Delta table; its protocol gets the features that they demand.
pub fn alter(table: &str, options: &AlterOptions, storage: &StorageOptions, job: &Job) -> Result<Altered> {
    lakerace_delta::alter(&open_table(table, storage, job)?, options)
}

/// Changes a Delta table like [`alter`]. `announce` gets the changes immediately before they are committed, without a
/// version, and again if a retry after another writer's commit makes other changes.
pub fn alter_announced(
    table: &str,
    options: &AlterOptions,
    storage: &StorageOptions,
    job: &Job,
    announce: &mut (dyn FnMut(&Altered) + Send),
) -> Result<Altered> {
    lakerace_delta::alter_announced(&open_table(table, storage, job)?, options, announce)
}

/// New columns of a table as users write them: `x int, "full name" text`.
pub fn parse_new_columns(text: &str) -> Result<Vec<Field>> {
    let schema = parse_schema(text).map_err(|error| error.at(ADD_COLUMN.to(text)))?;
    Ok(schema.fields().iter().map(|field| Field::clone(field)).collect())
}

/// The order of rows that these columns ask for; naming both is an error.
pub fn layout(sort_by: Vec<String>, zorder: Vec<String>) -> Result<Layout> {
    match (sort_by.is_empty(), zorder.is_empty()) {
        (true, true) => Ok(Layout::AsIs),
        (false, true) => Ok(Layout::SortBy(sort_by)),
        (true, false) => Ok(Layout::ZOrder(zorder)),
        (false, false) => Err(Error::usage("rows are either sorted or put in Z-order")
            .advice(format!("give one of {SORT_BY} and {ZORDER}"))),
    }
}

/// A time such as `7d`, `12h`, `30m`, `90s` or `2w`.
pub fn parse_duration(text: &str) -> Result<Duration> {
    let wrong = || Error::usage(format!("{text:?} is not a time")).advice("write it as 7d, 12h, 30m or 90s");
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..digits].parse().map_err(|_| wrong())?;
    let seconds = match text[digits..].trim() {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        "w" => 7 * 24 * 60 * 60,
        "" if number == 0 => 1,
        _ => return Err(wrong()),
    };
    number.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

#[cfg(test)]
mod tests;
