//! A row of `files`.

use lakerace_io::{Error, Result};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::schema::PIECE_BITS;
use super::statement::Row;

/// The place of a content's stored bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentPlace {
    /// In the row.
    Inline,
    /// In chunks of their own.
    Chunks(i64),
    /// In a block, from this byte of its decoded form on.
    Block { place: i64, start: u64 },
}

impl ContentPlace {
    pub(super) fn columns(self) -> (Option<i64>, Option<i64>) {
        match self {
            Self::Inline => (None, None),
            Self::Chunks(place) => (Some(place), None),
            Self::Block { place, start } => (Some(place), Some(start as i64)),
        }
    }
}

/// The row number of a piece.
pub(super) fn chunk_id(place: i64, piece: u64) -> i64 {
    (place << PIECE_BITS) + piece as i64
}

/// The first and last row numbers that a content may have.
pub(super) fn chunk_ids(place: i64) -> (i64, i64) {
    (chunk_id(place, 0), chunk_id(place, (1 << PIECE_BITS) - 1))
}

/// Makes the error of a name that leads to another one, or of names out of order.
pub(super) fn out_of_order() -> Error {
    Error::corrupt("the names are not in order").advice("verify the store to see what else is damaged")
}

/// A row without its name, content and metadata's owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileRecord<'a> {
    pub(super) name: &'a [u8],
    pub(super) size: u64,
    pub(super) mtime_ms: i64,
    pub(super) encoding: i64,
    pub(super) checksum: u64,
    pub(super) metadata: Option<&'a str>,
    pub(super) place: ContentPlace,
}

impl<'a> FileRecord<'a> {
    /// The row, which must have its own checksum.
    pub(super) fn read(row: &'a Row<'_>) -> Result<Self> {
        let damaged = || Error::corrupt("the file's row differs from what was written");
        let place = match (row.opt_int(7), row.opt_int(8)) {
            (None, None) => ContentPlace::Inline,
            (Some(place), None) => ContentPlace::Chunks(place),
            (Some(place), Some(start)) => ContentPlace::Block { place, start: start as u64 },
            (None, Some(_)) => return Err(damaged()),
        };
        let record = Self {
            name: row.bytes(0),
            size: row.int(1) as u64,
            mtime_ms: row.int(2),
            encoding: row.int(3),
            checksum: row.int(4) as u64,
            metadata: row.opt_str(6)?,
            place,
        };
        if i64::from(record.check_sum()) == row.int(5) { Ok(record) } else { Err(damaged()) }
    }

    /// The row of the file `name`. A page that was written to the place of another one leads to another file's.
    pub(super) fn from_row(row: &'a Row<'_>, name: &str) -> Result<Self> {
        let record = Self::read(row)?;
        if record.name == name.as_bytes() { Ok(record) } else { Err(out_of_order()) }
    }

    /// The checksum of everything but the content: XXH3-64 of seven little-endian words, then of the name and the metadata with
    /// the hash before as the seed; its low 32 bits.
    pub(super) fn check_sum(&self) -> i32 {
        let (place, start) = self.place.columns();
        let words = [
            self.size,
            self.mtime_ms as u64,
            self.encoding as u64,
            self.checksum,
            place.map_or(u64::MAX, |place| place as u64),
            start.map_or(u64::MAX, |start| start as u64),
            u64::from(self.metadata.is_some()),
        ];
        let mut bytes = [0_u8; 56];
        for (to, word) in bytes.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let mut hash = xxh3_64_with_seed(self.name, xxh3_64(&bytes));
        if let Some(metadata) = self.metadata {
            hash = xxh3_64_with_seed(metadata.as_bytes(), hash);
        }
        hash as i32
    }

    /// The name, which was written as UTF-8.
    pub(super) fn name(&self) -> Result<&'a str> {
        str::from_utf8(self.name).map_err(|_| Error::corrupt("a name is not valid UTF-8"))
    }
}
