//! Parts of formats of text: compressed files, blocks, samples, values. CSV and JSON lines use them, and know nothing of each other.

mod block_reader;
mod byte_order_mark;
mod file_compression;
mod float_digits;
mod front;
mod gzip_members;
pub(crate) mod infer;
mod range_reader;
mod sink;
pub(crate) mod value;

use lakerace_exec::PoolOptions;
use lakerace_io::Job;

pub(crate) use block_reader::{BlockReader, RawBlock, fetch_block, read_block, text_requests};
pub(crate) use byte_order_mark::{BYTE_ORDER_MARK, without_byte_order_mark};
pub(crate) use file_compression::FileCompression;
pub use float_digits::keeps_digits;
pub(crate) use front::{MAX_SAMPLE_BYTES, read_front};
pub(crate) use range_reader::RangeReader;
pub(crate) use sink::{TextRows, TextSink};

/// Blocks that may be under way or wait for their turn beyond one for every thread.
const BLOCKS_AHEAD: usize = 2;

/// The pool of a read or a write of text on the job's threads. It is not joined: a thread that waits for the network ends when its
/// request does.
pub(crate) fn pool_options(thread_name: &'static str, job: &Job) -> PoolOptions {
    let threads = job.options().threads.max(1);
    PoolOptions { thread_name, threads, window: threads + BLOCKS_AHEAD, joins: false }
}
