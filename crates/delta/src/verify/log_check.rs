//! The files of a log against one another.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use bytes::Bytes;
use lakerace_exec::map_slice;
use lakerace_io::object_store::path::Path;
use lakerace_io::option::{DROP_EMPTY_ENTRY, REPAIR, VERIFY_TABLE};
use lakerace_io::{Error, ErrorKind, ObjectInfo, Result};
use serde::Deserialize;

use super::finding::{Finding, Subject};
use super::fix::TableRepair;
use super::lost_entry::LostEntry;
use super::restored_entry::{EntryCopy, copies_by_entry, matches_checksums};
use super::state::{EntryActions, LoggedFile, VersionState};
use super::{checkpoint, is_damage, misplaced_names};
use crate::log::completeness::is_counted;
use crate::log::distrust::is_hint_name;
use crate::log::entry;
use crate::log::files::{self as log_files, LogFile, LogFileKind};
use crate::maintain::vacuum::vector_path;
use crate::paths::LOG;
use crate::snapshot::files::StatisticsDefect;
use crate::table::Table;

/// Requests for entries in flight.
const READERS: usize = 16;
/// Entries in memory at a time.
const ENTRIES_AT_ONCE: usize = 64;
/// Missing entries that are named one by one.
const NAMED_GAPS: u64 = 100;

/// The outcome of a check of a log.
#[derive(Default)]
pub(super) struct LogCheck {
    pub entries: u64,
    pub checkpoints: u64,
    pub findings: Vec<Finding>,
    /// The state after the last entry, where the entries that are left make it.
    pub state: Option<VersionState>,
    /// Files that the entries name.
    pub named: HashSet<Path>,
    /// Paths of files whose statistics are among the findings.
    pub unsound_statistics: HashSet<String>,
    /// Versions of checkpoints that can't be read.
    pub damaged_checkpoints: Vec<u64>,
    /// By name, the copies of entries that are not used, and why.
    pub unused_copies: BTreeMap<String, String>,
}

/// A version of which the entry is damaged, as a copy of the entry would make it. A later checkpoint proves the copy.
struct EntryHypothesis {
    finding: usize,
    state: VersionState,
    copy: EntryCopy,
}

/// The log, replayed up to a version.
struct LogReplay<'a> {
    table: &'a Table,
    folder: Vec<ObjectInfo>,
    copies: HashMap<String, Vec<ObjectInfo>>,
    check: LogCheck,
    hypotheses: Vec<EntryHypothesis>,
    /// True if the commit of an empty last entry should be given up.
    drops_empty_entry: bool,
    /// True if `_last_checkpoint` is evidence against that, and stays.
    keeps_hint: bool,
}

/// A checksum file of a version.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(super) struct VersionChecksum {
    pub txn_id: Option<String>,
    table_size_bytes: u64,
    num_files: u64,
}

#[derive(Deserialize)]
#[serde(expecting = "an object")]
struct CheckpointHint {
    version: u64,
    /// The number of files of a checkpoint in several parts.
    parts: Option<u64>,
}

