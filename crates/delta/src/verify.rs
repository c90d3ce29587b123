//! Checks of a table's log, files and keys against each other, and repair of provable damage.
//!
//! Entries are read one by one and replayed without the kernel: the resulting state must be that of each checkpoint and
//! of the version that readers see. Files are checked against the log: their existence, sizes and row counts, their
//! deletion vectors, and on demand the statistics against the values. Nothing is repaired by a guess: a file is only
//! rewritten where sound files determine its contents.

mod boolean_bounds;
mod checkpoint;
mod data_files;
mod finding;
mod fix;
mod keys;
mod log_check;
mod lost_entry;
mod misplaced_names;
mod orphans;
mod restored_entry;
mod state;
mod statistics;
mod statistics_defects;

use lakerace_io::address_space::memory_within;
use lakerace_io::memory_limit::check_memory;
use lakerace_io::option::{DROP_EMPTY_ENTRY, KEY, REPAIR};
use lakerace_io::{Error, ErrorKind, Result};

use self::data_files::CheckedFiles;
pub use self::finding::{Finding, Subject};
use self::log_check::LogCheck;
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;
use crate::table::Table;

/// The options of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerifyOptions {
    /// Read all values, and hold the log's statistics against them.
    pub deep: bool,
    /// Repair provable damage.
    pub repair: bool,
    /// With `repair`, give up the commit of an empty last entry, of which nothing remains.
    pub drop_empty_entry: bool,
    /// The columns that should identify a row; none: the table's own key (`lakerace.primaryKey`).
    pub key: Vec<String>,
    /// Memory for the search for keys in several rows; `None`: 512 MiB.
    pub memory_bytes: Option<u64>,
}

/// Memory for keys, unless options say otherwise.
const MEMORY_BYTES: u64 = 512 << 20;
/// Rounds of repair: an entry that is put back may let a checkpoint be written again.
const ROUNDS: usize = 3;

/// The outcome of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verified {
    /// The version whose files were checked; `None` where no version can be read.
    pub version: Option<u64>,
    /// Entries of the log that were read.
    pub entries: u64,
    /// Checkpoints that were compared with the entries.
    pub checkpoints: u64,
    /// Data files of the version.
    pub files: u64,
    /// Deletion vectors of the version.
    pub vectors: u64,
    /// Rows of the version, deleted ones left out.
    pub rows: u64,
    /// The columns that were checked for duplicate keys; empty where keys were not checked.
    pub key: Vec<String>,
    /// True if the values of the files were held against their statistics.
    pub values_checked: bool,
    /// Files in the table's folder that no version names.
    pub orphan_files: u64,
    /// Their bytes.
    pub orphan_bytes: u64,
    /// The damage, repaired or not.
    pub findings: Vec<Finding>,
    /// Parts that were not checked, and copies of entries that were not used.
    pub notes: Vec<String>,
}

impl Verified {
    /// Returns true if the table was checked for duplicate keys.
    pub fn has_checked_keys(&self) -> bool {
        !self.key.is_empty()
    }

    /// Returns true if no damage is left.
    pub fn is_sound(&self) -> bool {
        self.findings.iter().all(|finding| finding.repaired.is_some())
    }
}

/// Verifies a table, and repairs it where `options` ask for it.
pub fn verify(table: &Table, options: &VerifyOptions) -> Result<Verified> {
    if options.drop_empty_entry && !options.repair {
        return Err(Error::usage(format!("{DROP_EMPTY_ENTRY} is a repair")).advice(format!("add {REPAIR}")));
    }
    check_limit(table, options)?;
    let mut verified = Verified::default();
    let log = check_log(table, options, &mut verified)?;
    verified.entries = log.entries;
    verified.checkpoints = log.checkpoints;
    verified.findings.extend(log.findings);
    verified.notes.extend(log.unused_copies.iter().map(|(name, reason)| format!("{name} is not used: {reason}")));
    let Some(snapshot) = opened(table, &log.damaged_checkpoints, &mut verified)? else { return Ok(verified) };
    verified.version = Some(snapshot.version());
    // Statistics are no part of the state.
    let is_whole = |finding: &Finding| finding.repaired.is_some() || finding.subject == Subject::Statistics;
    if verified.findings.iter().all(is_whole)
        && let Some(state) = &log.state
        && let Some(problem) = state.difference(&snapshot)?
    {
        let place = format!("{}: version {}", table.location(), snapshot.version());
        let problem = format!("readers see a state that differs from that of the log's entries: {problem}");
        verified.findings.push(Finding::new(Subject::Entry, place, problem, "restore the log from a backup"));
    }
    let (_, defects) = statistics_defects::list(&snapshot)?;
    for defect in defects.iter().filter(|defect| !log.unsound_statistics.contains(&defect.path)) {
        let (place, version) = (table.location(), snapshot.version());
        verified.findings.push(Finding::of_statistics(place, version, defect));
    }
    let CheckedFiles { sound, rows, vectors } = data_files::check(&snapshot, &mut verified.findings)?;
    (verified.files, verified.vectors, verified.rows) = (snapshot.files()?.files.len() as u64, vectors, rows);
    if options.deep {
        verified.values_checked = true;
        // The values say no more of statistics that are wrong already.
        let is_sound = |file: &&TableFile| defects.iter().all(|defect| defect.path != file.path);
        let files: Vec<TableFile> = sound.iter().filter(is_sound).cloned().collect();
        match statistics::check(&snapshot, &files, &mut verified.findings) {
            Err(error) if is_damage(&error) => {
                verified.findings.push(Finding::of_error(Subject::Statistics, table.location().to_owned(), &error));
            }
            checked => checked?,
        }
    }
    check_keys(&snapshot, &sound, options, &mut verified)?;
    match orphans::count(&snapshot, &log.named) {
        Ok((files, bytes)) => (verified.orphan_files, verified.orphan_bytes) = (files, bytes),
        Err(error) if is_damage(&error) => {
            verified.notes.push(format!("files that no version names are not counted: {error}"));
        }
        Err(error) => return Err(error),
    }
    Ok(verified)
}

