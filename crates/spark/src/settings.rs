//! Options of Spark as the engine's.

use std::collections::BTreeMap;

use arrow::datatypes::Schema;
use lakerace::{
    CsvOptions, Error, ExcelOptions, Job, JobOptions, NewTable, OrcOptions, ParquetOptions, RangeOptions, ReadOptions,
    Result, StorageOptions, TimestampUnit,
};

use crate::call::{RECORD, UNIT};
use crate::credentials;

/// The prefix of properties of tables, whose names have capitals.
const PROPERTY: &str = "table.";
/// The prefix of the settings of a query.
const QUERY: &str = "query.";
/// The prefix of the settings of a store.
const STORAGE: &str = "storage.";
/// The prefix of settings of Hadoop's, by which its providers find credentials, and the bucket that these are for.
const HADOOP: &str = "hadoop.";
const HADOOP_BUCKET: &str = "hadoop.bucket";

/// Options by their names in lower case, as Spark hands them on.
#[derive(Debug, Clone, Default)]
pub(crate) struct SparkSettings(BTreeMap<String, String>);

impl SparkSettings {
    /// An object of JSON: values may have any characters.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let options: BTreeMap<String, String> =
            serde_json::from_str(text).map_err(|e| Error::internal("options that are not JSON").because(e))?;
        let is_as_given = |name: &str| name.starts_with(PROPERTY) || name.starts_with(HADOOP);
        let named = |name: String| if is_as_given(&name) { name } else { name.to_ascii_lowercase() };
        Ok(Self(options.into_iter().map(|(name, value)| (named(name), value)).collect()))
    }

    /// An option's text.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns true if a query requests rows, or only their metadata.
    pub(crate) fn asks(&self) -> bool {
        self.0.keys().any(|name| name.starts_with(QUERY))
    }

    /// An option that the engine parses.
    pub(crate) fn parsed<T>(&self, name: &str, parse: impl FnOnce(&str) -> Result<T>) -> Result<Option<T>> {
        let parsed = self.get(name).map(parse).transpose();
        parsed.map_err(|error| error.at(format!("option {name:?}")))
    }

    /// A whole number above 0.
    pub(crate) fn positive(&self, name: &str) -> Result<Option<usize>> {
        self.parsed(name, |text| match text.parse() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(Error::usage(format!("{text:?} is not a positive integer"))),
        })
    }

    /// Names that stand between commas.
    pub(crate) fn names(&self, name: &str) -> Vec<String> {
        let text = self.get(name).unwrap_or_default();
        text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    }

    /// Names the columns of an upsert as a schema names them, where Spark says that capitals make no other name.
    pub(crate) fn named_by(mut self, schema: &Schema) -> Self {
        if self.get("write.ignores_case") != Some("true") {
            return self;
        }
        for option in ["key", "sequence"] {
            if self.get(option).is_none() {
                continue;
            }
            let names = self.names(option).into_iter().map(|name| {
                let is_there = schema.fields().iter().any(|field| *field.name() == name);
                let folded = name.to_lowercase();
                let mut fields = schema.fields().iter();
                let same = fields.find(|field| !is_there && field.name().to_lowercase() == folded);
                same.map_or(name, |field| field.name().clone())
            });
            self.0.insert(option.to_owned(), names.collect::<Vec<_>>().join(","));
        }
        self
    }

    /// Settings of the store.
    pub(crate) fn storage(&self) -> StorageOptions {
        let mut storage: StorageOptions = self.below(STORAGE).collect();
        storage.credentials = self.get(HADOOP_BUCKET).map(|bucket| {
            let settings = self.below(HADOOP).filter(|(name, _)| name != "bucket");
            let records = settings.map(|(name, value)| format!("{RECORD}{name}{UNIT}{value}"));
            credentials::of_hadoop(records.fold(bucket.to_owned(), |all, record| all + &record))
        });
        storage
    }

    /// The settings that determine what a location opens, as a text.
    pub(crate) fn opening(&self) -> String {
        let is_of_store = |name: &String| name.starts_with(STORAGE) || name.starts_with(HADOOP);
        let settings = self.0.iter().filter(|(name, _)| is_of_store(name));
        settings.fold(String::new(), |all, (name, value)| all + &format!("{RECORD}{name}{UNIT}{value}"))
    }

    /// A job. A task of Spark's has one core, so it has one thread unless `threads` says more.
    pub(crate) fn job(&self) -> Result<Job> {
        let ranges = RangeOptions {
            min_seek_size: self.parsed("min_seek_size", str::parse)?.unwrap_or_default(),
            max_requests_in_flight: self.positive("max_requests_in_flight")?,
            ..RangeOptions::default()
        };
        let threads = self.positive("threads")?.unwrap_or(1);
        let durability = self.parsed("durability", str::parse)?.unwrap_or_default();
        Ok(Job::new(JobOptions { threads, ranges, durability, ..JobOptions::default() }))
    }

    /// A job of the driver's, which has all cores of its machine unless `threads` says otherwise.
    pub(crate) fn job_of_driver(&self) -> Result<Job> {
        let threads = self.positive("threads")?.unwrap_or(JobOptions::default().threads);
        Ok(self.job()?.with_threads(threads))
    }

    /// The parts of a new table in addition to its columns.
    pub(crate) fn new_table(&self) -> NewTable {
        NewTable {
            partition_by: self.names("partition_by"),
            properties: self.properties(),
            keep_not_null: self.get("write.keeps_not_null").is_some(),
        }
    }

    /// Properties of a new table.
    pub(crate) fn properties(&self) -> BTreeMap<String, String> {
        self.below(PROPERTY).collect()
    }

    /// Options whose names start with this prefix, without it.
    fn below(&self, prefix: &str) -> impl Iterator<Item = (String, String)> {
        self.0.iter().filter_map(move |(name, value)| Some((name.strip_prefix(prefix)?.to_owned(), value.clone())))
    }

    /// The options of a read, without those of a query.
    pub(crate) fn read(&self) -> Result<ReadOptions> {
        Ok(ReadOptions {
            at: self.get("at").map(str::to_owned),
            filter: self.get("where").map(str::to_owned),
            batch_rows: self.positive("batch_rows")?,
            format: self.parsed("format", str::parse)?,
            csv: self.csv()?,
            // Spark knows these timestamps as instants, whoever wrote them.
            parquet: ParquetOptions { int96_is_instant: true, ..ParquetOptions::default() },
            orc: OrcOptions {
                // Spark's unit: finer fractions are truncated.
                timestamp_unit: TimestampUnit::Microsecond,
                timestamp_zone: self.get("session.jvm_zone").map(str::to_owned),
            },
            excel: ExcelOptions { sheet: self.get("sheet").map(str::to_owned) },
            storage: self.storage(),
            ..ReadOptions::default()
        })
    }

    pub(crate) fn csv(&self) -> Result<CsvOptions> {
        Ok(CsvOptions {
            header: self.parsed("header", flag)?,
            delimiter: self.parsed("delimiter", character)?,
            quote: self.parsed("quote", |text| if text.is_empty() { Ok(None) } else { character(text).map(Some) })?,
            escape: self.parsed("escape", character)?,
            null_strings: self.get("null_string").map(|text| vec![text.to_owned()]),
            schema: self.get("csv_schema").map(str::to_owned),
            infer_rows: self.positive("infer_rows")?,
            skip_rows: self.positive("skip_rows")?.unwrap_or(0),
            comment: self.get("comment").map(str::to_owned),
            date_format: self.get("date_format").map(str::to_owned),
            timestamp_format: self.get("timestamp_format").map(str::to_owned),
            decimal_comma: self.parsed("decimal_comma", flag)?.unwrap_or(false),
            encoding: self.get("encoding").map(str::to_owned),
            ..CsvOptions::default()
        })
    }
}

pub(crate) fn flag(text: &str) -> Result<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(Error::usage(format!("{text:?} is neither true nor false"))),
    }
}

fn character(text: &str) -> Result<u8> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() && !matches!(byte, b'\n' | b'\r' | 0) => Ok(*byte),
        _ => Err(Error::usage(format!("{text:?} is not a single ASCII character"))),
    }
}
