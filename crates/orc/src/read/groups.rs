//! Row groups of a stripe: which bytes some of them need, by the positions of the row index.

use std::collections::HashMap;
use std::sync::Arc;

use super::index::{IndexPosition, MAX_ROW_GROUPS, split_positions, stream_end};
use super::stripe::{Range, StreamPart, StreamPlace, Stripe, StripeRead, StripeSection};
use crate::compress::Codec;
use crate::error::{Error, Result};
use crate::proto::StreamKind;
use crate::schema::{OrcKind, OrcType};

/// The starts of row groups in the streams of each column.
type Positions = HashMap<u32, HashMap<i32, Vec<IndexPosition>>>;

/// The ranges of a read, and the last one of each stream so far.
#[derive(Default)]
struct FetchRanges {
    all: Vec<Range>,
    last: HashMap<(u32, i32), usize>,
}

impl Stripe {
    /// The row indexes that [`read_groups`](Self::read_groups) needs for the columns of the projection; `None` where the
    /// stripe lacks one of them: then it is read as a whole.
    pub fn position_ranges(&self) -> Option<Vec<Range>> {
        self.file.row_group_rows()?;
        if self.row_groups() > MAX_ROW_GROUPS {
            return None;
        }
        let mut columns: Vec<u32> = Vec::new();
        let note = &mut |column, kind, _: StreamPlace| {
            if self.has_positions(column, kind) && columns.last() != Some(&column) {
                columns.push(column);
            }
            Ok(())
        };
        self.each_stream(&self.root, note).ok()?;
        let ranges = self.index_ranges(&columns, false);
        (ranges.len() == columns.len()).then_some(ranges)
    }

    /// Returns true if the positions of the row indexes that were set can be used to read row groups; false where a
    /// writer has stored positions that differ from the format.
    ///
    /// # Errors
    /// Invalid where a row index is missing; Corrupt where positions aren't ascending or lie beyond their stream.
    pub fn has_usable_positions(&self) -> Result<bool> {
        Ok(self.positions()?.is_some())
    }

    /// Plans the read of the rows of the row groups for which `selected` is true.
    ///
    /// The row indexes of all columns of the projection must have been set, unless every row group is selected, or none.
    ///
    /// # Errors
    /// Invalid where `selected` isn't one for each row group or a row index is missing; Corrupt where positions in it are
    /// nonsense.
    pub fn read_groups(&self, selected: &[bool]) -> Result<StripeRead> {
        let groups = self.row_groups();
        if selected.len() != groups {
            return Err(Error::invalid(format!(
                "the selection has {} entries for {groups} row groups",
                selected.len()
            )));
        }
        if selected.iter().all(|selected| *selected) {
            return self.read_all();
        }
        let (mut ranges, mut sections) = (FetchRanges::default(), Vec::new());
        let mut positions = None;
        let mut from = 0;
        while let Some(skipped) = selected[from..].iter().position(|selected| *selected) {
            from += skipped;
            let to = from + selected[from..].iter().take_while(|selected| **selected).count();
            let known = match positions.take() {
                Some(known) => known,
                None => self.positions()?.ok_or_else(|| {
                    let message = "the row index does not have the number of positions that the format requires";
                    Error::corrupt(message).at(format!("stripe {}", self.number))
                })?,
            };
            sections.push(self.section(from, to, &known, &mut ranges)?);
            positions = Some(known);
            from = to;
        }
        Ok(StripeRead { stripe: Arc::new(self.clone()), ranges: ranges.all, sections })
    }

    /// The row groups from `from` to `to`, which follow each other.
    fn section(
        &self,
        from: usize,
        to: usize,
        positions: &Positions,
        ranges: &mut FetchRanges,
    ) -> Result<StripeSection> {
        let first_row = self.row_group(from).0;
        let rows = self.row_group(to - 1).0 + self.row_group(to - 1).1 - first_row;
        let mut streams = HashMap::new();
        self.each_stream(&self.root, &mut |column, kind, place| {
            let key = (column, kind as i32);
            if !self.has_positions(column, kind) {
                streams.insert(key, StreamPart { range: ranges.whole(key, kind, place), start: None, partial: false });
                return Ok(());
            }
            let groups = positions.get(&column).and_then(|streams| streams.get(&key.1));
            let groups = groups.ok_or_else(|| Error::internal(format!("column {column} has no positions")))?;
            let start = if from == 0 { None } else { groups.get(from).copied() };
            let end = match to == groups.len() {
                true => place.length,
                false => {
                    let compressed = self.file.codec() != Codec::None;
                    stream_end(groups[to..].iter().copied(), compressed, self.file.block_size() as u64, place.length)
                }
            };
            let begin = start.map_or(0, |start| start.chunk);
            let (range, from) = ranges.part(key, kind, place, begin..end.max(begin));
            let start = start.map(|start| IndexPosition { chunk: begin - from, ..start });
            streams.insert(key, StreamPart { range, start, partial: end < place.length });
            Ok(())
        })?;
        Ok(StripeSection { first_row, rows, streams })
    }

