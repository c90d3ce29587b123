//! Copying any source to any sink.

use lakerace_format::{Batches, Written};
use lakerace_io::option::SINCE;
use lakerace_io::{Error, Job, Pipe, Result};

use crate::database::has_stable_order;
use crate::load::{self, load_name};
use crate::option_scope::{PlaceKind, check_read_scope};
use crate::options::CopyOptions;
use crate::target::CopyTarget;
use crate::{Scan, csv_types, since, tpch};

/// Copies `source` to `target`: all of it appears there, or nothing.
pub fn copy(source: &str, target: &str, options: &CopyOptions, job: &Job) -> Result<Written> {
    if let Some(since) = &options.load.since {
        return since::copy(source, target, since, options, job);
    }
    // Errors of the target are reported before anything is read.
    into_target(source, CopyTarget::resolve(target, options, job)?, options, job)
}

/// Copies all rows of `source` to a target that is found.
pub(crate) fn into_target(source: &str, mut target: CopyTarget, options: &CopyOptions, job: &Job) -> Result<Written> {
    let scan = match &target {
        CopyTarget::Table(table) => csv_types::open(source, &options.read, table.table(), options.evolve, &[], job)?,
        CopyTarget::Files(_) | CopyTarget::Stream(_) | CopyTarget::Database(_) => {
            let source = tpch::for_files(source, target.format());
            Scan::open_for_target(&source, &options.read, target.scope(), job)?
        }
    };
    target.take_format(PlaceKind::of_source(&scan.format()).file_format())?;
    target.check_scope(&options.write)?;
    target.refuse_sources(scan.plan())?;
    job.meter().plan_write(scan.known_rows());
    let can_read_again = has_stable_order(source) && !Pipe::is_named(source);
    let load_name = can_read_again.then(|| load_name(source, &scan));
    load::run(scan.batches()?, target, load_name, &with_dialect(options), job)
}

/// The options with a target of the source's CSV dialect, where they name no other.
fn with_dialect(options: &CopyOptions) -> CopyOptions {
    let (read, mut options) = (options.read.csv.clone(), options.clone());
    let write = &mut options.write.csv;
    write.delimiter = write.delimiter.or(read.delimiter);
    write.quote = write.quote.or(read.quote);
    write.escape = write.escape.or(read.escape);
    write.null_strings = write.null_strings.take().or(read.null_strings);
    options
}

/// Checks that rows can be written to a target, for callers whose rows are expensive to make.
///
/// # Errors
///
/// Those that [`write()`] returns before it asks for a row: options that do not fit the target, and targets that the
/// mode does not support.
pub fn check_target(target: &str, options: &CopyOptions, job: &Job) -> Result<()> {
    CopyTarget::resolve(target, options, job).map(drop)
}

/// Copies like [`copy`], from batches that the caller makes (a data frame, another library's stream).
pub fn write(batches: Batches, target: &str, options: &CopyOptions, job: &Job) -> Result<Written> {
    if options.load.since.is_some() {
        return Err(Error::usage(format!("{SINCE}: a stream can't be read from a value on")).advice("name a location"));
    }
    let mut target = CopyTarget::resolve(target, options, job)?;
    target.take_format(None)?;
    target.check_scope(&options.write)?;
    if let Some(kind) = target.scope() {
        check_read_scope(&options.read, kind, Some(kind), &target.shown())?;
    }
    load::run(batches, target, None, &with_dialect(options), job)
}
