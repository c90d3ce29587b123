//! Any bytes as a file of text; the first byte chooses CSV, TBL, gzip or zstd.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let name = ["fuzz.csv", "fuzz.tbl", "fuzz.csv.gz", "fuzz.csv.zst"][usize::from(first % 4)];
    lakerace_fuzz::scan(name, rest);
});
