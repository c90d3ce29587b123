//! Any bytes as an Excel workbook.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| lakerace_fuzz::scan("fuzz.xlsx", bytes));
