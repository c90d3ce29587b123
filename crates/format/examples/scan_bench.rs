//! Scans a Parquet file and prints what it cost: `scan_bench FILE [--threads N] [--columns a,b] [--collect]
//! [--repeat N] [--batch-rows N] [--below COLUMN=N] [--check]`.
//!
//! `--collect` keeps all batches until the end, as a data frame does. `--check` compares every value with what the
//! parquet crate's own reader gives.

use std::time::Instant;

use arrow::array::RecordBatch;
use lakerace_format::{CompareOp, Expr, Literal, ParquetSource, ReadRequest, Source};
use lakerace_io::{Error, Job, JobOptions, Location, Result, StorageOptions};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (mut file, mut request, mut options, mut repeat) = (None, ReadRequest::default(), JobOptions::default(), 5);
    let (mut collect, mut check) = (false, false);
    options.threads = 1;
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| Error::usage("a value is missing"));
        let number = |text: String| text.parse::<usize>().map_err(|e| Error::usage(e.to_string()));
        match argument.as_str() {
            "--threads" => options.threads = number(value()?)?,
            "--repeat" => repeat = number(value()?)?,
            "--batch-rows" => request.batch_rows = Some(number(value()?)?),
            "--columns" => request.columns = Some(value()?.split(',').map(str::to_owned).collect()),
            "--below" => request.filter = Some(below(&value()?)?),
            "--collect" => collect = true,
            "--check" => check = true,
            _ => file = Some(argument),
        }
    }
    let file = file.ok_or_else(|| Error::usage("name a file"))?;
    for _ in 0..repeat {
        let job = Job::new(options.clone());
        let (wall, cpu) = (Instant::now(), cpu_seconds());
        let object = Location::parse(&file)?.object(&StorageOptions::default(), &job)?;
        let source = ParquetSource::open(vec![object], &job)?;
        let (mut rows, mut batches, mut kept) = (0, 0, Vec::new());
        for batch in source.read(&source.plan(&request)?)? {
            let batch = batch?;
            rows += batch.num_rows();
            batches += 1;
            if collect || check {
                kept.push(batch);
            }
        }
        println!(
            "{rows} rows in {batches} batches: {:.3} s wall, {:.3} s CPU, {} requests",
            wall.elapsed().as_secs_f64(),
            cpu_seconds() - cpu,
            job.meter().counts().requests.get,
        );
        if check {
            compare(&file, &kept)?;
        }
    }
    Ok(())
}

/// The filter of `COLUMN=N`: values of the column below the integer.
fn below(text: &str) -> Result<Expr> {
    let wrong = || Error::usage("write it as COLUMN=N");
    let (column, number) = text.split_once('=').ok_or_else(wrong)?;
    let digits = number.parse().map_err(|_| wrong())?;
    Ok(Expr::Compare {
        op: CompareOp::Less,
        left: Box::new(Expr::Column(column.to_owned())),
        right: Box::new(Expr::Literal(Literal::Number { digits, scale: 0 })),
    })
}

/// User and system time of this process.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<u64> =
        stat.rsplit(") ").next().unwrap_or("").split(' ').skip(11).take(2).filter_map(|f| f.parse().ok()).collect();
    fields.iter().sum::<u64>() as f64 / 100.0
}

fn compare(file: &str, ours: &[RecordBatch]) -> Result<()> {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let failed = |e: &dyn std::fmt::Display| Error::internal(e.to_string());
    let Some(first) = ours.first() else { return Ok(()) };
    let ours = arrow::compute::concat_batches(&first.schema(), ours).map_err(|e| failed(&e))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(file)?).map_err(|e| failed(&e))?;
    let mut at = 0;
    for theirs in builder.with_batch_size(1 << 16).build().map_err(|e| failed(&e))? {
        let theirs = theirs.map_err(|e| failed(&e))?;
        for (number, column) in theirs.columns().iter().enumerate() {
            let mine = ours.column(number).slice(at, theirs.num_rows());
            let column = arrow::compute::cast(column, mine.data_type()).map_err(|e| failed(&e))?;
            if *mine != *column {
                return Err(Error::internal(format!("column {number} differs within rows {at}..{}", at + mine.len())));
            }
        }
        at += theirs.num_rows();
    }
    println!("all {at} rows are equal");
    if at == ours.num_rows() { Ok(()) } else { Err(Error::internal("the number of rows differs")) }
}
