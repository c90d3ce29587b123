//! The rows of one file's blocks as batches.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use arrow_avro::codec::Tz;
use arrow_avro::reader::{Decoder, DecoderMode, ReaderBuilder};
use arrow_avro::schema::{AvroSchema, Fingerprint, FingerprintAlgorithm, SchemaStore};
use lakerace_io::{Error, Result, panics};

use super::datum::{DatumCursor, DatumForm, TOO_LARGE};
use super::schema::AvroType;
use crate::conform::conform;
use crate::field_positions::FindBy;
use crate::nested_types::map_inner_fields;

/// Rows of a batch at most.
const BATCH_ROWS: usize = 65_536;

/// Memory for the rows of a batch, unless one row takes more.
const BATCH_BYTES: u64 = 16 << 20;

/// Memory for one row at most.
const ROW_BYTES: u64 = 1 << 30;

/// Rows of a block that have no bytes, at most. Their number is bounded by nothing else.
const EMPTY_ROWS: u64 = 1 << 24;

/// The number by which the decoder knows the only schema that it has.
const SCHEMA_ID: u32 = 1;

/// Makes decoders for some columns of a file, and keeps those that are not in use.
#[derive(Debug)]
pub(super) struct FileDecoders {
    schema_text: String,
    projection: Vec<usize>,
    form: DatumForm,
    schema: SchemaRef,
    idle: Mutex<Vec<Decoder>>,
}

/// The schema of a file's columns as Arrow has them, without the notes of the arrow-avro crate. Enums are texts.
pub(super) fn arrow_schema(columns: &[(String, AvroType)]) -> Result<Schema> {
    let text = AvroType::print(columns);
    let projection: Vec<usize> = (0..columns.len()).collect();
    Ok(Schema::new(plain_fields(new_decoder(&text, &projection)?.schema().fields())))
}

impl FileDecoders {
    /// Decoders of the columns at `projection`, in ascending order, of a file with these columns.
    pub fn new(columns: &[(String, AvroType)], projection: Vec<usize>) -> Result<Self> {
        let schema_text = AvroType::print(columns);
        let first = new_decoder(&schema_text, &projection)?;
        let schema = Arc::new(Schema::new(plain_fields(first.schema().fields())));
        let form = DatumForm::of_row(columns);
        Ok(Self { schema_text, projection, form, schema, idle: Mutex::new(vec![first]) })
    }

    fn take(&self) -> Result<Decoder> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| new_decoder(&self.schema_text, &self.projection), Ok)
    }

    fn give_back(&self, decoder: Decoder) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(decoder);
    }
}

fn new_decoder(schema_text: &str, projection: &[usize]) -> Result<Decoder> {
    let made = panics::caught(|| {
        let mut store = SchemaStore::new_with_type(FingerprintAlgorithm::Id);
        let id = Fingerprint::Id(SCHEMA_ID);
        store.set(id, AvroSchema::new(schema_text.to_owned()))?;
        let builder = ReaderBuilder::new()
            .with_decoder_mode(DecoderMode::UnframedDatum)
            .with_batch_size(BATCH_ROWS)
            .with_tz(Tz::Utc)
            .with_writer_schema_store(store)
            .with_active_fingerprint(id);
        builder.with_projection(projection.to_vec()).build_decoder()
    });
    match made {
        Ok(Ok(decoder)) => Ok(decoder),
        Ok(Err(error)) => Err(Error::unsupported(format!("its schema can't be read: {error}"))),
        Err(_) => Err(Error::unsupported("its schema can't be read")),
    }
}

/// The unpacked rows of a block.
#[derive(Debug)]
pub(super) struct UnpackedBlock {
    /// The position of the block in its file.
    pub at: u64,
    pub rows: u64,
    pub bytes: Vec<u8>,
}

/// The rows of blocks, batch by batch. After an error it ends.
pub(super) struct BlockRows<B> {
    decoders: Arc<FileDecoders>,
    blocks: B,
    decoder: Option<Decoder>,
    current: Option<OpenBlock>,
    batch_rows: usize,
    has_ended: bool,
}

/// A block and the place in it.
struct OpenBlock {
    block: UnpackedBlock,
    /// Bytes and rows before the next one.
    done_bytes: usize,
    done_rows: u64,
}

impl<B: Iterator<Item = Result<UnpackedBlock>>> BlockRows<B> {
    /// Batches of at most so many rows of these blocks of one file.
    pub fn new(decoders: Arc<FileDecoders>, blocks: B, batch_rows: usize) -> Self {
        let batch_rows = batch_rows.clamp(1, BATCH_ROWS);
        Self { decoders, blocks, decoder: None, current: None, batch_rows, has_ended: false }
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let mut decoder = match self.decoder.take() {
            Some(decoder) => decoder,
            None => self.decoders.take()?,
        };
        let (decoders, most_rows) = (Arc::clone(&self.decoders), self.batch_rows);
        let (mut rows, mut memory_bytes) = (0, 0);
        while rows < most_rows && memory_bytes < BATCH_BYTES {
            let Some(open) = self.open_block()? else { break };
            let at = open.block.at;
            let decoded = open.decode(&decoders.form, &mut decoder, most_rows - rows, memory_bytes);
            let (more, bytes) = decoded.map_err(|error| error.at(format!("block at byte {at}")))?;
            rows += more;
            memory_bytes += bytes;
        }
        let batch = match rows {
            0 => None,
            _ => Some(self.flush(&mut decoder, rows)?),
        };
        match batch {
            Some(_) => self.decoder = Some(decoder),
            None => self.decoders.give_back(decoder),
        }
        Ok(batch)
    }

