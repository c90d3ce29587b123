//! Keyword arguments as the engine's options.

use lakerace::option::parse_choice;
use lakerace::{
    BatchRows, ColumnItem, ColumnNesting, ColumnUnion, CompactOptions, Compression, CopyOptions, CsvOptions,
    DEFAULT_SEPARATOR, DeleteOptions, DiffOptions, Error, Evolve, ExcelOptions, Job, JobOptions, JobPlaces,
    LoadOptions, MergeOperator, MergeOptions, MinSeekSize, OnBadRow, OnDuplicate, OrcOptions, PARQUET, ParquetOptions,
    RangeOptions, ReadOptions, Result, RowOptions, Since, StorageOptions, SyncOptions, TimestampUnit, TpchFormat,
    TpchOptions, TpchScale, UpdateOptions, UpsertOptions, VacuumOptions, VerifyOptions, WriteMode, WriteOptions,
    parse_bytes, parse_duration,
};
use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyString};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::time::Duration;

use crate::errors;
use crate::job::SharedJob;

/// Threads at most, as of the command.
const MAX_THREADS: u64 = 1024;

/// The value of `batch_rows="all"`.
const ALL_ROWS: usize = i64::MAX as usize;

/// Bytes in Python's form: an integer, or a text with a unit, such as `64MB`.
pub(crate) struct ByteCount<N>(pub N);

impl<'py, N> FromPyObject<'_, 'py> for ByteCount<N>
where
    N: TryFrom<u64> + for<'a> FromPyObject<'a, 'py>,
{
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if !value.is_instance_of::<PyString>() {
            return match value.extract() {
                Ok(bytes) => Ok(Self(bytes)),
                Err(_) if value.is_instance_of::<PyInt>() => {
                    let error = Error::usage(format!("{} is not a number of bytes of this option", value.str()?));
                    Err(errors::raised(value.py(), &error))
                }
                Err(error) => Err(error.into()),
            };
        }
        let text: String = value.extract()?;
        let bytes = parse_bytes(&text).and_then(|bytes| {
            let too_many = |_| Error::usage(format!("{text:?} is too large"));
            N::try_from(bytes).map_err(too_many)
        });
        bytes.map(Self).map_err(|error| errors::raised(value.py(), &error))
    }
}

/// Keyword arguments that are not `None`. The package's own functions name and document them.
pub(crate) struct Keywords<'py>(Bound<'py, PyDict>);

impl<'py> Keywords<'py> {
    pub(crate) fn new(dict: Bound<'py, PyDict>) -> Self {
        Self(dict)
    }

    fn get<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: for<'a> FromPyObject<'a, 'py>,
    {
        match self.0.get_item(name)? {
            Some(value) if !value.is_none() => match value.extract() {
                Ok(value) => Ok(Some(value)),
                Err(error) => {
                    let error: PyErr = error.into();
                    // The package names the argument that it is of.
                    if error.is_instance_of::<PyUnicodeEncodeError>(self.0.py()) {
                        return Err(error);
                    }
                    let text = format!("{name}: {}", error.value(self.0.py()));
                    Err(PyTypeError::new_err(text))
                }
            },
            _ => Ok(None),
        }
    }

    /// A list of texts; one text is a list of one.
    fn texts(&self, name: &str) -> PyResult<Option<Vec<String>>> {
        match self.0.get_item(name)? {
            Some(value) if value.is_instance_of::<PyString>() => Ok(Some(vec![value.extract()?])),
            _ => self.get(name),
        }
    }

    /// The columns of a read, some of which may be computed.
    fn columns(&self) -> PyResult<Option<Vec<ColumnItem>>> {
        let Some(texts) = self.texts("columns")? else { return Ok(None) };
        let items = texts.iter().map(|text| ColumnItem::parse(text)).collect::<Result<_>>();
        items.map(Some).map_err(|error| errors::raised(self.0.py(), &error))
    }