impl LogCheck {
    /// Reads the whole log. `drops_empty_entry` lets an empty last entry be repaired by giving its commit up.
    pub fn run(table: &Table, drops_empty_entry: bool) -> Result<Self> {
        let folder = table.root().clone().join(LOG);
        let depth = folder.parts().count() + 1;
        let found = match table.store().list(&folder) {
            Ok(found) => found,
            Err(error) => {
                // A link that leads to itself can't be listed.
                let findings = if is_damage(&error) { misplaced_names::find(table) } else { Vec::new() };
                return if findings.is_empty() {
                    Err(error.at(table.location()))
                } else {
                    Ok(Self { findings, ..Self::default() })
                };
            }
        };
        let found: Vec<ObjectInfo> = found.into_iter().filter(|info| info.path.parts().count() == depth).collect();
        let files: Vec<LogFile> = found.iter().cloned().filter_map(log_files::parse).collect();
        let of = |kind: LogFileKind| files.iter().filter(move |file| file.kind == kind);
        let entries: BTreeMap<u64, &LogFile> = of(LogFileKind::Entry).map(|file| (file.version, file)).collect();
        let checksums: BTreeMap<u64, &LogFile> = of(LogFileKind::Checksum).map(|file| (file.version, file)).collect();
        let checkpoints = log_files::checkpoints(&files);
        if entries.is_empty() && checkpoints.is_empty() {
            return Err(table.without_log(!found.is_empty()));
        }
        let copies = copies_by_entry(&found);
        let (check, hypotheses) = (Self::default(), Vec::new());
        let mut replay =
            LogReplay { table, folder: found, copies, check, hypotheses, drops_empty_entry, keeps_hint: false };
        replay.check.state = entries.contains_key(&0).then(VersionState::empty);
        let versions: BTreeSet<u64> = entries.keys().chain(&checkpoints).copied().collect();
        let versions: Vec<u64> = versions.into_iter().collect();
        let mut next = versions.first().copied();
        for chunk in versions.chunks(ENTRIES_AT_ONCE) {
            let files: Vec<Option<&LogFile>> = chunk.iter().map(|version| entries.get(version).copied()).collect();
            let read_bytes = |file: Option<&LogFile>| file.map(|file| entry::read_bytes(table, file));
            let read = map_slice(&files, READERS, |file| Ok::<_, Error>(read_bytes(*file)))?;
            for (version, read) in chunk.iter().copied().zip(read) {
                table.job().check()?;
                replay.gap(next.unwrap_or(version), version)?;
                next = version.checked_add(1);
                match read {
                    Some(read) => replay.entry(version, read)?,
                    // The log starts with the checkpoint, or an entry before it is missing.
                    None if versions.first() == Some(&version) => {}
                    None => replay.gap(version, version + 1)?,
                }
                let checksum = checksums.get(&version);
                // Where the log starts with a checkpoint, the checksum describes the checkpoint's state.
                let is_first_state = replay.check.state.is_none();
                if !is_first_state && let Some(file) = checksum {
                    replay.checksum(file)?;
                }
                if checkpoints.contains(&version) {
                    replay.checkpoint(version)?;
                }
                if is_first_state && let Some(file) = checksum {
                    replay.checksum(file)?;
                }
            }
        }
        replay.incomplete_checkpoints(&files, &checkpoints);
        replay.hint(&files, &checkpoints)?;
        let misplaced = misplaced_names::find(table).into_iter();
        let is_new = |finding: &Finding| replay.check.findings.iter().all(|known| known.place != finding.place);
        let misplaced: Vec<Finding> = misplaced.filter(is_new).collect();
        replay.check.findings.extend(misplaced);
        Ok(replay.check)
    }
}

