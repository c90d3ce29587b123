//! Starts and ends of fields: whole records of text become a table of offsets.

use super::bits::{STEP, chunk_at, low_bits, parity_prefix, positions};
use super::rules::DialectRules;

/// The fields of some records, row by row: field `j` of a row with offsets `o` is `text[o[j]..o[j + 1] - 1]`. A missing
/// field has `o[j + 1] == o[j]`, a range that no slice has.
#[derive(Debug, Default)]
pub(super) struct FieldTable {
    offsets: Vec<u32>,
    columns: usize,
    /// Rows that have too few or too many fields and were kept, by their number in this table.
    pub mended: Vec<usize>,
    /// Rows that have too few or too many fields and were left out.
    pub skipped: u64,
}

/// A row with the wrong number of fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RaggedRow {
    /// The start of the row in the text.
    pub start: usize,
    /// The number of its fields.
    pub fields: usize,
}

/// The treatment of a row that has too few or too many fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnRagged {
    /// Stop before it.
    Stop,
    /// Leave it out.
    Skip,
    /// Keep its first fields; those that are missing are null.
    Mend,
}

/// Splits whole records into fields, some rows at a time.
#[derive(Debug)]
pub(super) struct FieldSplitter<'a> {
    text: &'a [u8],
    rules: &'a DialectRules,
    columns: usize,
    on_ragged: OnRagged,
    /// The start of the current 64 bytes.
    base: usize,
    /// Delimiters, line feeds, and quotes and escapes among them that are not processed yet.
    delimiters: u64,
    newlines: u64,
    specials: u64,
    /// The delimiters and line feeds are those outside quotes; quotes don't matter any more.
    is_final: bool,
    row_start: usize,
    /// The start of the current row's offsets in the table.
    row_at: usize,
    /// The start of the current field.
    field_start: usize,
    /// Fields of the current row that are complete.
    fields: usize,
    quoted: bool,
    /// A quote or escape before this position has been dealt with.
    handled: usize,
    /// The position after a closing quote that ended 64 bytes: a quote here doubles it. `usize::MAX` if there is none.
    closed_at: usize,
    done: bool,
}

impl FieldTable {
    /// Empties the table for rows of `columns` fields.
    pub fn clear(&mut self, columns: usize) {
        self.offsets.clear();
        self.mended.clear();
        self.skipped = 0;
        self.columns = columns;
    }

    /// Appends a row of one field to a table of one column.
    pub fn push_field(&mut self, start: usize, end: usize) {
        self.offsets.extend([start as u32, end as u32 + 1]);
    }

    /// Appends a row whose field is missing to a table of one column.
    pub fn push_missing(&mut self) {
        self.offsets.extend([1, 1]);
    }

    /// Rows in the table.
    pub fn rows(&self) -> usize {
        self.offsets.len() / (self.columns + 1)
    }

    /// The offsets of one column: the start, and the end plus one, of its field in every row.
    #[inline]
    pub fn column(&self, column: usize) -> impl Iterator<Item = (usize, usize)> + '_ {
        let rows = self.offsets.chunks_exact(self.columns + 1);
        rows.map(move |row| (row[column] as usize, row[column + 1] as usize))
    }
}

impl<'a> FieldSplitter<'a> {
    /// `text` is whole records, shorter than 4 GiB; the last one may lack its line end.
    pub fn new(text: &'a [u8], rules: &'a DialectRules, columns: usize, on_ragged: OnRagged) -> Self {
        let mut splitter = Self {
            text,
            rules,
            columns,
            on_ragged,
            base: 0,
            delimiters: 0,
            newlines: 0,
            specials: 0,
            is_final: false,
            row_start: 0,
            row_at: 0,
            field_start: 0,
            fields: 0,
            quoted: false,
            handled: 0,
            closed_at: usize::MAX,
            done: text.is_empty(),
        };
        if !splitter.done {
            splitter.load();
        }
        splitter
    }