    /// A text that the engine parses.
    fn parsed<T>(&self, name: &str, parse: impl FnOnce(&str) -> Result<T>) -> PyResult<Option<T>> {
        let Some(text) = self.get::<String>(name)? else { return Ok(None) };
        parse(&text).map(Some).map_err(|e| errors::raised(self.0.py(), &e.at(name)))
    }

    /// Bytes: a whole number, or a text with a unit, such as `64MB`.
    fn bytes(&self, name: &str) -> PyResult<Option<u64>> {
        match self.0.get_item(name)? {
            Some(value) if value.is_instance_of::<PyString>() => self.parsed(name, parse_bytes),
            _ => self.whole(name, 0, u64::MAX),
        }
    }

    /// A whole number from `least` to `most`.
    fn whole(&self, name: &str, least: u64, most: u64) -> PyResult<Option<u64>> {
        let Some(value) = self.get::<Bound<'py, PyAny>>(name)? else { return Ok(None) };
        match value.extract::<u64>() {
            Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
            Err(_) if !value.is_instance_of::<PyInt>() => self.get(name),
            _ => {
                let error = Error::usage(format!("must be a whole number from {least} to {most}"));
                Err(errors::raised(self.0.py(), &error.at(name)))
            }
        }
    }

    /// A number of things, or of a version.
    pub(crate) fn number(&self, name: &str) -> PyResult<Option<u64>> {
        self.whole(name, 0, u64::MAX)
    }

    /// Bytes above 0.
    fn positive_bytes(&self, name: &str) -> PyResult<Option<u64>> {
        match self.bytes(name)? {
            Some(0) => Err(errors::raised(self.0.py(), &Error::usage("must be above 0").at(name))),
            bytes => Ok(bytes),
        }
    }

    /// A whole number above 0.
    fn positive(&self, name: &str) -> PyResult<Option<usize>> {
        Ok(self.whole(name, 1, usize::MAX as u64)?.map(|number| number as usize))
    }

    fn threads(&self) -> PyResult<Option<usize>> {
        Ok(self.whole("threads", 1, MAX_THREADS)?.map(|number| number as usize))
    }

    /// A job with the limits that these keywords set, over these defaults.
    pub(crate) fn job(&self, defaults: RangeOptions) -> PyResult<Job> {
        let shared: Option<Py<SharedJob>> = self.get("job")?;
        let default = match shared.as_ref().and_then(|shared| shared.get().limits()) {
            Some(limits) => limits.clone(),
            None => JobOptions { ranges: defaults, ..JobOptions::default() },
        };
        let ranges = RangeOptions {
            min_seek_size: self
                .parsed("min_seek_size", str::parse::<MinSeekSize>)?
                .unwrap_or(default.ranges.min_seek_size),
            max_request_bytes: self.positive_bytes("max_request_size")?.or(default.ranges.max_request_bytes),
            max_requests_in_flight: self.positive("max_requests_in_flight")?.or(default.ranges.max_requests_in_flight),
            extra_bytes_tolerance: self.tolerance()?.unwrap_or(default.ranges.extra_bytes_tolerance),
            prefetch_bytes: self.bytes("prefetch_size")?.unwrap_or(default.ranges.prefetch_bytes),
        };
        let file_io = self.parsed("io", str::parse)?.unwrap_or(default.file_io);
        let durability = self.parsed("durability", str::parse)?.unwrap_or(default.durability);
        let threads = self.threads()?.unwrap_or(default.threads);
        let options = JobOptions { threads, ranges, file_io, durability };
        Ok(match shared {
            Some(shared) => shared.get().job().with_options(options),
            None => Job::new(options),
        })
    }

    /// Raises the error of options that apply to no place of a job.
    pub(crate) fn check_places(&self, places: &JobPlaces, job: &JobOptions) -> PyResult<()> {
        places.check(&self.storage()?, job).map_err(|e| errors::raised(self.0.py(), &e))
    }

