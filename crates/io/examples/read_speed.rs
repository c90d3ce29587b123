//! `read_speed LOCATION [THREADS [MAX_REQUEST_BYTES]]`: reads a file through a [`Fetcher`] as a scan would, in ranges of
//! 16 MiB that threads take turns at, and prints seconds, GB/s, requests and bytes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use lakerace_io::{
    Error, Fetcher, Job, Location, RangeOptions, Result, StorageOptions, Wanted, parse_bytes, plan_requests,
};

const RANGE_BYTES: u64 = 16 << 20;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [location, rest @ ..] = arguments.as_slice() else {
        return Err(Error::usage("name a location"));
    };
    let threads =
        rest.first().map_or(Ok(1), |t| t.parse::<usize>()).map_err(|_| Error::usage("threads is a number"))?;
    let max_request_bytes = rest.get(1).map(|t| parse_bytes(t)).transpose()?;
    let job = Job::default();
    let mut object = Location::parse(location)?.object(&StorageOptions::default(), &job)?;
    let tail = object.read_tail(1)?;
    object.e_tag = tail.e_tag;
    let size = tail.size_bytes;
    let wanted: Vec<Wanted> = (0..size.div_ceil(RANGE_BYTES))
        .map(|i| Wanted { file: 0, range: i * RANGE_BYTES..size.min((i + 1) * RANGE_BYTES) })
        .collect();
    for round in 0..5 {
        let before = job.meter().counts();
        let start = Instant::now();
        let options = RangeOptions { max_request_bytes, ..RangeOptions::default() };
        let plan = plan_requests(&wanted, &options, &object.store.profile());
        let fetcher = Fetcher::start(vec![object.clone()], &plan, &job)?;
        let (next, sum) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| -> Result<()> {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| read(&fetcher, &wanted, &next, &sum))).collect();
            workers.into_iter().try_for_each(|w| w.join().map_err(|_| Error::internal("a thread panicked"))?)
        })?;
        let seconds = start.elapsed().as_secs_f64();
        let counts = job.meter().counts();
        println!(
            "round {round}: {seconds:.3} s, {:.2} GB/s (predicted {:.3} s), {} requests, {} bytes, sum {:x}",
            size as f64 / seconds / 1e9,
            plan.seconds,
            counts.requests.get - before.requests.get,
            counts.bytes_read - before.bytes_read,
            sum.into_inner()
        );
    }
    Ok(())
}

/// Touches each cache line, as a decoder would at least.
fn read(fetcher: &Fetcher, wanted: &[Wanted], next: &AtomicU64, sum: &AtomicU64) -> Result<()> {
    while let Some(w) = wanted.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
        let mut at = w.range.start;
        while at < w.range.end {
            let bytes = fetcher.bytes_some(0, at..w.range.end)?;
            // At the same offsets of the file however it is sliced: the sum is the same in every round.
            let first = (at.next_multiple_of(64) - at) as usize;
            let part: u64 = bytes.iter().skip(first).step_by(64).map(|b| u64::from(*b)).sum();
            sum.fetch_add(part, Ordering::Relaxed);
            fetcher.release(0, at..at + bytes.len() as u64);
            at += bytes.len() as u64;
        }
    }
    Ok(())
}
