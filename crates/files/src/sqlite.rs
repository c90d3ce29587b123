//! Files in one SQLite file.
//!
//! Names and short contents are in one b-tree (`files`, without row numbers), others in pieces in another (`chunks`). Any
//! number of processes reads while one writes; the threads of a process share a transaction (see [`queue`]).

mod batch;
mod catalog;
mod compact;
mod connect;
mod connections;
mod encoder;
mod fork;
mod inner;
mod log_file;
mod open;
mod pages;
mod queue;
mod read_lock;
mod reader;
mod record;
mod schema;
mod statement;
mod upload;
mod verify;
mod watch;
mod writer;

use std::sync::Arc;

use lakerace_io::Result;

use crate::file_metadata::check_metadata;
use crate::home::{
    CompactOutcome, ContentSink, Each, FileVersion, Home, IfExists, Progress, PutOptions, RandomAccessFile, Reads,
    Stat, VerifyOutcome, Write, WriteBatch,
};
use crate::name::shown;
use crate::options::Options;

use inner::Inner;

/// The content size above which a put uploads pieces, in bytes: the most that one transaction holds of a content.
const UPLOAD_BYTES: usize = 16 << 20;

/// The longest content that dictionaries are trained from, in bytes.
const INLINE_SAMPLE_BYTES: u64 = 16 << 10;

/// A store in a SQLite file.
#[derive(Debug)]
pub(crate) struct SqliteHome(Arc<Inner>);

impl SqliteHome {
    pub(crate) fn open(path: &std::path::Path, options: Options) -> Result<Self> {
        let place = path.display().to_string();
        Inner::open(path, options).map(Self).map_err(|e| e.at(place))
    }

    fn with_location<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.map_err(|e| e.at(&self.0.location))
    }
}

impl Reads for SqliteHome {
    fn get(&self, name: &str, sink: &mut dyn ContentSink) -> Result<usize> {
        self.with_location(self.0.read(|reader, catalog| reader.get(catalog, name, sink)))
    }

    fn get_many(&self, names: &[&str], each: Each<'_>) -> Result<()> {
        self.with_location(self.0.read(|reader, catalog| {
            reader.begin()?;
            let done = open::visit_all(reader, catalog, names, each);
            reader.end();
            done
        }))
    }

    fn stat(&self, name: &str) -> Result<Option<Stat>> {
        self.with_location(self.0.read(|reader, _| reader.stat(name)))
    }

    fn list(&self, prefix: &str, from: &str, limit: usize) -> Result<Vec<Stat>> {
        self.with_location(self.0.read(|reader, _| reader.list(prefix, from, limit)))
    }

    fn open(&self, name: &str) -> Result<Box<dyn RandomAccessFile>> {
        self.with_location(open::open(open::SqliteReadHandle::Home(Arc::clone(&self.0)), name))
    }
}

impl Home for SqliteHome {
    fn location(&self) -> &str {
        &self.0.location
    }

    fn put(&self, name: &str, data: &[u8], options: &PutOptions) -> Result<()> {
        if data.len() > UPLOAD_BYTES {
            let mut upload = self.create(name, options)?;
            upload.write(data)?;
            return upload.finish();
        }
        let put = || {
            self.0.may_write(name)?;
            let prepared = self.0.prepare(data, options)?;
            self.0.write(|writer| writer.put(name, &prepared)).map_err(|e| e.at(shown(name)))
        };
        self.with_location(put())
    }

    fn create(&self, name: &str, options: &PutOptions) -> Result<Box<dyn Write>> {
        self.with_location(self.0.may_write(name))?;
        Ok(Box::new(upload::PieceUpload::new(Arc::clone(&self.0), name, options)))
    }

    fn version(&self, name: &str) -> Result<Option<FileVersion>> {
        self.stat(name).map(|found| found.map(|stat| stat.version()))
    }

    fn batch(&self) -> Result<Box<dyn WriteBatch>> {
        self.with_location(self.0.connections.is_writable())?;
        Ok(Box::new(batch::SqliteBatch::new(Arc::clone(&self.0))))
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.with_location(self.0.connections.is_writable().and_then(|()| self.0.write(|writer| writer.remove(name))))
    }

    fn remove_prefix(&self, prefix: &str) -> Result<u64> {
        let mut removed = 0;
        let remove = self.0.connections.is_writable().and_then(|()| {
            self.0.write(|writer| {
                removed = writer.remove_prefix(prefix)?;
                Ok(())
            })
        });
        self.with_location(remove.map(|()| removed))
    }

    fn rename(&self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        let rename = || {
            self.0.may_write(to)?;
            self.0.write(|writer| writer.rename(from, to, if_exists))
        };
        self.with_location(rename())
    }

    fn copy(&self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        let copy = || {
            self.0.may_write(to)?;
            self.0.write(|writer| writer.copy(from, to, if_exists))
        };
        self.with_location(copy())
    }

    fn set_metadata(&self, name: &str, metadata: Option<&str>) -> Result<()> {
        let set = || {
            self.0.connections.is_writable()?;
            check_metadata(metadata)?;
            self.0.write(|writer| writer.set_metadata(name, metadata))
        };
        self.with_location(set())
    }

    fn snapshot(&self) -> Result<Box<dyn Reads>> {
        self.with_location(open::SqliteSnapshot::new(&self.0)).map(|snapshot| Box::new(snapshot) as _)
    }

    fn verify(&self, progress: Progress<'_>) -> Result<VerifyOutcome> {
        self.with_location(verify::verify(&self.0, progress))
    }

    fn compact(&self, progress: Progress<'_>) -> Result<CompactOutcome> {
        self.with_location(self.0.connections.is_writable().and_then(|()| compact::compact(&self.0, progress)))
    }

    fn flush(&self) -> Result<()> {
        self.with_location(self.0.flush())
    }

    fn train(&self) -> Result<u32> {
        self.with_location(self.0.connections.is_writable().and_then(|()| self.0.train()))
    }

    fn warnings(&self) -> Vec<String> {
        self.0.take_warnings()
    }
}
