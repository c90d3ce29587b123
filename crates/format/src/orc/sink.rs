//! Writing an ORC file.

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use lakerace_io::option::{COMPRESSION, ROW_GROUP_BYTES, ROW_GROUP_ROWS};
use lakerace_io::{Error, Job, Output, Result};
use lakerace_orc::Codec as OrcCodec;
use lakerace_orc::write::{Writer, WriterOptions};

use super::error::from_orc;
use crate::duplicates::refuse_to_write_duplicates;
use crate::fixed_sizes::warn_of_fixed_sizes;
use crate::options::{Codec, WriteOptions};
use crate::sink::{Sink, Written};
use crate::suggestions::column_not_found;

/// Writes one ORC file: zstd, row indexes of 10,000 rows and stripes of 64 MiB, unless the options say otherwise. At most
/// a stripe is in memory.
pub struct OrcSink {
    writer: Writer,
    output: Output,
    job: Job,
}

impl OrcSink {
    /// Starts a file of this schema.
    ///
    /// # Errors
    /// `Unsupported` for a type that ORC doesn't have, `Usage` for options without an equivalent in ORC, `NotFound` for
    /// a bloom filter's column that doesn't exist; all before anything is written.
    pub fn create(output: Output, schema: SchemaRef, options: &WriteOptions, job: &Job) -> Result<Box<dyn Sink>> {
        let url = output.url().to_owned();
        refuse_to_write_duplicates(&schema).map_err(|error| error.at(&url))?;
        warn_of_fixed_sizes(&schema, "ORC", job);
        let writer = new_writer(schema, options, job).map_err(|e| e.at(url))?;
        Ok(Box::new(Self { writer, output, job: job.clone() }))
    }
}

fn new_writer(schema: SchemaRef, options: &WriteOptions, job: &Job) -> Result<Writer> {
    for name in &options.bloom_filter_columns {
        let is_known =
            |field: &str| name.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let names = schema.fields().iter().map(|field| field.name().as_str());
        if !names.clone().any(is_known) {
            return Err(column_not_found(name, names));
        }
    }
    let threads = job.options().threads.clamp(1, schema.fields().len().max(1));
    let mut options = writer_options(options, threads)?;
    let mut notes: Vec<(String, Vec<u8>)> =
        schema.metadata().iter().map(|(key, note)| (key.clone(), note.clone().into_bytes())).collect();
    notes.sort();
    options.metadata.extend(notes);
    Writer::new(schema, options).map_err(from_orc)
}

fn writer_options(options: &WriteOptions, threads: usize) -> Result<WriterOptions> {
    if options.row_group_rows.is_some() {
        return Err(Error::usage("the stripes of an ORC file end by bytes, not by rows")
            .advice(format!("omit {ROW_GROUP_ROWS}, or set the bytes of a stripe with {ROW_GROUP_BYTES}")));
    }
    if options.page_bytes.is_some() {
        return Err(Error::usage("an ORC file has no pages").advice("omit page_bytes"));
    }
    if !options.statistics {
        return Err(Error::usage("ORC files are always written with statistics").advice("omit the option"));
    }
    let mut own = WriterOptions {
        threads,
        bloom_filters: options.bloom_filter_columns.clone(),
        spark_timestamps: options.spark_timestamps,
        ..Default::default()
    };
    if let Some(compression) = options.compression {
        own.codec = match compression.codec {
            Codec::None => OrcCodec::None,
            Codec::Snappy => OrcCodec::Snappy,
            Codec::Gzip => OrcCodec::Zlib,
            Codec::Lz4 => OrcCodec::Lz4,
            Codec::Zstd => OrcCodec::Zstd,
            Codec::Brotli => {
                return Err(Error::usage("ORC files can't be written with brotli")
                    .advice(format!("choose {COMPRESSION} none, snappy, gzip (which is ORC's zlib), lz4 or zstd")));
            }
        };
        own.level = compression.level;
    }
    if let Some(bytes) = options.row_group_bytes {
        own.stripe_size = match usize::try_from(bytes) {
            Ok(bytes @ 1..) if bytes <= STRIPE_BYTES_AT_MOST => bytes,
            _ => {
                let message = format!("row_group_bytes, the bytes of a stripe, is {bytes}");
                return Err(
                    Error::usage(message).advice(format!("set 1 to {STRIPE_BYTES_AT_MOST} with {ROW_GROUP_BYTES}"))
                );
            }
        };
    }
    if !options.dictionary {
        own.dictionary_threshold = 0.0;
    }
    Ok(own)
}

/// A stripe is in memory as a whole.
const STRIPE_BYTES_AT_MOST: usize = 1 << 40;

impl Sink for OrcSink {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.job.check()?;
        let rows = batch.num_rows() as u64;
        let pieces = self.writer.write(&batch).map_err(|e| from_orc(e).at(self.output.url()))?;
        pieces.into_iter().try_for_each(|piece| self.output.write(piece))?;
        self.job.meter().wrote_rows(rows);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Written> {
        let Self { writer, mut output, job } = *self;
        let url = output.url().to_owned();
        let finished = writer.finish().map_err(|e| from_orc(e).at(&url))?;
        finished.pieces.into_iter().try_for_each(|piece| output.write(piece))?;
        job.check()?;
        let bytes = output.position();
        output.finish()?;
        Ok(Written { rows: finished.rows, bytes, files: vec![url], ..Written::default() })
    }
}
