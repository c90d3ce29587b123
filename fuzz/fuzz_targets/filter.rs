//! Any text as a filter.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| drop(lakerace::parse_filter(text)));
