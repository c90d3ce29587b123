//! A version of a table as a source.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use arrow::datatypes::SchemaRef;
use delta_kernel::actions::deletion_vector::DeletionVectorDescriptor;
use lakerace_format::{
    Batches, Extremes, FilePlan, InputFile, ParquetSource, Predicate, ReadPlan, ReadRequest, Source, SourceInfo,
    TableSchema, UnitPlan,
};
use lakerace_io::wait::lock;
use lakerace_io::{Error, ErrorKind, PathProfile, Result, Wanted};

use crate::deletion_vector;
use crate::snapshot::Snapshot;
use crate::snapshot::changed_rows::{self, ChangedRows};
use crate::snapshot::files::TableFile;
use crate::snapshot::statistics::FileStatistics;
use crate::table::Table;
use crate::table_format::DELTA;

/// A version of a table. Which files a plan needs is known from the log; only those are opened, and only their deletion
/// vectors read.
pub struct DeltaSource {
    snapshot: Snapshot,
    /// The files that are read, by URL, and which rows of them; `None`: all.
    only: Option<HashMap<String, ChangedRows>>,
    /// The files that the last plan opened.
    opened: Mutex<Option<Arc<OpenedFiles>>>,
}

/// Opened files.
struct OpenedFiles {
    source: ParquetSource,
    urls: HashSet<String>,
}

impl DeltaSource {
    /// The rows of a version. Reads its log.
    pub fn open(snapshot: Snapshot) -> Result<Self> {
        snapshot.files()?;
        Ok(Self { snapshot, only: None, opened: Mutex::default() })
    }

    /// The rows of a version that another version does not have in the same place: those of files that it lacks, and
    /// those that it has deleted. Rows that both versions have in the same place are equal.
    pub fn open_changed(snapshot: Snapshot, other: &Snapshot) -> Result<Self> {
        let known: HashMap<&str, Option<&DeletionVectorDescriptor>> =
            other.files()?.files.iter().map(|file| (file.path.as_str(), file.vector.as_ref())).collect();
        let changed = |file: &TableFile| {
            let rows = match known.get(file.path.as_str()) {
                None => ChangedRows::Visible,
                Some(vector) if *vector == file.vector.as_ref() => return None,
                Some(vector) => ChangedRows::Between(vector.cloned(), file.vector.clone()),
            };
            Some((file.object.url(), rows))
        };
        let only = snapshot.files()?.files.iter().filter_map(changed).collect();
        Ok(Self { only: Some(only), ..Self::open(snapshot)? })
    }

    /// Restricts [changed](Self::open_changed) rows to files that the other version does not have.
    #[must_use]
    pub fn in_other_files(mut self) -> Self {
        self.only = self.only.map(|only| of_kind(only, |rows| matches!(rows, ChangedRows::Visible)));
        self
    }

    /// Restricts [changed](Self::open_changed) rows to files that both versions have.
    #[must_use]
    pub fn in_shared_files(mut self) -> Self {
        self.only = self.only.map(|only| of_kind(only, |rows| matches!(rows, ChangedRows::Between(..))));
        self
    }

    /// The version.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    fn open_files(&self, files: &[&TableFile]) -> Result<Arc<OpenedFiles>> {
        let rows = |file: &TableFile| self.only.as_ref().and_then(|only| only.get(&file.object.url()));
        let changed: Vec<_> = files.iter().map(|file| (*file, rows(file).unwrap_or(&ChangedRows::Visible))).collect();
        let (schema, table) = (self.snapshot.table_schema(), self.snapshot.table());
        let inputs = changed_rows::inputs(table, schema, &changed).map_err(|error| self.missing(error))?;
        let inputs = inputs.into_iter().flatten().collect();
        let source = ParquetSource::open_table(inputs, schema, table.job()).map_err(|error| self.missing(error))?;
        let urls = files.iter().map(|file| file.object.url()).collect();
        let opened = Arc::new(OpenedFiles { source, urls });
        *lock(&self.opened) = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// The error of a file that does not exist: damage where the last version needs it, else the effect of a vacuum.
    fn missing(&self, error: Error) -> Error {
        if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) {
            return error;
        }
        let version = self.snapshot.version();
        match self.snapshot.is_last() || error.kind() == ErrorKind::Corrupt {
            true => self.snapshot.broken(error),
            false => error.advice(format!("version {version} needs it, but it was vacuumed or removed in another way")),
        }
    }

    /// The files that a plan reads, opened, and the plan of reading them.
    fn opened(&self, plan: &ReadPlan) -> Result<(Arc<OpenedFiles>, ReadPlan)> {
        if plan.request.version.is_some_and(|version| version != self.snapshot.version()) {
            return Err(Error::usage("the plan is for another version of the table").advice("plan again"));
        }
        let mut plan = plan.clone();
        // Files that were not opened stand after the others, so that the numbers in requests stay right.
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
}

