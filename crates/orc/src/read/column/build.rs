//! Columns out of the streams of a section.

use std::collections::HashMap;

use arrow::datatypes::Field;
use bytes::Bytes;

use super::super::input::{SharedDecompressor, StreamInput};
use super::super::ints::IntReader;
use super::super::options::ReadOptions;
use super::super::rle_byte::{BitReader, ByteRuns};
use super::super::stripe::{Stripe, StripeSection};
use super::super::zone::WriterZone;
use super::decimal::{DecimalDigits, DecimalReader};
use super::micros::MicrosReader;
use super::nested::{ListReader, MapReader, StructReader, UnionReader};
use super::text::{DictionaryText, DictionaryViews, DirectText};
use super::time::TimestampReader;
use super::{ReaderValues, SubtreeReader, in_stream};
use crate::error::{Error, Result};
use crate::proto::{EncodingKind, StreamKind};
use crate::schema::{OrcKind, OrcType};

/// The parts that the columns of a section are made from.
pub(in super::super) struct SectionBuilder<'a> {
    pub(in super::super) stripe: &'a Stripe,
    pub(in super::super) section: &'a StripeSection,
    pub(in super::super) bytes: &'a [Bytes],
    pub(in super::super) decompressor: &'a SharedDecompressor,
    pub(in super::super) zone: &'a WriterZone,
    pub(in super::super) options: &'a ReadOptions,
    /// True if the columns have a value for each row. Columns below lists, maps and unions do not.
    pub(in super::super) in_rows: bool,
    /// Dictionaries that sections before have read.
    pub(in super::super) dictionaries: &'a mut HashMap<u32, DictionaryViews>,
}

/// The start of a section in a stream.
#[derive(Clone, Copy)]
struct SectionStart {
    chunk: usize,
    offset: usize,
    values: usize,
    bits: usize,
}

