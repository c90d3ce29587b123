//! A version of a table as a source.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use arrow::datatypes::SchemaRef;
use delta_kernel::actions::deletion_vector::DeletionVectorDescriptor;
use lakerace_format::{
    Batches, Extremes, FilePlan, InputFile, ParquetSource, Predicate, ReadPlan, ReadRequest, Source, SourceInfo,
    UnitPlan,
};
use lakerace_io::wait::lock;
use lakerace_io::{Error, ErrorKind, PathProfile, Result, Wanted};

use crate::Snapshot;
use crate::deletion_vector;
use crate::snapshot::files::TableFile;
use crate::snapshot::statistics::FileStatistics;

/// A version of a table. Which files a plan needs is known from the log; only those are opened, and only their deletion
/// vectors read.
pub struct DeltaSource {
    snapshot: Snapshot,
    /// The files that are read, by URL; `None`: all.
    only: Option<HashSet<String>>,
    /// The files that the last plan opened.
    opened: Mutex<Option<Arc<Opened>>>,
}

/// Opened files.
struct Opened {
    source: ParquetSource,
    urls: HashSet<String>,
}

impl DeltaSource {
    /// The rows of a version. Reads its log.
    pub fn open(snapshot: Snapshot) -> Result<Self> {
        snapshot.files()?;
        Ok(Self { snapshot, only: None, opened: Mutex::default() })
    }

    /// The rows of the files of a version that another version does not have, or has with other rows deleted. Rows that
    /// are in none of them are the same in both versions.
    pub fn open_changed(snapshot: Snapshot, other: &Snapshot) -> Result<Self> {
        let known: HashMap<&str, Option<&DeletionVectorDescriptor>> =
            other.files()?.files.iter().map(|file| (file.path.as_str(), file.vector.as_ref())).collect();
        let is_changed = |file: &&TableFile| known.get(file.path.as_str()) != Some(&file.vector.as_ref());
        let only = snapshot.files()?.files.iter().filter(is_changed).map(|file| file.object.url()).collect();
        Ok(Self { only: Some(only), ..Self::open(snapshot)? })
    }

    /// The version.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    fn open_files(&self, files: &[&TableFile]) -> Result<Arc<Opened>> {
        let hidden = deletion_vector::load(self.snapshot.table(), files).map_err(|error| self.missing(error))?;
        let inputs = files.iter().zip(hidden).map(|(file, hidden)| InputFile {
            object: file.object.clone(),
            constants: file.constants.clone(),
            hidden,
        });
        let schema = self.snapshot.table_schema();
        let source = ParquetSource::open_table(inputs.collect(), schema, self.snapshot.table().job())
            .map_err(|error| self.missing(error))?;
        let urls = files.iter().map(|file| file.object.url()).collect();
        let opened = Arc::new(Opened { source, urls });
        *lock(&self.opened) = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// A file that does not exist is damage of the log's last version, and what is left of a version that was vacuumed.
    fn missing(&self, error: Error) -> Error {
        if error.kind() != ErrorKind::NotFound {
            return error;
        }
        let version = self.snapshot.version();
        match self.snapshot.is_last() {
            true => self.snapshot.broken(error),
            false => error.advice(format!("version {version} needs it: it was vacuumed, or removed otherwise")),
        }
    }

    /// The files that a plan reads, opened, and the plan of reading them.
    fn opened(&self, plan: &ReadPlan) -> Result<(Arc<Opened>, ReadPlan)> {
        if plan.request.version.is_some_and(|version| version != self.snapshot.version()) {
            return Err(Error::usage("the plan is for another version of the table").advice("plan again"));
        }
        let mut plan = plan.clone();
        // Files that were not opened stand behind the others, so that the numbers in requests stay right.
        let is_read = |file: &FilePlan| file.units.iter().any(|unit| unit.pruned.is_none());
        plan.files.truncate(plan.files.iter().rposition(is_read).map_or(0, |last| last + 1));
        let known = lock(&self.opened).clone();
        if let Some(opened) = known.filter(|known| plan.files.iter().all(|file| known.urls.contains(&file.url))) {
            return Ok((opened, plan));
        }
        let wanted: HashSet<&str> = plan.files.iter().map(|file| file.url.as_str()).collect();
        let files = self.snapshot.files()?.files.iter().filter(|file| wanted.contains(file.object.url().as_str()));
        Ok((self.open_files(&files.collect::<Vec<_>>())?, plan))
    }

