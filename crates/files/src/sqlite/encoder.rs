//! From contents to their stored form.

use std::borrow::Cow;
use std::sync::Arc;

use lakerace_io::{Error, ErrorKind, Result};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use super::catalog::PutAs;
use super::inner::Inner;
use super::schema::SHORT_BYTES;
use super::schema::{add_encoding, check_sum};
use super::statement::{BoundValue, PreparedStatement, pragma};
use super::writer::{PreparedFile, StoreWriter, StoredBody};
use crate::encode::{PIECE_BYTES, TrainedDictionary, TrainingSamples};
use crate::file_metadata::{check_metadata, now_ms};
use crate::home::PutOptions;
use crate::options::{Codec, Compression};

impl Inner {
    /// Encodes a content into its stored form.
    pub(super) fn prepare<'a>(&self, data: &'a [u8], options: &'a PutOptions) -> Result<PreparedFile<'a>> {
        self.prepare_in(None, data, options)
    }

    /// Prepares in the transaction that `writer` is in.
    pub(super) fn prepare_in<'a>(
        &self,
        writer: Option<&mut StoreWriter>,
        data: &'a [u8],
        options: &'a PutOptions,
    ) -> Result<PreparedFile<'a>> {
        check_metadata(options.metadata.as_deref())?;
        let compression = options.compression.unwrap_or(self.compression);
        if writer.is_none() {
            self.sample(compression, data)?;
        }
        let put_as = self.put_as_in(writer, compression)?;
        let (checksum, body) = encode(&put_as, data)?;
        Ok(PreparedFile {
            size: data.len() as u64,
            mtime_ms: options.mtime_ms.unwrap_or_else(now_ms),
            encoding: put_as.id,
            checksum,
            metadata: options.metadata.as_deref().map(Cow::Borrowed),
            body,
            if_exists: options.if_exists,
        })
    }

    /// How contents of `compression` are put.
    pub(super) fn put_as(&self, compression: Compression) -> Result<Arc<PutAs>> {
        self.put_as_in(None, compression)
    }

    pub(super) fn put_as_in(&self, writer: Option<&mut StoreWriter>, compression: Compression) -> Result<Arc<PutAs>> {
        if let Some(known) = self.catalog.put_as(compression) {
            return Ok(known);
        }
        let dictionary = if compression.dictionary { self.newest_dictionary()? } else { None };
        let encoding = self.catalog.toolbox.encoding(compression, dictionary);
        let (id, is_committed) = self.encoding_id(writer, compression.codec, &encoding.text)?;
        let put_as = PutAs { id, encoding, level: compression.level };
        // A number of a transaction that is open is no one's where that is taken back: other threads must not use it.
        if is_committed { Ok(self.catalog.learn(compression, put_as)) } else { Ok(Arc::new(put_as)) }
    }

    fn newest_dictionary(&self) -> Result<Option<Arc<TrainedDictionary>>> {
        self.read(|reader, catalog| {
            let newest = pragma(&reader.connection, "SELECT coalesce(max(id), 0) FROM dictionaries")?;
            match u32::try_from(newest) {
                Ok(0) | Err(_) => Ok(None),
                Ok(id) => catalog.dictionary(id, &reader.connection).map(Some),
            }
        })
    }

    /// The number of an encoding, which is added where the store has none of that text, and whether that is committed.
    fn encoding_id(&self, writer: Option<&mut StoreWriter>, codec: Codec, text: &str) -> Result<(i64, bool)> {
        if text == codec.name() {
            return Codec::ALL
                .iter()
                .position(|known| *known == codec)
                .map(|id| (id as i64, true))
                .ok_or_else(|| Error::internal("the codec has no number"));
        }
        let find = |connection: &rusqlite::Connection| {
            PreparedStatement::prepare(connection, "SELECT id FROM encodings WHERE encoding=?1")?
                .first(&[BoundValue::Text(text.as_bytes())], |row| Ok(row.int(0)))
        };
        if let Some(id) = self.read(|reader, _| find(&reader.connection))? {
            return Ok((id, true));
        }
        let mut added = 0;
        let mut add = |writer: &mut StoreWriter| {
            writer.is_dirty = true;
            added = match find(&writer.connection)? {
                Some(id) => id,
                None => {
                    let id = pragma(&writer.connection, "SELECT max(id) + 1 FROM encodings")?;
                    add_encoding(&writer.connection, id, text)?;
                    id
                }
            };
            Ok(())
        };
        let is_committed = writer.is_none();
        match writer {
            Some(writer) => add(writer)?,
            None => self.write(add)?,
        }
        Ok((added, is_committed))
    }

    /// Keeps a small content to train a dictionary from, and trains it when there are enough of them.
    fn sample(&self, compression: Compression, data: &[u8]) -> Result<()> {
        if !compression.dictionary || self.put_as(compression)?.encoding.dictionary.is_some() {
            return Ok(());
        }
        let samples = {
            let mut samples = self.catalog.samples();
            samples.add(data);
            if !samples.is_enough() {
                return Ok(());
            }
            std::mem::take(&mut *samples)
        };
        // Another process may have trained one in the meantime.
        if self.newest_dictionary()?.is_some() {
            self.catalog.forget_put();
            return Ok(());
        }
        match self.add_dictionary(&samples) {
            Err(e) if e.kind() == ErrorKind::Invalid => {
                self.warn(format!("{}: files are compressed without one", e.message()));
                Ok(())
            }
            other => other.map(drop),
        }
    }

    /// Trains a dictionary from the small files of the store.
    pub(super) fn train(&self) -> Result<u32> {
        let files = self.read(|reader, _| pragma(&reader.connection, "SELECT count(*) FROM files"))?;
        // So that samples are from everywhere.
        let step = (files as usize / 8_000).max(1);
        let (mut samples, mut from, mut seen) = (TrainingSamples::default(), String::new(), 0_usize);
        let mut content = Vec::new();
        loop {
            let page = self.read(|reader, _| reader.list("", &from, 1_000))?;
            let Some(last) = page.last() else { break };
            from = format!("{}\0", last.name);
            for file in &page {
                seen += 1;
                if seen % step == 0 && file.size <= super::INLINE_SAMPLE_BYTES && !samples.is_full() {
                    let size = self.read(|reader, catalog| reader.get(catalog, &file.name, &mut content))?;
                    samples.add(super::reader::filled(&mut content, size));
                }
            }
            if samples.is_full() {
                break;
            }
        }
        self.add_dictionary(&samples)
    }

    fn add_dictionary(&self, samples: &TrainingSamples) -> Result<u32> {
        let bytes = samples.train()?;
        let mut id = 0;
        self.write(|writer| {
            writer.is_dirty = true;
            id = pragma(&writer.connection, "SELECT coalesce(max(id), 0) + 1 FROM dictionaries")?;
            let sum = check_sum(&id.to_le_bytes(), &bytes);
            PreparedStatement::prepare(&writer.connection, "INSERT INTO dictionaries VALUES (?1, ?2, ?3)")?
                .run(&[BoundValue::Int(id), BoundValue::Blob(&bytes), BoundValue::Int(sum)])
                .map(drop)
        })?;
        self.catalog.forget_put();
        u32::try_from(id).map_err(|_| Error::unsupported("the store has more than 4 billion dictionaries"))
    }
}

