//! Each heuristic of this crate beside its plain alternative: `ours` over `plain`.
//!
//! `cargo bench -p lakerace-io` runs all; `-- write` those whose path has the word. Files go to the folder that `TMPDIR` names:
//! what writing takes depends on its file system.

#![allow(missing_docs, clippy::unwrap_used, reason = "a bench that fails stops")]

mod read;
mod write;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}
