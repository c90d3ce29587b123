//! `lakerace demo`: the main job end to end on this machine, every step checked.

mod table;

use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use lakerace::{Checksum, ColumnItem, CopyOptions, CsvOptions, Error, Job, ReadOptions, Result, Scan, WriteMode};
use lakerace::{Prices, Requests};
use serde::Serialize;
use serde_json::json;

use crate::args::DemoArgs;
use crate::session::{Session, storage_options};
use crate::stdout::PipeStdout;
use crate::table::TablePrinter;
use crate::{human, interrupt, orders};

/// Orders are numbered in ascending order, so statistics exclude all but a few pages.
const FILTER: &str = "order_id BETWEEN 1000 AND 4999 AND status = 'shipped'";

/// A line of the result.
#[derive(Serialize)]
struct DemoStep {
    step: &'static str,
    rows: u64,
    bytes_read: u64,
    bytes_written: u64,
    requests: u64,
    seconds: f64,
    cost_usd: f64,
}

pub(crate) fn run(args: &DemoArgs, session: &Session) -> Result<()> {
    let folder = DemoFolder::create(args.keep.as_deref())?;
    let csv = folder.file("orders.csv");
    let parquet = folder.file("orders.parquet");
    let s3 = args.s3.clone().or_else(|| std::env::var("LAKERACE_DEMO_S3").ok().filter(|url| !url.is_empty()));
    let mut demo = DemoRun { args, session, steps: Vec::new() };

    session.note(&format!("generating {} orders (seed {}) …", human::count(args.rows), args.seed));
    demo.generate("generate CSV", &csv, 1..=args.rows, args.seed)?;
    demo.copy("copy CSV to Parquet", &csv, &parquet, true)?;
    let (of_csv, of_files) = (demo.read_options(true, None), demo.read_options(false, None));
    let expected = demo.checksum("checksum CSV", &csv, &of_csv)?;
    let mut sums = vec![("Parquet", demo.checksum("checksum Parquet", &parquet, &of_files)?)];
    demo.filter("scan with a filter", &parquet)?;
    match &s3 {
        Some(url) => {
            let target = format!("{}/orders.parquet", url.trim_end_matches('/'));
            demo.copy("copy Parquet to S3", &parquet, &target, false)?;
            sums.push(("S3", demo.checksum("checksum S3", &target, &of_files)?));
            demo.filter("scan S3 with a filter", &target)?;
        }
        None => session.note("skipped S3: pass a folder with --s3 s3://bucket/demo/ or LAKERACE_DEMO_S3"),
    }
    for (name, sum) in &sums {
        if *sum != expected {
            let text =
                format!("{name} has {} rows, checksum {sum}; the CSV has {}, {expected}", sum.rows, expected.rows);
            return Err(Error::internal(format!("the checksums differ: {text}")));
        }
    }
    demo.table(&folder, &parquet, &expected)?;
    demo.finish(&parquet, &expected, folder.is_kept.then(|| folder.path.display().to_string()))
}

struct DemoRun<'a> {
    args: &'a DemoArgs,
    session: &'a Session,
    steps: Vec<DemoStep>,
}

