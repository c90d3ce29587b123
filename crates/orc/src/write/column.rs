//! A column of the type tree: its present stream, its values, its statistics and bloom filter, and its children.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{Float32Type, Float64Type};
use prost::Message;

use crate::encode::codec::BlockCompressor;
use crate::error::{Error, Result};
use crate::proto::{self, EncodingKind, StreamKind};
use crate::schema::{OrcKind, OrcType};
use crate::write::bloom::BloomWriter;
use crate::write::booleans::BooleanWriter;
use crate::write::byte_strings::BinaryWriter;
use crate::write::decimals::DecimalValues;
use crate::write::floats::FloatWriter;
use crate::write::integers::IntegerWriter;
use crate::write::micros::MicrosValues;
use crate::write::nested::{ListValues, StructValues};
use crate::write::options::WriterOptions;
use crate::write::statistics::Statistics;
use crate::write::stream::{FinishedStream, StreamCoding, StreamWriter};
use crate::write::texts::TextWriter;
use crate::write::timestamps::TimestampValues;
use crate::write::values::{GroupDigest, ValueStreams, ValueTarget, WrittenRows};

/// A column that is being written.
pub(crate) struct ColumnWriter {
    id: u32,
    /// Names from the root, as errors and bloom filter options give them.
    path: String,
    present: StreamWriter,
    values: Box<dyn ValueStreams>,
    /// The streams of the values.
    streams: Vec<StreamWriter>,
    children: Vec<ColumnWriter>,
    /// The statistics of the row group, the stripe and the file.
    group: Statistics,
    stripe: Statistics,
    file: Statistics,
    /// The statistics of the stripe's finished row groups.
    groups: Vec<proto::ColumnStatistics>,
    bloom: Option<BloomWriter>,
    indexed: bool,
    is_struct: bool,
}

/// A column in a finished stripe.
pub(crate) struct FinishedColumn {
    pub(crate) id: u32,
    pub(crate) encoding: EncodingKind,
    pub(crate) dictionary_size: Option<u32>,
    /// Row index and bloom filter.
    pub(crate) index: Vec<FinishedStream>,
    pub(crate) data: Vec<FinishedStream>,
    pub(crate) statistics: proto::ColumnStatistics,
}

impl ColumnWriter {
    /// The column for `orc` and its children. Names of bloom filter columns that were met are taken out of `blooms`.
    pub(crate) fn new(orc: &OrcType, path: String, options: &WriterOptions, blooms: &mut Vec<String>) -> Result<Self> {
        let (values, children) = values_of(&orc.kind, options).map_err(|error| error.at(path.clone()))?;
        let children = children
            .into_iter()
            .map(|(name, orc)| Self::new(orc, format!("{path}.{name}"), options, blooms))
            .collect::<Result<_>>()?;
        let statistics = Statistics::new(&orc.kind);
        let mut column = Self {
            id: orc.id,
            present: StreamWriter::new(StreamKind::Present, StreamCoding::Bits),
            streams: values.streams(),
            values,
            children,
            group: statistics.clone(),
            stripe: statistics.clone(),
            file: statistics,
            groups: Vec::new(),
            bloom: None,
            indexed: options.row_index_stride > 0,
            is_struct: matches!(orc.kind, OrcKind::Struct(_)),
            path,
        };
        let asked = blooms.len();
        blooms.retain(|name| *name != column.path);
        if blooms.len() < asked {
            if matches!(orc.kind, OrcKind::Boolean | OrcKind::List(_) | OrcKind::Map(..) | OrcKind::Struct(_)) {
                let message = "the column can't have a bloom filter, because its type does not support one";
                return Err(Error::invalid(message).at(column.path));
            }
            column.bloom = Some(BloomWriter::new(options.group_rows(), options.bloom_fpp));
        }
        Ok(column)
    }