impl LogReplay<'_> {
    fn url(&self, name: &str) -> String {
        self.table.store().url(&self.path(name))
    }

    fn path(&self, name: &str) -> Path {
        self.table.root().clone().join(LOG).join(name)
    }

    /// A file of the log by its name.
    fn read(&self, name: &str) -> Result<Option<Bytes>> {
        let is_named = |info: &&ObjectInfo| info.path.filename() == Some(name);
        let Some(info) = self.folder.iter().find(is_named) else { return Ok(None) };
        let object = self.table.store().object(info.path.clone());
        object.read_range(0..info.size_bytes).map(Some)
    }

    /// The versions from `from` up to `to` have no entry.
    fn gap(&mut self, from: u64, to: u64) -> Result<()> {
        for version in from..to.min(from.saturating_add(NAMED_GAPS)) {
            let problem = misplaced_names::problem(self.table, &self.path(&format!("{version:020}.json")));
            self.damaged(version, &Error::corrupt(problem.unwrap_or("it does not exist")), &Bytes::new())?;
        }
        Ok(())
    }

    fn entry(&mut self, version: u64, read: Result<Bytes>) -> Result<()> {
        self.check.entries += 1;
        let name = format!("{version:020}.json");
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(error) if is_damage(&error) => {
                let left = self.read(&name)?.unwrap_or_default();
                return self.damaged(version, &error, &left);
            }
            Err(error) => return Err(error),
        };
        let actions = match EntryActions::parse(&bytes) {
            Ok(actions) => actions,
            Err(error) => return self.damaged(version, &error, &bytes),
        };
        if let Some(problem) = actions.lacks_stated() {
            self.note_names(&actions);
            return self.damaged(version, &Error::corrupt(problem), &bytes);
        }
        let hadoop = format!(".{name}.crc");
        let matched = self.read(&hadoop)?.map(|checksums| matches_checksums(&bytes, &checksums));
        if matched == Some(false) {
            let problem = format!("it is not the checksum of {name}: Spark on a local disk can't read the entry");
            let advice = "restore the entry that it belongs to, or remove it if the entry is the right one";
            self.check.findings.push(Finding::new(Subject::Checksum, self.url(&hadoop), problem, advice));
        }
        self.note_other_copies(version, &name, &bytes)?;
        self.note_misfits(&name, &actions);
        self.note_statistics(&self.url(&name), version, actions.statistics_defects());
        let is_proven = matched == Some(true) || (matched.is_none() && is_counted(&bytes));
        self.note_names(&actions);
        self.hypotheses.iter_mut().for_each(|hypothesis| hypothesis.state.apply(&actions, is_proven));
        if let Some(state) = &mut self.check.state {
            state.apply(&actions, is_proven);
        }
        Ok(())
    }

    /// Actions that do not fit the version before: the entry may be that of another version.
    fn note_misfits(&mut self, name: &str, actions: &EntryActions) {
        let Some(state) = &self.check.state else { return };
        let canonical = |path: &str| match self.table.own_paths(path).unwrap_or_default().into_iter().next() {
            Some(path) => path.to_string(),
            None => path.to_owned(),
        };
        let place = self.url(name);
        for problem in state.misfits(actions, canonical) {
            let advice =
                "compare this entry and those before it with a backup: one of them may be that of another version";
            self.check.findings.push(Finding::new(Subject::Entry, place.clone(), problem, advice));
        }
    }

    /// Notes statistics of a version that are not valid.
    fn note_statistics(&mut self, place: &str, version: u64, defects: Vec<StatisticsDefect>) {
        for defect in defects {
            self.check.findings.push(Finding::of_statistics(place, version, &defect));
            self.check.unsound_statistics.insert(defect.path);
        }
    }

    /// Copies of an entry that is whole and differs from them.
    fn note_other_copies(&mut self, version: u64, name: &str, entry: &Bytes) -> Result<()> {
        for info in self.copies.get(name).cloned().unwrap_or_default() {
            let copy = self.table.store().object(info.path.clone()).read_range(0..info.size_bytes)?;
            if copy != *entry {
                let reason = format!("it differs from the entry of version {version}, which is intact");
                self.note_unused(&info, reason);
            }
        }
        Ok(())
    }

    fn note_unused(&mut self, copy: &ObjectInfo, reason: String) {
        let name = copy.path.filename().unwrap_or_default().to_owned();
        self.check.unused_copies.insert(name, reason);
    }

    fn note_names(&mut self, actions: &EntryActions) {
        let named: Vec<&LoggedFile> = actions.added.iter().chain(&actions.removed).chain(&actions.changes).collect();
        for file in named {
            // A name that leads out of the table is found when its version is read.
            self.check.named.extend(self.table.own_paths(&file.path).unwrap_or_default());
            if let Some(vector) = &file.deletion_vector {
                let path = vector_path(self.table, &vector.storage_type, &vector.path_or_inline_dv);
                self.check.named.extend(path.ok().flatten());
            }
        }
    }

    /// Handles an entry that is missing or can't be read. `left` holds the bytes that remain of it.
    fn damaged(&mut self, version: u64, error: &Error, left: &Bytes) -> Result<()> {
        let name = format!("{version:020}.json");
        let mut finding = Finding::of_error(Subject::Entry, self.url(&name), error);
        finding.place = self.url(&name);
        "restore it from a backup: a copy in _delta_log named NAME.json.bak is used if it can be proven"
            .clone_into(&mut finding.advice);
        self.check.findings.push(finding);
        self.hypotheses.clear();
        let number = self.check.findings.len() - 1;
        self.note_lost_entry(version, number)?;
        let before = self.check.state.take();
        let checksums = self.read(&format!(".{name}.crc"))?;
        let transaction = self.read(&format!("{version:020}.crc"))?;
        let transaction = transaction.and_then(|bytes| serde_json::from_slice::<VersionChecksum>(&bytes).ok());
        let transaction = transaction.and_then(|checksum| checksum.txn_id);
        for info in self.copies.get(&name).cloned().unwrap_or_default() {
            let copy = match EntryCopy::read(self.table, &info, &name)? {
                Ok(copy) => copy,
                Err(problem) => {
                    self.note_unused(&info, format!("it is not a complete entry: {problem}"));
                    continue;
                }
            };
            let reason = format!("nothing proves that it is the entry of version {version}");
            self.note_unused(&info, reason);
            let state = before.clone().map(|mut state| {
                state.apply(&copy.actions, true);
                state
            });
            match copy.proof(left, checksums.as_ref(), transaction.as_deref()) {
                Some(proof) => {
                    self.note_names(&copy.actions);
                    self.check.state = state;
                    self.mend(number, copy, proof);
                    self.hypotheses.clear();
                    return Ok(());
                }
                None => self.hypotheses.extend(state.map(|state| EntryHypothesis { finding: number, state, copy })),
            }
        }
        Ok(())
    }

    /// Handles an empty last entry, of which nothing remains: its commit can be given up.
    fn note_lost_entry(&mut self, version: u64, number: usize) -> Result<()> {
        let is_empty =
            |info: &&ObjectInfo| info.size_bytes == 0 && info.path == self.path(&format!("{version:020}.json"));
        if self.folder.iter().find(is_empty).is_none() {
            return Ok(());
        }
        let hint = self.folder.iter().filter_map(|info| info.path.filename()).find(|name| is_hint_name(name));
        let hint = hint.map(str::to_owned).map(|name| self.read(&name)).transpose()?.flatten();
        let hint =
            hint.and_then(|bytes| serde_json::from_slice::<CheckpointHint>(&bytes).ok()).map(|hint| hint.version);
        let finding = &mut self.check.findings[number];
        match LostEntry::find(&self.folder, version, hint) {
            Ok(entry) if self.drops_empty_entry => finding.mend_by(self.table, TableRepair::GiveUpEntry(entry)),
            Ok(_) => {
                let repair = VERIFY_TABLE.on(self.table.location()).with([REPAIR.given(), DROP_EMPTY_ENTRY.given()]);
                let other = format!("without a backup, {repair} abandons its commit");
                finding.advice = format!("{}; {other}", finding.advice);
            }
            Err(reason) if self.drops_empty_entry => {
                finding.problem = format!("{}; its commit is not given up: {reason}", finding.problem);
                self.keeps_hint = true;
            }
            Err(_) => {}
        }
        Ok(())
    }

    fn mend(&mut self, number: usize, copy: EntryCopy, proof: String) {
        let entry = self.path(copy.entry.as_str());
        self.check.unused_copies.remove(&copy.name);
        let fix = TableRepair::RestoreEntry { entry, copy: copy.name, bytes: copy.bytes, proof };
        self.check.findings[number].mend_by(self.table, fix);
    }

    /// Holds a checksum file of a version against the entries up to it.
    fn checksum(&mut self, file: &LogFile) -> Result<()> {
        let name = file.info.path.filename().unwrap_or_default().to_owned();
        let bytes = self.read(&name)?.unwrap_or_default();
        let url = self.url(&name);
        let Ok(checksum) = serde_json::from_slice::<VersionChecksum>(&bytes) else {
            let problem = "it can't be parsed";
            let fix = TableRepair::Remove(file.info.path.clone());
            self.check.findings.push(Finding::fixable(self.table, Subject::Checksum, url, problem, fix));
            return Ok(());
        };
        let Some((files, bytes)) = self.check.state.as_ref().map(VersionState::totals) else { return Ok(()) };
        if (files, bytes) != (checksum.num_files, checksum.table_size_bytes) {
            let problem = format!(
                "it says {} files of {} bytes, but the entries up to it make {files} of {bytes}",
                checksum.num_files, checksum.table_size_bytes
            );
            let advice =
                "an entry up to this version is truncated, or the checksum is wrong: compare them with a backup";
            self.check.findings.push(Finding::new(Subject::Checksum, url, problem, advice));
        }
        Ok(())
    }

    /// Holds a checkpoint against the entries up to it.
    fn checkpoint(&mut self, version: u64) -> Result<()> {
        self.check.checkpoints += 1;
        let place = format!("{}: the checkpoint of version {version}", self.table.location());
        let read = match checkpoint::read(self.table, version) {
            Ok((read, defects)) => {
                self.note_statistics(&place, version, defects);
                read
            }
            Err(error) if is_damage(&error) || error.kind() == ErrorKind::Internal => {
                self.check.damaged_checkpoints.push(version);
                let mut finding = Finding::of_error(Subject::Checkpoint, place, &error);
                if self.check.state.is_some() {
                    finding.mend_by(self.table, TableRepair::WriteCheckpoint(version));
                }
                self.check.findings.push(finding);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        for hypothesis in std::mem::take(&mut self.hypotheses) {
            if hypothesis.state.difference_to(&read).is_none() {
                let proof = format!("together with it, the entries make the checkpoint of version {version}");
                self.mend(hypothesis.finding, hypothesis.copy, proof);
                break;
            }
        }
        let Some(state) = &self.check.state else {
            self.check.state = Some(read);
            return Ok(());
        };
        let Some(problem) = state.difference_to(&read) else { return Ok(()) };
        let problem = format!("its state differs from that of the entries up to it: {problem}");
        let advice = "compare the entries with a backup: either they or the checkpoint are wrong, and nothing in the \
                      table proves which";
        let mut finding = Finding::new(Subject::Checkpoint, place, problem, advice);
        if state.is_proven && (!self.has_unnamed_files(&read, state) || self.has_only_files_of(state, &read)?) {
            finding.mend_by(self.table, TableRepair::WriteCheckpoint(version));
        } else {
            self.check.state = Some(read);
        }
        self.check.findings.push(finding);
        Ok(())
    }

    /// True where a checkpoint has a file that no entry has named: evidence against the entries.
    fn has_unnamed_files(&self, checkpoint: &VersionState, entries: &VersionState) -> bool {
        let is_named = |path: &str| {
            self.table.own_paths(path).unwrap_or_default().into_iter().all(|path| self.check.named.contains(&path))
        };
        checkpoint.files_beyond(entries).any(|path| !is_named(path))
    }

    /// Returns true if no file that only the checkpoint has exists, and each file that only the entries have exists with
    /// its size: the names in the checkpoint have changed.
    fn has_only_files_of(&self, entries: &VersionState, checkpoint: &VersionState) -> Result<bool> {
        let size_of = |path: &str| -> Result<Option<u64>> {
            match self.table.object(path).and_then(|object| object.store.stat(&object.path)) {
                // No file can have the name.
                Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Invalid) => Ok(None),
                found => Ok(found?.map(|info| info.size_bytes)),
            }
        };
        for path in checkpoint.files_beyond(entries) {
            if size_of(path)?.is_some() {
                return Ok(false);
            }
        }
        for (path, size) in entries.sizes_beyond(checkpoint) {
            if size_of(path)? != Some(size) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Checkpoints that are empty, or of which a part is missing.
    fn incomplete_checkpoints(&mut self, files: &[LogFile], whole: &BTreeSet<u64>) {
        let mut parts: HashMap<u64, u64> = HashMap::new();
        for file in files.iter().filter(|file| !whole.contains(&file.version)) {
            if let LogFileKind::Checkpoint { parts: all, .. } = file.kind {
                parts.insert(file.version, all);
            }
        }
        let mut versions: Vec<(u64, u64)> = parts.into_iter().collect();
        versions.sort_unstable();
        let can_be_replayed = self.check.state.as_ref().is_some_and(|state| state.is_proven)
            || self.check.findings.iter().all(|finding| finding.subject != Subject::Entry);
        for (version, parts) in versions {
            let place = format!("{}: the checkpoint of version {version}", self.table.location());
            let problem =
                if parts > 1 { format!("parts of its {parts} are missing or empty") } else { "it is empty".to_owned() };
            self.check.damaged_checkpoints.push(version);
            let mut finding = Finding::new(Subject::Checkpoint, place, problem, "restore it from a backup");
            if can_be_replayed {
                finding.mend_by(self.table, TableRepair::WriteCheckpoint(version));
            }
            self.check.findings.push(finding);
        }
    }

    /// The file that names the last checkpoint.
    fn hint(&mut self, files: &[LogFile], checkpoints: &BTreeSet<u64>) -> Result<()> {
        let Some(name) = self.folder.iter().filter_map(|info| info.path.filename()).find(|name| is_hint_name(name))
        else {
            return Ok(());
        };
        let name = name.to_owned();
        let bytes = self.read(&name)?.unwrap_or_default();
        let problem = match serde_json::from_slice::<CheckpointHint>(&bytes) {
            Err(_) => "it can't be parsed".to_owned(),
            // It is among the findings.
            Ok(hint) if self.check.damaged_checkpoints.contains(&hint.version) => return Ok(()),
            Ok(hint) if !checkpoints.contains(&hint.version) => {
                format!("it names the checkpoint of version {}, which does not exist", hint.version)
            }
            Ok(hint) => match parts_problem(&hint, files) {
                Some(problem) => problem,
                None => return Ok(()),
            },
        };
        let fix = TableRepair::Remove(self.path(&name));
        let finding = if self.keeps_hint {
            Finding::new(Subject::LastCheckpoint, self.url(&name), problem, "restore the entry first")
        } else {
            Finding::fixable(self.table, Subject::LastCheckpoint, self.url(&name), problem, fix)
        };
        self.check.findings.push(finding);
        Ok(())
    }
}

/// The difference between the parts of a checkpoint that `_last_checkpoint` states and its files.
fn parts_problem(hint: &CheckpointHint, files: &[LogFile]) -> Option<String> {
    let parts = files.iter().filter(|file| file.version == hint.version).filter_map(|file| match file.kind {
        LogFileKind::Checkpoint { parts, .. } => Some(parts),
        _ => None,
    });
    let (found, stated): (BTreeSet<u64>, u64) = (parts.collect(), hint.parts.unwrap_or(1));
    let count = |parts: u64| if parts == 1 { "1 file".to_owned() } else { format!("{parts} files") };
    let others = found.iter().map(|parts| count(*parts)).collect::<Vec<_>>().join(" or ");
    let version = hint.version;
    (!found.contains(&stated))
        .then(|| format!("it says that the checkpoint of version {version} has {}, but it has {others}", count(stated)))
}
