//! Messages of Arrow IPC: their rows and dictionaries. All numbers in them are checked, as they may be damaged.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::buffer::Buffer;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::convert::try_fb_to_schema;
use arrow::ipc::reader::{RecordBatchDecoder, read_dictionary};
use arrow::ipc::{CompressionType, Message, MessageHeader, RecordBatch as BatchMessage, root_as_message};
use arrow::record_batch::RecordBatch;
use lakerace_io::{Error, Result, panics};

use crate::impossible_types::ImpossibleType;

/// The four bytes before the length of a message. Files of before 2019 lack them.
pub(super) const CONTINUATION: [u8; 4] = [0xff; 4];

/// Bytes of a message's metadata at most.
pub(super) const MAX_METADATA_BYTES: u64 = 256 << 20;

/// Unpacked bytes for each byte of a packed buffer at most: zstd packs 128 KiB in a block of 4 bytes, and LZ4 repeats up to
/// 255 bytes by one.
const MAX_ZSTD_RATIO: u64 = 1 << 15;
const MAX_LZ4_RATIO: u64 = 255;

/// Bytes before each packed buffer: the length of its content.
const LENGTH_BYTES: usize = 8;

/// The length of a buffer's content that says that it is not packed.
const NOT_PACKED: i64 = -1;

/// Decodes the dictionaries and batches of one schema.
pub(super) struct IpcMessageDecoder {
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
}

impl IpcMessageDecoder {
    /// Starts without dictionaries.
    pub fn new(schema: SchemaRef) -> Self {
        Self { schema, dictionaries: HashMap::new() }
    }

    /// The rows of a message; `None` for a dictionary, which is kept for the batches after it.
    ///
    /// # Errors
    /// `Corrupt` for a damaged message, and for one of another kind.
    pub fn decode(&mut self, message: Message<'_>, body: &Buffer) -> Result<Option<RecordBatch>> {
        decoded(|| match message.header_type() {
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch().ok_or_else(|| damaged("a batch has no content"))?;
                check_numbers(&batch, body)?;
                let schema = Arc::clone(&self.schema);
                RecordBatchDecoder::try_new(body, batch, schema, &self.dictionaries, &message.version())
                    .and_then(RecordBatchDecoder::read_record_batch)
                    .map(Some)
                    .map_err(|error| undecodable(&error))
            }
            MessageHeader::DictionaryBatch => {
                let dictionary = message.header_as_dictionary_batch();
                let dictionary = dictionary.ok_or_else(|| damaged("a dictionary has no content"))?;
                let values = dictionary.data().ok_or_else(|| damaged("a dictionary has no values"))?;
                check_numbers(&values, body)?;
                read_dictionary(body, dictionary, &self.schema, &mut self.dictionaries, &message.version())
                    .map(|()| None)
                    .map_err(|error| undecodable(&error))
            }
            MessageHeader::NONE => Ok(None),
            MessageHeader::Schema => Err(damaged("a schema is among its rows")),
            other => Err(Error::unsupported(format!("Arrow IPC with messages of the kind {other:?}"))),
        })
    }
}

/// The message in `metadata`, which may be followed by padding.
///
/// # Errors
/// `Corrupt`.
pub(super) fn parse_message(metadata: &[u8]) -> Result<Message<'_>> {
    root_as_message(metadata).map_err(|error| damaged(format!("a message can't be decoded: {}", summary(&error))))
}

/// The length of a message's body.
///
/// # Errors
/// `Corrupt`.
pub(super) fn body_bytes(message: &Message<'_>) -> Result<u64> {
    u64::try_from(message.bodyLength()).map_err(|_| damaged("a message has a negative length"))
}

/// The Arrow schema of a schema message, or of a footer.
///
/// # Errors
/// `Corrupt`, and `Unsupported` for numbers whose first byte is the highest one.
pub(super) fn arrow_schema(schema: arrow::ipc::Schema<'_>) -> Result<SchemaRef> {
    if !schema.endianness().equals_to_target_endianness() {
        return Err(Error::unsupported("Arrow IPC in the byte order of another kind of machine")
            .advice("write it again with pyarrow, which turns the bytes around when it reads"));
    }
    let convert = || try_fb_to_schema(schema).map_err(|e| damaged(format!("its schema can't be decoded: {e}")));
    let schema = decoded(convert)?;
    match ImpossibleType::find(&schema) {
        Some(found) => Err(damaged(found)),
        None => Ok(Arc::new(schema)),
    }
}

/// The outcome of a call of the arrow crate, which panics on some damaged messages.
fn decoded<T>(decode: impl FnOnce() -> Result<T>) -> Result<T> {
    let shortage = |payload: Box<dyn std::any::Any + Send>| panics::shortage(&*payload);
    panics::caught(decode)
        .map_err(|payload| shortage(payload).unwrap_or_else(|| damaged("a message can't be decoded")))?
}

/// Checks numbers that the arrow crate trusts: counts of rows and nulls, and the positions and unpacked lengths of buffers.
fn check_numbers(batch: &BatchMessage<'_>, body: &[u8]) -> Result<()> {
    if batch.length() < 0 {
        return Err(damaged("a batch has a negative number of rows"));
    }
    for node in batch.nodes().into_iter().flatten() {
        if node.null_count() < 0 || node.length() < node.null_count() {
            let (nulls, rows) = (node.null_count(), node.length());
            return Err(damaged(format!("a column has {nulls} nulls in {rows} rows")));
        }
    }
    let codec = batch.compression().map(|compression| compression.codec());
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).ok();
        let range = start.zip(usize::try_from(buffer.length()).ok());
        let range = range.and_then(|(start, length)| Some(start..start.checked_add(length)?));
        let stored = range.and_then(|range| body.get(range));
        let stored = stored.ok_or_else(|| damaged("a buffer is outside of its message"))?;
        if let Some(codec) = codec.filter(|_| !stored.is_empty()) {
            check_packed(stored, codec)?;
        }
    }
    Ok(())
}

/// Checks the unpacked length of a packed buffer. The arrow crate allocates as much, and an allocation that fails ends the
/// process.
fn check_packed(stored: &[u8], codec: CompressionType) -> Result<()> {
    let (length, packed) = stored
        .split_first_chunk::<LENGTH_BYTES>()
        .ok_or_else(|| damaged("a packed buffer is shorter than its length"))?;
    let length = i64::from_le_bytes(*length);
    if length == NOT_PACKED {
        return Ok(());
    }
    let ratio = if codec == CompressionType::LZ4_FRAME { MAX_LZ4_RATIO } else { MAX_ZSTD_RATIO };
    let most = (packed.len() as u64).saturating_mul(ratio);
    let length = u64::try_from(length).ok().filter(|length| *length <= most);
    let length = length.ok_or_else(|| damaged("a packed buffer has the length of another one"))?;
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    Vec::<u8>::new().try_reserve_exact(length).map_err(|error| {
        Error::unavailable(format!("there is not enough memory for {length} bytes of a message")).because(error)
    })
}

fn undecodable(error: &ArrowError) -> Error {
    match error {
        ArrowError::MemoryError(_) => Error::unavailable(format!("there is not enough memory for a message: {error}")),
        _ => damaged(format!("a message can't be decoded: {error}")),
    }
}

/// The first line of an error, without the path to the damaged part.
pub(super) fn summary(error: &impl Display) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// The error for damaged bytes.
pub(super) fn damaged(problem: impl Display) -> Error {
    Error::corrupt(format!("the Arrow IPC data is damaged: {problem}")).advice("download or create the file again")
}
