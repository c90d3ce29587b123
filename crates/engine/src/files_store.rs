//! Stores of small files at any location. On an object store, a Delta table keyed by name is their index.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, AsArray, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Int32Type, Int64Type, Schema, SchemaRef};
use lakerace_delta::{
    DeltaSink, DeltaSource, KEY_PROPERTY, Snapshot, SourceRows, Table, TableWrite, UpsertOptions, VacuumOptions,
    VersionSpec, WriteMode,
};
use lakerace_files::{EachName, Index, IndexChange, IndexEntry, IndexVersion, Options, Segment, Store};
use lakerace_format::{Batches, ReadRequest, Source};
use lakerace_io::{Error, ErrorKind, Job, Location, Result, StorageOptions, config};

use crate::delta::table_at;
use crate::filter::parse_filter;
use crate::maintain::CompactOptions;
use crate::new_place::check_new_file;

/// The scheme of a location that has a store of packs.
const SCHEME: &str = "packs:";

/// The rows of a batch of the index.
const BATCH_ROWS: usize = 65_536;

/// Versions of the index, each of which is followed by a look whether it has many small files.
const COMPACT_EVERY: u64 = 16;

/// Attempts to read a table that is absent or damaged, before it is reported as such.
const LOOKS: usize = 3;

/// Approximate memory of a change of the index.
const MEMORY_BYTES: u64 = 256 << 20;

/// Opens a store of files: of packs at a URL of an object store, or at `packs:` and any location; otherwise like
/// [`Store::open`].
///
/// Its requests are accounted to `job`.
pub fn open_files(location: &str, options: Options, job: &Job) -> Result<Store> {
    let Some(base) = packs_folder(location) else {
        let location = local_store(location)?;
        if let Some(path) = Store::local_path(&location).filter(|_| options.create && !options.read_only) {
            check_new_file(path, job)?;
        }
        return Store::open(&location, options);
    };
    let base = base.trim_end_matches('/');
    let place = Location::parse(&format!("{base}/"))?.open(&options.storage, job)?;
    let index = Location::parse(&format!("{base}/index"))?;
    let index = DeltaIndex { location: index, storage: options.storage.clone(), job: job.clone() };
    Store::on_packs(place, location, Box::new(index), &options)
}

/// The folder of a store of packs; `None` where the location is of another kind of store.
pub(crate) fn packs_folder(location: &str) -> Option<&str> {
    match location.get(..SCHEME.len()).filter(|start| start.eq_ignore_ascii_case(SCHEME)) {
        Some(_) => Some(&location[SCHEME.len()..]),
        None => {
            let is_url = location.contains("://") && !location.starts_with("sqlite:") && !location.starts_with("dir:");
            let is_of_store = config::is_below_connection(location)
                && Location::parse(location).is_ok_and(|location| location.local_path().is_none());
            (is_url || is_of_store).then_some(location)
        }
    }
}

/// The location of a store that is no packs, where it is below a connection.
fn local_store(location: &str) -> Result<Cow<'_, str>> {
    Ok(config::resolve(location)?.map_or(Cow::Borrowed(location), |resolved| Cow::Owned(resolved.url)))
}

/// The index as a Delta table.
#[derive(Debug)]
struct DeltaIndex {
    location: Location,
    storage: StorageOptions,
    job: Job,
}

/// The columns: a file that was removed has no pack until the table is compacted.
fn schema() -> SchemaRef {
    let field = |name: &str, kind: DataType| Field::new(name, kind, true);
    Arc::new(Schema::new(vec![
        field("name", DataType::Utf8),
        field("size", DataType::Int64),
        field("mtime_ms", DataType::Int64),
        field("encoding", DataType::Utf8),
        field("checksum", DataType::Int64),
        field("metadata", DataType::Utf8),
        field("pack", DataType::Utf8),
        field("start", DataType::Int64),
        field("length", DataType::Int32),
        field("check_sum", DataType::Int64),
        field("more", DataType::Utf8),
    ]))
}

