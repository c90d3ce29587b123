//! Arrow IPC: streams, which are read from the front, and files, which are read by their footer.

mod file_footer;
mod message;
mod message_stream;
mod sink;
mod source;

use std::sync::Arc;

use lakerace_io::option::COMPRESSION;

pub use sink::ArrowSink;
pub use source::ArrowSource;

use crate::file_format::FileFormat;

/// Arrow IPC, a stream or a file.
pub static ARROW_IPC: FileFormat = FileFormat {
    title: "Arrow IPC",
    help: Some("Arrow IPC: a stream, or a file if the name ends in .arrow"),
    endings: &["arrow", "arrows", "feather", "ipc"],
    marks: &[FILE_MAGIC, b"\xff\xff\xff\xff"],
    is_streamed: true,
    options: &[&COMPRESSION],
    ..FileFormat::new(
        "arrow",
        |files, _, job| Ok(Arc::new(ArrowSource::open_files(files, job)?)),
        |output, schema, options, _| ArrowSink::create(output, &schema, options),
    )
};

/// The first bytes of a file; a stream of messages follows.
const FILE_MAGIC: &[u8] = b"ARROW1";
