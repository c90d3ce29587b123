//! Writing an Avro file.

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use arrow_avro::schema::SCHEMA_METADATA_KEY;
use arrow_avro::writer::format::AvroBinaryFormat;
use arrow_avro::writer::{Encoder, WriterBuilder};
use bytes::Bytes;
use lakerace_exec::OrderedPipe;
use lakerace_io::{Error, Job, Output, Result, panics};
use rand::RngExt;

use super::codec::BlockCodec;
use super::container::{FileHeader, SyncMarker, put_block};
use super::stored::StoredTable;
use crate::array_bytes::array_bytes;
use crate::duplicates::refuse_to_write_duplicates;
use crate::options::WriteOptions;
use crate::sink::{Sink, Written};
use crate::text::pool_options;

/// Bytes of a block before it is packed, approximately. Readers hold a block in memory as a whole, and a larger one packs
/// little better.
const BLOCK_BYTES: usize = 256 << 10;

/// Rows that are encoded together, at most.
const MOST_ROWS: usize = 8192;

/// Writes one Avro file: blocks of 256 KiB, packed with deflate unless the options say otherwise.
pub struct AvroSink {
    output: Output,
    table: StoredTable,
    encoder: Encoder,
    blocks: OrderedPipe<RowBlock, Vec<u8>, Error>,
    /// Encoded rows that are not enough for a block yet.
    pending: RowBlock,
    rows: u64,
    job: Job,
}

/// Encoded rows.
#[derive(Default)]
struct RowBlock {
    bytes: Vec<u8>,
    rows: u64,
}

impl AvroSink {
    /// Starts a file.
    ///
    /// # Errors
    /// `Unsupported` for a column that Avro can't hold, `Usage` for a codec that it does not have; both before anything is
    /// written.
    pub fn create(output: Output, schema: &SchemaRef, options: &WriteOptions, job: &Job) -> Result<Box<dyn Sink>> {
        Self::new(output, schema, options, job).map(|sink| Box::new(sink) as Box<dyn Sink>)
    }

    fn new(mut output: Output, schema: &SchemaRef, options: &WriteOptions, job: &Job) -> Result<Self> {
        let url = output.url().to_owned();
        let codec = BlockCodec::of_options(options).map_err(|error| error.at(&url))?;
        refuse_to_write_duplicates(schema).map_err(|error| error.at(&url))?;
        let table = StoredTable::new(schema).map_err(|error| error.at(&url))?;
        let encoder = new_encoder(&table).map_err(|error| error.at(&url))?;
        let level = options.compression.and_then(|compression| compression.level);
        let sync: SyncMarker = rand::rng().random();
        let mut notes: Vec<(&str, &str)> =
            schema.metadata().iter().map(|(key, note)| (key.as_str(), note.as_str())).collect();
        notes.sort_unstable();
        output.write(FileHeader::encode(&table.text, codec.name(), notes.into_iter(), &sync).into())?;
        let pack = move |block: RowBlock| {
            let mut stored = Vec::new();
            put_block(block.rows, &codec.pack(block.bytes, level)?, &sync, &mut stored);
            Ok(stored)
        };
        let blocks = OrderedPipe::start(pool_options("lakerace-avro", job), job, pack);
        Ok(Self { output, table, encoder, blocks, pending: RowBlock::default(), rows: 0, job: job.clone() })
    }

    /// Encodes some rows.
    fn encode(&mut self, rows: &RecordBatch) -> Result<()> {
        let stored = self.table.rows(rows, self.rows + 1)?;
        let failed = |why: String| Error::unsupported(format!("these rows can't be written as Avro{why}"));
        match panics::caught(|| self.encoder.encode(&stored)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(failed(format!(": {error}"))),
            Err(_) => return Err(failed(String::new())),
        }
        let encoded = self.encoder.flush();
        if encoded.len() != rows.num_rows() {
            return Err(Error::internal(format!("{} of {} rows were encoded", encoded.len(), rows.num_rows())));
        }
        self.pending.bytes.extend_from_slice(encoded.bytes());
        self.pending.rows += rows.num_rows() as u64;
        self.rows += rows.num_rows() as u64;
        Ok(())
    }

    /// Passes the encoded rows to the threads that pack them, and writes a block that is ready.
    fn send(&mut self) -> Result<()> {
        self.job.check()?;
        match self.blocks.push(std::mem::take(&mut self.pending))? {
            Some(stored) => self.output.write(Bytes::from(stored)),
            None => Ok(()),
        }
    }

    fn write_rows(&mut self, batch: &RecordBatch) -> Result<()> {
        let row_bytes = batch.columns().iter().map(array_bytes).sum::<u64>() / batch.num_rows().max(1) as u64;
        let step = (BLOCK_BYTES as u64 / row_bytes.max(1)).clamp(1, MOST_ROWS as u64) as usize;
        for from in (0..batch.num_rows()).step_by(step) {
            self.encode(&batch.slice(from, step.min(batch.num_rows() - from)))?;
            if self.pending.bytes.len() >= BLOCK_BYTES {
                self.send()?;
            }
        }
        Ok(())
    }
}

/// The encoder of rows in the stored form.
fn new_encoder(table: &StoredTable) -> Result<Encoder> {
    let mut metadata = table.schema.metadata().clone();
    metadata.insert(SCHEMA_METADATA_KEY.to_owned(), table.text.clone());
    let schema = table.schema.as_ref().clone().with_metadata(metadata);
    match panics::caught(|| WriterBuilder::new(schema).build_encoder::<AvroBinaryFormat>()) {
        Ok(Ok(encoder)) => Ok(encoder),
        Ok(Err(error)) => Err(Error::unsupported(format!("these columns can't be written as Avro: {error}"))),
        Err(_) => Err(Error::unsupported("these columns can't be written as Avro")),
    }
}

impl Sink for AvroSink {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.job.meter().wrote_rows(batch.num_rows() as u64);
        let written = self.write_rows(&batch);
        written.map_err(|error| error.at(self.output.url()))
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        let url = self.output.url().to_owned();
        if self.pending.rows > 0 {
            self.send().map_err(|error| error.at(&url))?;
        }
        while let Some(stored) = self.blocks.take().map_err(|error| error.at(&url))? {
            self.output.write(Bytes::from(stored))?;
        }
        let bytes = self.output.position();
        self.output.finish()?;
        Ok(Written { rows: self.rows, bytes, files: vec![url], ..Written::default() })
    }
}