/// Returns an error where the limit of memory is too small for the table's columns, before anything is repaired. A table
/// that can't be opened has none.
fn check_limit(table: &Table, options: &VerifyOptions) -> Result<()> {
    let Some(bytes) = options.memory_bytes else { return Ok(()) };
    match table.snapshot(None) {
        Ok(snapshot) => {
            check_memory(bytes, snapshot.schema().fields().len()).map_err(|error| error.at(table.location()))
        }
        Err(_) => Ok(()),
    }
}

/// Looks for keys in several rows, or notes why not.
fn check_keys(
    snapshot: &Snapshot,
    sound: &[TableFile],
    options: &VerifyOptions,
    verified: &mut Verified,
) -> Result<()> {
    let key = if options.key.is_empty() { snapshot.key() } else { options.key.clone() };
    keys::check_names(snapshot, &key)?;
    // Duplicate keys in a part of the files say little.
    let left_out = verified.files - sound.len() as u64;
    let reason = match (key.is_empty(), left_out) {
        (true, _) => format!("neither the table (lakerace.primaryKey) nor {} names a key", KEY.to("A,B")),
        (false, 0) => {
            let memory_bytes = options.memory_bytes.unwrap_or_else(|| memory_within(MEMORY_BYTES));
            match keys::check(snapshot, sound, &key, memory_bytes, &mut verified.findings) {
                Ok(()) => {
                    verified.key = key;
                    return Ok(());
                }
                Err(error) if is_damage(&error) => {
                    let finding = Finding::of_error(Subject::File, snapshot.table().location().to_owned(), &error);
                    // Those that read all values have found it, too.
                    if !verified.findings.contains(&finding) {
                        verified.findings.push(finding);
                    }
                    "their columns can't be read".to_owned()
                }
                Err(error) => return Err(error),
            }
        }
        (false, _) => format!("{left_out} of {} files are damaged", verified.files),
    };
    verified.notes.push(format!("keys are not checked: {reason}"));
    Ok(())
}

/// Checks the log until no repair is left that can be done. Findings that were repaired go to `verified`.
fn check_log(table: &Table, options: &VerifyOptions, verified: &mut Verified) -> Result<LogCheck> {
    let mut round = 1;
    loop {
        let mut log = LogCheck::run(table, options.drop_empty_entry)?;
        let mut has_repaired = false;
        if options.repair && round <= ROUNDS {
            for finding in &mut log.findings {
                let Some(fix) = finding.fix.take() else { continue };
                table.job().check()?;
                match fix.apply(table) {
                    Ok(repair) => {
                        finding.repaired = Some(repair);
                        has_repaired = true;
                    }
                    // Other damage, which is among the findings, prevents the repair.
                    Err(error) if is_damage(&error) => {
                        finding.problem = format!("{}; the repair failed: {error}", finding.problem);
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        if !has_repaired {
            return Ok(log);
        }
        verified.findings.extend(log.findings.into_iter().filter(|finding| finding.repaired.is_some()));
        round += 1;
    }
}

/// Opens the last version without cached state of the log; `None`, and a finding, where it can't be read. `damaged` are the
/// versions of checkpoints that are among the findings: without them, the user gets no warning of the same.
fn opened(table: &Table, damaged: &[u64], verified: &mut Verified) -> Result<Option<Snapshot>> {
    let read = |table: &Table| {
        let snapshot = table.snapshot(None)?;
        snapshot.files()?;
        Ok(snapshot)
    };
    if !verified.is_sound()
        && let Ok(snapshot) = read(&table.distrusting(damaged)?)
    {
        return Ok(Some(snapshot));
    }
    match read(&table.fresh()?) {
        Ok(snapshot) => Ok(Some(snapshot)),
        Err(error) if is_damage(&error) => {
            // The findings in the log are its reason.
            if verified.is_sound() {
                verified.findings.push(Finding::of_error(Subject::Entry, table.location().to_owned(), &error));
            }
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns true if an error is caused by the table, and not by the run.
fn is_damage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound | ErrorKind::Invalid)
}
