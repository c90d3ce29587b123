//! What the fuzz targets share.

use bytes::Bytes;
use lakerace::{ErrorKind, Job, ReadOptions, Scan, StorageOptions};
use lakerace_io::{IfExists, Location, Output};

/// Scans `bytes` as the file `name`. Any outcome is right but a panic or an internal error.
pub fn scan(name: &str, bytes: &[u8], job: Job) {
    let url = format!("memory://fuzz/{name}");
    let location = Location::parse(&url).expect("a known scheme");
    let (store, path) = location.open(&StorageOptions::default(), &job).expect("memory is there");
    let mut output = Output::create(&store, &path, IfExists::Replace).expect("memory takes it");
    output.write(Bytes::copy_from_slice(bytes)).expect("memory takes it");
    output.finish().expect("memory takes it");
    let outcome = Scan::open(&url, &ReadOptions::default(), &job)
        .and_then(|scan| scan.batches()?.try_fold(0, |rows, batch| Ok(rows + batch?.num_rows())));
    if let Err(error) = outcome {
        assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
    }
}