    /// Returns true if all records were split.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Fills `table` with the next rows, at most `most` of them. A row that stops it is returned; the table then has the
    /// rows before it.
    pub fn fill(&mut self, table: &mut FieldTable, most: usize) -> Option<RaggedRow> {
        table.clear(self.columns);
        // The offsets start with the start of the next row; it is removed if there is none.
        table.offsets.push(self.row_start as u32);
        self.row_at = 0;
        let mut ragged = None;
        let mut rows = 0;
        while rows < most && !self.done {
            if self.rules.comment.is_some() && self.rules.is_comment(&self.text[self.row_start..]) {
                self.pass_comment(table);
                continue;
            }
            let ended = match self.next_line_end(&mut table.offsets) {
                Some(end) => self.end_row(end, end + 1, table),
                None => {
                    self.done = true;
                    let end = self.text.len();
                    if self.row_start < end { self.end_row(end, end, table) } else { Ok(false) }
                }
            };
            match ended {
                Ok(added) => rows += usize::from(added),
                Err(found) => {
                    self.done = true;
                    ragged = Some(found);
                }
            }
        }
        table.offsets.truncate(rows * (self.columns + 1));
        ragged
    }

    /// Skips the comment at the start of the next row, including any quotes in it.
    #[cold]
    fn pass_comment(&mut self, table: &mut FieldTable) {
        let rest = &self.text[self.row_start..];
        let next = self.row_start + memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        (self.row_start, self.field_start, self.base, self.handled) = (next, next, next, next);
        (self.fields, self.quoted, self.closed_at) = (0, false, usize::MAX);
        table.offsets[self.row_at] = next as u32;
        self.done = next >= self.text.len();
        if !self.done {
            self.load();
        }
    }

    /// Looks at the 64 bytes from `base`.
    #[inline]
    fn load(&mut self) {
        let (chunk, len) = chunk_at(self.text, self.base);
        let valid = low_bits(len);
        self.delimiters = positions(&chunk, self.rules.delimiter) & valid;
        self.newlines = positions(&chunk, b'\n') & valid;
        let quotes = self.rules.quote.map_or(0, |q| positions(&chunk, q)) & valid;
        let escapes = self.rules.escape.map_or(0, |e| positions(&chunk, e)) & valid;
        self.specials = quotes | escapes;
        self.is_final = self.specials == 0 && !self.quoted;
        if !self.is_final && self.rules.escape.is_none() && self.handled <= self.base {
            self.mask_quoted(quotes, len);
        }
    }

    /// Masks the bytes inside quotes, by the parity of the quotes, if all quotes are where RFC 4180 allows them.
    #[inline]
    fn mask_quoted(&mut self, quotes: u64, len: usize) {
        let inside = parity_prefix(quotes) ^ if self.quoted { !0 } else { 0 };
        let may_open_first = u64::from(self.field_start == self.base || self.closed_at == self.base);
        let may_open = (quotes | self.newlines | self.delimiters) << 1 | may_open_first;
        if quotes & inside & !may_open != 0 {
            return;
        }
        self.delimiters &= !inside;
        self.newlines &= !inside;
        self.is_final = true;
        let last = 1u64 << (len - 1);
        self.quoted = inside & last != 0;
        if !self.quoted && quotes & last != 0 {
            self.closed_at = self.base + len;
        }
    }

    /// Goes on to the next line feed outside quotes, noting the fields on the way. `None` at the end of the text.
    #[inline]
    fn next_line_end(&mut self, offsets: &mut Vec<u32>) -> Option<usize> {
        loop {
            if self.is_final {
                // Up to the line feed, only delimiters matter.
                let before = if self.newlines == 0 { !0 } else { (self.newlines & self.newlines.wrapping_neg()) - 1 };
                self.note_fields(self.delimiters & before, offsets);
                if self.newlines != 0 {
                    let bit = self.newlines.trailing_zeros() as usize;
                    let left = !low_bits(bit + 1);
                    self.delimiters &= left;
                    self.newlines &= left;
                    return Some(self.base + bit);
                }
            } else if let Some(end) = self.step_through(offsets) {
                return Some(end);
            }
            self.base += STEP;
            if self.base >= self.text.len() {
                self.delimiters = 0;
                self.newlines = 0;
                self.specials = 0;
                return None;
            }
            self.load();
        }
    }