impl SectionBuilder<'_> {
    /// The column of a node of the tree, with those below it.
    pub(in super::super) fn column(&mut self, node: &OrcType) -> Result<SubtreeReader> {
        let id = node.id;
        let (encoding, dictionary_size) = self.stripe.encoding(id).map_err(|e| e.at(format!("column {id}")))?;
        let second = matches!(encoding, EncodingKind::DirectV2 | EncodingKind::DictionaryV2);
        let dictionary = matches!(encoding, EncodingKind::Dictionary | EncodingKind::DictionaryV2);
        let present = match self.has(id, StreamKind::Present) {
            true => Some(self.bits(id, StreamKind::Present)?),
            false => None,
        };
        let values = match &node.kind {
            OrcKind::Boolean => ReaderValues::Boolean(self.bits(id, StreamKind::Data)?),
            OrcKind::Byte => ReaderValues::Byte(self.byte_runs(id)?),
            OrcKind::Short => ReaderValues::Short(self.ints(id, StreamKind::Data, true, second)?),
            OrcKind::Int => ReaderValues::Int(self.ints(id, StreamKind::Data, true, second)?),
            OrcKind::Long => ReaderValues::Long(self.ints(id, StreamKind::Data, true, second)?),
            OrcKind::Float => ReaderValues::Float(self.plain(id)?),
            OrcKind::Double => ReaderValues::Double(self.plain(id)?),
            OrcKind::Date => ReaderValues::Date {
                days: self.ints(id, StreamKind::Data, true, second)?,
                julian: self.stripe.file.julian(),
            },
            OrcKind::Timestamp | OrcKind::TimestampInstant | OrcKind::ClockInstant => {
                let instant = node.kind != OrcKind::Timestamp;
                let clock = self.stripe.file.clock.as_ref().filter(|_| node.kind == OrcKind::ClockInstant);
                ReaderValues::Timestamp(Box::new(TimestampReader {
                    id,
                    seconds: self.ints(id, StreamKind::Data, true, second)?,
                    nanos: self.ints(id, StreamKind::Secondary, false, second)?,
                    zone: if node.kind == OrcKind::TimestampInstant { WriterZone::utc() } else { self.zone.clone() },
                    clock: clock.cloned(),
                    instant,
                    julian: self.stripe.file.julian(),
                    unit: self.options.timestamp_unit,
                    exact: self.options.exact_timestamps,
                    row: self.in_rows.then(|| self.first_row()),
                }))
            }
            OrcKind::Micros => ReaderValues::Micros(Box::new(MicrosReader {
                id,
                micros: self.ints(id, StreamKind::Data, true, second)?,
                unit: self.options.timestamp_unit,
                exact: self.options.exact_timestamps,
                row: self.in_rows.then(|| self.first_row()),
            })),
            OrcKind::Decimal { precision, scale } => {
                let digits = match self.stripe.file.has_decimal64() && *precision <= 18 {
                    true => DecimalDigits::Short(self.ints(id, StreamKind::Data, true, true)?),
                    false => DecimalDigits::Long {
                        values: self.plain(id)?,
                        scales: self.ints(id, StreamKind::Secondary, true, second)?,
                    },
                };
                ReaderValues::Decimal(Box::new(DecimalReader { id, digits, precision: *precision, scale: *scale }))
            }
            OrcKind::String | OrcKind::Varchar(_) | OrcKind::Char(_) | OrcKind::Binary | OrcKind::Geometry => {
                let binary = matches!(node.kind, OrcKind::Binary | OrcKind::Geometry);
                if dictionary {
                    let known = self.dictionary(id, dictionary_size, second, binary)?;
                    let indices = self.ints(id, StreamKind::Data, false, second)?;
                    ReaderValues::Dictionary(Box::new(DictionaryText { id, binary, dictionary: known, indices }))
                } else {
                    let lengths = self.ints(id, StreamKind::Length, false, second)?;
                    ReaderValues::Direct(Box::new(DirectText::new(id, binary, lengths, self.plain(id)?)))
                }
            }
            OrcKind::List(item) => ReaderValues::List(Box::new(ListReader {
                id,
                lengths: self.ints(id, StreamKind::Length, false, second)?,
                item: self.item(item)?,
                data_type: node.to_arrow(self.options.timestamp_unit),
            })),
            OrcKind::Map(key, value) => ReaderValues::Map(Box::new(MapReader {
                id,
                lengths: self.ints(id, StreamKind::Length, false, second)?,
                key: self.item(key)?,
                value: self.item(value)?,
                data_type: node.to_arrow(self.options.timestamp_unit),
            })),
            OrcKind::Struct(fields) => {
                let columns = fields.iter().map(|(_, child)| self.column(child)).collect::<Result<_>>()?;
                let fields = fields
                    .iter()
                    .map(|(name, child)| Field::new(name, child.to_arrow(self.options.timestamp_unit), true));
                ReaderValues::Struct(StructReader { fields: fields.collect(), columns })
            }
            OrcKind::Union(members) => ReaderValues::Union(Box::new(UnionReader {
                id,
                tags: self.byte_runs(id)?,
                members: members.iter().map(|member| self.item(member)).collect::<Result<_>>()?,
                data_type: node.to_arrow(self.options.timestamp_unit),
            })),
        };
        Ok(SubtreeReader { id, present, values })
    }

    /// A column that has none or many values in a row.
    fn item(&mut self, node: &OrcType) -> Result<SubtreeReader> {
        let outer = std::mem::replace(&mut self.in_rows, false);
        let column = self.column(node);
        self.in_rows = outer;
        column
    }

    /// The number in the file of the section's first row.
    fn first_row(&self) -> u64 {
        let before = self.stripe.file.stripes().iter().take(self.stripe.number);
        before.map(|stripe| stripe.rows).sum::<u64>() + self.section.first_row
    }

    fn has(&self, column: u32, kind: StreamKind) -> bool {
        self.section.streams.contains_key(&(column, kind as i32))
    }

    /// The bytes of a stream from the start of the section. The input is empty if the stripe lacks the stream, so that
    /// reading a value from it is the error.
    fn input(&self, column: u32, kind: StreamKind) -> Result<(StreamInput, Option<SectionStart>)> {
        let Some(part) = self.section.streams.get(&(column, kind as i32)) else {
            return Ok((StreamInput::new(Bytes::new(), self.decompressor, false), None));
        };
        let Some(bytes) = self.bytes.get(part.range) else { return Err(Error::internal("a range has no bytes")) };
        let input = StreamInput::new(bytes.clone(), self.decompressor, part.partial);
        let Some(start) = part.start else { return Ok((input, None)) };
        let number = |value: u64| {
            usize::try_from(value)
                .map_err(|_| in_stream(column, kind)(Error::corrupt("the row index has impossible positions")))
        };
        let start = SectionStart {
            chunk: number(start.chunk)?,
            offset: number(start.offset)?,
            values: number(start.values)?,
            bits: number(start.bits)?,
        };
        Ok((input, Some(start)))
    }

    fn plain(&self, column: u32) -> Result<StreamInput> {
        let (mut input, start) = self.input(column, StreamKind::Data)?;
        if let Some(start) = start {
            input.seek(start.chunk, start.offset).map_err(in_stream(column, StreamKind::Data))?;
        }
        Ok(input)
    }

    fn bits(&self, column: u32, kind: StreamKind) -> Result<BitReader> {
        let (input, start) = self.input(column, kind)?;
        let mut bits = BitReader::new(input);
        if let Some(start) = start {
            bits.seek(start.chunk, start.offset, start.values, start.bits).map_err(in_stream(column, kind))?;
        }
        Ok(bits)
    }

    fn byte_runs(&self, column: u32) -> Result<ByteRuns> {
        let (input, start) = self.input(column, StreamKind::Data)?;
        let mut bytes = ByteRuns::new(input);
        if let Some(start) = start {
            bytes.seek(start.chunk, start.offset, start.values).map_err(in_stream(column, StreamKind::Data))?;
        }
        Ok(bytes)
    }

    fn ints(&self, column: u32, kind: StreamKind, signed: bool, second_version: bool) -> Result<IntReader> {
        let (input, start) = self.input(column, kind)?;
        let mut ints = IntReader::new(input, signed, second_version);
        if let Some(start) = start {
            ints.seek(start.chunk, start.offset, start.values).map_err(in_stream(column, kind))?;
        }
        Ok(ints)
    }

    fn dictionary(&mut self, column: u32, size: u32, second_version: bool, binary: bool) -> Result<DictionaryViews> {
        if let Some(known) = self.dictionaries.get(&column) {
            return Ok(known.clone());
        }
        let mut lengths = self.ints(column, StreamKind::Length, false, second_version)?;
        let (mut blob, _) = self.input(column, StreamKind::DictionaryData)?;
        let read = DictionaryViews::read(column, size as usize, &mut lengths, &mut blob, binary)?;
        self.dictionaries.insert(column, read.clone());
        Ok(read)
    }
}
