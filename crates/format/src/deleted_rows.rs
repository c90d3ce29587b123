//! Rows of a file that its table has deleted without rewriting the file.

use std::ops::Range;

use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use arrow::util::bit_util::{ceil, set_bit, unset_bit};
use lakerace_io::{Error, Result};

/// Rows of a file that are not read, by their number in the file: a deletion vector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedRows {
    /// True where a row is hidden. Rows after its end are visible.
    bits: BooleanBuffer,
    count: u64,
}

/// Runs of hidden rows that are at least this long are skipped like pruned pages; shorter ones are masked out of the
/// rows around them, because every run starts a new step.
const LEAST_RUN_ROWS: u64 = 4096;

impl DeletedRows {
    /// The rows of these numbers, of a file that has `file_rows` rows. A number that is not in the file is an error of
    /// kind `Corrupt`. Takes a bit for each row up to the last hidden one.
    pub fn new(rows: impl IntoIterator<Item = u64>, last: Option<u64>, file_rows: u64) -> Result<Self> {
        let length = match last {
            None => 0,
            Some(last) if last < file_rows => last + 1,
            Some(last) => return Err(beyond(last, file_rows)),
        };
        let length =
            usize::try_from(length).map_err(|_| Error::unsupported("the file has more rows than memory can hold"))?;
        let mut bits = vec![0u8; ceil(length, 8)];
        for row in rows {
            let at = usize::try_from(row).ok().filter(|at| *at < length);
            set_bit(&mut bits, at.ok_or_else(|| beyond(row, file_rows))?);
        }
        let bits = BooleanBuffer::new(bits.into(), 0, length);
        Ok(Self { count: bits.count_set_bits() as u64, bits })
    }

    /// The rows whose bits are set, in a file that has `file_rows` rows.
    pub fn from_bits(bits: Vec<u8>, file_rows: u64) -> Result<Self> {
        let length = bits.iter().rposition(|byte| *byte != 0).map_or(0, |last| {
            // The highest bit of the last byte is the last row's.
            8 * last + (u8::BITS - bits[last].leading_zeros()) as usize
        });
        if length as u64 > file_rows {
            return Err(beyond(length as u64 - 1, file_rows));
        }
        let bits = BooleanBuffer::new(bits.into(), 0, length);
        Ok(Self { count: bits.count_set_bits() as u64, bits })
    }

    /// All rows but these, of a file that has `file_rows` rows: for reading some rows alone.
    pub fn all_but(rows: impl IntoIterator<Item = u64>, file_rows: u64) -> Result<Self> {
        let length = usize::try_from(file_rows)
            .map_err(|_| Error::unsupported("the file has more rows than memory can hold"))?;
        let mut bits = vec![u8::MAX; ceil(length, 8)];
        for row in rows {
            let at = usize::try_from(row).ok().filter(|at| *at < length);
            unset_bit(&mut bits, at.ok_or_else(|| beyond(row, file_rows))?);
        }
        let bits = BooleanBuffer::new(bits.into(), 0, length);
        Ok(Self { count: bits.count_set_bits() as u64, bits })
    }

    /// The number of hidden rows.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The number of the first row after the last hidden one.
    pub(crate) fn end(&self) -> u64 {
        self.bits.len() as u64
    }

    /// The number of hidden rows among these.
    pub(crate) fn count_in(&self, rows: Range<u64>) -> u64 {
        self.slice(&rows).count_set_bits() as u64
    }

    /// The visible rows among these; `None` if all are visible.
    pub(crate) fn visible(&self, rows: Range<u64>) -> Option<BooleanArray> {
        let hidden = self.slice(&rows);
        if hidden.count_set_bits() == 0 {
            return None;
        }
        let length = (rows.end - rows.start) as usize;
        let visible = if hidden.len() == length {
            !&hidden
        } else {
            hidden.iter().map(|hidden| !hidden).chain(std::iter::repeat(true)).take(length).collect()
        };
        Some(BooleanArray::new(visible, None))
    }

    /// These rows without the long runs of hidden ones, each range counted from the start of `rows`.
    pub(crate) fn without_runs(&self, rows: Range<u64>) -> Vec<Range<u64>> {
        let length = rows.end - rows.start;
        let mut kept = Vec::new();
        if length > 0 && self.count_in(rows.clone()) == length {
            return kept;
        }
        let mut at = 0;
        for run in long_runs(&self.slice(&rows)) {
            kept.push(at..run.start);
            at = run.end;
        }
        kept.push(at..length);
        kept.retain(|range| !range.is_empty());
        kept
    }

    fn slice(&self, rows: &Range<u64>) -> BooleanBuffer {
        let start = rows.start.min(self.end()) as usize;
        let end = rows.end.min(self.end()) as usize;
        self.bits.slice(start, end.saturating_sub(start))
    }
}

/// The runs of set bits that are at least [`LEAST_RUN_ROWS`] long. They span many words, so that bits within a word
/// need no check.
fn long_runs(bits: &BooleanBuffer) -> Vec<Range<u64>> {
    let mut runs = Vec::new();
    // The start of the run that reaches to the end of the previous word.
    let mut open = None;
    let mut close = |open: Option<u64>, end: u64| {
        if let Some(start) = open
            && end - start >= LEAST_RUN_ROWS
        {
            runs.push(start..end);
        }
    };
    let mut at = 0;
    for word in bits.bit_chunks().iter_padded() {
        if word == u64::MAX {
            open = open.or(Some(at));
        } else {
            close(open, at + u64::from(word.trailing_ones()));
            let leading = u64::from(word.leading_ones());
            open = (leading > 0).then_some(at + 64 - leading);
        }
        at += 64;
    }
    close(open, bits.len() as u64);
    runs
}

fn beyond(row: u64, file_rows: u64) -> Error {
    Error::corrupt(format!("the deletion vector hides row {row}, but the file has {file_rows} rows"))
}

#[cfg(test)]
mod tests;
