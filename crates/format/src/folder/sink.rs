//! A sink that cuts its rows into files of a folder.

use arrow::record_batch::RecordBatch;
use lakerace_io::object_store::path::Path;
use lakerace_io::{Deferred, IfExists, Job, JobStore, Output, Result};

use super::commit::Commit;
use super::staged::Staged;
use crate::{Sink, WriteOptions, Written};

/// Bytes of a file after which the next one begins, unless options say otherwise.
const FILE_BYTES: u64 = 512 << 20;

/// What to do about a folder that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderMode {
    /// Fail with `Conflict` where it holds anything.
    Error,
    /// Replace its files when the new ones are complete.
    Overwrite,
    /// Add files to it.
    Append,
}

/// Makes the sink of one file.
pub type MakeSink = Box<dyn FnMut(Output) -> Result<Box<dyn Sink>> + Send>;

/// Writes the files of a folder. See the [module](super).
pub struct FolderSink {
    target: Target,
    extension: String,
    file_bytes: u64,
    make: MakeSink,
    file: Option<(Box<dyn Sink>, Deferred)>,
    /// Files that are complete.
    written: Written,
    files: usize,
    random: u64,
    job: Job,
}

enum Target {
    Staged(Staged),
    Marked(Commit),
}

impl FolderSink {
    /// Begins a copy into the folder at `path`. `make` makes the sink of each file, whose name ends in `extension`
    /// (`parquet`, `csv.gz`); the first file is begun here, so that its errors come early.
    pub fn create(
        store: &JobStore,
        path: &Path,
        mode: FolderMode,
        extension: &str,
        options: &WriteOptions,
        make: MakeSink,
    ) -> Result<Box<dyn Sink>> {
        let is_staged = store.local_files && !(mode == FolderMode::Append && Staged::holds_files(store, path)?);
        let target = if is_staged {
            Target::Staged(Staged::create(store, path, mode)?)
        } else {
            Target::Marked(Commit::new(store, path, mode)?)
        };
        let mut sink = Self {
            target,
            extension: extension.to_owned(),
            file_bytes: options.file_bytes.unwrap_or(FILE_BYTES).max(1),
            make,
            file: None,
            written: Written::default(),
            files: 0,
            random: rand::random(),
            job: store.job.clone(),
        };
        sink.begin_file()?;
        Ok(Box::new(sink))
    }

    fn begin_file(&mut self) -> Result<()> {
        let name = format!("part-{:05}-{:016x}.{}", self.files, self.random, self.extension);
        self.files += 1;
        let mut output = match &mut self.target {
            Target::Staged(staged) => staged.output(&name)?,
            Target::Marked(commit) => commit.output(&name, IfExists::Error)?,
        };
        let deferred = output.defer();
        self.file = Some(((self.make)(output)?, deferred));
        Ok(())
    }

    fn end_file(&mut self) -> Result<()> {
        let Some((sink, deferred)) = self.file.take() else { return Ok(()) };
        let file = sink.finish()?;
        self.written.rows += file.rows;
        self.written.bytes += file.bytes;
        let Some(output) = deferred.take() else {
            return Err(lakerace_io::Error::internal("a file's sink did not finish its output"));
        };
        match &mut self.target {
            // Nobody looks into the hidden folder.
            Target::Staged(_) => output.finish(),
            Target::Marked(commit) => {
                commit.add(output);
                Ok(())
            }
        }
    }
}

impl Sink for FolderSink {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        if self.file.as_ref().is_some_and(|(_, deferred)| deferred.position() >= self.file_bytes)
            && batch.num_rows() > 0
        {
            self.end_file()?;
        }
        if self.file.is_none() {
            self.begin_file()?;
        }
        match &mut self.file {
            Some((sink, _)) => sink.write(batch),
            None => Ok(()),
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        self.end_file()?;
        self.job.check()?;
        let Self { target, mut written, .. } = *self;
        written.files = match target {
            Target::Staged(staged) => staged.publish()?,
            Target::Marked(commit) => commit.publish()?,
        };
        Ok(written)
    }
}