    /// Finds the start of each row group in each stream of the columns of the projection; `None` where a row index has too few or
    /// too many numbers for these streams.
    fn positions(&self) -> Result<Option<Positions>> {
        let mut positions = Positions::new();
        let mut fit = true;
        self.each_stream(&self.root, &mut |column, kind, place| {
            if !self.has_positions(column, kind) || !fit {
                return Ok(());
            }
            let at = |e: Error| e.at(format!("stripe {}, column {column}, stream {kind:?}", self.number));
            if let std::collections::hash_map::Entry::Vacant(unknown) = positions.entry(column) {
                match self.column_positions(column).map_err(at)? {
                    Some(known) => _ = unknown.insert(known),
                    None => {
                        fit = false;
                        return Ok(());
                    }
                }
            }
            let groups = positions.get(&column).and_then(|streams| streams.get(&(kind as i32)));
            match groups {
                Some(groups) => check(groups, place.length).map_err(at),
                None => {
                    fit = false;
                    Ok(())
                }
            }
        })?;
        Ok(fit.then_some(positions))
    }

    fn column_positions(&self, column: u32) -> Result<Option<HashMap<i32, Vec<IndexPosition>>>> {
        let Some(index) = self.indexes.get(&column).filter(|index| index.has_rows()) else {
            return Err(Error::invalid("the row index of this column has not been set"));
        };
        let Some(node) = self.file.root().find(column) else {
            return Err(Error::internal("the column does not exist"));
        };
        let present = self.streams.contains_key(&(column, StreamKind::Present as i32));
        let mut kinds = self.kinds(node);
        if present {
            kinds.insert(0, (StreamKind::Present, 2));
        }
        let compressed = self.file.codec() != Codec::None;
        let mut streams: Vec<Vec<IndexPosition>> = kinds.iter().map(|_| Vec::new()).collect();
        for (group, numbers) in index.positions().enumerate() {
            let position = match group {
                // Java's writer leaves the numbers of the first one out, where it gave a dictionary up after it.
                0 => vec![IndexPosition::default(); kinds.len()],
                _ => match split_positions(&numbers?, &kinds, compressed) {
                    Some(position) => position,
                    None => return Ok(None),
                },
            };
            streams.iter_mut().zip(position).for_each(|(stream, position)| stream.push(position));
        }
        Ok(Some(kinds.iter().map(|(kind, _)| *kind as i32).zip(streams).collect()))
    }

    /// Returns true if row groups have positions in a stream: dictionaries are read as a whole.
    fn has_positions(&self, column: u32, kind: StreamKind) -> bool {
        kind != StreamKind::DictionaryData && !(kind == StreamKind::Length && self.is_dictionary(column))
    }

    /// The streams with positions of a column after `Present`, and how many numbers a position of each has after its place.
    fn kinds(&self, node: &OrcType) -> Vec<(StreamKind, usize)> {
        use StreamKind::{Data, Length, Secondary};
        match &node.kind {
            OrcKind::Boolean => vec![(Data, 2)],
            OrcKind::Float | OrcKind::Double => vec![(Data, 0)],
            OrcKind::Byte | OrcKind::Short | OrcKind::Int | OrcKind::Long => vec![(Data, 1)],
            OrcKind::Date | OrcKind::Micros | OrcKind::Union(_) => vec![(Data, 1)],
            OrcKind::String | OrcKind::Varchar(_) | OrcKind::Char(_) | OrcKind::Binary | OrcKind::Geometry => {
                if self.is_dictionary(node.id) { vec![(Data, 1)] } else { vec![(Data, 0), (Length, 1)] }
            }
            OrcKind::Timestamp | OrcKind::TimestampInstant | OrcKind::ClockInstant => vec![(Data, 1), (Secondary, 1)],
            OrcKind::Decimal { precision, .. } if self.file.has_decimal64() && *precision <= 18 => vec![(Data, 1)],
            OrcKind::Decimal { .. } => vec![(Data, 0), (Secondary, 1)],
            OrcKind::List(_) | OrcKind::Map(..) => vec![(Length, 1)],
            OrcKind::Struct(_) => Vec::new(),
        }
    }
}

impl FetchRanges {
    /// A whole stream.
    fn whole(&mut self, key: (u32, i32), kind: StreamKind, place: StreamPlace) -> usize {
        *self.last.entry(key).or_insert_with(|| {
            self.all.push(Range { offset: place.offset, length: place.length, column: key.0, kind });
            self.all.len() - 1
        })
    }

    /// Adds a part of a stream, and returns the number of its range and where the range starts in the stream. A part
    /// that touches or overlaps the previous one shares its range.
    fn part(
        &mut self,
        key: (u32, i32),
        kind: StreamKind,
        place: StreamPlace,
        part: std::ops::Range<u64>,
    ) -> (usize, u64) {
        let before = self.last.get(&key).and_then(|nth| Some((*nth, self.all.get_mut(*nth)?)));
        if let Some((nth, known)) = before
            && (known.offset..=known.offset + known.length).contains(&(place.offset + part.start))
        {
            known.length = known.length.max(place.offset + part.end - known.offset);
            return (nth, known.offset - place.offset);
        }
        let length = part.end - part.start;
        self.all.push(Range { offset: place.offset + part.start, length, column: key.0, kind });
        self.last.insert(key, self.all.len() - 1);
        (self.all.len() - 1, part.start)
    }
}

/// Row groups follow each other within their stream.
fn check(groups: &[IndexPosition], length: u64) -> Result<()> {
    let mut before = IndexPosition::default();
    for (group, position) in groups.iter().enumerate() {
        if position.chunk > length {
            let message = format!("row group {group} starts at byte {} of {length}", position.chunk);
            return Err(Error::corrupt(message));
        }
        if (position.chunk, position.offset) < (before.chunk, before.offset) {
            return Err(Error::corrupt(format!("row group {group} starts before the preceding one")));
        }
        before = *position;
    }
    Ok(())
}