impl DeltaIndex {
    fn version(&self, snapshot: Snapshot) -> Box<dyn IndexVersion> {
        let commit = snapshot.table().entry_tag(snapshot.version());
        Box::new(DeltaVersion { snapshot, commit, place: self.location.as_str().to_owned() })
    }

    fn table(&self) -> Result<Table> {
        table_at(&self.location, &self.storage, &self.job)
    }

    /// Calls `run` on a table that may be absent, first with `true`: the table exists. While another writer creates the
    /// table, reads of it may disagree: `run` is then called again.
    fn attempt<T>(&self, table: &Table, run: impl Fn(bool) -> Result<T>) -> Result<T> {
        let mut done = run(true);
        for _ in 0..LOOKS {
            match done {
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) => {
                    done = run(table.exists()?);
                }
                done => return done,
            }
        }
        done
    }

    fn create(&self, table: &Table) -> Result<()> {
        let properties = [(KEY_PROPERTY, "name"), ("delta.enableDeletionVectors", "true")];
        let write = TableWrite {
            mode: WriteMode::Error,
            partition_by: Vec::new(),
            properties: properties
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into_iter()
                .collect::<BTreeMap<_, _>>(),
            evolve: Default::default(),
            keep_not_null: false,
            options: Default::default(),
            load_name: None,
            resumes: false,
            replace_where: None,
        };
        match DeltaSink::create(table, &schema(), &write).and_then(|sink| sink.finish()) {
            Ok(_) => Ok(()),
            // Another writer was faster.
            Err(error) if error.kind() == ErrorKind::Conflict && table.exists()? => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// A version of the table.
struct DeltaVersion {
    snapshot: Snapshot,
    commit: Option<u64>,
    place: String,
}

impl DeltaVersion {
    fn rows(&self, source: &DeltaSource, request: &ReadRequest, each: EachName<'_>) -> Result<()> {
        let plan = source.plan(request)?;
        source.read(&plan)?.try_for_each(|batch| entries(&batch?, each).map_err(|e| e.at(&self.place)))
    }

    /// Calls `each` with the names in files that the other version does not have unchanged, then with the entries that
    /// replace them in this one.
    fn changed(&self, before: Snapshot, each: EachName<'_>) -> Result<bool> {
        let gone = DeltaSource::open_changed(before, &self.snapshot)?;
        let come = DeltaSource::open_changed(self.snapshot.clone(), gone.snapshot())?;
        let request = ReadRequest { columns: Some(vec!["name".to_owned()]), ..ReadRequest::default() };
        let plans = [gone.plan(&request)?, come.plan(&request)?];
        let units = plans.iter().flat_map(|plan| &plan.files).flat_map(|file| &file.units);
        let changed: u64 = units.map(|unit| unit.rows.unwrap_or(0)).sum();
        if changed > self.snapshot.row_count()? {
            return Ok(false);
        }
        for batch in gone.read(&plans[0])? {
            let names = arrow::compute::cast(batch?.column(0), &DataType::Utf8).map_err(|_| damaged("name"))?;
            names.as_string::<i32>().iter().flatten().try_for_each(|name| each(name.to_owned(), None))?;
        }
        self.rows(&come, &ReadRequest::default(), each)?;
        Ok(true)
    }
}

impl IndexVersion for DeltaVersion {
    fn table_id(&self) -> &str {
        self.snapshot.table_id()
    }

    fn version(&self) -> u64 {
        self.snapshot.version()
    }

    fn each(&self, each: EachName<'_>) -> Result<()> {
        let request = ReadRequest { filter: Some(parse_filter("pack IS NOT NULL")?), ..ReadRequest::default() };
        self.rows(&DeltaSource::open(self.snapshot.clone())?, &request, each)
    }

    fn commit(&self) -> Option<u64> {
        self.commit
    }

    fn each_since(&self, version: u64, commit: u64, each: EachName<'_>) -> Result<bool> {
        let table = self.snapshot.table();
        let changed = table.snapshot(Some(VersionSpec::Version(version))).and_then(|before| {
            // A table that was put back from a copy may have gone on to that number by other commits.
            if table.entry_tag(version) == Some(commit) { self.changed(before, each) } else { Ok(false) }
        });
        match changed {
            // The other version's log or files are not there any more.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            other => other,
        }
    }
}

impl Index for DeltaIndex {
    fn newest(&self) -> Result<Option<Box<dyn IndexVersion>>> {
        let table = self.table()?;
        let look = |is_there| if is_there { table.snapshot(None).map(Some) } else { Ok(None) };
        Ok(self.attempt(&table, look)?.map(|snapshot| self.version(snapshot)))
    }

    fn at(&self, ms: i64) -> Result<Option<Box<dyn IndexVersion>>> {
        match self.table()?.snapshot(Some(VersionSpec::Timestamp(ms))) {
            Ok(snapshot) => Ok(Some(self.version(snapshot))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn change(&self, changes: &[(Arc<str>, Option<Arc<IndexEntry>>)], from: Option<u64>) -> Result<IndexChange> {
        let table = self.table()?;
        let options = UpsertOptions { memory_bytes: MEMORY_BYTES, from_version: from, ..UpsertOptions::default() };
        let rows = || SourceRows::from(batches(changes));
        let changed = self.attempt(&table, |is_there| {
            if !is_there {
                self.create(&table)?;
            }
            lakerace_delta::upsert(&table, rows(), &options)
        })?;
        let version =
            changed.written.version.ok_or_else(|| Error::internal("a change of the index without a version"))?;
        if version % COMPACT_EVERY == 0 {
            // The change is made even if the compaction fails; the next change tries again.
            let _ = lakerace_delta::compact_after_write(&table, &CompactOptions::auto().rules);
        }
        let before = version.checked_sub(1).and_then(|before| table.entry_tag(before));
        Ok(IndexChange { version, commit: table.entry_tag(version), before })
    }

    fn compact(&self) -> Result<()> {
        let table = self.table()?;
        if !table.exists()? {
            return Ok(());
        }
        lakerace_delta::delete(&table, &parse_filter("pack IS NULL")?)?;
        lakerace_delta::compact(&table, &CompactOptions::default().rules)?;
        lakerace_delta::vacuum(&table, &VacuumOptions::default())?;
        Ok(())
    }
}

/// The rows of changes, made while they are read.
fn batches(changes: &[(Arc<str>, Option<Arc<IndexEntry>>)]) -> Batches {
    let changes = changes.to_vec();
    let count = changes.len().div_ceil(BATCH_ROWS);
    let batch = move |number: usize| {
        let end = changes.len().min((number + 1) * BATCH_ROWS);
        batch(&changes[number * BATCH_ROWS..end])
    };
    Batches::new(schema(), (0..count).map(batch))
}

fn batch(changes: &[(Arc<str>, Option<Arc<IndexEntry>>)]) -> Result<RecordBatch> {
    let texts = |of: &dyn Fn(&IndexEntry) -> Option<String>| -> Arc<dyn Array> {
        Arc::new(changes.iter().map(|(_, entry)| entry.as_ref().and_then(|entry| of(entry))).collect::<StringArray>())
    };
    let numbers = |of: &dyn Fn(&IndexEntry) -> Option<i64>| -> Arc<dyn Array> {
        Arc::new(changes.iter().map(|(_, entry)| entry.as_ref().and_then(|entry| of(entry))).collect::<Int64Array>())
    };
    let first = |of: fn(&Segment) -> i64| numbers(&move |entry: &IndexEntry| entry.segments.first().map(of));
    let lengths = changes.iter().map(|(_, entry)| {
        let segment = entry.as_ref().and_then(|entry| entry.segments.first())?;
        i32::try_from(segment.len).ok()
    });
    let columns: Vec<Arc<dyn Array>> = vec![
        Arc::new(changes.iter().map(|(name, _)| Some(&**name)).collect::<StringArray>()),
        numbers(&|entry| i64::try_from(entry.size).ok()),
        numbers(&|entry| Some(entry.mtime_ms)),
        texts(&|entry| Some(entry.encoding.to_string())),
        numbers(&|entry| Some(entry.checksum.cast_signed())),
        texts(&|entry| entry.metadata.clone()),
        texts(&|entry| entry.segments.first().map(|segment| format!("{:032x}", segment.pack))),
        first(|segment| segment.start.cast_signed()),
        Arc::new(lengths.collect::<Int32Array>()),
        first(|segment| segment.check_sum.into()),
        texts(&|entry| more(entry.segments.get(1..).unwrap_or_default())),
    ];
    RecordBatch::try_new(schema(), columns).map_err(Error::unexpected)
}

/// The segments after the first one, as `pack:start:length:check_sum`, `,` between them.
fn more(segments: &[Segment]) -> Option<String> {
    let text = |Segment { pack, start, len, check_sum }: &Segment| format!("{pack:032x}:{start}:{len}:{check_sum}");
    (!segments.is_empty()).then(|| segments.iter().map(text).collect::<Vec<_>>().join(","))
}

fn segment(text: &str) -> Option<Segment> {
    let mut parts = text.split(':');
    let pack = u128::from_str_radix(parts.next()?, 16).ok()?;
    let (start, len, check_sum) =
        (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    parts.next().is_none().then_some(Segment { pack, start, len, check_sum })
}

fn damaged(column: &str) -> Error {
    Error::corrupt(format!("the index has no acceptable {column}"))
}

/// Calls `each` with the entries of a batch of the index; with `None` for files that were removed.
fn entries(batch: &RecordBatch, each: EachName<'_>) -> Result<()> {
    let column = |name: &str, kind: &DataType| {
        let found = batch.column_by_name(name).ok_or_else(|| damaged(name))?;
        arrow::compute::cast(found, kind).map_err(|_| damaged(name))
    };
    let text = |name: &str| column(name, &DataType::Utf8);
    let number = |name: &str| column(name, &DataType::Int64);
    let (name, encoding, metadata) = (text("name")?, text("encoding")?, text("metadata")?);
    let (pack, more) = (text("pack")?, text("more")?);
    let (size, mtime, checksum) = (number("size")?, number("mtime_ms")?, number("checksum")?);
    let (start, check_sum) = (number("start")?, number("check_sum")?);
    let length = column("length", &DataType::Int32)?;
    let mut known: Arc<str> = Arc::from("");
    for row in 0..batch.num_rows() {
        let text_of = |array: &Arc<dyn Array>, of: &str| match array.is_valid(row) {
            true => Ok(array.as_string::<i32>().value(row).to_owned()),
            false => Err(damaged(of)),
        };
        let number_of = |array: &Arc<dyn Array>, of: &str| match array.is_valid(row) {
            true => Ok(array.as_primitive::<Int64Type>().value(row)),
            false => Err(damaged(of)),
        };
        let name = text_of(&name, "name")?;
        if !pack.is_valid(row) {
            each(name, None)?;
            continue;
        }
        let encoding = text_of(&encoding, "encoding")?;
        if *known != *encoding {
            known = encoding.into();
        }
        let mut segments = vec![Segment {
            pack: u128::from_str_radix(&text_of(&pack, "pack")?, 16).map_err(|_| damaged("pack"))?,
            start: u64::try_from(number_of(&start, "start")?).map_err(|_| damaged("start"))?,
            len: u32::try_from(length.as_primitive::<Int32Type>().value(row)).map_err(|_| damaged("length"))?,
            check_sum: u32::try_from(number_of(&check_sum, "check_sum")?).map_err(|_| damaged("check_sum"))?,
        }];
        if more.is_valid(row) {
            for text in more.as_string::<i32>().value(row).split(',') {
                segments.push(segment(text).ok_or_else(|| damaged("more"))?);
            }
        }
        let entry = IndexEntry {
            size: u64::try_from(number_of(&size, "size")?).map_err(|_| damaged("size"))?,
            mtime_ms: number_of(&mtime, "mtime_ms")?,
            encoding: Arc::clone(&known),
            checksum: number_of(&checksum, "checksum")?.cast_unsigned(),
            metadata: metadata.is_valid(row).then(|| text_of(&metadata, "metadata")).transpose()?,
            segments,
        };
        each(name, Some(entry))?;
    }
    Ok(())
}
