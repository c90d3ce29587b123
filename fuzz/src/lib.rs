//! What the fuzz targets share.

pub mod tables;

use std::sync::Once;

use arrow::datatypes::SchemaRef;
use bytes::Bytes;
use lakerace::{Error, ErrorKind, Job, JobOptions, ReadOptions, Scan, StorageOptions};
use lakerace_io::{IfExists, Location, Output};

/// Scans `bytes` as the file `name`, on one thread. Any outcome is right but a panic of ours or an internal error.
pub fn scan(name: &str, bytes: &[u8]) {
    bear_panics_of_others();
    let job = Job::new(JobOptions { threads: 1, ..JobOptions::default() });
    let job = &job;
    let url = format!("memory://fuzz/{name}");
    let location = Location::parse(&url).expect("a known scheme");
    let (store, path) = location.open(&StorageOptions::default(), job).expect("memory is there");
    let mut output = Output::create(&store, &path, IfExists::Replace).expect("memory takes it");
    output.write(Bytes::copy_from_slice(bytes)).expect("memory takes it");
    output.finish().expect("memory takes it");
    let Some(schema) = attempt(&url, &ReadOptions::default(), job) else { return };
    // Statistics, page indexes and bloom filters are read for filters alone.
    let Some(column) = schema.fields().first().map(|field| field.name().replace('"', "\"\"")) else { return };
    for condition in ["> 5", "= 'm'"] {
        let filter = Some(format!("\"{column}\" {condition}"));
        attempt(&url, &ReadOptions { filter, ..ReadOptions::default() }, job);
    }
}

/// Scans to the end, or to an error. Gives the schema where there was one.
fn attempt(url: &str, options: &ReadOptions, job: &Job) -> Option<SchemaRef> {
    let check = |error: Error| assert_ne!(error.kind(), ErrorKind::Internal, "{error}");
    let scan = Scan::open(url, options, job).map_err(check).ok()?;
    let rows = scan.batches().and_then(|batches| batches.into_iter().try_for_each(|batch| batch.map(drop)));
    rows.map_err(check).ok();
    Some(scan.schema())
}

/// The parquet crate panics on some damaged data, which its callers turn into errors. libFuzzer's hook would end the
/// process at the panic already: ours does so for our own code only. A panic that nobody catches ends it in any case.
pub fn bear_panics_of_others() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let strict = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let is_ours = panic.location().is_none_or(|place| !place.file().contains("/registry/src/"));
            if is_ours {
                strict(panic);
            }
        }));
    });
}
