//! Targets that are examined, and not written.

use arrow::datatypes::SchemaRef;
use lakerace_format::folder::{PartitionColumns, check_folder};
use lakerace_format::{FileFormat, check_read_back, refuse_to_write_duplicates};
use lakerace_io::{Error, ErrorKind, Job, Output, Result};

use super::{CopyTarget, FileTarget};
use crate::WriteMode;
use crate::database::shown;
use crate::options::CopyOptions;

/// A target as it was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ExaminedTarget {
    pub exists: bool,
    /// The last version of a Delta table.
    pub version: Option<u64>,
    is_stream: bool,
}

impl ExaminedTarget {
    /// A target that exists, or not.
    pub(crate) fn new(exists: bool) -> Self {
        Self { exists, ..Self::default() }
    }

    /// The action of a copy, in words.
    pub(crate) fn would(self, mode: WriteMode, place: &str) -> String {
        let action = match (mode, self.exists) {
            // Other pipes are not examined.
            _ if self.is_stream => return "would write to standard output".to_owned(),
            (WriteMode::Delete, _) => "delete the rows of these keys from",
            (_, false) => "create",
            (WriteMode::Error, true) => "continue",
            (WriteMode::Overwrite, true) => "replace",
            (WriteMode::Append, true) => "append to",
            (WriteMode::Upsert, true) => "upsert into",
        };
        format!("would {action} {place}")
    }
}

impl CopyTarget {
    /// Fails where [`Self::create`] would fail before it writes, and writes nothing.
    pub(crate) fn examine(self, schema: SchemaRef, options: &CopyOptions, job: &Job) -> Result<ExaminedTarget> {
        match self {
            Self::Files(files) => files.examine(schema, options, job).map(ExaminedTarget::new),
            Self::Stream(stream) => {
                let format = stream.format().ok_or_else(|| Error::internal("a stream without a format"))?;
                check_format(format, schema, stream.name(), options, job)?;
                Ok(ExaminedTarget { is_stream: true, ..ExaminedTarget::default() })
            }
            Self::Table(table) => {
                // The sink of a table writes with its first rows.
                drop(table.create(&schema, options)?);
                let version = match table.table().snapshot(None) {
                    Ok(snapshot) => Some(snapshot.version()),
                    Err(error) if error.kind() == ErrorKind::NotFound => None,
                    Err(error) => return Err(error),
                };
                Ok(ExaminedTarget { exists: version.is_some(), version, is_stream: false })
            }
            Self::Database(database) => {
                refuse_to_write_duplicates(&schema).map_err(|error| error.at(shown(database.location())))?;
                database.examine(schema, options, job).map(ExaminedTarget::new)
            }
        }
    }
}

impl FileTarget {
    /// Returns true if the file or the folder exists.
    fn examine(&self, schema: SchemaRef, options: &CopyOptions, job: &Job) -> Result<bool> {
        let format = self.known_format()?;
        if options.load.verify {
            check_read_back(format, &schema, &options.write.csv).map_err(|error| error.at(&self.place))?;
        }
        let url = self.store.url(&self.path);
        if !self.is_folder {
            self.check_parent().map_err(|error| error.at(&url))?;
            check_format(format, schema, &url, options, job)?;
            return Ok(self.store.stat(&self.path)?.is_some());
        }
        let schema = match options.partition_by.is_empty() {
            true => schema,
            false => {
                PartitionColumns::new(&schema, &options.partition_by).map_err(|e| e.at(&self.place))?.file_schema()
            }
        };
        check_format(format, schema, &url, options, job)?;
        check_folder(&self.store, &self.path, self.mode)
    }

    /// Fails where folders above it can't be made, as a file has the name of one.
    fn check_parent(&self) -> Result<()> {
        if !self.store.has_local_files() {
            return Ok(());
        }
        let path = std::path::PathBuf::from(format!("/{}", self.path));
        match path.ancestors().skip(1).find_map(|folder| std::fs::metadata(folder).ok()) {
            Some(found) if !found.is_dir() => Err(Error::invalid("one of the folders in this path is a file")),
            _ => Ok(()),
        }
    }
}

/// Fails where a format can't hold a schema. Its writer starts, and what it writes goes nowhere.
fn check_format(
    format: &'static FileFormat,
    schema: SchemaRef,
    place: &str,
    options: &CopyOptions,
    job: &Job,
) -> Result<()> {
    // Its bytes are not those of the job.
    let apart = Job::new(job.options().clone());
    let nowhere = Output::stream(Box::new(std::io::sink()), place, &apart);
    (format.create)(nowhere, schema, &options.write, &apart).map(drop)
}
