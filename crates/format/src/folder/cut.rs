//! Cuts rows into files of a size.

use crate::sink::Written;

/// Bytes of a file after which the next one starts, unless options set it.
pub(super) const FILE_BYTES: u64 = 512 << 20;

/// The minimum of rows in a file: smaller files have mostly overhead.
const FEWEST_ROWS: u64 = 1024;

/// Before a file is complete, its rows are assumed to have at least this many bytes: its size is checked after each
/// such share.
const ROW_BYTES: u64 = 64;

/// Decides how many rows go into each file, so that each has approximately the wanted number of bytes.
///
/// Bytes are known when they are encoded, which may be a row group after their rows were taken. So the number of rows
/// of a file follows from the files that are complete; the first one ends when enough of its bytes have left the
/// encoder.
#[derive(Debug)]
pub struct FileCut {
    wanted_bytes: u64,
    /// The rows of the files that are complete.
    rows: u64,
    bytes: u64,
}

impl FileCut {
    /// Cuts files of this many bytes.
    pub fn new(bytes: u64) -> Self {
        Self { wanted_bytes: bytes.max(1), rows: 0, bytes: 0 }
    }

    /// The number of rows that still go into a file of `rows` rows, of which the encoded ones take `encoded_bytes`,
    /// before the next call. 0: it is full.
    pub fn room(&self, rows: u64, encoded_bytes: u64) -> u64 {
        if rows > 0 && encoded_bytes >= self.wanted_bytes {
            return 0;
        }
        if self.bytes == 0 {
            return (self.wanted_bytes / ROW_BYTES).max(FEWEST_ROWS);
        }
        let fitting = u128::from(self.wanted_bytes) * u128::from(self.rows) / u128::from(self.bytes);
        u64::try_from(fitting).unwrap_or(u64::MAX).max(FEWEST_ROWS).saturating_sub(rows)
    }

    /// The counterpart of [`Self::room`] for rows that take so many bytes in memory: those of the first file are counted by them, as its
    /// encoder may take in all rows before it gives bytes.
    pub fn room_for(&self, row_bytes: u64, rows: u64, encoded_bytes: u64) -> u64 {
        match self.bytes {
            0 => (self.wanted_bytes / row_bytes.max(1)).max(FEWEST_ROWS).saturating_sub(rows),
            _ => self.room(rows, encoded_bytes),
        }
    }

    /// A file is complete.
    pub fn learn(&mut self, file: &Written) {
        self.rows = self.rows.saturating_add(file.rows);
        self.bytes = self.bytes.saturating_add(file.bytes);
    }
}

#[cfg(test)]
mod tests;
