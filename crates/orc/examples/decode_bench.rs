//! Reads a file from memory, on one thread: `decode_bench FILE [COLUMNS|all] [TIMES] [ROWS OF A BATCH]`. Columns are names with commas
//! between. Prints rows, seconds (best of all times), and rows a second.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use lakerace_orc::Result;
use lakerace_orc::read::{FileTail, Projection, ReadOptions, Stripe, TailStep};

fn tail(file: &Bytes) -> Result<Arc<FileTail>> {
    let mut given = file.len().min(16 << 10);
    loop {
        match FileTail::parse(&file[file.len() - given..], file.len() as u64)? {
            TailStep::Done(tail) => return Ok(Arc::from(tail)),
            TailStep::Need(needed) => given = needed as usize,
        }
    }
}

fn run(file: &Bytes, columns: &str, options: &ReadOptions) -> Result<(usize, usize)> {
    let tail = tail(file)?;
    let projection = match columns {
        "all" => Projection::all(tail.root()),
        names => Projection::names(tail.root(), &names.split(',').collect::<Vec<_>>())?,
    };
    let part = |offset: u64, length: u64| file.slice(offset as usize..(offset + length) as usize);
    let (mut rows, mut bytes) = (0, 0);
    for (number, info) in tail.stripes().iter().enumerate() {
        let (offset, length) = info.footer_range();
        let read = Stripe::new(&tail, number, &projection, &part(offset, length))?.read_all()?;
        let ranges = read.ranges().iter().map(|range| part(range.offset, range.length)).collect();
        for batch in read.read(ranges, options)? {
            let batch = batch?;
            rows += batch.num_rows();
            bytes += std::hint::black_box(&batch).get_array_memory_size();
        }
    }
    Ok((rows, bytes))
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("a file");
    let columns = arguments.next().unwrap_or_else(|| "all".to_owned());
    let times: usize = arguments.next().map_or(5, |text| text.parse().expect("a number of times"));
    let batch_rows = arguments.next().map_or(8192, |text| text.parse().expect("a number of rows"));
    let options = ReadOptions { batch_rows, ..ReadOptions::default() };
    let file = Bytes::from(std::fs::read(&path).expect("the file"));
    let mut best = f64::INFINITY;
    let mut outcome = (0, 0);
    for _ in 0..times {
        let start = Instant::now();
        outcome = run(&file, &columns, &options).expect("a readable file");
        best = best.min(start.elapsed().as_secs_f64());
    }
    let (rows, bytes) = outcome;
    println!("{rows} rows, {bytes} bytes of Arrow, {best:.4} s, {:.0} rows/s", rows as f64 / best);
}
