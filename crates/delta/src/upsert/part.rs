//! An upsert by several processes: each does the part of some keys, and one commit combines all parts.
//!
//! A part writes its rows to files and finds the rows of a version that have its keys. If another writer is faster than
//! the commit, the files that it added are searched, too, by the keys in the parts' own files.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use arrow::datatypes::SchemaRef;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use delta_kernel::transaction::UpdateTableOperation;
use lakerace_format::{Constants, InputFile, ParquetSource, ReadRequest, Source};
use lakerace_io::memory_limit::check_memory;
use lakerace_io::{Error, Result};
use roaring::RoaringTreemap;
use serde::{Deserialize, Serialize};

use super::key_windows::{KeyWindows, KnownKeys, SourceKeys, join};
use super::parameters::parameters;
use super::row_mapping::{self, RowMapping};
use super::source::counted;
use super::{OnDuplicate, SourceRows, UpsertAttempt, UpsertKind, UpsertOptions};
use crate::commit::{CommitFence, PendingCommit, WriteBase};
use crate::deletion_vector::commit::{ChangeOutcome, RemovalCommit, RemovalMethod, RowDependency, change};
use crate::key::KeyColumns;
use crate::probe::RowProbe;
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;
use crate::snapshot::partitions::Partitions;
use crate::snapshot::statistics::FileStatistics;
use crate::write::{AddedFile, AppTransaction, PendingFile, PublishedFiles, hand_over, has_transaction, published};

/// The work of a process for an upsert. Its files are visible in the table's folder, and no part of the table yet.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct UpsertPart {
    /// The rows that it writes.
    pub files: Vec<PendingFile>,
    /// The rows of the version that have its keys: bitmaps as base64, by the names of their files in the log.
    found: HashMap<String, String>,
    /// The rows that were given to it.
    source_rows: u64,
}

/// Which keys the parts of an upsert have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartKeys {
    /// Each its own: rows were brought to parts by their keys.
    Own,
    /// No one knows. The commit reads the keys of the parts' files, and a key of two parts is an error.
    Unknown,
}

/// Returns true if an upsert of rows of this schema can be divided into parts: its output depends on no row of the
/// table, and the table's schema stays unchanged.
///
/// # Errors
/// Those of [`upsert`](super::upsert) that depend on the schema alone.
pub fn is_divisible(snapshot: &Snapshot, rows: &SchemaRef, options: &UpsertOptions) -> Result<bool> {
    let mapping = RowMapping::of_upsert(snapshot, rows, options).map_err(|e| e.at(snapshot.table().location()))?;
    Ok(of_part(snapshot, &mapping, options).is_divisible())
}

fn of_part<'a>(snapshot: &'a Snapshot, mapping: &'a RowMapping, options: &'a UpsertOptions) -> UpsertAttempt<'a> {
    UpsertAttempt::new(snapshot, mapping, options, UpsertKind::Upsert)
}

impl UpsertAttempt<'_> {
    fn is_divisible(&self) -> bool {
        self.mapping.evolved.is_none() && self.depends() == RowDependency::Nothing
    }
}

/// Does the part of these rows, whose keys no other part may have. [`commit_upsert`] commits it, for the same version
/// and with the same options; [`discard_files`](crate::discard_files) removes its files.
///
/// # Errors
/// Those of [`upsert`](super::upsert), and `Unsupported` for an upsert that can't be done in parts ([`is_divisible`]).
pub fn upsert_part(snapshot: &Snapshot, rows: impl Into<SourceRows>, options: &UpsertOptions) -> Result<UpsertPart> {
    let table = snapshot.table();
    let named = |error: Error| error.at(table.location());
    let rows = rows.into();
    let mapping = RowMapping::of_upsert(snapshot, rows.schema(), options).map_err(named)?;
    check_memory(options.memory_bytes, mapping.written.fields().len()).map_err(named)?;
    let upsert = of_part(snapshot, &mapping, options);
    if !upsert.is_divisible() {
        return Err(named(Error::unsupported(
            "the rows depend on the existing ones: a single process must upsert them",
        )));
    }
    let (batches, source_rows) = counted(rows.batches()?);
    let windows = mapping.gather(batches, options, table.job())?;
    if windows.is_empty() {
        return Ok(UpsertPart::default());
    }
    let mut commit = upsert.commit(windows.keys_alone())?;
    let mut new = upsert.new_files(&mut commit, matches!(windows, KeyWindows::Memory(_)))?;
    let files: Vec<&TableFile> = snapshot.files()?.files.iter().collect();
    let mut found = vec![None; files.len()];
    windows.each(&mut |window| {
        join(&mut found, upsert.window(window, &files, Some(&mut new))?);
        Ok(())
    })?;
    let found = files.iter().zip(found).filter_map(|(file, rows)| Some((file, rows?)));
    let found = found.filter(|(_, rows)| !rows.is_empty()).map(|(file, rows)| Ok((file.path.clone(), encoded(&rows)?)));
    let found = found.collect::<Result<_>>()?;
    let (published, _) = new.publish()?;
    Ok(UpsertPart { files: hand_over(published)?, found, source_rows: source_rows.load(Ordering::Relaxed) })
}

