//! A run of a job command: its job, its clock, and its outcome.

use std::sync::atomic::{AtomicBool, Ordering};

use lakerace::{
    Clock, ColumnUnion, CsvOptions, DryRun, DurabilityLevel, ExcelOptions, Job, JobOptions, OrcOptions, ParquetOptions,
    Prices, RangeOptions, ReadOptions, Report, Result, StorageOptions,
};
use lakerace_io::{ALLOW_FOREIGN_PATHS, RETRY_TIME_OPTION};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::args::{CsvArgs, GlobalOptions, InputArgs, StoreArgs};
use crate::progress::Progress;
use crate::value::{BatchRowCount, ColumnList, QuoteCharacter};
use crate::{human, interrupt, log, shown, stderr, stdout};

/// The first words of the report of a dry run.
pub(crate) const CHECKED: &str = "dry run, nothing was written";

pub(crate) struct Session {
    pub(crate) global: GlobalOptions,
    pub(crate) job: Job,
    clock: Clock,
    has_warned: AtomicBool,
}

impl Session {
    /// Starts the clock, creates the job and lets Ctrl-C cancel it.
    pub(crate) fn start(global: GlobalOptions, store: &StoreArgs) -> Self {
        Self::start_with(global, store, RangeOptions::default())
    }

    /// Starts a job that writes the rows that it reads.
    pub(crate) fn start_copy(global: GlobalOptions, store: &StoreArgs) -> Self {
        Self::start_with(global, store, RangeOptions::for_copy())
    }

    fn start_with(global: GlobalOptions, store: &StoreArgs, defaults: RangeOptions) -> Self {
        let clock = Clock::start();
        let job = Job::new(job_options(store, defaults));
        interrupt::cancels(&job);
        Self { global, job, clock, has_warned: AtomicBool::new(false) }
    }

    /// Sets the durability of the files.
    pub(crate) fn with_durability(mut self, durability: DurabilityLevel) -> Self {
        self.job = self.job.with_options(JobOptions { durability, ..self.job.options().clone() });
        self
    }

    /// A progress line while the job runs.
    pub(crate) fn progress(&self) -> Progress {
        Progress::start(&self.job, !self.global.quiet)
    }

    /// The cost of the job so far.
    pub(crate) fn report(&self, rows: u64) -> Report {
        self.clock.report(rows, &self.job, &Prices::default())
    }

    /// Ends the command: with `--json` the report and `more` as one object on stdout, else a summary on stderr.
    pub(crate) fn done(&self, verb: &str, rows: u64, more: impl Serialize) -> Result<()> {
        self.done_counted(verb, "row", rows, more)
    }

    /// Ends a command whose summary counts rows under another noun, such as keys.
    pub(crate) fn done_counted(&self, verb: &str, noun: &str, rows: u64, more: impl Serialize) -> Result<()> {
        let report = self.report(rows);
        self.end(&report, &summary(verb, noun, &report), more)
    }

    /// Reports the end of a command that moves no rows: its summary counts none.
    pub(crate) fn done_without_rows(&self, verb: &str, more: impl Serialize) -> Result<()> {
        let report = self.report(0);
        self.end(&report, &format!("{verb}: {}", cost(&report)), more)
    }

    /// Ends a dry run: prints what the command would do.
    pub(crate) fn done_dry(&self, run: &DryRun) -> Result<()> {
        if !self.global.json {
            stdout::line(&shown::text(&run.to_string()))?;
        }
        self.done_without_rows(CHECKED, json!({ "dry_run": true, "planned": run }))
    }

    fn end(&self, report: &Report, summary: &str, more: impl Serialize) -> Result<()> {
        let warnings = self.warn();
        log::report(report);
        if self.global.json {
            let written = json!({ "io": self.job.file_io(), "warnings": warnings });
            return stdout::line(&json_line(&[&json!(report), &written, &json!(more)])?);
        }
        self.note(summary);
        Ok(())
    }

    /// Reports the job's warnings, once.
    fn warn(&self) -> Vec<String> {
        let warnings = self.job.warnings();
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            warnings.iter().for_each(|warning| stderr::line(&format!("warning: {}", shown::text(warning))));
        }
        warnings
    }

    /// Tells the user something next to the data.
    pub(crate) fn note(&self, text: &str) {
        if !self.global.quiet {
            stderr::line(&shown::text(text));
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Commands that end in an error, or print no summary, have warnings, too.
        self.warn();
    }
}

/// The sources of a command as the engine takes them: the first one, and the list of them if there are several.
pub(crate) fn sources(names: &[String]) -> (&str, Vec<String>) {
    let first = names.first().map_or("", String::as_str);
    (first, if names.len() > 1 { names.to_vec() } else { Vec::new() })
}