    /// The block with the next row.
    fn open_block(&mut self) -> Result<Option<&mut OpenBlock>> {
        while self.current.as_ref().is_none_or(|open| open.done_rows == open.block.rows) {
            let Some(block) = self.blocks.next() else { return Ok(None) };
            let block = block?;
            let place = format!("block at byte {}", block.at);
            self.current = Some(OpenBlock::new(block).map_err(|error| error.at(place))?);
        }
        Ok(self.current.as_mut())
    }

    /// The rows that the decoder has, as a batch.
    fn flush(&self, decoder: &mut Decoder, rows: usize) -> Result<RecordBatch> {
        let batch = match panics::caught(|| decoder.flush()) {
            Ok(Ok(Some(batch))) => batch,
            Ok(Ok(None)) => return Err(Error::internal("rows were decoded, but there are none")),
            Ok(Err(error)) => return Err(Error::corrupt(format!("its values are not valid: {error}"))),
            Err(_) => return Err(Error::corrupt("its values can't be decoded")),
        };
        let plain =
            |(column, field): (_, &FieldRef)| conform(column, field.data_type(), field.data_type(), FindBy::Name);
        let columns =
            batch.columns().iter().zip(self.decoders.schema.fields()).map(plain).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.decoders.schema), columns, &options)
            .map_err(|error| Error::corrupt("its values don't fit its schema").because(error))
    }
}

impl<B: Iterator<Item = Result<UnpackedBlock>>> Iterator for BlockRows<B> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let next = self.next_batch().transpose();
        self.has_ended = !matches!(next, Some(Ok(_)));
        next
    }
}

impl OpenBlock {
    fn new(block: UnpackedBlock) -> Result<Self> {
        let bytes = block.bytes.len() as u64;
        if block.rows > bytes.max(EMPTY_ROWS) {
            return Err(Error::corrupt(format!("the block states {} rows, but has {bytes} bytes", block.rows)));
        }
        if block.rows == 0 && bytes > 0 {
            return Err(Error::corrupt(format!("the block states no rows, but has {bytes} bytes")));
        }
        Ok(Self { block, done_bytes: 0, done_rows: 0 })
    }

    /// Decodes up to so many rows, as long as they take little memory. Gives their number and their memory.
    fn decode(
        &mut self,
        form: &DatumForm,
        decoder: &mut Decoder,
        most_rows: usize,
        memory_before: u64,
    ) -> Result<(usize, u64)> {
        let (mut rows, mut memory_bytes) = (0, 0);
        while rows < most_rows && self.done_rows < self.block.rows && memory_before + memory_bytes < BATCH_BYTES {
            let row = &self.block.bytes[self.done_bytes..];
            let mut cursor = DatumCursor { rest: row, memory_bytes: 0, most_bytes: ROW_BYTES };
            let number = self.done_rows + 1;
            form.pass(&mut cursor).map_err(|fault| {
                let of = format!("row {number} of {} can't be read: {fault}", self.block.rows);
                if fault == TOO_LARGE { Error::unsupported(of) } else { Error::corrupt(of) }
            })?;
            let length = row.len() - cursor.rest.len();
            let damaged = |message: String| Error::corrupt(format!("row {number} can't be decoded{message}"));
            match panics::caught(|| decoder.decode(&row[..length])) {
                Ok(Ok(decoded)) if decoded == length => {}
                Ok(Ok(_)) => return Err(damaged(": its values end before it does".to_owned())),
                Ok(Err(error)) => return Err(damaged(format!(": {error}"))),
                Err(_) => return Err(damaged(String::new())),
            }
            self.done_bytes += length;
            self.done_rows = number;
            memory_bytes += cursor.memory_bytes;
            rows += 1;
        }
        let left = self.block.bytes.len() - self.done_bytes;
        if self.done_rows == self.block.rows && left > 0 {
            return Err(Error::corrupt(format!(
                "{left} bytes are left after the {} rows that the block states",
                self.block.rows
            )));
        }
        Ok((rows, memory_bytes))
    }
}

fn plain_fields(fields: &Fields) -> Fields {
    fields.iter().map(plain_field).collect()
}

fn plain_field(field: &FieldRef) -> FieldRef {
    let data_type = plain_type(field.data_type());
    let is_nullable = field.is_nullable() || data_type == DataType::Null;
    Arc::new(Field::new(field.name(), data_type, is_nullable))
}

/// The type without the notes on its fields. An enum is read as the texts of its symbols.
fn plain_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => values.as_ref().clone(),
        // Unions keep the names of their types.
        other => map_inner_fields(other, plain_field).unwrap_or_else(|| other.clone()),
    }
}
