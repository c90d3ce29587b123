//! Any bytes as an Avro file.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| lakerace_fuzz::scan("fuzz.avro", bytes));
