//! Any bytes as an ORC file: rows or an error, never a panic, a hang or a huge allocation.

#![no_main]

use std::sync::Arc;

use bytes::Bytes;
use lakerace_orc::read::{FileTail, Projection, ReadOptions, Stripe, TailStep};
use lakerace_orc::{Error, ErrorKind, Result};
use libfuzzer_sys::fuzz_target;

/// More batches and stripes than small files have; a hostile one can have any number.
const MOST: usize = 16;

fn read(file: &Bytes) -> Result<()> {
    let mut given = file.len().min(64);
    let tail: Arc<FileTail> = loop {
        match FileTail::parse(&file[file.len() - given..], file.len() as u64)? {
            TailStep::Done(tail) => break Arc::from(tail),
            TailStep::Need(needed) => given = needed as usize,
        }
    };
    let part = |offset: u64, length: u64| file.slice(offset as usize..(offset + length) as usize);
    let projection = Projection::all(tail.root());
    let options = ReadOptions { batch_rows: 1024, ..ReadOptions::default() };
    for (number, info) in tail.stripes().iter().enumerate().take(MOST) {
        tail.stripe_statistics(number)?;
        let (offset, length) = info.footer_range();
        let mut stripe = Stripe::new(&tail, number, &projection, &part(offset, length))?;
        let mut reads = vec![stripe.read_all()?];
        if stripe.row_groups() < 1 << 16 {
            for range in stripe.index_ranges(&projection.columns(), true) {
                stripe.set_index(&range, &part(range.offset, range.length))?;
            }
            let odd: Vec<bool> = (0..stripe.row_groups()).map(|group| group % 2 == 1).collect();
            reads.push(stripe.read_groups(&odd)?);
        }
        for read in reads {
            let bytes = read.ranges().iter().map(|range| part(range.offset, range.length)).collect();
            read.read(bytes, &options)?.take(MOST).try_for_each(|batch| batch.map(drop))?;
        }
    }
    Ok(())
}

fuzz_target!(|bytes: &[u8]| {
    let check = |error: Error| assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
    read(&Bytes::copy_from_slice(bytes)).map_err(check).ok();
});