    /// Which files a request needs, and why it does not need the others.
    fn prune(&self, request: &ReadRequest) -> Result<(Vec<&TableFile>, Vec<FilePlan>)> {
        let predicate = request.filter.as_ref().map(|filter| Predicate::bind(filter, self.snapshot.schema()));
        let predicate = predicate.transpose()?;
        let (mut kept, mut pruned) = (Vec::new(), Vec::new());
        let mut left = request.limit.unwrap_or(u64::MAX);
        for file in &self.snapshot.files()?.files {
            if self.only.as_ref().is_some_and(|only| !only.contains(&file.object.url())) {
                continue;
            }
            let reason = match &predicate {
                _ if left == 0 => Some("limit: enough rows before it".to_owned()),
                None => None,
                Some(predicate) => excluded(predicate, file, &self.snapshot),
            };
            match reason {
                Some(reason) => pruned.push(pruned_plan(file, reason)),
                None => {
                    kept.push(file);
                    if predicate.is_none() {
                        left -= left.min(file.visible_rows().unwrap_or(0));
                    }
                }
            }
        }
        Ok((kept, pruned))
    }
}

/// Why no row of a file can match: by its partition, or by what the log says of its values.
fn excluded(predicate: &Predicate, file: &TableFile, snapshot: &Snapshot) -> Option<String> {
    let by_partition = file.constants.as_ref().and_then(|constants| predicate.can_match(constants.as_ref()).err());
    by_partition.or_else(|| predicate.can_match(&FileStatistics { file, columns: snapshot.columns() }).err())
}

fn pruned_plan(file: &TableFile, reason: String) -> FilePlan {
    let rows = file.visible_rows();
    FilePlan {
        url: file.object.url(),
        size_bytes: file.size_bytes,
        e_tag: None,
        units: vec![UnitPlan { rows, pruned: Some(reason), ..UnitPlan::default() }],
    }
}

impl Source for DeltaSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.snapshot.schema())
    }

    fn info(&self) -> SourceInfo {
        let files = self.snapshot.files().map(|files| files.files.as_slice()).unwrap_or_default();
        SourceInfo {
            format: "delta".to_owned(),
            rows: files.iter().map(TableFile::visible_rows).sum(),
            files: files.len() as u64,
            bytes: files.iter().map(|file| file.size_bytes).sum(),
            units: None,
        }
    }

    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        let version = self.snapshot.version();
        let request = ReadRequest { version: Some(version), ..request.clone() };
        let (kept, pruned) = self.prune(&request)?;
        let mut plan = self.open_files(&kept)?.source.plan(&request)?;
        plan.files.extend(pruned);
        Ok(plan)
    }

    fn extremes(&self, column: &str) -> Result<Option<Extremes>> {
        if self.only.is_some() {
            return Ok(None);
        }
        let files = &self.snapshot.files()?.files;
        let known = lock(&self.opened).clone();
        let opened = match known.filter(|known| known.urls.len() == files.len()) {
            Some(opened) => opened,
            None => self.open_files(&files.iter().collect::<Vec<_>>())?,
        };
        opened.source.extremes(column)
    }

    fn read(&self, plan: &ReadPlan) -> Result<Batches> {
        let (opened, plan) = self.opened(plan)?;
        opened.source.read(&plan)
    }

    fn wanted(&self, plan: &ReadPlan) -> Result<Option<(Vec<Wanted>, PathProfile)>> {
        let (opened, plan) = self.opened(plan)?;
        opened.source.wanted(&plan)
    }
}
