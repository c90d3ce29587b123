//! Any bytes as a folder's commit marker.

#![no_main]

use lakerace_format::folder::visible;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let files = vec!["part-00000-a.parquet".to_owned()];
    drop(visible(files, &[("_lakerace_commit-a.json".to_owned(), bytes.to_vec())]));
});