    /// The job of a scan whose rows are written, with the threads and the way of writing files that these keywords name.
    pub(crate) fn job_of_scan(&self, job: &Job) -> PyResult<Job> {
        let known = job.options();
        let job = job.with_options(JobOptions {
            threads: self.threads()?.unwrap_or(known.threads),
            file_io: self.parsed("io", str::parse)?.unwrap_or(known.file_io),
            durability: self.parsed("durability", str::parse)?.unwrap_or(known.durability),
            ..known.clone()
        });
        let Some(shared) = self.get::<Py<SharedJob>>("job")? else { return Ok(job) };
        shared.get().link(&job);
        Ok(if shared.get().job().has_reporter() { job.with_reporter() } else { job })
    }

    fn tolerance(&self) -> PyResult<Option<f64>> {
        let name = "extra_bytes_tolerance";
        match self.get::<f64>(name)? {
            Some(f) if !f.is_finite() || f < 0.0 => {
                Err(errors::raised(self.0.py(), &Error::usage("must be a non-negative number").at(name)))
            }
            tolerance => Ok(tolerance),
        }
    }

    pub(crate) fn read(&self) -> PyResult<ReadOptions> {
        let timestamp_unit = self.parsed("timestamp_unit", parse_choice::<TimestampUnit>)?.unwrap_or_default();
        Ok(ReadOptions {
            locations: self.locations()?,
            table_id: self.get("table_id")?,
            columns: self.columns()?,
            filter: self.get("where")?,
            order_by: self.get("order_by")?,
            memory_bytes: self.positive_bytes("memory_limit")?,
            limit: self.number("limit")?,
            at: self.at("at")?,
            batch_rows: self.positive("batch_rows")?,
            format: self.parsed("format", str::parse)?,
            csv: CsvOptions {
                schema: self.get("schema")?,
                infer_rows: self.positive("infer_rows")?,
                on_bad_row: self.parsed("on_bad_row", parse_choice::<OnBadRow>)?.unwrap_or_default(),
                header: self.get("header")?,
                skip_rows: self.number("skip_rows")?.unwrap_or(0) as usize,
                comment: self.get("comment")?,
                date_format: self.get("date_format")?,
                timestamp_format: self.get("timestamp_format")?,
                decimal_comma: self.get("decimal_comma")?.unwrap_or(false),
                encoding: self.get("encoding")?,
                ..self.dialect()?
            },
            parquet: ParquetOptions { timestamp_unit, ..ParquetOptions::default() },
            orc: OrcOptions { timestamp_unit, timestamp_zone: None },
            excel: ExcelOptions { sheet: self.get("sheet")? },
            column_union: match self.get("union_columns")? {
                Some(true) => ColumnUnion::Any,
                Some(false) | None => ColumnUnion::Related,
            },
            file_name_column: self.get("file_name_column")?,
            nesting: self.nesting()?,
            is_read_again: false,
            storage: self.storage()?,
        })
    }

    /// The nesting of columns: a separator, or true for the default one.
    fn nesting(&self) -> PyResult<ColumnNesting> {
        let separator = |name| -> PyResult<Option<String>> {
            let Some(value) = self.get::<Bound<'py, PyAny>>(name)? else { return Ok(None) };
            match value.extract::<bool>() {
                Ok(is_given) => Ok(is_given.then(|| DEFAULT_SEPARATOR.to_owned())),
                Err(_) => self.get(name),
            }
        };
        let nesting = ColumnNesting::from_options(separator("flatten")?, separator("unflatten")?);
        nesting.map_err(|error| errors::raised(self.0.py(), &error))
    }

    /// The list of which the location of a call is the first.
    fn locations(&self) -> PyResult<Vec<String>> {
        Ok(self.get("locations")?.unwrap_or_default())
    }

