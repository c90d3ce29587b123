//! A column of the type tree: its present stream, its values, its statistics and bloom filter, and its children.

use arrow::array::{Array, ArrayRef};
use prost::Message;

use crate::encode::booleans::BitCollector;
use crate::encode::codec::Compressor;
use crate::proto::{self, StreamKind};
use crate::schema::{OrcKind, OrcType};
use crate::write::binaries::Binaries;
use crate::write::bloom::Bloom;
use crate::write::booleans::Booleans;
use crate::write::decimals::Decimals;
use crate::write::floats::Floats;
use crate::write::integers::{Bytes, Integers};
use crate::write::nested::{Lists, Structs};
use crate::write::options::WriterOptions;
use crate::write::statistics::Statistics;
use crate::write::stream::{FinishedStream, Shape, Stream};
use crate::write::texts::Texts;
use crate::write::timestamps::Timestamps;
use crate::write::values::{Digest, Encoding, Values};
use crate::{Error, Result};

/// A column that is being written.
pub(crate) struct Column {
    id: u32,
    /// Names from the root, as errors and bloom filter options give them.
    path: String,
    block_size: usize,
    bits: BitCollector,
    present: Stream,
    values: Box<dyn Values>,
    /// Of the row group, the stripe and the file.
    group: Statistics,
    stripe: Statistics,
    file: Statistics,
    /// Of the stripe's finished row groups.
    groups: Vec<proto::ColumnStatistics>,
    bloom: Option<Bloom>,
    indexed: bool,
}

/// A column in a finished stripe.
pub(crate) struct FinishedColumn {
    pub(crate) id: u32,
    pub(crate) encoding: Encoding,
    /// Row index and bloom filter.
    pub(crate) index: Vec<FinishedStream>,
    pub(crate) data: Vec<FinishedStream>,
    pub(crate) statistics: proto::ColumnStatistics,
}

impl Column {
    /// The column for `orc` and its children. Names of bloom filter columns that were met are taken out of `blooms`.
    pub(crate) fn new(orc: &OrcType, path: String, options: &WriterOptions, blooms: &mut Vec<String>) -> Result<Self> {
        let block_size = options.block_size;
        let mut child = |orc: &OrcType, name: &str| Self::new(orc, format!("{path}.{name}"), options, blooms);
        let values: Box<dyn Values> = match &orc.kind {
            OrcKind::Boolean => Box::new(Booleans::new(block_size)),
            OrcKind::Byte => Box::new(Bytes::new(block_size)),
            OrcKind::Short | OrcKind::Int | OrcKind::Long | OrcKind::Date => Box::new(Integers::new(block_size)),
            OrcKind::Float => Box::new(Floats::<f32>::new(block_size)),
            OrcKind::Double => Box::new(Floats::<f64>::new(block_size)),
            OrcKind::String => Box::new(Texts::new(options)),
            OrcKind::Binary => Box::new(Binaries::new(block_size)),
            OrcKind::Decimal { precision, scale } => Box::new(Decimals::new(*precision, *scale, block_size)),
            OrcKind::Timestamp | OrcKind::TimestampInstant => Box::new(Timestamps::new(block_size)),
            OrcKind::List(item) => Box::new(Lists::new(vec![child(item, "_elem")?], block_size)),
            OrcKind::Map(key, value) => {
                Box::new(Lists::new(vec![child(key, "_key")?, child(value, "_value")?], block_size))
            }
            OrcKind::Struct(fields) => {
                Box::new(Structs::new(fields.iter().map(|(name, orc)| child(orc, name)).collect::<Result<_>>()?))
            }
            other => return Err(Error::unsupported(format!("{other:?} is not written")).at(path)),
        };
        let statistics = Statistics::new(&orc.kind);
        let mut column = Self {
            id: orc.id,
            block_size,
            bits: BitCollector::default(),
            present: Stream::new(StreamKind::Present, Shape::Bits, block_size),
            values,
            group: statistics.clone(),
            stripe: statistics.clone(),
            file: statistics,
            groups: Vec::new(),
            bloom: None,
            indexed: options.row_index_stride > 0,
            path,
        };
        let asked = blooms.len();
        blooms.retain(|name| *name != column.path);
        if blooms.len() < asked {
            if matches!(orc.kind, OrcKind::Boolean | OrcKind::List(_) | OrcKind::Map(..) | OrcKind::Struct(_)) {
                let message = "a bloom filter says nothing about this type; leave the column out of bloom_filters";
                return Err(Error::invalid(message).at(column.path));
            }
            column.bloom = Some(Bloom::new(options.group_rows(), options.bloom_fpp));
        }
        Ok(column)
    }