/// The checksum and stored bytes of a content.
fn encode<'a>(put_as: &PutAs, data: &'a [u8]) -> Result<(u64, StoredBody<'a>)> {
    let PutAs { encoding, level, .. } = put_as;
    if encoding.is_plain() {
        let body = match data.len() <= SHORT_BYTES {
            true => StoredBody::One(Cow::Borrowed(data)),
            false => StoredBody::Pieces(data.chunks(PIECE_BYTES).map(Cow::Borrowed).collect()),
        };
        return Ok((xxh3_64(data), body));
    }
    let mut pieces: Vec<Cow<'a, [u8]>> = Vec::with_capacity(data.len().div_ceil(PIECE_BYTES));
    // An empty content has one piece, as transforms may give it bytes.
    for (piece, part) in (0..).zip(
        std::iter::once(&data[..data.len().min(PIECE_BYTES)])
            .chain(data.get(PIECE_BYTES..).unwrap_or_default().chunks(PIECE_BYTES)),
    ) {
        let mut stored = Vec::new();
        encoding.encode(piece, part, *level, &mut stored)?;
        pieces.push(Cow::Owned(stored));
    }
    let checksum = match encoding.chain.is_empty() {
        true => xxh3_64(data),
        false => {
            let mut hash = Xxh3Default::new();
            pieces.iter().for_each(|stored| hash.update(stored));
            hash.digest()
        }
    };
    match pieces.len() == 1 && pieces[0].len() <= SHORT_BYTES {
        true => Ok((checksum, StoredBody::One(pieces.swap_remove(0)))),
        false => Ok((checksum, StoredBody::Pieces(pieces))),
    }
}