    /// Options of a comparison.
    pub(crate) fn diff(&self) -> PyResult<DiffOptions> {
        let first = ReadOptions { limit: None, ..self.read()? };
        Ok(DiffOptions {
            key: self.texts("key")?.unwrap_or_default(),
            second: ReadOptions { at: self.at("second_at")?, ..first.clone() },
            first,
            limit: self.number("limit")?,
            is_summary: self.get("summary")?.unwrap_or(false),
            memory_bytes: self.positive_bytes("memory_limit")?,
        })
    }

    /// A version by its number or by a timestamp; the engine parses the text.
    fn at(&self, name: &str) -> PyResult<Option<String>> {
        let Some(at) = self.get::<Bound<'py, PyAny>>(name)? else { return Ok(None) };
        if at.hasattr("isoformat")? {
            at.call_method0("isoformat")?.extract().map(Some)
        } else {
            Ok(Some(at.str()?.extract()?))
        }
    }

    /// The dialect of CSV.
    fn dialect(&self) -> PyResult<CsvOptions> {
        let quote = self.get::<String>("quote")?;
        Ok(CsvOptions {
            delimiter: self.parsed("delimiter", character)?,
            quote: match quote.as_deref() {
                None => None,
                Some("") => Some(None),
                Some(_) => self.parsed("quote", character)?.map(Some),
            },
            escape: self.parsed("escape", character)?,
            null_strings: self.texts("null_strings")?,
            ..CsvOptions::default()
        })
    }

    pub(crate) fn copy(&self) -> PyResult<CopyOptions> {
        let read = self.read()?;
        let csv = CsvOptions {
            delimiter: self.parsed("output_delimiter", character)?,
            header: self.get("output_header")?,
            ..CsvOptions::default()
        };
        let write = WriteOptions {
            compression: self.parsed("compression", str::parse::<Compression>)?,
            row_group_rows: self.positive("row_group_rows")?,
            row_group_bytes: self.bytes("row_group_bytes")?,
            bloom_filter_columns: self.texts("bloom_filter")?.unwrap_or_default(),
            file_bytes: self.bytes("file_bytes")?,
            memory_bytes: self.positive_bytes("memory_limit")?,
            csv,
            ..WriteOptions::default()
        };
        let mode = self.parsed("mode", parse_choice::<WriteMode>)?.unwrap_or_default();
        let load = self.load()?;
        Ok(CopyOptions {
            read: ReadOptions { batch_rows: None, ..read },
            load,
            write,
            format: self.parsed("output_format", str::parse)?,
            mode,
            replace_where: self.get("replace_where")?,
            partition_by: self.texts("partition_by")?.unwrap_or_default(),
            table_properties: self.get("table_properties")?.unwrap_or_default(),
            evolve: self.evolve()?,
            keep_not_null: self.get("keep_not_null")?.unwrap_or(false),
            auto_compact: self.get("auto_compact")?.unwrap_or(false),
        })
    }

    /// The options of loads into databases.
    fn load(&self) -> PyResult<LoadOptions> {
        Ok(LoadOptions {
            batch_rows: match self.read()?.batch_rows {
                // `"all"` is passed as more rows than any source has.
                Some(rows) if rows < ALL_ROWS => NonZeroU64::new(rows as u64).map_or(BatchRows::All, BatchRows::Rows),
                _ => BatchRows::All,
            },
            key: self.texts("key")?.unwrap_or_default(),
            resume: self.get("resume")?.unwrap_or(false),
            dead_letter: self.get("dead_letter")?,
            max_rows_per_second: self.positive("max_rate")?.and_then(|rows| NonZeroU64::new(rows as u64)),
            allow_narrowing: self.get("allow_narrowing")?.unwrap_or(false),
            verify: self.get("verify")?.unwrap_or(false),
            since: match self.get("since")? {
                None => None,
                Some(column) => Some(Since { column, overlap: self.get("overlap")? }),
            },
        })
    }