impl DemoRun<'_> {
    fn generate(&mut self, step: &'static str, path: &str, numbers: RangeInclusive<u64>, seed: u64) -> Result<()> {
        let rows = numbers.end() + 1 - numbers.start();
        let started = Instant::now();
        let bytes_written = orders::generate(Path::new(path), numbers, seed, &self.session.job)?;
        let seconds = started.elapsed().as_secs_f64();
        self.steps.push(DemoStep { step, rows, bytes_read: 0, bytes_written, requests: 0, seconds, cost_usd: 0.0 });
        Ok(())
    }

    fn copy(&mut self, step: &'static str, source: &str, target: &str, is_csv: bool) -> Result<()> {
        let read = self.read_options(is_csv, None);
        let options = CopyOptions { read, mode: WriteMode::Overwrite, ..CopyOptions::default() };
        self.step(step, |job| Ok((lakerace::copy(source, target, &options, job)?.rows, ())))
    }

    fn checksum(&mut self, step: &'static str, location: &str, options: &ReadOptions) -> Result<Checksum> {
        self.step(step, |job| {
            let sum = Scan::open(location, options, job)?.checksum()?;
            Ok((sum.rows, sum))
        })
    }

    fn filter(&mut self, step: &'static str, location: &str) -> Result<()> {
        let options = self.read_options(false, Some(FILTER));
        self.step(step, |job| {
            let mut rows = 0;
            for batch in Scan::open(location, &options, job)?.batches()? {
                rows += batch?.num_rows() as u64;
            }
            Ok((rows, ()))
        })
    }

    /// Runs one step as a separate job, so that its requests and costs are counted separately.
    fn step<T>(&mut self, step: &'static str, run: impl FnOnce(&Job) -> Result<(u64, T)>) -> Result<T> {
        let job = Job::new(self.session.job.options().clone());
        interrupt::cancels(&job);
        let started = Instant::now();
        let _progress = crate::progress::Progress::start(&job, !self.session.global.quiet);
        let (rows, value) = run(&job)?;
        let counts = job.meter().counts();
        let Requests { get, put, list, head, delete } = counts.requests;
        self.steps.push(DemoStep {
            step,
            rows,
            bytes_read: counts.bytes_read,
            bytes_written: counts.bytes_written,
            requests: get + put + list + head + delete,
            seconds: started.elapsed().as_secs_f64(),
            cost_usd: if step.contains("S3") { counts.requests.cost_usd(&Prices::default()) } else { 0.0 },
        });
        Ok(value)
    }

    fn read_options(&self, is_csv: bool, filter: Option<&str>) -> ReadOptions {
        let schema = is_csv.then(|| orders::SCHEMA.to_owned());
        ReadOptions {
            filter: filter.map(str::to_owned),
            columns: filter.map(|_| ColumnItem::named(["order_id", "ordered_at", "price"])),
            csv: CsvOptions { schema, ..CsvOptions::default() },
            storage: storage_options(&self.args.store),
            ..ReadOptions::default()
        }
    }

    fn finish(&self, parquet: &str, expected: &Checksum, kept: Option<String>) -> Result<()> {
        let session = self.session;
        if session.global.json {
            let more = json!({ "steps": self.steps, "checksum": expected.to_string(), "folder": kept });
            return session.done("", self.args.rows, more);
        }
        let options = self.read_options(false, Some(FILTER));
        session.note(&format!("\nthe plan of the filtered scan: --where \"{FILTER}\" --explain"));
        session.note(&Scan::open(parquet, &options, &session.job)?.explain().to_string());
        self.print()?;
        session.note(&format!("\nall checksums agree: {expected}"));
        if let Some(folder) = kept {
            session.note(&format!("the files are in {folder}"));
        }
        Ok(())
    }

    fn print(&self) -> Result<()> {
        let text =
            |f: fn(&DemoStep) -> String| Arc::new(self.steps.iter().map(|s| Some(f(s))).collect::<StringArray>());
        let rate = |s: &DemoStep| s.bytes_read.max(s.bytes_written) as f64 / s.seconds.max(1e-9) / 1e6;
        let fields: [(&str, ArrayRef); 8] = [
            ("step", text(|s| s.step.to_owned())),
            ("rows", Arc::new(self.steps.iter().map(|s| Some(s.rows)).collect::<UInt64Array>())),
            ("read", text(|s| human::bytes(s.bytes_read))),
            ("written", text(|s| human::bytes(s.bytes_written))),
            ("requests", Arc::new(self.steps.iter().map(|s| Some(s.requests)).collect::<UInt64Array>())),
            ("seconds", Arc::new(self.steps.iter().map(|s| Some(round(s.seconds, 1e3))).collect::<Float64Array>())),
            ("MB/s", Arc::new(self.steps.iter().map(|s| Some(round(rate(s), 1.0))).collect::<Float64Array>())),
            ("cost", text(|s| human::dollars(s.cost_usd))),
        ];
        let batch = RecordBatch::try_from_iter(fields).map_err(Error::unexpected)?;
        let mut table = TablePrinter::new(Box::new(PipeStdout::lock()), batch.schema(), None);
        table.write(&batch)?;
        table.finish()
    }
}

/// `value` rounded to a step of 1 / `per_one`.
fn round(value: f64, per_one: f64) -> f64 {
    (value * per_one).round() / per_one
}

/// The folder of the generated files; removed when dropped, unless it is kept.
struct DemoFolder {
    path: PathBuf,
    is_kept: bool,
}

impl DemoFolder {
    fn create(keep: Option<&Path>) -> Result<Self> {
        let temporary = || std::env::temp_dir().join(format!("lakerace-demo-{}", std::process::id()));
        let path = keep.map_or_else(temporary, Path::to_path_buf);
        fs::create_dir_all(&path).map_err(|e| Error::from(e).at(path.display()))?;
        Ok(Self { path, is_kept: keep.is_some() })
    }

    fn file(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }
}

impl Drop for DemoFolder {
    fn drop(&mut self) {
        if !self.is_kept {
            // Files that can't be removed are left to the system's cleanup of its temporary folder.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
