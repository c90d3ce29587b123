//! Files of Arrow IPC by their footer, which names the position of each message. polars writes files that can't be read
//! from the front: their dictionaries follow the batches, and the schema has no length.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::buffer::Buffer;
use arrow::datatypes::SchemaRef;
use arrow::ipc::convert::try_fb_to_schema;
use arrow::ipc::reader::FileDecoder;
use arrow::ipc::{Block, root_as_footer};
use arrow::record_batch::RecordBatch;
use lakerace_io::{Error, Object, Result, panics};

use super::FILE_MAGIC;

/// Bytes after the footer: its length, and the magic.
const TAIL_BYTES: u64 = 4 + FILE_MAGIC.len() as u64;

/// Bytes of a footer at most.
const MAX_FOOTER_BYTES: u64 = 256 << 20;

/// The footer of a file.
pub(super) struct IpcFooter {
    pub schema: SchemaRef,
    decoder: FileDecoder,
    dictionaries: Vec<Block>,
    batches: VecDeque<Block>,
    /// Its position, before which all messages end.
    start: u64,
}

impl IpcFooter {
    /// Reads the footer.
    ///
    /// # Errors
    /// `Corrupt` for a file without a sound one.
    pub fn read(object: &Object) -> Result<Self> {
        let size = object.size_bytes.unwrap_or(0);
        let no_footer = || damaged("it does not end with a footer");
        let tail_start = size.checked_sub(TAIL_BYTES).ok_or_else(no_footer)?;
        let tail = object.read_range(tail_start..size)?;
        let (length, magic) = tail.split_first_chunk::<4>().ok_or_else(no_footer)?;
        let length = u64::from(u32::from_le_bytes(*length));
        let start = tail_start.checked_sub(length).filter(|_| magic == FILE_MAGIC && length <= MAX_FOOTER_BYTES);
        let start = start.ok_or_else(no_footer)?;
        let bytes = object.read_range(start..tail_start)?;
        panics::caught(|| Self::parse(&bytes, start)).map_err(|_| damaged("its footer can't be decoded"))?
    }

    fn parse(bytes: &[u8], start: u64) -> Result<Self> {
        let footer = root_as_footer(bytes).map_err(|e| damaged(&format!("its footer can't be decoded: {e}")))?;
        let schema = footer.schema().ok_or_else(|| damaged("its footer has no schema"))?;
        let schema = try_fb_to_schema(schema).map_err(|e| damaged(&format!("its schema can't be decoded: {e}")))?;
        let schema = Arc::new(schema);
        Ok(Self {
            decoder: FileDecoder::new(Arc::clone(&schema), footer.version()),
            schema,
            dictionaries: footer.dictionaries().into_iter().flatten().copied().collect(),
            batches: footer.recordBatches().into_iter().flatten().copied().collect(),
            start,
        })
    }

    /// Returns true if all dictionaries precede the batches, as in a stream.
    pub fn is_in_order(&self) -> bool {
        let last_dictionary = self.dictionaries.iter().map(Block::offset).max();
        let first_batch = self.batches.iter().map(Block::offset).min();
        last_dictionary.is_none_or(|dictionary| first_batch.is_none_or(|batch| dictionary < batch))
    }

    /// Reads the dictionaries, for a read of all batches.
    ///
    /// # Errors
    /// `Corrupt` for a damaged message.
    pub fn into_blocks(self, object: &Object) -> Result<IpcBlockReader> {
        let Self { mut decoder, dictionaries, batches, start, .. } = self;
        for block in &dictionaries {
            let message = read_message(object, block, start)?;
            decoded(|| decoder.read_dictionary(block, &message))?;
        }
        Ok(IpcBlockReader { object: object.clone(), decoder, batches, end: start })
    }
}

/// The batches of a file in the order of its footer, each read by a request.
pub(super) struct IpcBlockReader {
    object: Object,
    decoder: FileDecoder,
    batches: VecDeque<Block>,
    end: u64,
}

impl IpcBlockReader {
    /// The next batch; `None` after the last one.
    ///
    /// # Errors
    /// `Corrupt` for a damaged message.
    pub fn next(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(block) = self.batches.pop_front() {
            let message = read_message(&self.object, &block, self.end)?;
            if let Some(batch) = decoded(|| self.decoder.read_record_batch(&block, &message))? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

/// The bytes of a message and its body.
fn read_message(object: &Object, block: &Block, end: u64) -> Result<Buffer> {
    let offset = u64::try_from(block.offset()).ok();
    let length = u64::try_from(block.metaDataLength()).ok().zip(u64::try_from(block.bodyLength()).ok());
    let range = offset.zip(length).and_then(|(offset, (metadata, body))| {
        let message_end = offset.checked_add(metadata)?.checked_add(body)?;
        (message_end <= end).then_some(offset..message_end)
    });
    let range = range.ok_or_else(|| damaged("its footer names a message outside of the file"))?;
    Ok(Buffer::from(object.read_range(range)?))
}

fn decoded<T>(decode: impl FnOnce() -> std::result::Result<T, arrow::error::ArrowError>) -> Result<T> {
    let decoded = panics::caught(decode).map_err(|_| damaged("a message can't be decoded"))?;
    decoded.map_err(|error| damaged(&format!("a message can't be decoded: {error}")))
}

fn damaged(problem: &str) -> Error {
    Error::corrupt(format!("the Arrow IPC file is damaged: {problem}"))
}