    /// Takes in values of the current row group.
    pub(crate) fn append(&mut self, array: &ArrayRef, compressor: &mut BlockCompressor) -> Result<()> {
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let present = &mut self.present.bits;
        match &nulls {
            Some(nulls) => {
                present.push_all(nulls.inner());
                self.group.has_null = true;
                self.group.values += (array.len() - nulls.null_count()) as u64;
            }
            None => {
                present.push_repeated(true, array.len());
                self.group.values += array.len() as u64;
            }
        }
        let rows = WrittenRows { array, nulls: nulls.as_ref() };
        let digest = GroupDigest { statistics: &mut self.group, bloom: self.bloom.as_mut() };
        let mut out = ValueTarget { streams: &mut self.streams, digest };
        let children =
            self.values.append(&rows, &mut out).map_err(|error| error.at(format!("column {}", self.path)))?;
        self.streams.iter_mut().try_for_each(|stream| stream.relieve(compressor))?;
        if self.is_struct && (nulls.is_some() || self.group.null_above) {
            self.children.iter_mut().for_each(|child| child.group.null_above = true);
        }
        self.children.iter_mut().zip(&children).try_for_each(|(child, array)| child.append(array, compressor))
    }

    /// Starts a row group.
    pub(crate) fn start_group(&mut self) {
        self.present.start_group();
        self.values.start_group(&mut self.streams);
        self.children.iter_mut().for_each(Self::start_group);
    }

    /// Ends a row group.
    pub(crate) fn end_group(&mut self, compressor: &mut BlockCompressor) -> Result<()> {
        self.present.end_group(compressor)?;
        self.values.end_group(&mut self.streams, compressor)?;
        self.streams.iter_mut().try_for_each(|stream| stream.end_group(compressor))?;
        if self.indexed {
            self.groups.push(self.group.to_proto());
        }
        if let Some(bloom) = &mut self.bloom {
            bloom.end_group();
        }
        self.stripe.merge(&self.group);
        self.group.clear();
        self.children.iter_mut().try_for_each(|child| child.end_group(compressor))
    }

    /// Ends the stripe and returns the streams of this column and its children, in the order of their ids.
    pub(crate) fn end_stripe(&mut self, compressor: &mut BlockCompressor, out: &mut Vec<FinishedColumn>) -> Result<()> {
        let dictionary_size = self.values.end_stripe(&mut self.streams, compressor)?;
        self.streams.iter_mut().try_for_each(|stream| stream.close(compressor))?;
        let encoding = self.encoding(dictionary_size);
        // Without nulls, there is no present stream, and no position in it.
        let present = self.stripe.has_null;
        if present {
            self.present.close(compressor)?;
        } else {
            self.present.clear();
        }
        let mut index = Vec::new();
        if self.indexed {
            let entry = self.row_index(compressor);
            index.push(index_stream(StreamKind::RowIndex, &entry, compressor)?);
        }
        if let Some(filters) = self.bloom.as_mut().map(BloomWriter::take) {
            index.push(index_stream(StreamKind::BloomFilterUtf8, &filters, compressor)?);
        }
        let mut data = Vec::new();
        if present {
            data.push(self.present.take());
        }
        data.extend(self.streams.iter_mut().map(StreamWriter::take));
        self.values.reset(&mut self.streams);
        self.stripe.bytes_on_disk = data.iter().map(|stream| stream.bytes.len() as u64).sum();
        self.file.merge(&self.stripe);
        out.push(FinishedColumn {
            id: self.id,
            encoding,
            dictionary_size,
            index,
            data,
            statistics: self.stripe.to_proto(),
        });
        self.stripe.clear();
        self.children.iter_mut().try_for_each(|child| child.end_stripe(compressor, out))
    }

    /// The encoding, which also states the version of integer runs where there are integers.
    fn encoding(&self, dictionary_size: Option<u32>) -> EncodingKind {
        let integers = self.streams.iter().any(|stream| matches!(stream.coding(), StreamCoding::Ints { .. }));
        match (dictionary_size, integers) {
            (Some(_), _) => EncodingKind::DictionaryV2,
            (None, true) => EncodingKind::DirectV2,
            (None, false) => EncodingKind::Direct,
        }
    }

