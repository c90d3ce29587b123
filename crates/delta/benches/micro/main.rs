//! Each heuristic of this crate beside its plain alternative: `ours` over `plain`.
//!
//! `cargo bench -p lakerace-delta` runs all; `-- keys` those whose path has the word.

#![allow(missing_docs, clippy::unwrap_used, reason = "a bench that fails stops")]

mod keys;
mod rows;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}