    /// The options of a sync, and the seconds between two checks where it continues.
    pub(crate) fn sync(&self) -> PyResult<(SyncOptions, Option<Duration>)> {
        let load = self.load()?;
        let overwrite = self.parsed("mode", parse_choice::<WriteMode>)?.unwrap_or_default() == WriteMode::Overwrite;
        let seconds = self.get::<f64>("interval")?.unwrap_or(1.0);
        let wrong = |_| errors::raised(self.0.py(), &Error::usage("interval: a number of seconds is needed"));
        let interval = Duration::try_from_secs_f64(seconds).map_err(wrong)?;
        let verify = load.verify;
        let options = SyncOptions { key: load.key.clone(), overwrite, load, verify, storage: self.storage()? };
        Ok((options, self.get("follow")?.unwrap_or(false).then_some(interval)))
    }

    /// Tables of TPC-H.
    pub(crate) fn tpch(&self) -> PyResult<TpchOptions> {
        let at = |error: Error, name: &'static str| errors::raised(self.0.py(), &error.at(name));
        let scale = TpchScale::new(self.get("sf")?.unwrap_or(1.0)).map_err(|e| at(e, "sf"))?;
        let names = self.texts("tables")?.unwrap_or_default();
        let tables = names.iter().map(|name| name.parse()).collect::<Result<_>>().map_err(|e| at(e, "tables"))?;
        let overwrites = self.get("overwrite")?.unwrap_or(false);
        let write = WriteOptions {
            compression: self.parsed("compression", str::parse::<Compression>)?,
            row_group_rows: self.positive("row_group_rows")?,
            row_group_bytes: self.positive_bytes("row_group_bytes")?,
            file_bytes: self.positive_bytes("file_bytes")?,
            ..WriteOptions::default()
        };
        Ok(TpchOptions {
            scale,
            tables,
            refresh: self.whole("refresh", 0, u32::MAX.into())?.map(|number| number as u32),
            format: self.parsed("format", str::parse)?.unwrap_or(TpchFormat::Files(&PARQUET)),
            mode: self.parsed("mode", str::parse)?,
            parts: self.whole("parts", 1, u32::MAX.into())?.unwrap_or(1) as u32,
            memory_bytes: self.positive_bytes("memory_limit")?,
            copy: CopyOptions {
                read: ReadOptions { storage: self.storage()?, ..ReadOptions::default() },
                write,
                mode: if overwrites { WriteMode::Overwrite } else { WriteMode::Error },
                ..CopyOptions::default()
            },
        })
    }

    /// The allowed changes of a table's schema: a list of names.
    fn evolve(&self) -> PyResult<Evolve> {
        let mut evolve = Evolve::default();
        for name in self.texts("evolve")?.unwrap_or_default() {
            match name.as_str() {
                "add" => evolve.add = true,
                "widen" => evolve.widen = true,
                _ => {
                    let error = Error::usage(format!("unknown change {name:?}"))
                        .advice("choose \"add\", \"widen\" or [\"add\", \"widen\"]");
                    return Err(errors::raised(self.0.py(), &error.at("evolve")));
                }
            }
        }
        Ok(evolve)
    }

    /// An upsert, or a delete by keys.
    pub(crate) fn upsert(&self) -> PyResult<UpsertOptions> {
        let defaults = RowOptions::default();
        let rows = RowOptions {
            key: self.get("key")?.unwrap_or_default(),
            on_duplicate: self.parsed("on_duplicate", parse_choice::<OnDuplicate>)?.unwrap_or_default(),
            merge: self.merge()?,
            insert_only: self.get("insert_only")?.unwrap_or_default(),
            enables_vectors: self.get("enable_deletion_vectors")?.unwrap_or_default(),
            evolve: self.evolve()?,
            memory_bytes: self.positive_bytes("memory_limit")?.unwrap_or(defaults.memory_bytes),
            ..defaults
        };
        let partition_by = self.texts("partition_by")?.unwrap_or_default();
        let table_properties = self.get("table_properties")?.unwrap_or_default();
        Ok(UpsertOptions { read: self.read()?, rows, partition_by, table_properties, transaction: None })
    }

