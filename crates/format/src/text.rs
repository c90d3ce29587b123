//! Parts of text formats: compressed files, blocks, samples, names, values. CSV and JSON lines use them independently of
//! each other. Excel takes names and values. Avro takes the requests and the readers, because it is also read from the
//! front.

mod block_reader;
mod byte_order_mark;
mod column_names;
mod damage_hint;
mod file_compression;
mod float_digits;
mod front;
mod gzip_members;
pub(crate) mod infer;
mod json_values;
mod range_reader;
mod ready_bytes;
mod sink;
mod text_encoding;
mod text_form;
pub(crate) mod value;
mod zip_member;

use lakerace_exec::PoolOptions;
use lakerace_io::Job;

pub(crate) use block_reader::{
    BlockReader, RawBlock, fetch_block, read_block, stored_bytes, text_fetcher, text_requests,
};
pub(crate) use byte_order_mark::{BYTE_ORDER_MARK, without_byte_order_mark};
pub(crate) use column_names::{header_names, made_up_names};
pub(crate) use damage_hint::with_damage_hint;
pub(crate) use file_compression::{COMPRESSION_FRONT_BYTES, FileCompression, xz_decoder};
pub use float_digits::keeps_digits;
pub(crate) use front::{MAX_SAMPLE_BYTES, read_front};
pub(crate) use range_reader::RangeReader;
pub(crate) use sink::{TextRows, TextSink};
pub(crate) use text_encoding::TextEncoding;
pub(crate) use text_form::TextForm;
pub(crate) use zip_member::ZipMember;

/// Blocks that may be under way or wait for their turn beyond one for every thread.
const BLOCKS_AHEAD: usize = 2;

/// The pool of a read or a write of text on the job's threads. It is not joined: a thread that waits for the network ends when its
/// request does.
pub(crate) fn pool_options(thread_name: &'static str, job: &Job) -> PoolOptions {
    let threads = job.options().threads.max(1);
    PoolOptions { thread_name, threads, window: threads + BLOCKS_AHEAD, joins: false }
}
