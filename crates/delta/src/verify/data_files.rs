//! The files of a version against its log.

use std::collections::HashMap;

use lakerace_io::object_store::path::Path;
use lakerace_io::{Error, Result};

use super::finding::{Finding, Subject};
use super::is_damage;
use crate::deletion_vector;
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;
use crate::snapshot::row_counts::count_of;

/// Files that are open at the same time at most.
const FILES_AT_ONCE: usize = 256;
/// The next step where a data file is damaged.
const ADVICE: &str =
    "restore the file from a backup, or an earlier version of the table with `lakerace restore` or Table.restore";

/// The outcome.
pub(super) struct CheckedFiles {
    /// Files without damage, with their row counts.
    pub sound: Vec<TableFile>,
    /// Rows of them that are not deleted.
    pub rows: u64,
    /// Deletion vectors that were read.
    pub vectors: u64,
}

/// Checks that the files are there, their sizes, their footers' row counts and their deletion vectors.
pub(super) fn check(snapshot: &Snapshot, findings: &mut Vec<Finding>) -> Result<CheckedFiles> {
    let files = present(snapshot, findings)?;
    let files = counted(snapshot, files, findings)?;
    let vectors = files.iter().filter(|file| file.vector.is_some()).count() as u64;
    let sound = with_vectors(snapshot, files, findings)?;
    let rows = sound.iter().filter_map(TableFile::visible_rows).sum();
    Ok(CheckedFiles { sound, rows, vectors })
}

fn damage(findings: &mut Vec<Finding>, subject: Subject, file: &TableFile, problem: String) {
    findings.push(Finding::new(subject, file.object.url(), problem, ADVICE));
}

/// The files that exist and have the size that the log states.
fn present(snapshot: &Snapshot, findings: &mut Vec<Finding>) -> Result<Vec<TableFile>> {
    let table = snapshot.table();
    let listed = table.store().list(table.root()).map_err(|error| error.at(table.location()))?;
    let sizes: HashMap<Path, u64> = listed.into_iter().map(|info| (info.path, info.size_bytes)).collect();
    let mut files = Vec::new();
    for file in &snapshot.files()?.files {
        table.job().check()?;
        let is_below = file.object.store.url_prefix == table.store().url_prefix;
        let size = match sizes.get(&file.object.path).filter(|_| is_below) {
            Some(size) => Some(*size),
            // Some are in another folder or store, and a listing may leave out names that are hidden.
            None => match file.object.store.stat(&file.object.path) {
                Ok(info) => info.map(|info| info.size_bytes),
                // A folder, for example.
                Err(error) if is_damage(&error) => {
                    damage(findings, Subject::File, file, error.message().to_owned());
                    continue;
                }
                Err(error) => return Err(error),
            },
        };
        match size {
            Some(size) if size == file.size_bytes => files.push(file.clone()),
            Some(size) => {
                let problem = format!("it has {size} bytes, but the log states {}", file.size_bytes);
                damage(findings, Subject::File, file, problem);
            }
            None => damage(findings, Subject::File, file, "it does not exist, but the version needs it".to_owned()),
        }
    }
    Ok(files)
}

/// The files whose footers can be read and have as many rows as the log states.
fn counted(snapshot: &Snapshot, files: Vec<TableFile>, findings: &mut Vec<Finding>) -> Result<Vec<TableFile>> {
    let (table, columns) = (snapshot.table(), snapshot.table_schema());
    // Without a count of the log, footers are read.
    let unknown = |file: &TableFile| TableFile { rows: None, ..file.clone() };
    let count = |files: &[TableFile]| {
        let files: Vec<TableFile> = files.iter().map(unknown).collect();
        count_of(&files.iter().collect::<Vec<_>>(), columns, table.job())
    };
    let mut sound = Vec::new();
    for chunk in files.chunks(FILES_AT_ONCE) {
        table.job().check()?;
        let counts: Vec<Result<u64>> = match count(chunk) {
            Ok(counts) => counts.into_iter().map(Ok).collect(),
            Err(error) if !is_damage(&error) => return Err(error),
            Err(_) => chunk.iter().map(|file| count(std::slice::from_ref(file)).map(|counts| counts[0])).collect(),
        };
        for (file, count) in chunk.iter().zip(counts) {
            match (count, file.rows) {
                (Err(error), _) if !is_damage(&error) => return Err(error),
                (Err(error), _) => damage(findings, Subject::File, file, error.message().to_owned()),
                (Ok(rows), Some(stated)) if rows != stated => {
                    damage(findings, Subject::File, file, format!("it has {rows} rows, but the log states {stated}"));
                }
                (Ok(rows), _) => sound.push(TableFile { rows: Some(rows), ..file.clone() }),
            }
        }
    }
    Ok(sound)
}

/// The files whose deletion vectors can be read, have the stated checksum and number of rows, and hide no row beyond
/// the file's.
fn with_vectors(snapshot: &Snapshot, files: Vec<TableFile>, findings: &mut Vec<Finding>) -> Result<Vec<TableFile>> {
    let table = snapshot.table();
    let load = |files: &[&TableFile]| deletion_vector::load(table, files).map(drop);
    let mut sound = Vec::with_capacity(files.len());
    for chunk in files.chunks(FILES_AT_ONCE) {
        table.job().check()?;
        let read = load(&chunk.iter().collect::<Vec<_>>());
        if read.is_ok() {
            sound.extend(chunk.iter().cloned());
            continue;
        }
        for file in chunk {
            match load(&[file]) {
                Ok(()) => sound.push(file.clone()),
                Err(error) if is_vector_damage(&error) => {
                    let mut finding = Finding::of_error(Subject::Vector, file.object.url(), &error);
                    finding.problem = format!("{} (the deletion vector of {})", finding.problem, file.object.url());
                    ADVICE.clone_into(&mut finding.advice);
                    findings.push(finding);
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(sound)
}

/// Returns true if an error concerns a vector: one of an unknown version may be a damaged one.
fn is_vector_damage(error: &Error) -> bool {
    is_damage(error) || error.kind() == lakerace_io::ErrorKind::Unsupported
}
