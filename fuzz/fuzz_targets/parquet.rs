//! Any bytes as a Parquet file: rows or an error, never a panic, a hang or a huge allocation.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| lakerace_fuzz::scan("fuzz.parquet", bytes));
