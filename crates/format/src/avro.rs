//! Apache Avro object container files, read and written from the front.
//!
//! A file is a header with a schema, and blocks of rows ([`container`]), each packed on its own ([`codec`]). Rows are decoded
//! and encoded by the arrow-avro crate. It takes the schemas that [`schema`] and [`stored`] make: those of files without
//! what it would misread, and those of tables without what Avro does not have. [`datum`] checks the bytes of a row before they
//! are decoded.

mod codec;
mod container;
mod datum;
mod decoder;
mod schema;
mod sink;
mod source;
mod stored;
mod units;

use std::sync::Arc;

use lakerace_io::option::{COMPRESSION, FILE_NAME_COLUMN};

pub use sink::AvroSink;
pub use source::AvroSource;

use crate::file_format::FileFormat;

/// Avro, an object container file.
pub static AVRO: FileFormat = FileFormat {
    title: "Avro",
    help: Some("An Avro object container file"),
    endings: &["avro"],
    marks: &[container::MAGIC],
    is_streamed: true,
    options: &[&FILE_NAME_COLUMN, &COMPRESSION],
    ..FileFormat::new(
        "avro",
        |files, _, job| Ok(Arc::new(AvroSource::open_files(files, job)?)),
        |output, schema, options, job| AvroSink::create(output, &schema, options, job),
    )
};

#[cfg(test)]
mod tests;