/// The limits of a job.
pub(crate) fn job_options(args: &StoreArgs, defaults: RangeOptions) -> JobOptions {
    let default = JobOptions { ranges: defaults, ..JobOptions::default() };
    let ranges = RangeOptions {
        min_seek_size: args.min_seek_size.unwrap_or(default.ranges.min_seek_size),
        max_request_bytes: args.max_request_size.or(default.ranges.max_request_bytes),
        max_requests_in_flight: args.max_requests_in_flight.or(default.ranges.max_requests_in_flight),
        extra_bytes_tolerance: args.extra_bytes_tolerance.unwrap_or(default.ranges.extra_bytes_tolerance),
        prefetch_bytes: args.prefetch_size.unwrap_or(default.ranges.prefetch_bytes),
    };
    let threads = args.threads.map_or(default.threads, |threads| threads.0);
    JobOptions { threads, ranges, file_io: args.io, ..default }
}

/// The options of a read, without a limit.
pub(crate) fn read_options(InputArgs { read, csv, store }: &InputArgs) -> Result<ReadOptions> {
    Ok(ReadOptions {
        columns: read.columns.as_ref().map(ColumnList::items).transpose()?,
        filter: read.condition.condition()?,
        at: read.at.clone(),
        batch_rows: read.batch_rows.map(|rows| match rows {
            BatchRowCount::AtMost(n) => n,
            BatchRowCount::All => usize::MAX,
        }),
        format: read.input_format,
        csv: csv_options(csv),
        parquet: ParquetOptions { timestamp_unit: read.timestamp_unit, ..ParquetOptions::default() },
        orc: OrcOptions { timestamp_unit: read.timestamp_unit, timestamp_zone: None },
        excel: excel_options(csv),
        column_union: column_union(read.union_columns),
        file_name_column: read.file_name_column.clone(),
        storage: storage_options(store),
        ..ReadOptions::default()
    })
}

/// The files whose columns are put together.
pub(crate) fn column_union(any: bool) -> ColumnUnion {
    if any { ColumnUnion::Any } else { ColumnUnion::Related }
}

/// The options of the CSV dialect.
pub(crate) fn csv_options(args: &CsvArgs) -> CsvOptions {
    CsvOptions {
        header: match (args.header, args.no_header) {
            (_, true) => Some(false),
            (true, false) => Some(true),
            (false, false) => None,
        },
        delimiter: args.delimiter,
        quote: args.quote.map(|QuoteCharacter(quote)| quote),
        escape: args.escape,
        null_strings: (!args.null_string.is_empty()).then(|| args.null_string.clone()),
        schema: args.schema.clone(),
        infer_rows: args.infer_rows,
        on_bad_row: args.on_bad_row,
        skip_rows: args.skip_rows,
        comment: args.comment.clone(),
        date_format: args.date_format.clone(),
        timestamp_format: args.timestamp_format.clone(),
        decimal_comma: args.decimal_comma,
        encoding: args.encoding.clone(),
        ..CsvOptions::default()
    }
}

/// The options of workbooks.
pub(crate) fn excel_options(args: &CsvArgs) -> ExcelOptions {
    ExcelOptions { sheet: args.sheet.clone() }
}

/// Settings of the stores.
pub(crate) fn storage_options(args: &StoreArgs) -> StorageOptions {
    let mut storage = args.storage_option.iter().cloned().collect::<StorageOptions>();
    if args.allow_foreign_paths {
        storage.options.insert(ALLOW_FOREIGN_PATHS.to_owned(), "true".to_owned());
    }
    if let Some(time) = &args.retry_time {
        storage.options.insert(RETRY_TIME_OPTION.to_owned(), time.clone());
    }
    storage
}

/// `read 52.1 MB in 12 requests, wrote …`, for people.
pub(crate) fn summary(verb: &str, noun: &str, report: &Report) -> String {
    let mut text = format!("{verb} {}", human::plural(report.rows, noun));
    if report.bad_rows > 0 {
        text += &format!(", {}", human::plural(report.bad_rows, "bad row"));
    }
    text + ": " + &cost(report)
}

/// The part of a summary with bytes, requests, time, memory and dollars.
fn cost(report: &Report) -> String {
    let requests = &report.requests;
    let reads = requests.get + requests.head + requests.list;
    let mut text = format!("read {} in {}", human::bytes(report.bytes_read), human::plural(reads, "request"));
    if report.bytes_written > 0 || requests.put > 0 {
        let written = human::bytes(report.bytes_written);
        text += &format!(", wrote {written} in {}", human::plural(requests.put, "request"));
    }
    if report.bytes_past_cache > 0 {
        text += &format!(" ({} bypassed the page cache)", human::bytes(report.bytes_past_cache));
    }
    let peak = human::bytes(report.peak_rss_bytes);
    text + &format!(", {}, peak {peak}, {}", human::seconds(report.wall_seconds), human::dollars(report.cost_usd))
}

/// Joins the fields of all parts, in this order, into an object on one line.
fn json_line(parts: &[&Value]) -> Result<String> {
    let mut object = Map::new();
    for part in parts {
        if let Value::Object(fields) = part {
            object.extend(fields.clone());
        }
    }
    Ok(shown::json(Value::Object(object)).to_string())
}
