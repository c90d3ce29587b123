//! Parts of formats of text: compressed files, blocks, samples, values. CSV and JSON lines use them, and know nothing of each other.

pub(crate) mod block_reader;
mod gzip_members;

pub(crate) use block_reader::RangeReader;
