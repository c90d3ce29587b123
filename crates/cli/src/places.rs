//! The places of each command, which options of stores and files are checked against.

use std::path::Path;

use lakerace::{DurabilityLevel, JobPlaces, RangeOptions, Result};
use lakerace_io::option::OptionDefinition;

use crate::args::{Command, FilesArgs, FilesCommand, FilesStore, StoreArgs};
use crate::session::{job_options, storage_options};

/// The durability of commands that have no option for it.
const FULL: DurabilityLevel = DurabilityLevel::Full;

/// Refuses options that apply to no place of a command.
pub(crate) fn check(command: &Command) -> Result<()> {
    let Some((store, durability, places)) = places_of(command) else { return Ok(()) };
    let mut options = job_options(store, RangeOptions::default());
    options.durability = durability;
    places.check(&storage_options(store), &options)
}

/// An option that applies to no place of a command. An error of the options is left to [`check`].
pub(crate) fn unused_option(command: &Command) -> Option<&'static OptionDefinition> {
    let (store, durability, places) = places_of(command)?;
    let mut options = job_options(store, RangeOptions::default());
    options.durability = durability;
    places.unused_option(&storage_options(store), &options).ok().flatten()
}

/// Refuses a log in a file that the command reads or writes.
pub(crate) fn check_log_file(command: &Command, file: &Path) -> Result<()> {
    let places = match command {
        Command::Sql(args) => Some(with_output(JobPlaces::default(), args.rows.output.as_deref())),
        command => places_of(command).map(|(_, _, places)| places),
    };
    places.map_or(Ok(()), |places| places.check_log_file(file))
}

/// Options of stores, the durability that is given, and the places; `None` of commands without locations.
fn places_of(command: &Command) -> Option<(&StoreArgs, DurabilityLevel, JobPlaces)> {
    let places = JobPlaces::default();
    Some(match command {
        Command::Copy(args) => {
            let places = read_from(places, &args.sources).writes(&args.target);
            // A target is read back to be verified, and to find the state of an incremental copy.
            let reads_back = args.load.verify || args.load.since.is_some();
            let places = if reads_back { places.reads(&args.target) } else { places };
            let places = match &args.load.dead_letter {
                Some(file) => places.writes(&file.to_string_lossy()),
                None => places,
            };
            (&args.input.store, args.durability.durability, places)
        }
        Command::Scan(args) => {
            let places = with_output(read_from(places, &args.sources), args.rows.output.as_deref());
            (&args.input.store, args.rows.durability, places)
        }
        Command::Diff(args) => {
            let places = with_output(places.reads(&args.first).reads(&args.second), args.rows.output.as_deref());
            (&args.input.store, args.rows.durability, places)
        }
        // Its locations are in the query: the engine of SQL checks them.
        Command::Sql(_) => return None,
        Command::Upsert(args) => {
            let places = read_from(places.changes_table(&args.table), &args.sources);
            (&args.input.store, args.durability.durability, places)
        }
        Command::Delete(args) => {
            let places = places.changes_table(&args.table);
            let places = args.keys.iter().fold(places, |places, keys| places.reads(keys));
            (&args.store, args.durability.durability, places)
        }
        Command::Update(args) => (&args.store, args.durability.durability, places.changes_table(&args.table)),
        Command::Alter(args) => (&args.store, args.durability.durability, places.changes_table(&args.table)),
        Command::Compact(args) => (&args.store, args.durability.durability, places.changes_table(&args.table)),
        Command::Vacuum(args) => (&args.store, args.durability.durability, places.changes_table(&args.table)),
        Command::Restore(args) => (&args.store, args.durability.durability, places.changes_table(&args.table)),
        Command::Changes(args) => {
            let places = with_output(places.reads_table(&args.table), args.rows.output.as_deref());
            (&args.store, args.rows.durability, places)
        }
        Command::Verify(args) if args.repair => (&args.store, FULL, places.changes_table(&args.table)),
        Command::Verify(args) => (&args.store, FULL, places.reads_table(&args.table)),
        Command::History(args) => (&args.store, FULL, places.reads_table(&args.table)),
        Command::Sync(args) => {
            (&args.store, args.durability.durability, places.reads_table(&args.table).writes(&args.target))
        }
        Command::Schema(args) => (&args.store, FULL, read_from(places, &args.sources)),
        Command::Check(args) => (&args.store, FULL, places.reads(&args.location).writes(&args.location)),
        Command::Tpch(args) => {
            let places = match args.apply {
                true => ["orders", "lineitem"]
                    .iter()
                    .fold(places, |places, name| places.changes_table(&format!("{}/{name}", args.output))),
                false => places.writes(&args.output),
            };
            (&args.store, args.durability.durability, places)
        }
        // It makes files, and a table of them, on this machine.
        Command::Demo(args) => {
            let places = places.changes_table(".");
            (&args.store, FULL, args.s3.iter().fold(places, |places, url| places.reads(url).writes(url)))
        }
        Command::Files(args) => return Some(places_of_files(args)),
        Command::Bench { .. } | Command::Config | Command::Completions(_) | Command::Man(_) | Command::Proxy(_) => {
            return None;
        }
    })
}

/// With the sources of a command.
fn read_from(places: JobPlaces, sources: &[String]) -> JobPlaces {
    sources.iter().fold(places, |places, source| places.reads(source))
}

/// With the file that gets rows.
fn with_output(places: JobPlaces, output: Option<&str>) -> JobPlaces {
    output.into_iter().fold(places, |places, output| places.writes(output))
}

fn places_of_files(args: &FilesArgs) -> (&StoreArgs, DurabilityLevel, JobPlaces) {
    let (store, is_written): (&FilesStore, bool) = match &args.command {
        FilesCommand::Put(args) => (&args.store, true),
        FilesCommand::Rm(args) => (&args.store, true),
        FilesCommand::Mv(args) => (&args.store, true),
        FilesCommand::Import(args) => (&args.store, true),
        FilesCommand::Compact(store) => (store, true),
        FilesCommand::Get(args) => (&args.store, false),
        FilesCommand::Ls(args) => (&args.store, false),
        FilesCommand::Export(args) => (&args.store, false),
        FilesCommand::Stat(args) => (&args.store, false),
        FilesCommand::Mount(args) => (&args.store, false),
        FilesCommand::Verify(store) => (store, false),
    };
    let places = JobPlaces::default().small_files(&store.location, is_written);
    let places = match &args.command {
        FilesCommand::Get(args) => {
            args.output.iter().fold(places, |places, file| places.writes(&file.to_string_lossy()))
        }
        FilesCommand::Export(args) => places.writes(&args.target.to_string_lossy()),
        _ => places,
    };
    // A level of durability must apply somewhere: the store's default differs from that of files.
    let durability = if store.durability.is_some() { DurabilityLevel::Normal } else { FULL };
    (&store.store, durability, places)
}
