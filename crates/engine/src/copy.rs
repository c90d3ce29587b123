//! Copying any source to any sink.

use arrow::datatypes::SchemaRef;
use lakerace_database::OnRejected;
use lakerace_format::{Batches, Written};
use lakerace_io::option::{AUTO_COMPACT, DEAD_LETTER, DRY_RUN, MAX_RATE, SINCE, VERIFY};
use lakerace_io::{Error, Job, Pipe, Result, STANDARD_STREAM};

use crate::database::has_stable_order;
use crate::dry_run::DryRun;
use crate::load::{self, load_name};
use crate::option_scope::{PlaceKind, check_read_scope};
use crate::options::{CopyOptions, LoadOptions};
use crate::scan::Scan;
use crate::target::CopyTarget;
use crate::{csv_types, since, tpch};

/// Copies `source` to `target`, atomically.
pub fn copy(source: &str, target: &str, options: &CopyOptions, job: &Job) -> Result<Written> {
    if let Some(since) = &options.load.since {
        return since::copy(source, target, since, options, job);
    }
    // Errors of the target are reported before anything is read.
    into_target(source, CopyTarget::resolve(target, options, job)?, options, job)
}

/// Copies all rows of `source` to a target that is found.
pub(crate) fn into_target(source: &str, target: CopyTarget, options: &CopyOptions, job: &Job) -> Result<Written> {
    let (scan, target) = open_for(source, target, options, job)?;
    job.meter().plan_write(scan.known_rows());
    let load_name = reproducible_name(source, &scan);
    load::run(scan.batches()?, target, load_name, &with_dialect(options), job)
}

/// Checks a copy without writing: all that is found out before a copy writes is an error here, too.
///
/// # Errors
/// Those of [`copy`] that it returns before it writes. `Usage` for a named pipe or a device, whose reader would notice.
pub fn plan_copy(source: &str, target: &str, options: &CopyOptions, job: &Job) -> Result<DryRun> {
    refuse_pipe(target)?;
    warn_of_idle_options(&options.load, options.auto_compact, job);
    if let Some(since) = &options.load.since {
        return since::plan(source, target, since, options, job);
    }
    let (scan, target) = open_for(source, CopyTarget::resolve(target, options, job)?, options, job)?;
    let (would, version) = examined(target, reproducible_name(source, &scan), scan.schema(), options, job)?;
    Ok(DryRun::of_scan(would, version, &scan))
}

/// Checks like [`plan_copy`], for batches of a schema that the caller would make.
pub fn plan_write(schema: SchemaRef, target: &str, options: &CopyOptions, job: &Job) -> Result<DryRun> {
    refuse_pipe(target)?;
    warn_of_idle_options(&options.load, options.auto_compact, job);
    let schema = options.read.nesting.schema(&schema)?;
    let (would, version) = examined(target_of_stream(target, options, job)?, None, schema, options, job)?;
    Ok(DryRun::new(would, version))
}

/// The action of a load into a target that was examined, in words, and the version of its table.
fn examined(
    mut target: CopyTarget,
    load_name: Option<String>,
    schema: SchemaRef,
    options: &CopyOptions,
    job: &Job,
) -> Result<(String, Option<u64>)> {
    load::check(&target, load_name.as_deref(), options)?;
    load::name(&mut target, load_name, OnRejected::default(), options);
    let place = target.shown();
    let found = target.examine(schema, &with_dialect(options), job)?;
    let would = match &options.replace_where {
        None => found.would(options.mode, &place),
        Some(condition) => format!("would replace the rows of {place} where {condition}"),
    };
    Ok((would, found.version))
}

fn refuse_pipe(target: &str) -> Result<()> {
    if target == STANDARD_STREAM || !Pipe::is_named(target) {
        return Ok(());
    }
    Err(Error::usage(format!("{DRY_RUN}: a pipe or a device can't be examined without opening it"))
        .at(target)
        .advice(format!("omit {DRY_RUN}, or name a file")))
}

/// Warns of options that have no effect where nothing is written.
pub(crate) fn warn_of_idle_options(load: &LoadOptions, auto_compact: bool, job: &Job) {
    let given = [
        (&VERIFY, load.verify),
        (&AUTO_COMPACT, auto_compact),
        (&DEAD_LETTER, load.dead_letter.is_some()),
        (&MAX_RATE, load.max_rows_per_second.is_some()),
    ];
    for (option, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
        job.warn(&format!("{option}: it has no effect with {DRY_RUN}, because nothing is written"));
    }
}

/// The name of a load whose source returns the same rows in the same order each time.
fn reproducible_name(source: &str, scan: &Scan) -> Option<String> {
    let can_read_again = has_stable_order(source) && !Pipe::is_named(source);
    can_read_again.then(|| load_name(source, scan))
}

/// The scan of a source for a target, and the target with the format that it takes from there.
fn open_for(source: &str, mut target: CopyTarget, options: &CopyOptions, job: &Job) -> Result<(Scan, CopyTarget)> {
    let scan = match &target {
        CopyTarget::Table(table) => csv_types::open(source, &options.read, table.table(), options.evolve, &[], job)?,
        CopyTarget::Files(_) | CopyTarget::Stream(_) | CopyTarget::Database(_) => {
            let source = tpch::for_files(source, target.format());
            Scan::open_for_target(&source, &options.read, target.scope(), job)?
        }
    };
    target.take_format(PlaceKind::of_source(&scan.format()).file_format())?;
    target.check_scope(options)?;
    target.check_sources(source, scan.plan(), &options.read.storage, job)?;
    Ok((scan, target))
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
    let target = target_of_stream(target, options, job)?;
    let batches = options.read.nesting.batches(batches)?;
    load::run(batches, target, None, &with_dialect(options), job)
}

/// The target of batches that the caller makes.
fn target_of_stream(target: &str, options: &CopyOptions, job: &Job) -> Result<CopyTarget> {
    if options.load.since.is_some() {
        return Err(Error::usage(format!("{SINCE}: a stream can't be read from a value on")).advice("name a location"));
    }
    let mut target = CopyTarget::resolve(target, options, job)?;
    target.take_format(None)?;
    target.check_scope(options)?;
    if let Some(kind) = target.scope() {
        check_read_scope(&options.read, kind, Some(kind), &target.shown())?;
    }
    Ok(target)
}