    #[inline]
    fn note_fields(&mut self, mut delimiters: u64, offsets: &mut Vec<u32>) {
        let found = delimiters.count_ones() as usize;
        // A row with far too many fields is counted, not noted.
        if self.fields + found <= self.columns + 1 {
            self.fields += found;
            while delimiters != 0 {
                let next = self.base + delimiters.trailing_zeros() as usize + 1;
                offsets.push(next as u32);
                self.field_start = next;
                delimiters &= delimiters - 1;
            }
        } else {
            while delimiters != 0 {
                let next = self.base + delimiters.trailing_zeros() as usize + 1;
                self.note_field(next, offsets);
                delimiters &= delimiters - 1;
            }
        }
    }

    #[inline]
    fn note_field(&mut self, next: usize, offsets: &mut Vec<u32>) {
        self.fields += 1;
        if self.fields <= self.columns + 1 {
            offsets.push(next as u32);
        }
        self.field_start = next;
    }

    /// The rest of the current 64 bytes where quotes matter, from one structural byte to the next.
    fn step_through(&mut self, offsets: &mut Vec<u32>) -> Option<usize> {
        let mut left = self.delimiters | self.newlines | self.specials;
        while left != 0 {
            let bit = left.trailing_zeros() as usize;
            let at = self.base + bit;
            left &= left - 1;
            if at < self.handled {
                continue;
            }
            let byte = self.text[at];
            if self.quoted {
                if Some(byte) == self.rules.quote {
                    if self.text.get(at + 1) == Some(&byte) {
                        self.handled = at + 2;
                    } else {
                        self.quoted = false;
                    }
                } else if Some(byte) == self.rules.escape {
                    self.handled = at + 2;
                }
            } else if byte == self.rules.delimiter {
                self.note_field(at + 1, offsets);
            } else if byte == b'\n' {
                let still = !low_bits(bit + 1);
                self.delimiters &= still;
                self.newlines &= still;
                self.specials &= still;
                return Some(at);
            } else if Some(byte) == self.rules.quote && (at == self.field_start || at == self.closed_at) {
                self.quoted = true;
            }
        }
        None
    }

    /// Ends the row whose line end is at `end`; the next row starts at `next`. Returns true if a row was added.
    #[inline]
    fn end_row(&mut self, end: usize, next: usize, table: &mut FieldTable) -> Result<bool, RaggedRow> {
        let (start, row_at, stride) = (self.row_start, self.row_at, self.columns + 1);
        let end = if end > start && self.text[end - 1] == b'\r' { end - 1 } else { end };
        let mut fields = self.fields;
        let terminated = self.rules.terminated && fields > 0 && self.field_start == end;
        self.row_start = next;
        self.field_start = next;
        self.fields = 0;
        // An empty line is a null if there is one column, otherwise not a row.
        if end == start && (self.columns != 1 || self.rules.terminated) {
            table.offsets[row_at] = next as u32;
            return Ok(false);
        }
        if !terminated {
            fields += 1;
            if fields <= self.columns {
                table.offsets.push(end as u32 + 1);
            }
        }
        if fields != self.columns {
            match self.on_ragged {
                OnRagged::Stop => {
                    table.offsets.truncate(row_at);
                    return Err(RaggedRow { start, fields });
                }
                OnRagged::Skip => {
                    table.skipped += 1;
                    table.offsets.truncate(row_at);
                    table.offsets.push(next as u32);
                    return Ok(false);
                }
                OnRagged::Mend => {
                    table.mended.push(row_at / stride);
                    // The end of the last present field marks each missing one: an impossible range.
                    let last = table.offsets.last().copied().unwrap_or(0);
                    table.offsets.resize(row_at + stride, last);
                }
            }
        }
        self.row_at = row_at + stride;
        table.offsets.push(next as u32);
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
