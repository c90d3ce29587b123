//! Any bytes as a deletion vector, in the log and in a file.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    lakerace_fuzz::bear_panics_of_others();
    lakerace_fuzz::tables::with_vector(bytes);
});
