//! Files of Arrow IPC by their footer, which names the position of each message. Some writers, such as polars, put
//! dictionaries after the batches that need them.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow::buffer::{Buffer, MutableBuffer};
use arrow::datatypes::SchemaRef;
use arrow::ipc::{Block, root_as_footer};
use arrow::record_batch::RecordBatch;
use bytes::Bytes;
use lakerace_io::{Error, Object, ObjectTail, Result};

use super::FILE_MAGIC;
use super::message::{
    CONTINUATION, IpcMessageDecoder, MAX_METADATA_BYTES, arrow_schema, body_bytes, damaged, parse_message, summary,
};

/// Bytes after the footer: its length, and the magic.
const END_BYTES: u64 = 4 + FILE_MAGIC.len() as u64;

/// Bytes of a footer at most.
const MAX_FOOTER_BYTES: u64 = 256 << 20;

/// Bytes of messages that one request reads, unless a single message is longer.
const STEP_BYTES: u64 = 1 << 20;

/// Bytes between messages that are read with them.
const MAX_GAP_BYTES: u64 = 4096;

/// A longer message is read in parts of this size, once its metadata agrees with its length.
const LONG_MESSAGE_BYTES: u64 = 64 << 20;

/// The footer of a file.
pub(super) struct IpcFooter {
    /// The columns.
    pub schema: SchemaRef,
    dictionaries: Vec<MessagePlace>,
    batches: Vec<MessagePlace>,
}

impl IpcFooter {
    /// Reads the footer of a file that ends with `tail`.
    ///
    /// # Errors
    /// `Corrupt` for a file without a sound footer.
    pub fn read(object: &Object, tail: &ObjectTail) -> Result<Self> {
        let (before, end) = tail.bytes.split_last_chunk::<{ END_BYTES as usize }>().ok_or_else(no_footer)?;
        let (length, magic) = end.split_first_chunk::<4>().ok_or_else(no_footer)?;
        let length = u64::from(u32::from_le_bytes(*length));
        let footer_end = tail.size_bytes.saturating_sub(END_BYTES);
        let start = footer_end.checked_sub(length).filter(|_| magic == FILE_MAGIC && length <= MAX_FOOTER_BYTES);
        let start = start.ok_or_else(no_footer)?;
        let bytes = match (before.len() as u64).checked_sub(length) {
            Some(at) => Bytes::copy_from_slice(&before[at as usize..]),
            None => object.read_range(start..footer_end)?,
        };
        Self::parse(&bytes, start)
    }

    /// Parses a footer at the position `start`, before which all messages end.
    fn parse(bytes: &[u8], start: u64) -> Result<Self> {
        let footer =
            root_as_footer(bytes).map_err(|e| damaged(format!("its footer can't be decoded: {}", summary(&e))))?;
        let schema = footer.schema().ok_or_else(|| damaged("its footer has no schema"))?;
        let place = |block: &Block| MessagePlace::from_block(block, start);
        let footer = Self {
            schema: arrow_schema(schema)?,
            dictionaries: footer.dictionaries().into_iter().flatten().map(place).collect::<Result<_>>()?,
            batches: footer.recordBatches().into_iter().flatten().map(place).collect::<Result<_>>()?,
        };
        footer.refuse_overlaps()?;
        Ok(footer)
    }

    fn refuse_overlaps(&self) -> Result<()> {
        let mut ranges: Vec<Range<u64>> =
            self.dictionaries.iter().chain(&self.batches).map(MessagePlace::range).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        match ranges.windows(2).any(|pair| pair[1].start < pair[0].end) {
            true => Err(damaged("its footer names messages that overlap")),
            false => Ok(()),
        }
    }

    /// Reads the dictionaries, for a read of all batches.
    ///
    /// # Errors
    /// `Corrupt` for a damaged message.
    pub fn read_batches(&self, object: &Object) -> Result<IpcBatchReader> {
        let mut decoder = IpcMessageDecoder::new(Arc::clone(&self.schema));
        let mut dictionaries = MessageReader::new(object, &self.dictionaries);
        while let Some(message) = dictionaries.next()? {
            if message.decode(&mut decoder)?.is_some() {
                return Err(damaged("its footer names a batch as a dictionary"));
            }
        }
        Ok(IpcBatchReader { decoder, batches: MessageReader::new(object, &self.batches) })
    }
}

/// The error for a file without an end.
pub(super) fn no_footer() -> Error {
    damaged("it does not end with a footer")
}

/// The batches of a file, in the order of its footer.
pub(super) struct IpcBatchReader {
    decoder: IpcMessageDecoder,
    batches: MessageReader,
}

impl IpcBatchReader {
    /// The next batch; `None` after the last one.
    ///
    /// # Errors
    /// `Corrupt` for a damaged message.
    pub fn next(&mut self) -> Result<Option<RecordBatch>> {
        let Some(message) = self.batches.next()? else { return Ok(None) };
        let batch = message.decode(&mut self.decoder)?;
        batch.map(Some).ok_or_else(|| damaged("its footer names another message as a batch"))
    }
}

