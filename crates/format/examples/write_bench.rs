//! Times writing a Parquet file's rows from memory, by this crate and by the `parquet` crate's own writer.
//!
//! `write_bench TABLE TARGET [--threads N] [--codec C] [--row-group-rows N] [--repeat N] [--views] [--crate]
//! [--columns a,b]` reads TABLE once, then writes it to TARGET again and again and prints wall and CPU seconds of each
//! write.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a tool for developers")]

use std::fs::File;
use std::time::Instant;

use arrow::record_batch::RecordBatch;
use lakerace_format::{ParquetSink, WriteOptions};
use lakerace_io::{IfExists, Job, JobOptions, Location, Output, StorageOptions};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::WriterProperties;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| arguments.iter().position(|a| a == name).map(|at| arguments[at + 1].clone());
    let number = |name: &str, default: usize| value(name).map_or(default, |v| v.parse().unwrap());
    let has = |name: &str| arguments.iter().any(|a| a == name);
    let (table, target) = (&arguments[0], &arguments[1]);
    let threads = number("--threads", 1);
    let row_group_rows = number("--row-group-rows", 1_500_000);
    let codec = value("--codec").unwrap_or("snappy".to_owned());
    let columns = value("--columns").map(|c| c.split(',').map(str::to_owned).collect::<Vec<_>>());

    let batches = read(table, has("--views"), columns.as_deref());
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    for _ in 0..number("--repeat", 3) {
        let (wall, cpu) = (Instant::now(), cpu_seconds());
        if has("--crate") {
            write_by_crate(&batches, target, row_group_rows);
        } else {
            let options = WriteOptions {
                compression: Some(codec.parse().unwrap()),
                row_group_rows: Some(row_group_rows),
                row_group_bytes: Some(1 << 40),
                ..WriteOptions::default()
            };
            write(&batches, target, &options, threads);
        }
        let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        let bytes = std::fs::metadata(target).unwrap().len();
        println!("{rows} rows, {bytes} bytes: wall {wall:.3} s, CPU {cpu:.3} s");
    }
}

fn read(path: &str, views: bool, columns: Option<&[String]>) -> Vec<RecordBatch> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    let batches = builder.with_batch_size(500_000).build().unwrap().map(Result::unwrap);
    let batches = batches.map(|batch| match columns {
        Some(names) => {
            let at: Vec<usize> = names.iter().map(|n| batch.schema().index_of(n).unwrap()).collect();
            batch.project(&at).unwrap()
        }
        None => batch,
    });
    if !views {
        return batches.collect();
    }
    batches
        .map(|batch| {
            let names = batch.schema().fields().iter().map(|f| f.name().clone()).collect::<Vec<_>>();
            let columns = batch.columns().iter().map(|column| match column.data_type() {
                arrow::datatypes::DataType::Utf8 => {
                    arrow::compute::cast(column, &arrow::datatypes::DataType::Utf8View).unwrap()
                }
                _ => column.clone(),
            });
            RecordBatch::try_from_iter(names.into_iter().zip(columns)).unwrap()
        })
        .collect()
}

fn write(batches: &[RecordBatch], target: &str, options: &WriteOptions, threads: usize) {
    let job = Job::new(JobOptions { threads, ..JobOptions::default() });
    let (store, path) = Location::parse(target).unwrap().open(&StorageOptions::default(), &job).unwrap();
    let output = Output::create(&store, &path, IfExists::Replace).unwrap();
    let mut sink = ParquetSink::create(output, batches[0].schema(), options, &job).unwrap();
    batches.iter().for_each(|batch| sink.write(batch.clone()).unwrap());
    sink.finish().unwrap();
}

fn write_by_crate(batches: &[RecordBatch], target: &str, row_group_rows: usize) {
    let properties = WriterProperties::builder()
        .set_compression(parquet::basic::Compression::SNAPPY)
        .set_max_row_group_row_count(Some(row_group_rows))
        .build();
    let file = File::create(target).unwrap();
    let mut writer = ArrowWriter::try_new(file, batches[0].schema(), Some(properties)).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
}

/// User and system time of this process.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // Fields 14 and 15, in ticks of 10 ms; the name in front of them may hold spaces.
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    (fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap()) / 100.0
}