/// The files of a version that a request needs, and the reasons against the others; only those in `only`, if given.
pub(crate) fn prune<'a>(
    snapshot: &'a Snapshot,
    only: Option<&HashMap<String, ChangedRows>>,
    request: &ReadRequest,
) -> Result<(Vec<&'a TableFile>, Vec<FilePlan>)> {
    let predicate = request.filter.as_ref().map(|filter| Predicate::bind(filter, snapshot.schema()));
    let predicate = predicate.transpose()?;
    let (mut kept, mut pruned) = (Vec::new(), Vec::new());
    let mut left = request.limit.unwrap_or(u64::MAX);
    for file in &snapshot.files()?.files {
        if only.is_some_and(|only| !only.contains_key(&file.object.url())) {
            continue;
        }
        let reason = match &predicate {
            _ if left == 0 => Some("limit: enough rows before it".to_owned()),
            None => None,
            Some(predicate) => excluded(predicate, file, snapshot),
        };
        match reason {
            Some(reason) => pruned.push(pruned_plan(file, reason)),
            None => {
                kept.push(file);
                // Any number of rows is read of a file whose vector has changed.
                if predicate.is_none() && only.is_none() {
                    left -= left.min(file.visible_rows().unwrap_or(0));
                }
            }
        }
    }
    Ok((kept, pruned))
}

/// Opens files of a table without the rows that their deletion vectors hide.
pub(crate) fn open_parquet(table: &Table, columns: &Arc<TableSchema>, files: &[&TableFile]) -> Result<ParquetSource> {
    let hidden = deletion_vector::load(table, files)?;
    let inputs = files.iter().zip(hidden).map(|(file, hidden)| InputFile {
        object: file.object.clone(),
        constants: file.constants.clone(),
        hidden,
        stated_rows: file.rows,
    });
    ParquetSource::open_table(inputs.collect(), columns, table.job())
}

fn of_kind(
    files: HashMap<String, ChangedRows>,
    is_kind: impl Fn(&ChangedRows) -> bool,
) -> HashMap<String, ChangedRows> {
    files.into_iter().filter(|(_, rows)| is_kind(rows)).collect()
}

/// The reason why no row of a file can match: its partition, or its statistics in the log.
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
            format: DELTA.name.to_owned(),
            rows: files.iter().map(TableFile::visible_rows).sum(),
            files: files.len() as u64,
            bytes: files.iter().map(|file| file.size_bytes).sum(),
            units: None,
        }
    }

    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        let version = self.snapshot.version();
        let request = ReadRequest { version: Some(version), ..request.clone() };
        let (kept, pruned) = prune(&self.snapshot, self.only.as_ref(), &request)?;
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

    fn read_compact(&self, plan: &ReadPlan, columns: &[String]) -> Result<Batches> {
        let (opened, plan) = self.opened(plan)?;
        opened.source.read_compact(&plan, columns)
    }

    fn wanted(&self, plan: &ReadPlan) -> Result<Option<(Vec<Wanted>, PathProfile)>> {
        let (opened, plan) = self.opened(plan)?;
        opened.source.wanted(&plan)
    }
}
