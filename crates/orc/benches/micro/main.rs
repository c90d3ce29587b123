//! Each heuristic of this crate beside its plain alternative: `ours` over `plain`.
//!
//! `cargo bench -p lakerace-orc` runs all; `-- unpack` those whose path has the word.

#![allow(missing_docs, clippy::unwrap_used, reason = "a bench that fails stops")]

mod prefetch;
mod unpack;

fn main() {
    divan::main();
}