    /// A delete by a condition.
    pub(crate) fn delete(&self) -> PyResult<DeleteOptions> {
        Ok(DeleteOptions { enables_vectors: self.get("enable_deletion_vectors")?.unwrap_or_default() })
    }

    /// An update.
    pub(crate) fn update(&self) -> PyResult<UpdateOptions> {
        Ok(UpdateOptions {
            enables_vectors: self.get("enable_deletion_vectors")?.unwrap_or_default(),
            memory_bytes: self.positive_bytes("memory_limit")?,
        })
    }

    /// A merge by key.
    pub(crate) fn merge_by_key(&self) -> PyResult<MergeOptions> {
        let defaults = MergeOptions::default();
        Ok(MergeOptions {
            enables_vectors: self.get("enable_deletion_vectors")?.unwrap_or_default(),
            memory_bytes: self.positive_bytes("memory_limit")?.unwrap_or(defaults.memory_bytes),
            ..defaults
        })
    }

    /// Merge operators by column.
    fn merge(&self) -> PyResult<Vec<(String, MergeOperator)>> {
        let texts: BTreeMap<String, String> = self.get("merge")?.unwrap_or_default();
        let parse = |(column, text): (String, String)| match text.parse::<MergeOperator>() {
            Ok(operator) => Ok((column, operator)),
            Err(error) => Err(errors::raised(self.0.py(), &error.at(format!("merge of {column:?}")))),
        };
        texts.into_iter().map(parse).collect()
    }

    pub(crate) fn compact(&self) -> PyResult<CompactOptions> {
        let mut options =
            if self.get("auto")?.unwrap_or(false) { CompactOptions::auto() } else { CompactOptions::default() };
        options.filter = self.get("where")?;
        let names = |name| Ok::<_, PyErr>(self.texts(name)?.unwrap_or_default());
        let layout = lakerace::layout(names("sort_by")?, names("zorder")?);
        let rules = &mut options.rules;
        rules.layout = layout.map_err(|e| errors::raised(self.0.py(), &e))?;
        rules.target_bytes = self.positive_bytes("target_size")?.unwrap_or(rules.target_bytes);
        rules.memory_bytes = self.positive_bytes("memory_limit")?.unwrap_or(rules.memory_bytes);
        rules.write.compression = self.parsed("compression", str::parse::<Compression>)?;
        Ok(options)
    }

    pub(crate) fn vacuum(&self) -> PyResult<VacuumOptions> {
        Ok(VacuumOptions {
            retain: self.parsed("retain", parse_duration)?,
            allow_short_retention: self.get("allow_short_retention")?.unwrap_or(false),
            dry_run: self.get("dry_run")?.unwrap_or(false),
        })
    }

    pub(crate) fn verify(&self) -> PyResult<VerifyOptions> {
        Ok(VerifyOptions {
            deep: self.get("deep")?.unwrap_or(false),
            repair: self.get("repair")?.unwrap_or(false),
            drop_empty_entry: self.get("drop_empty_entry")?.unwrap_or(false),
            key: self.get("key")?.unwrap_or_default(),
            memory_bytes: self.positive_bytes("memory_limit")?,
        })
    }

    pub(crate) fn storage(&self) -> PyResult<StorageOptions> {
        let options: BTreeMap<String, String> = self.get("storage_options")?.unwrap_or_default();
        Ok(options.into_iter().map(|(k, v)| (k.to_ascii_lowercase(), v)).collect())
    }
}

fn character(text: &str) -> Result<u8> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r' | 0) => Ok(*byte),
        _ => Err(Error::usage(format!("{text:?} is not a single ASCII character"))),
    }
}
