//! Each intrinsic, heuristic and codec of this crate beside its plain alternative: `ours` over `plain`.
//!
//! `cargo bench -p lakerace-format` runs all; `-- snappy` those whose path has the word.

#![allow(missing_docs, clippy::unwrap_used, reason = "a bench that fails stops")]

mod byte_positions;
mod compact;
mod csv;
mod gather;
mod like;
mod memory;
mod pages;
mod parquet;
mod repeated_texts;
mod sample;
mod snappy;
mod spread;
mod streams;
mod text_dictionary;
mod unpack;
mod wide;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    divan::main();
}
