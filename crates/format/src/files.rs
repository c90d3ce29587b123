//! The opened files of a source.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use bytes::Bytes;
use lakerace_exec::map_slice;
use lakerace_io::{Error, Object, PathProfile, Result};

use crate::input::{Constants, InputFile};
use crate::place_columns::columns_of_place;
use crate::plan::{FilePlan, ReadPlan, UnitPlan};
use crate::source::{ColumnOwners, SourceInfo};

/// Bytes of the first tail read: enough for the footer of most files.
const FIRST_TAIL_BYTES: u64 = 64 << 10;
/// The learnt tail size stays below this: one file with a giant footer must not make the others expensive.
const LEARNT_TAIL_BYTES_AT_MOST: u64 = 4 << 20;
/// The limit in bytes of small files that are kept whole and of page indexes, together, as long as their source exists.
const KEPT_BYTES: u64 = 32 << 20;
/// Files of a remote store that are opened concurrently: their opening is bound by latency.
const REMOTE_OPENS_AT_ONCE: usize = 32;

/// A file whose footer has been read.
pub(crate) trait OpenFile: Send + Sync {
    /// The object; its size and tag are known.
    fn object(&self) -> &Object;

    /// The file's name in messages.
    fn url(&self) -> &str;

    /// Its size.
    fn size_bytes(&self) -> u64;

    /// The schema of this file's batches.
    fn schema(&self) -> &SchemaRef;

    /// Gives its columns other names: some of them those of [`hidden_name`].
    fn rename(&mut self, schema: SchemaRef);

    /// Columns whose values follow from the file's path.
    fn constants(&self) -> Option<&Arc<Constants>>;

    /// Rows of the file.
    fn rows(&self) -> u64;

    /// The number of its row groups or stripes.
    fn unit_count(&self) -> usize;
}

/// Collects the information on files of one format.
pub(crate) fn info<F: OpenFile>(format: &str, files: &[Arc<F>]) -> SourceInfo {
    SourceInfo {
        format: format.to_owned(),
        rows: Some(files.iter().map(|file| file.rows()).sum()),
        files: files.len() as u64,
        bytes: files.iter().map(|file| file.size_bytes()).sum(),
        units: Some(files.iter().map(|file| file.unit_count() as u64).sum()),
    }
}

/// The plan of a file with these units.
pub(crate) fn file_plan<F: OpenFile>(file: &F, units: Vec<UnitPlan>) -> FilePlan {
    let e_tag = file.object().e_tag.clone();
    FilePlan { url: file.url().to_owned(), size_bytes: file.size_bytes(), e_tag, units }
}

/// The units that a plan keeps, with the file of each and its number. A file must have those that the plan names.
pub(crate) fn kept_units<'a, F: OpenFile>(
    plan: &'a ReadPlan,
    files: &'a [Arc<F>],
) -> impl Iterator<Item = Result<(u32, &'a Arc<F>, &'a UnitPlan)>> {
    let all = files.iter().zip(&plan.files).enumerate();
    let units = all.flat_map(|(number, (file, plan))| plan.units.iter().map(move |unit| (number as u32, file, unit)));
    units.filter(|(_, _, unit)| unit.pruned.is_none()).map(|(number, file, unit)| {
        if unit.index < file.unit_count() {
            return Ok((number, file, unit));
        }
        let message = format!("the plan refers to part {} of {}", unit.index, file.unit_count());
        Err(Error::usage(message).at(file.url()).advice("plan the scan again"))
    })
}

/// The shared state of the files of a source while they are opened.
pub(crate) struct FileOpening {
    /// Bytes of the next tail read.
    tail_bytes: AtomicU64,
    /// Bytes of files that are kept.
    kept_bytes: AtomicU64,
}

impl FileOpening {
    /// Reads the end of a file by one request, and with it learns its size and its tag. Where that is all of a file on a remote
    /// store, its bytes are kept: they cost no second request.
    pub fn read_tail(&self, object: &mut Object) -> Result<Bytes> {
        let tail = object.read_tail(self.tail_bytes.load(Ordering::Relaxed))?;
        object.size_bytes = Some(tail.size_bytes);
        object.e_tag = tail.e_tag;
        if tail.bytes.len() as u64 == tail.size_bytes && self.may_keep(object, tail.bytes.len()) {
            object.whole = Some(tail.bytes.clone());
        }
        Ok(tail.bytes)
    }

    /// Returns true if this many bytes of a tail are to be kept, because another request for them would cost more.
    pub fn may_keep(&self, object: &Object, bytes: usize) -> bool {
        !object.store.is_local()
            && self.kept_bytes.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64 <= KEPT_BYTES
    }

    /// Notes that the footer of a file took this many of its last bytes.
    pub fn learn_tail(&self, needed: u64) {
        let learnt = needed.saturating_add(needed / 4).min(LEARNT_TAIL_BYTES_AT_MOST);
        self.tail_bytes.fetch_max(learnt, Ordering::Relaxed);
    }
}

/// Opens all files, several together, and keeps their order. The first file's error by order is returned.
pub(crate) fn open_all<F: OpenFile>(
    files: Vec<InputFile>,
    open: impl Fn(InputFile, &FileOpening) -> Result<F> + Sync,
) -> Result<Vec<Arc<F>>> {
    let Some(first) = files.first() else { return Ok(Vec::new()) };
    let store = &first.object.store;
    let at_once = if store.is_local() { store.job.options().threads } else { REMOTE_OPENS_AT_ONCE };
    let opening = FileOpening { tail_bytes: AtomicU64::new(FIRST_TAIL_BYTES), kept_bytes: AtomicU64::new(0) };
    map_slice(&files, at_once, |file| open(file.clone(), &opening).map(Arc::new))
}