/// The average number of a version's files that may have a key, by the log's statistics of the key's first column.
/// `None` where they do not cover every file.
pub fn files_per_key(snapshot: &Snapshot, key: &[String]) -> Result<Option<f64>> {
    let columns = KeyColumns::new(snapshot.schema(), key)?;
    let (mut lows, mut ranges) = (columns.no_keys(), Vec::new());
    for file in &snapshot.files()?.files {
        match KnownKeys::from_statistics(&columns, &FileStatistics { file, columns: snapshot.columns() }) {
            KnownKeys::None => {}
            KnownKeys::Between(low, Some(high)) => {
                lows.append(low.clone());
                ranges.push((low, high));
            }
            KnownKeys::Between(_, None) | KnownKeys::Any => return Ok(None),
        }
    }
    let (lows, _) = lows.sorted(1);
    let begin_within: usize = ranges.iter().map(|(low, high)| lows.count_between(low, Some(high))).sum();
    Ok((!ranges.is_empty()).then(|| begin_within as f64 / ranges.len() as f64))
}

/// Commits the parts of an upsert, which were made for the version `snapshot`, in one commit. After an error their files
/// are removed, unless it is unknown whether the commit exists.
///
/// With a transaction, the commit takes effect once: where the table has this transaction or a later one, the files are
/// removed, and nothing changes.
///
/// # Errors
/// `Invalid` where two parts have a key, if `keys` are [`PartKeys::Unknown`].
pub fn commit_upsert(
    snapshot: &Snapshot,
    parts: Vec<UpsertPart>,
    keys: PartKeys,
    options: &UpsertOptions,
    transaction: Option<&AppTransaction>,
) -> Result<ChangeOutcome> {
    let table = snapshot.table();
    let named = |error: Error| error.at(table.location());
    let (mut files, mut found) = (Vec::new(), HashMap::<String, RoaringTreemap>::new());
    let count = parts.len() as u64;
    let has_one = parts.iter().filter(|part| !part.files.is_empty()).count() <= 1;
    let source_rows = parts.iter().map(|part| part.source_rows).sum();
    for part in parts {
        files.extend(part.files);
        for (name, rows) in part.found {
            *found.entry(name).or_default() |= decoded(&rows)?;
        }
    }
    let published = published(table, files)?;
    if published.files().is_empty() {
        return Ok(ChangeOutcome::default());
    }
    if let Some(transaction) = transaction
        && has_transaction(&table.snapshot_after(snapshot, None)?, transaction)?
    {
        return Ok(ChangeOutcome::default());
    }
    snapshot.check_in_log()?;
    let of_transaction =
        |known: &AppTransaction| CommitFence::of_transaction(Some(snapshot), &known.name, known.number);
    let fence = transaction.map(of_transaction).transpose()?;
    let removal =
        RemovalMethod::for_snapshot(snapshot, options.enables_vectors, || options.write.clone()).map_err(named)?;
    let probe = WrittenKeys::new(snapshot, published.files(), options).map_err(named)?;
    let parameters = parameters(&probe.options.key, UpsertKind::Upsert, options);
    if keys == PartKeys::Unknown && !has_one {
        probe.check_own().map_err(named)?;
    }
    let action = RemovalCommit::new(Box::new(probe), UpdateTableOperation::Merge, removal);
    let action = action.depending(RowDependency::Nothing);
    let mut action = action.with_parameters(parameters).by_key(Some(source_rows));
    action.note(&snapshot.files()?.files, by_files(snapshot, found)?, count);
    let base = WriteBase::Existing(Box::new(snapshot.clone()));
    let commit = PendingCommit::new(table.clone(), base, action).map_err(named)?;
    let mut commit = commit.fenced(fence.as_ref().or(options.fence.as_ref()));
    change(&mut commit, published, PublishedFiles::none())
}