/// The position of a message, and the bytes of its two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MessagePlace {
    offset: u64,
    /// With the length before the metadata, and the padding after it.
    metadata_bytes: u64,
    body_bytes: u64,
}

impl MessagePlace {
    /// The place that a footer names, which must be after the magic and before `end`.
    fn from_block(block: &Block, end: u64) -> Result<Self> {
        let outside = || damaged("its footer names a message outside of the file");
        let number = |number: i64| u64::try_from(number).map_err(|_| outside());
        let (offset, metadata_bytes) = (number(block.offset())?, number(block.metaDataLength().into())?);
        let body_bytes = number(block.bodyLength())?;
        let message_end = offset.checked_add(metadata_bytes).and_then(|body| body.checked_add(body_bytes));
        match message_end.is_some_and(|message_end| message_end <= end) && offset >= FILE_MAGIC.len() as u64 {
            true => Ok(Self { offset, metadata_bytes, body_bytes }),
            false => Err(outside()),
        }
    }

    fn body_start(&self) -> u64 {
        self.offset + self.metadata_bytes
    }

    fn range(&self) -> Range<u64> {
        self.offset..self.body_start() + self.body_bytes
    }
}

/// A message that has been read.
struct StoredMessage {
    metadata: Bytes,
    body: Buffer,
}

impl StoredMessage {
    fn decode(&self, decoder: &mut IpcMessageDecoder) -> Result<Option<RecordBatch>> {
        let message = parse_message(without_length(&self.metadata)?)?;
        match body_bytes(&message)? == self.body.len() as u64 {
            true => decoder.decode(message, &self.body),
            false => Err(damaged("its footer states another length of a message than the message itself")),
        }
    }
}

/// The metadata after its length, which has a mark before it in files of 2019 and later.
fn without_length(metadata: &[u8]) -> Result<&[u8]> {
    let rest = metadata.strip_prefix(&CONTINUATION).unwrap_or(metadata);
    rest.get(4..).ok_or_else(|| damaged("its footer names a message without metadata"))
}

/// Reads messages one after the other. A request reads several short ones.
struct MessageReader {
    object: Object,
    places: VecDeque<MessagePlace>,
    /// Bytes that have been read, from the position `window_start` on.
    window: Bytes,
    window_start: u64,
}

impl MessageReader {
    fn new(object: &Object, places: &[MessagePlace]) -> Self {
        let places = places.iter().copied().collect();
        Self { object: object.clone(), places, window: Bytes::new(), window_start: 0 }
    }

    fn next(&mut self) -> Result<Option<StoredMessage>> {
        let Some(place) = self.places.pop_front() else { return Ok(None) };
        if place.range().end - place.offset > LONG_MESSAGE_BYTES {
            return self.long_message(place).map(Some);
        }
        let (start, end) = (self.window_start, self.window_start + self.window.len() as u64);
        if place.offset < start || end < place.range().end {
            self.window = self.object.read_range(place.offset..self.step_end(place))?;
            self.window_start = place.offset;
        }
        let from = (place.offset - self.window_start) as usize;
        let message = self.window.slice(from..from + (place.range().end - place.offset) as usize);
        let metadata = message.slice(..place.metadata_bytes as usize);
        let body = Buffer::from(message.slice(place.metadata_bytes as usize..));
        Ok(Some(StoredMessage { metadata, body }))
    }

    /// The end of a message and of those after it that are read by the same request.
    fn step_end(&self, first: MessagePlace) -> u64 {
        let mut end = first.range().end;
        for range in self.places.iter().map(MessagePlace::range) {
            let is_near = (end..=end.saturating_add(MAX_GAP_BYTES)).contains(&range.start);
            if !is_near || range.end - first.offset > STEP_BYTES {
                break;
            }
            end = range.end;
        }
        end
    }

    /// A message of any length that its metadata confirms, which is read step by step.
    fn long_message(&self, place: MessagePlace) -> Result<StoredMessage> {
        if place.metadata_bytes > MAX_METADATA_BYTES {
            return Err(damaged("its footer names a message with too much metadata"));
        }
        let metadata = self.object.read_range(place.offset..place.body_start())?;
        let length = body_bytes(&parse_message(without_length(&metadata)?)?)?.min(place.body_bytes);
        let no_memory = |error: arrow::buffer::MutableBufferError| {
            Error::unavailable(format!("there is not enough memory for a message of {length} bytes: {error}"))
        };
        let (mut body, end) = (MutableBuffer::new(0), place.body_start() + length);
        for start in (place.body_start()..end).step_by(LONG_MESSAGE_BYTES as usize) {
            let part = self.object.read_range(start..end.min(start + LONG_MESSAGE_BYTES))?;
            body.try_extend_from_slice(&part).map_err(no_memory)?;
        }
        Ok(StoredMessage { metadata, body: body.into() })
    }
}