/// Opens files like [`open_all`], and settles the owners of columns: those that `first`, or else the first of the files, lacks
/// are hidden in the others where places give them. Of `columns`, if they are given, only these are read.
pub(crate) fn open_part<F: OpenFile>(
    mut files: Vec<InputFile>,
    first: Option<&Object>,
    columns: Option<&[String]>,
    open: impl Fn(InputFile, &FileOpening) -> Result<F> + Sync,
) -> Result<(Vec<Arc<F>>, ColumnOwners)> {
    let has_constants = files.iter().any(|file| file.constants.is_some());
    let is_among = |first: &&Object| files.first().is_none_or(|file| file.object.url() == first.url());
    let elsewhere = first.filter(|first| has_constants && !is_among(first)).cloned();
    let is_elsewhere = elsewhere.is_some();
    files.extend(elsewhere.map(InputFile::from));
    let mut files = open_all(files, open)?;
    if !has_constants {
        return Ok((files, ColumnOwners::default()));
    }
    let first = if is_elsewhere { files.pop() } else { files.first().cloned() };
    let is_read = |name: &str| {
        let is_of =
            |column: &String| column.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        columns.is_none_or(|columns| columns.iter().any(is_of))
    };
    let names = first.iter().flat_map(|file| file.schema().fields()).map(|field| field.name().clone());
    let of_first: HashSet<String> = names.collect();
    drop(first);
    let mut owners = ColumnOwners::default();
    for file in &mut files {
        let Some(constants) = file.constants().cloned() else { continue };
        let names = constants.fields().iter().map(|field| field.name());
        owners.files.extend(names.filter(|name| of_first.contains(*name)).cloned());
        let mut of_place = columns_of_place(file.schema().fields(), &constants);
        of_place.retain(|name| !of_first.contains(name));
        if !of_place.is_empty() {
            hide(file, &of_place)?;
            let url = file.url();
            for name in of_place.into_iter().filter(|name| is_read(name)) {
                owners.places.entry(name).or_insert_with(|| url.to_owned());
            }
        }
    }
    Ok((files, owners))
}

/// Hides columns of a file.
fn hide<F: OpenFile>(file: &mut Arc<F>, names: &[String]) -> Result<()> {
    let named = |(root, field): (usize, &FieldRef)| match names.contains(field.name()) {
        true => Arc::new(field.as_ref().clone().with_name(hidden_name(root))),
        false => Arc::clone(field),
    };
    let fields: Vec<FieldRef> = file.schema().fields().iter().enumerate().map(named).collect();
    let schema = Schema::new_with_metadata(fields, file.schema().metadata().clone());
    let file = Arc::get_mut(file).ok_or_else(|| Error::internal("a file is shared before its schema is known"))?;
    file.rename(Arc::new(schema));
    Ok(())
}

/// The name of a column of a file, by its position, that is not read: no column can have it.
pub(crate) fn hidden_name(root: usize) -> String {
    format!("\0{root}")
}

/// Returns true if a column is not hidden.
pub(crate) fn is_visible(field: &FieldRef) -> bool {
    !field.name().starts_with('\0')
}

/// Returns true if a plan has requests for all of these files that are not known whole. A part of a split plan has none, and where a plan
/// was made, other files may have been known whole than here.
pub(crate) fn has_requests<'a, F: OpenFile + 'a>(
    plan: &ReadPlan,
    mut files: impl Iterator<Item = (u32, &'a F)>,
) -> bool {
    let asked: HashSet<u32> = plan.requests.requests.iter().map(|request| request.file).collect();
    files.all(|(number, file)| file.object().whole.is_some() || asked.contains(&number))
}

/// The files of a plan among the files of the source.
pub(crate) fn files_of_plan<F: OpenFile>(plan: &ReadPlan, files: &[Arc<F>]) -> Result<Vec<Arc<F>>> {
    let known: HashMap<&str, &Arc<F>> = files.iter().map(|file| (file.url(), file)).collect();
    let find = |url: &str, e_tag: &Option<String>, size: u64| {
        let file = known.get(url).ok_or_else(|| {
            Error::usage("the plan names a file that does not belong to this source")
                .at(url)
                .advice("plan the scan again")
        })?;
        let own = &file.object().e_tag;
        let same_tag = own.is_none() || e_tag.is_none() || own == e_tag;
        if !same_tag || file.size_bytes() != size {
            return Err(Error::conflict("the file was replaced after the plan was made")
                .at(url)
                .advice("plan the scan again"));
        }
        Ok(Arc::clone(file))
    };
    plan.files.iter().map(|file| find(&file.url, &file.e_tag, file.size_bytes)).collect()
}

/// The path to the files.
pub(crate) fn profile<F: OpenFile>(files: &[Arc<F>]) -> PathProfile {
    files.first().map_or(NO_PATH, |file| file.object().store.profile())
}

/// The path to no file at all.
const NO_PATH: PathProfile = PathProfile {
    latency_ms: 0.0,
    connection_bytes_per_second: 1e9,
    total_bytes_per_second: 1e9,
    reader_bytes_per_second: 1e9,
    requests_in_flight: 1,
    request_bytes: 1 << 20,
    get_usd: 0.0,
    second_usd: 0.0,
};
