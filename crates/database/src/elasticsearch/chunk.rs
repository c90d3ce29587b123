//! Rows on their way: the lines of a request, and the row of each line.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use arrow::record_batch::RecordBatch;
use bytes::{Bytes, BytesMut};

/// A row of a request.
#[derive(Debug, Clone)]
pub(super) struct BulkItem {
    /// Its lines in the chunk.
    pub lines: Range<usize>,
    /// How many bytes the first of them has, which names the document.
    pub first_line: usize,
    /// Which of the chunk's batches it is from.
    pub batch: usize,
    /// Its row there.
    pub row: usize,
    /// Its number in the load, from 0.
    pub number: u64,
}

/// Rows that are sent together, unless the server wants smaller requests.
#[derive(Debug, Default)]
pub(super) struct RequestChunk {
    pub body: Bytes,
    pub items: Vec<BulkItem>,
    pub batches: Vec<RecordBatch>,
    /// Hashes of the documents' names, where two rows may have one.
    pub names: Vec<u64>,
    /// True if two of these rows may have one name.
    pub has_doubles: bool,
}

impl RequestChunk {
    /// The lines of these rows. Rows that follow on each other are not copied.
    pub fn body_of(&self, items: &[BulkItem]) -> Bytes {
        let Some((first, last)) = items.first().zip(items.last()) else { return Bytes::new() };
        if items.windows(2).all(|pair| pair[0].lines.end == pair[1].lines.start) {
            return self.body.slice(first.lines.start..last.lines.end);
        }
        let mut body = BytesMut::with_capacity(items.iter().map(|item| item.lines.len()).sum());
        for item in items {
            body.extend_from_slice(&self.body[item.lines.clone()]);
        }
        body.freeze()
    }

    /// The line that names an item's document.
    pub fn name_of(&self, item: &BulkItem) -> &[u8] {
        &self.body[item.lines.start..item.lines.start + item.first_line]
    }

    /// The document of an item.
    pub fn source_of(&self, item: &BulkItem) -> &[u8] {
        &self.body[item.lines.start + item.first_line..item.lines.end]
    }

    /// Leaves out rows after which another one of the same document has been taken: sent again, they would win.
    pub fn without_overtaken(&self, again: Vec<BulkItem>, taken: &[BulkItem]) -> (Vec<BulkItem>, u64) {
        if !self.has_doubles {
            return (again, 0);
        }
        let mut newest: HashMap<&[u8], u64> = HashMap::new();
        for item in taken {
            let number = newest.entry(self.name_of(item)).or_default();
            *number = (*number).max(item.number);
        }
        let before = again.len();
        let is_newest = |item: &BulkItem| newest.get(self.name_of(item)).is_none_or(|number| *number < item.number);
        let left: Vec<BulkItem> = again.into_iter().filter(is_newest).collect();
        let overtaken = before - left.len();
        (left, overtaken as u64)
    }
}

/// A chunk that grows.
#[derive(Debug, Default)]
pub(super) struct RequestChunkBuilder {
    pub lines: Vec<u8>,
    items: Vec<BulkItem>,
    batches: Vec<RecordBatch>,
    names: HashMap<u64, ()>,
    has_doubles: bool,
    hasher: RandomState,
}

impl RequestChunkBuilder {
    /// Starts a batch: the next rows belong to it.
    pub fn begin(&mut self, batch: &RecordBatch) {
        self.batches.push(batch.clone());
    }

    /// The hash of the name that starts at `start`.
    pub fn hash(&self, start: usize, first_line: usize) -> u64 {
        self.hasher.hash_one(&self.lines[start..start + first_line])
    }

    /// Adds the row whose lines start at `start`. `name` is its hash, where two rows may have one name.
    pub fn push(&mut self, start: usize, first_line: usize, row: usize, number: u64, name: Option<u64>) {
        let batch = self.batches.len().saturating_sub(1);
        self.items.push(BulkItem { lines: start..self.lines.len(), first_line, batch, row, number });
        if let Some(name) = name {
            self.has_doubles |= self.names.insert(name, ()).is_some();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Takes the chunk so far. Later rows start another one, of the same batch.
    pub fn take(&mut self) -> RequestChunk {
        let capacity = self.lines.capacity();
        let lines = std::mem::replace(&mut self.lines, Vec::with_capacity(capacity));
        let batches = std::mem::take(&mut self.batches);
        self.batches.extend(batches.last().cloned());
        RequestChunk {
            body: Bytes::from(lines),
            items: std::mem::take(&mut self.items),
            batches,
            names: std::mem::take(&mut self.names).into_keys().collect(),
            has_doubles: std::mem::take(&mut self.has_doubles),
        }
    }
}
