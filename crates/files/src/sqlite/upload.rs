//! Contents that come in parts, of any length.

use std::borrow::Cow;
use std::sync::Arc;

use lakerace_io::{Error, Result};
use xxhash_rust::xxh3::Xxh3Default;

use super::catalog::PutAs;
use super::inner::Inner;
use super::reader::filled;
use super::record::{ContentPlace, chunk_id};
use super::statement::{BoundValue, PreparedStatement};
use super::writer::{PreparedFile, StoredBody};
use crate::encode::PIECE_BYTES;
use crate::file_metadata::{check_metadata, now_ms};
use crate::home::{ContentSink, PutOptions, Write, read_parts};
use crate::name::shown;

/// Encoded pieces that wait for a transaction, in bytes.
const BUFFER_BYTES: usize = 4 << 20;

/// An upload of pieces. They go into `chunks` a few megabytes a transaction, under a number that `uploads` holds until
/// the file's row exists.
pub(super) struct PieceUpload {
    inner: Arc<Inner>,
    name: String,
    options: PutOptions,
    put_as: Option<Arc<PutAs>>,
    /// The next piece as far as it has come.
    partial: Vec<u8>,
    encoded: Vec<Vec<u8>>,
    encoded_bytes: usize,
    /// Pieces that are in the store.
    stored: u64,
    size: u64,
    hash: Xxh3Default,
    place: Option<i64>,
}

impl PieceUpload {
    pub(super) fn new(inner: Arc<Inner>, name: &str, options: &PutOptions) -> Self {
        Self {
            inner,
            name: name.to_owned(),
            options: options.clone(),
            put_as: None,
            partial: Vec::new(),
            encoded: Vec::new(),
            encoded_bytes: 0,
            stored: 0,
            size: 0,
            hash: Xxh3Default::new(),
            place: None,
        }
    }

    fn encode_partial(&mut self) -> Result<()> {
        let put_as = match &self.put_as {
            Some(put_as) => Arc::clone(put_as),
            None => {
                let made = self.inner.put_as(self.options.compression.unwrap_or(self.inner.compression))?;
                self.put_as.insert(made).clone()
            }
        };
        let mut stored = Vec::new();
        let piece = self.stored + self.encoded.len() as u64;
        put_as.encoding.encode(piece, &self.partial, put_as.level, &mut stored)?;
        self.hash.update(if put_as.encoding.chain.is_empty() { &self.partial } else { &stored });
        self.encoded_bytes += stored.len();
        self.encoded.push(stored);
        self.partial.clear();
        if self.encoded_bytes >= BUFFER_BYTES {
            self.store_encoded()?;
        }
        Ok(())
    }

    fn store_encoded(&mut self) -> Result<()> {
        let Self { inner, encoded, stored, place, .. } = self;
        let mut at = *place;
        inner.write(|writer| {
            let now = now_ms();
            let known = match *place {
                Some(known) => known,
                None => writer.begin_upload(now)?,
            };
            at = Some(known);
            writer.touch_upload(known, now)?;
            (*stored..).zip(encoded.iter()).try_for_each(|(piece, bytes)| writer.add_chunk(known, piece, bytes))
        })?;
        *place = at;
        *stored += encoded.len() as u64;
        encoded.clear();
        self.encoded_bytes = 0;
        Ok(())
    }

    /// A written piece, from memory or from the store.
    fn written_piece(&self, piece: u64) -> Result<Cow<'_, [u8]>> {
        if piece >= self.stored + self.encoded.len() as u64 {
            return Ok(Cow::Borrowed(&self.partial));
        }
        let put_as = self.put_as.as_ref().ok_or_else(|| Error::internal("the pieces have no encoding"))?;
        let mut bytes = Vec::new();
        let mut decode = |stored: &[u8]| {
            put_as.encoding.decode(piece, stored, bytes.begin(PIECE_BYTES)?)?;
            filled(&mut bytes, PIECE_BYTES);
            Ok(())
        };
        match (self.place, piece.checked_sub(self.stored)) {
            (_, Some(waiting)) => decode(&self.encoded[waiting as usize])?,
            (Some(place), None) => self.inner.read(|reader, _| {
                let id = BoundValue::Int(chunk_id(place, piece));
                let find = "SELECT data FROM chunks WHERE id=?1";
                let found =
                    PreparedStatement::prepare(&reader.connection, find)?.first(&[id], |row| decode(row.bytes(0)))?;
                found.ok_or_else(|| Error::conflict("the upload was abandoned, because nothing arrived for an hour"))
            })?,
            (None, None) => return Err(Error::internal("the pieces have no place")),
        }
        Ok(Cow::Owned(bytes))
    }

    fn publish(&mut self) -> Result<()> {
        // Small after all.
        if self.place.is_none() && self.encoded.is_empty() {
            let prepared = self.inner.prepare(&self.partial, &self.options)?;
            return self.inner.write(|writer| writer.put(&self.name, &prepared));
        }
        if !self.partial.is_empty() {
            self.encode_partial()?;
        }
        self.store_encoded()?;
        check_metadata(self.options.metadata.as_deref())?;
        let place = self.place.unwrap_or_default();
        let prepared = PreparedFile {
            size: self.size,
            mtime_ms: self.options.mtime_ms.unwrap_or_else(now_ms),
            encoding: self.put_as.as_ref().map_or(0, |put_as| put_as.id),
            checksum: self.hash.digest(),
            metadata: self.options.metadata.as_deref().map(Cow::Borrowed),
            body: StoredBody::At(ContentPlace::Chunks(place)),
            if_exists: self.options.if_exists,
        };
        self.inner.write(|writer| {
            writer.touch_upload(place, now_ms())?;
            writer.put(&self.name, &prepared)?;
            writer.end_upload(place, true)
        })?;
        self.place = None;
        Ok(())
    }
}

impl Write for PieceUpload {
    fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        let write = || {
            while !bytes.is_empty() {
                // Kept back, so that a content of exactly one piece may be put whole.
                if self.partial.len() == PIECE_BYTES {
                    self.encode_partial()?;
                }
                let (now, later) = bytes.split_at(bytes.len().min(PIECE_BYTES - self.partial.len()));
                self.partial.extend_from_slice(now);
                self.size += now.len() as u64;
                bytes = later;
            }
            Ok(())
        };
        let written: Result<()> = { write }();
        written.map_err(|e| e.at(shown(&self.name)).at(&self.inner.location))
    }

    fn read_back(&mut self, offset: u64, out: &mut [u8]) -> Result<usize> {
        read_parts((offset, self.size), out, PIECE_BYTES, |piece| self.written_piece(piece))
            .map_err(|e| e.at(shown(&self.name)).at(&self.inner.location))
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.publish().map_err(|e| e.at(shown(&self.name)).at(&self.inner.location))
    }
}

impl Drop for PieceUpload {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            // Pieces that stay are removed when the store is compacted.
            let _ = self.inner.write(|writer| writer.end_upload(place, false));
        }
    }
}