    fn row_index(&mut self, compressor: &BlockCompressor) -> proto::RowIndex {
        let present = self.stripe.has_null.then_some(&self.present);
        let entry = |(group, statistics)| {
            let mut positions = Vec::new();
            let streams = present.into_iter().chain(&self.streams);
            streams.for_each(|stream| stream.push_position(group, compressor, &mut positions));
            proto::RowIndexEntry { positions, statistics: Some(statistics) }
        };
        proto::RowIndex { entry: std::mem::take(&mut self.groups).into_iter().enumerate().map(entry).collect() }
    }

    /// Statistics of the file, of this column and its children in the order of their ids.
    pub(crate) fn push_file_statistics(&self, out: &mut Vec<proto::ColumnStatistics>) {
        out.push(self.file.to_file_proto());
        self.children.iter().for_each(|child| child.push_file_statistics(out));
    }

    /// An estimate of the bytes that the stripe's values take in the file.
    pub(crate) fn encoded_bytes(&self) -> usize {
        let streams: usize = self.streams.iter().map(StreamWriter::encoded_bytes).sum();
        let children: usize = self.children.iter().map(Self::encoded_bytes).sum();
        streams + children + self.values.waiting_bytes() + self.present.encoded_bytes()
    }

    /// Bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        let streams: usize = self.streams.iter().map(StreamWriter::memory_bytes).sum();
        let children: usize = self.children.iter().map(Self::memory_bytes).sum();
        let bloom = self.bloom.as_ref().map_or(0, BloomWriter::memory_bytes);
        let index = self.groups.capacity() * size_of::<proto::ColumnStatistics>();
        let own = self.present.memory_bytes() + bloom + index;
        streams + children + own + self.values.memory_bytes()
    }
}

/// Encoder and children, with their names, of a kind of column.
type Parts<'a> = (Box<dyn ValueStreams>, Vec<(&'a str, &'a OrcType)>);

fn values_of<'a>(kind: &'a OrcKind, options: &WriterOptions) -> Result<Parts<'a>> {
    let values: Box<dyn ValueStreams> = match kind {
        OrcKind::Boolean => Box::new(BooleanWriter),
        OrcKind::Byte => Box::new(IntegerWriter(StreamCoding::Bytes)),
        OrcKind::Short | OrcKind::Int | OrcKind::Long | OrcKind::Date => {
            Box::new(IntegerWriter(StreamCoding::Ints { signed: true }))
        }
        OrcKind::Float => Box::new(FloatWriter::<Float32Type>::new()),
        OrcKind::Double => Box::new(FloatWriter::<Float64Type>::new()),
        OrcKind::String => Box::new(TextWriter::new(options)),
        OrcKind::Binary => Box::new(BinaryWriter),
        OrcKind::Decimal { precision, scale } => Box::new(DecimalValues::new(*precision, *scale)),
        OrcKind::Micros => Box::new(MicrosValues),
        OrcKind::Timestamp | OrcKind::TimestampInstant => Box::new(TimestampValues::default()),
        OrcKind::List(item) => return Ok((Box::new(ListValues), vec![("_elem", item)])),
        OrcKind::Map(key, value) => return Ok((Box::new(ListValues), vec![("_key", key), ("_value", value)])),
        OrcKind::Struct(fields) => {
            return Ok((Box::new(StructValues), fields.iter().map(|(name, orc)| (name.as_str(), orc)).collect()));
        }
        other => return Err(Error::unsupported(format!("{other:?} can't be written"))),
    };
    Ok((values, Vec::new()))
}

fn index_stream(kind: StreamKind, message: &impl Message, compressor: &mut BlockCompressor) -> Result<FinishedStream> {
    let mut bytes = Vec::new();
    compressor.append_all(&message.encode_to_vec(), &mut bytes)?;
    Ok(FinishedStream { kind, bytes })
}
