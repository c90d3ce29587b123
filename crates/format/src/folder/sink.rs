//! A sink that cuts its rows into files of a folder.

use arrow::record_batch::RecordBatch;
use lakerace_io::object_store::path::Path;
use lakerace_io::{Job, JobStore, Result, WriteMode};

use super::cut::{FILE_BYTES, FileCut};
use super::files::{FolderFile, FolderFiles, MakeSink};
use crate::options::WriteOptions;
use crate::sink::{Narrowing, Sink, Written};

/// Writes the files of a folder. See the [module](super).
pub struct FolderSink {
    files: FolderFiles,
    cut: FileCut,
    make: MakeSink,
    /// The file under way.
    file: Option<FolderFile>,
    job: Job,
}

impl FolderSink {
    /// Starts a copy into the folder at `path`. `make` makes the sink of each file, whose name ends in `extension`
    /// (`parquet`, `csv.gz`); the first file is started here, so that its errors come early.
    pub fn create(
        store: &JobStore,
        path: &Path,
        mode: WriteMode,
        extension: &str,
        options: &WriteOptions,
        mut make: MakeSink,
    ) -> Result<Box<dyn Sink>> {
        let mut files = FolderFiles::create(store, path, mode, extension)?;
        let file = Some(files.begin("", &mut make)?);
        let cut = FileCut::new(options.file_bytes.unwrap_or(FILE_BYTES));
        Ok(Box::new(Self { files, cut, make, file, job: store.job.clone() }))
    }

    fn end_file(&mut self) -> Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let written = self.files.end(file)?;
        self.cut.learn(&written);
        Ok(())
    }
}

impl Sink for FolderSink {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        let mut from = 0;
        while from < batch.num_rows() {
            let Some(file) = &mut self.file else {
                self.file = Some(self.files.begin("", &mut self.make)?);
                continue;
            };
            let room = self.cut.room(file.rows, file.position());
            let rows = (batch.num_rows() - from).min(usize::try_from(room).unwrap_or(usize::MAX));
            if rows == 0 {
                self.end_file()?;
                continue;
            }
            file.write(batch.slice(from, rows))?;
            from += rows;
        }
        Ok(())
    }

    fn narrowing(&self) -> Option<Narrowing> {
        self.file.as_ref().and_then(FolderFile::narrowing)
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        self.end_file()?;
        self.job.check()?;
        self.files.publish()
    }
}
