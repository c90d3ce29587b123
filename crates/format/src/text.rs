//! Parts of formats of text: compressed files, blocks, samples, values. CSV and JSON lines use them, and know nothing of each other.

mod block_reader;
mod byte_order_mark;
mod file_compression;
mod front;
mod gzip_members;
pub(crate) mod infer;
mod range_reader;
mod sink;
pub(crate) mod value;

pub(crate) use block_reader::{BlockReader, RawBlock, fetch_block, read_block, text_requests};
pub(crate) use byte_order_mark::{BYTE_ORDER_MARK, without_byte_order_mark};
pub(crate) use file_compression::FileCompression;
pub(crate) use front::{MAX_SAMPLE_BYTES, read_front};
pub(crate) use range_reader::RangeReader;
pub(crate) use sink::{TextRows, TextSink};
