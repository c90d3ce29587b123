//! Any text as a schema: what parses is printed and parses to the same.

#![no_main]

use lakerace_format::schema_text::{parse_schema, print_schema};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(schema) = parse_schema(text) {
        let again = parse_schema(&print_schema(&schema)).expect("printed text parses");
        assert_eq!(again, schema);
    }
});
