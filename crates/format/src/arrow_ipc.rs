//! Arrow IPC, streams and files, read and written from the front.

mod sink;
mod source;

pub use sink::ArrowSink;
pub use source::ArrowSource;

/// What a file begins with; a stream of messages follows.
const FILE_MAGIC: &[u8] = b"ARROW1";
