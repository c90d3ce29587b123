//! A sink that cuts its rows into files of a folder.

use arrow::record_batch::RecordBatch;
use lakerace_io::object_store::path::Path;
use lakerace_io::{Deferred, Error, IfExists, Job, JobStore, Output, Result, WriteMode};

use super::commit::Commit;
use super::cut::FileCut;
use super::staged::Staged;
use crate::{Sink, WriteOptions, Written};

/// Bytes of a file after which the next one begins, unless options say otherwise.
const FILE_BYTES: u64 = 512 << 20;

/// Makes the sink of one file.
pub type MakeSink = Box<dyn FnMut(Output) -> Result<Box<dyn Sink>> + Send>;

/// Writes the files of a folder. See the [module](super).
pub struct FolderSink {
    target: Target,
    extension: String,
    cut: FileCut,
    make: MakeSink,
    file: Option<OpenFile>,
    /// Files that are complete.
    written: Written,
    files: usize,
    random: u64,
    job: Job,
}

/// The file under way.
struct OpenFile {
    sink: Box<dyn Sink>,
    deferred: Deferred,
    rows: u64,
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
        mode: WriteMode,
        extension: &str,
        options: &WriteOptions,
        make: MakeSink,
    ) -> Result<Box<dyn Sink>> {
        if matches!(mode, WriteMode::Upsert | WriteMode::Delete) {
            return Err(Error::internal("a folder finds no rows by a key"));
        }
        let is_staged = store.has_local_files() && !(mode == WriteMode::Append && Staged::holds_files(store, path)?);
        let target = if is_staged {
            Target::Staged(Staged::create(store, path, mode)?)
        } else {
            Target::Marked(Commit::new(store, path, mode)?)
        };
        let mut sink = Self {
            target,
            extension: extension.to_owned(),
            cut: FileCut::new(options.file_bytes.unwrap_or(FILE_BYTES)),
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
        let (mut output, is_local) = match &mut self.target {
            Target::Staged(staged) => (staged.output(&name)?, true),
            Target::Marked(commit) => (commit.output(&name, IfExists::Error)?, commit.has_local_files()),
        };
        // A file of this machine is synced while the next one is written.
        let deferred = if is_local { output.defer_unwritten() } else { output.defer() };
        self.file = Some(OpenFile { sink: (self.make)(output)?, deferred, rows: 0 });
        Ok(())
    }

    fn end_file(&mut self) -> Result<()> {
        let Some(OpenFile { sink, deferred, .. }) = self.file.take() else { return Ok(()) };
        let file = sink.finish()?;
        self.cut.learn(&file);
        self.written.rows += file.rows;
        self.written.bytes += file.bytes;
        let Some(output) = deferred.take() else {
            return Err(lakerace_io::Error::internal("a file's sink did not finish its output"));
        };
        match &mut self.target {
            Target::Staged(staged) => staged.add(output),
            Target::Marked(commit) => {
                commit.add(output);
                Ok(())
            }
        }
    }
}

impl Sink for FolderSink {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        let mut from = 0;
        while from < batch.num_rows() {
            let Some(file) = &mut self.file else {
                self.begin_file()?;
                continue;
            };
            let room = self.cut.room(file.rows, file.deferred.position());
            let rows = (batch.num_rows() - from).min(usize::try_from(room).unwrap_or(usize::MAX));
            if rows == 0 {
                self.end_file()?;
                continue;
            }
            file.rows += rows as u64;
            file.sink.write(batch.slice(from, rows))?;
            from += rows;
        }
        Ok(())
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
