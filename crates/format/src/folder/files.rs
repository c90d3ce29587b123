//! The files of a copy into a folder, one open at a time.

use arrow::record_batch::RecordBatch;
use lakerace_io::object_store::path::Path;
use lakerace_io::{Deferred, Error, IfExists, JobStore, Output, Result, WriteMode};

use super::commit::FolderCommit;
use super::staged::StagedFolder;
use crate::sink::{Narrowing, Sink, Written};

/// Makes the sink of one file.
pub type MakeSink = Box<dyn FnMut(Output) -> Result<Box<dyn Sink>> + Send>;

/// New files of a folder, which become visible together.
pub(super) struct FolderFiles {
    target: FolderOutput,
    extension: String,
    /// The rows and bytes of the complete files.
    written: Written,
    files: usize,
    random: u64,
}

/// A file under way.
pub(super) struct FolderFile {
    sink: Box<dyn Sink>,
    deferred: Deferred,
    pub rows: u64,
}

enum FolderOutput {
    Staged(StagedFolder),
    Marked(FolderCommit),
}

impl FolderFile {
    /// Appends rows.
    pub fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.rows += batch.num_rows() as u64;
        self.sink.write(batch)
    }

    /// The conversion by which it changes values.
    pub fn narrowing(&self) -> Option<Narrowing> {
        self.sink.narrowing()
    }

    /// Bytes of it so far.
    pub fn position(&self) -> u64 {
        self.deferred.position()
    }
}

/// Fails where a copy into the folder at `path` would fail before its first file, and writes nothing. Returns true if the
/// folder holds files.
pub fn check_folder(store: &JobStore, path: &Path, mode: WriteMode) -> Result<bool> {
    if !store.has_local_files() {
        return FolderCommit::new(store, path, mode)?.holds_files();
    }
    let holds_files = StagedFolder::holds_files(store, path)?;
    if mode == WriteMode::Append && holds_files { Ok(true) } else { StagedFolder::check(store, path, mode) }
}

impl FolderFiles {
    /// Starts a copy into the folder at `path`. Names of files end in `extension`.
    pub fn create(store: &JobStore, path: &Path, mode: WriteMode, extension: &str) -> Result<Self> {
        if matches!(mode, WriteMode::Upsert | WriteMode::Delete) {
            return Err(Error::internal("rows in a folder can't be found by a key"));
        }
        let is_staged =
            store.has_local_files() && !(mode == WriteMode::Append && StagedFolder::holds_files(store, path)?);
        let target = if is_staged {
            FolderOutput::Staged(StagedFolder::create(store, path, mode)?)
        } else {
            FolderOutput::Marked(FolderCommit::new(store, path, mode)?)
        };
        let (written, files, random) = (Written::default(), 0, rand::random());
        Ok(Self { target, extension: extension.to_owned(), written, files, random })
    }

    /// Starts a file in a folder below the target, or in the target itself if `below` is empty.
    pub fn begin(&mut self, below: &str, make: &mut MakeSink) -> Result<FolderFile> {
        let name = format!("part-{:05}-{:016x}.{}", self.files, self.random, self.extension);
        let name = if below.is_empty() { name } else { format!("{below}/{name}") };
        self.files += 1;
        let (mut output, is_local) = match &mut self.target {
            FolderOutput::Staged(staged) => (staged.output(&name)?, true),
            FolderOutput::Marked(commit) => (commit.output(&name, IfExists::Error)?, commit.has_local_files()),
        };
        // A file of this machine is synced while the next one is written.
        let deferred = if is_local { output.defer_unwritten() } else { output.defer() };
        Ok(FolderFile { sink: make(output)?, deferred, rows: 0 })
    }

    /// Ends a file, and returns the count of its rows and bytes.
    pub fn end(&mut self, file: FolderFile) -> Result<Written> {
        let written = file.sink.finish()?;
        self.written.rows += written.rows;
        self.written.bytes += written.bytes;
        let Some(output) = file.deferred.take() else {
            return Err(Error::internal("the sink of a file did not finish its output"));
        };
        match &mut self.target {
            FolderOutput::Staged(staged) => staged.add(output)?,
            FolderOutput::Marked(commit) => commit.add(output),
        }
        Ok(written)
    }

    /// Makes all files visible.
    pub fn publish(self) -> Result<Written> {
        let files = match self.target {
            FolderOutput::Staged(staged) => staged.publish()?,
            FolderOutput::Marked(commit) => commit.publish()?,
        };
        Ok(Written { files, ..self.written })
    }
}
