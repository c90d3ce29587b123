//! What the tests of reading share: files in memory, read as a caller would.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use bytes::Bytes;
use lakerace_orc::Result;
use lakerace_orc::read::{FileTail, Projection, ReadOptions, Stripe, StripeRead, TailStep};

/// The tail of a file, asked for in as many steps as it takes.
pub fn tail(file: &[u8]) -> Result<Arc<FileTail>> {
    let mut given = file.len().min(16);
    loop {
        match FileTail::parse(&file[file.len() - given..], file.len() as u64)? {
            TailStep::Done(tail) => return Ok(Arc::from(tail)),
            TailStep::Need(needed) => {
                assert!(needed as usize > given, "asks for what it has");
                given = usize::try_from(needed).unwrap();
            }
        }
    }
}

pub fn part(file: &Bytes, (offset, length): (u64, u64)) -> Bytes {
    file.slice(offset as usize..(offset + length) as usize)
}

pub fn stripe(file: &Bytes, tail: &Arc<FileTail>, number: usize, projection: &Projection) -> Result<Stripe> {
    Stripe::new(tail, number, projection, &part(file, tail.stripes()[number].footer_range()))
}

pub fn batches(file: &Bytes, read: StripeRead, options: &ReadOptions) -> Result<Vec<RecordBatch>> {
    let bytes = read.ranges().iter().map(|range| part(file, (range.offset, range.length))).collect();
    read.read(bytes, options)?.collect()
}

/// All batches of a file.
pub fn read(file: &Bytes, options: &ReadOptions) -> Result<Vec<RecordBatch>> {
    let tail = tail(file)?;
    let projection = Projection::all(tail.root());
    let mut all = Vec::new();
    for number in 0..tail.stripes().len() {
        let stripe = stripe(file, &tail, number, &projection)?;
        all.extend(batches(file, stripe.read_all()?, options)?);
    }
    Ok(all)
}

/// Files that pyarrow (ORC C++ 2.2) wrote, small enough to be kept here.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// The ORC files of a folder, by name.
pub fn files(folder: &Path) -> Vec<(String, Bytes)> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let orc = paths.filter(|path| path.extension().is_some_and(|ending| ending == "orc"));
    let mut files: Vec<_> = orc
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, Bytes::from(std::fs::read(path).unwrap()))
        })
        .collect();
    files.sort();
    files
}
