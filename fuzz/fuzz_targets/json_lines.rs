//! Any bytes as a file of JSON lines; the first byte chooses plain text, gzip or zstd.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, rest)) = bytes.split_first() else { return };
    let name = ["fuzz.jsonl", "fuzz.jsonl.gz", "fuzz.jsonl.zst"][usize::from(first % 3)];
    lakerace_fuzz::scan(name, rest);
});