    /// Takes in values of the current row group.
    pub(crate) fn append(&mut self, array: &ArrayRef, compressor: &mut Compressor) -> Result<()> {
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        match &nulls {
            Some(nulls) => {
                self.bits.push_all(nulls.inner());
                self.group.has_null = true;
                self.group.values += (array.len() - nulls.null_count()) as u64;
            }
            None => {
                self.bits.push_repeated(true, array.len());
                self.group.values += array.len() as u64;
            }
        }
        let mut digest = Digest { statistics: &mut self.group, bloom: self.bloom.as_mut() };
        self.values
            .append(array, nulls.as_ref(), &mut digest, compressor)
            .map_err(|error| if error.place().is_empty() { error.at(format!("column {}", self.path)) } else { error })
    }

    /// Starts a row group.
    pub(crate) fn start_group(&mut self) {
        let bits = self.bits.take_full(&mut self.present.raw);
        self.present.mark(bits);
        self.values.start_group();
        self.values.children_mut().iter_mut().for_each(Self::start_group);
    }

    /// Ends a row group.
    pub(crate) fn end_group(&mut self, compressor: &mut Compressor) -> Result<()> {
        self.bits.take_full(&mut self.present.raw);
        self.present.drain(compressor)?;
        self.values.end_group(compressor)?;
        if self.indexed {
            self.groups.push(self.group.to_proto());
        }
        if let Some(bloom) = &mut self.bloom {
            bloom.end_group();
        }
        self.stripe.merge(&self.group);
        self.group.clear();
        self.values.children_mut().iter_mut().try_for_each(|child| child.end_group(compressor))
    }

    /// Ends the stripe: what is to be written of this column and its children, in the order of their ids.
    pub(crate) fn end_stripe(&mut self, compressor: &mut Compressor, out: &mut Vec<FinishedColumn>) -> Result<()> {
        let encoding = self.values.close(compressor)?;
        // Where nothing is null, there is no present stream, and no position in it.
        let present = self.stripe.has_null;
        self.bits.take_all(&mut self.present.raw);
        if present {
            self.present.close(compressor)?;
        } else {
            self.present.clear();
        }
        let mut index = Vec::new();
        if self.indexed {
            let entry = self.row_index(compressor);
            index.push(self.index_stream(StreamKind::RowIndex, &entry, compressor)?);
        }
        if let Some(filters) = self.bloom.as_mut().map(Bloom::take) {
            index.push(self.index_stream(StreamKind::BloomFilterUtf8, &filters, compressor)?);
        }
        let mut data = Vec::new();
        if present {
            data.push(self.present.take());
        }
        data.extend(self.values.streams_mut().iter_mut().map(Stream::take));
        self.values.reset();
        self.stripe.bytes_on_disk = data.iter().map(|stream| stream.bytes.len() as u64).sum();
        self.file.merge(&self.stripe);
        out.push(FinishedColumn { id: self.id, encoding, index, data, statistics: self.stripe.to_proto() });
        self.stripe.clear();
        self.values.children_mut().iter_mut().try_for_each(|child| child.end_stripe(compressor, out))
    }

    fn row_index(&mut self, compressor: &Compressor) -> proto::RowIndex {
        let compressed = !compressor.is_none();
        let streams = self.stripe.has_null.then_some(&self.present).into_iter().chain(self.values.streams());
        let streams: Vec<&Stream> = streams.collect();
        let entry = |(group, statistics)| {
            let mut positions = Vec::new();
            streams.iter().for_each(|stream| stream.push_position(group, compressed, &mut positions));
            proto::RowIndexEntry { positions, statistics: Some(statistics) }
        };
        proto::RowIndex { entry: std::mem::take(&mut self.groups).into_iter().enumerate().map(entry).collect() }
    }

    fn index_stream(
        &self,
        kind: StreamKind,
        message: &impl Message,
        compressor: &mut Compressor,
    ) -> Result<FinishedStream> {
        let mut bytes = Vec::new();
        compressor.append_all(&message.encode_to_vec(), self.block_size, &mut bytes)?;
        Ok(FinishedStream { kind, bytes })
    }

    /// Statistics of the file, of this column and its children in the order of their ids.
    pub(crate) fn push_file_statistics(&self, out: &mut Vec<proto::ColumnStatistics>) {
        out.push(self.file.to_proto());
        self.values.children().iter().for_each(|child| child.push_file_statistics(out));
    }

    /// Bytes that the stripe's values will about take in the file.
    pub(crate) fn encoded_bytes(&self) -> usize {
        let streams: usize = self.values.streams().iter().map(Stream::encoded_bytes).sum();
        let children: usize = self.values.children().iter().map(Self::encoded_bytes).sum();
        streams + children + self.values.waiting_bytes() + self.present.encoded_bytes()
    }

    /// Bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        let streams: usize = self.values.streams().iter().map(Stream::memory_bytes).sum();
        let children: usize = self.values.children().iter().map(Self::memory_bytes).sum();
        let bloom = self.bloom.as_ref().map_or(0, Bloom::memory_bytes);
        let index = self.groups.capacity() * size_of::<proto::ColumnStatistics>();
        let own = self.bits.memory_bytes() + self.present.memory_bytes() + bloom + index;
        streams + children + own + self.values.memory_bytes()
    }
}