/// Found rows by the files of a version.
pub(crate) fn by_files(
    snapshot: &Snapshot,
    mut found: HashMap<String, RoaringTreemap>,
) -> Result<Vec<Option<RoaringTreemap>>> {
    let all = snapshot.files()?.files.iter().map(|file| found.remove(&file.path)).collect();
    match found.into_keys().next() {
        None => Ok(all),
        Some(name) => Err(Error::internal(format!("version {} has no file {name}", snapshot.version()))),
    }
}

fn encoded(rows: &RoaringTreemap) -> Result<String> {
    let mut bytes = Vec::with_capacity(rows.serialized_size());
    rows.serialize_into(&mut bytes).map_err(Error::unexpected)?;
    Ok(BASE64_STANDARD.encode(bytes))
}

fn decoded(text: &str) -> Result<RoaringTreemap> {
    let bytes = BASE64_STANDARD.decode(text).map_err(Error::unexpected)?;
    RoaringTreemap::deserialize_from(bytes.as_slice()).map_err(Error::unexpected)
}

/// The keys that files of a write have. They are read where another writer has added files.
struct WrittenKeys {
    /// The version that the files were written for.
    snapshot: Snapshot,
    files: Vec<InputFile>,
    options: UpsertOptions,
}

impl WrittenKeys {
    fn new(snapshot: &Snapshot, files: &[AddedFile], options: &UpsertOptions) -> Result<Self> {
        let kernel = snapshot.kernel();
        let partitions = Partitions::new(kernel, &kernel.schema(), snapshot.table_schema().schema())?;
        let input = |file: &AddedFile| {
            let constants = Constants::new(partitions.of_file(&file.partition_values)?);
            let object = snapshot.table().object(&file.name)?;
            Ok(InputFile { constants: Some(constants.into()), ..InputFile::from(object) })
        };
        let key = row_mapping::key(snapshot, options)?;
        let options = UpsertOptions { key, merge: Vec::new(), ..options.clone() };
        Ok(Self { snapshot: snapshot.clone(), files: files.iter().map(input).collect::<Result<_>>()?, options })
    }

    /// Returns an error where two parts have the same key. Within a part, keys are distinct.
    fn check_own(&self) -> Result<()> {
        let (_, windows) = self.read(&self.snapshot, OnDuplicate::Error)?;
        windows.each_keys(&mut |_| Ok(()))
    }

    /// The keys, sorted, in the columns of a version.
    fn read(&self, snapshot: &Snapshot, on_duplicate: OnDuplicate) -> Result<(RowMapping, KeyWindows)> {
        let job = self.snapshot.table().job();
        let source = ParquetSource::open_table(self.files.clone(), self.snapshot.table_schema(), job)?;
        let columns = Some(self.options.key.clone());
        let keys = source.read(&source.plan(&ReadRequest { columns, ..ReadRequest::default() })?)?;
        let mapping = RowMapping::of_delete(snapshot, keys.schema(), &self.options)?;
        let windows = mapping.gather(keys, &UpsertOptions { on_duplicate, ..self.options.clone() }, job)?;
        Ok((mapping, windows))
    }
}

impl RowProbe for WrittenKeys {
    fn find(&self, snapshot: &Snapshot, files: &[&TableFile]) -> Result<Vec<Option<RoaringTreemap>>> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        // Which of two rows of a key counts was settled within its part.
        let (mapping, windows) = self.read(snapshot, OnDuplicate::Last)?;
        SourceKeys { columns: mapping.columns, windows }.find(snapshot, files)
    }
}
