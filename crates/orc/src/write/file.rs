//! The frame of a file: header, stripes with their footers, metadata, footer and postscript.

use bytes::Bytes;
use prost::Message;

use crate::encode::codec::BlockCompressor;
use crate::error::Result;
use crate::proto::{self, StreamKind};
use crate::schema::OrcType;
use crate::write::WrittenParts;
use crate::write::column::FinishedColumn;
use crate::write::options::WriterOptions;
use crate::write::stream::FinishedStream;

const MAGIC: &str = "ORC";

/// Format 0.12, which is ORC v1.
const FORMAT: [u32; 2] = [0, 12];

/// The writer's number in the footer. None is registered for this crate; the reference implementation takes files of
/// unknown writers to be free of the faults that old versions of known ones had.
const WRITER: u32 = 0x4c52;

/// The version of the writer in the postscript. Readers that look at this number alone compare it with the versions of the
/// Java writer; this is its latest.
const WRITER_VERSION: u32 = 9;

/// Streams shorter than this are joined to one piece.
const JOINED: usize = 64 << 10;

/// The zone whose clock timestamps without a zone are counted on.
const ZONE: &str = "UTC";

/// Puts the file together.
pub(crate) struct OrcFileWriter {
    types: Vec<proto::Type>,
    indexed: bool,
    /// Bytes of the file so far.
    offset: u64,
    rows: u64,
    pieces: Vec<Bytes>,
    /// The end of the file so far: small streams that wait for company.
    tail: Vec<u8>,
    stripes: Vec<proto::StripeInformation>,
    metadata: proto::Metadata,
}

impl OrcFileWriter {
    pub(crate) fn new(root: &OrcType, options: &WriterOptions) -> Self {
        Self {
            types: root.to_proto(),
            indexed: options.row_index_stride > 0,
            offset: MAGIC.len() as u64,
            rows: 0,
            pieces: Vec::new(),
            tail: MAGIC.into(),
            stripes: Vec::new(),
            metadata: proto::Metadata::default(),
        }
    }

    /// Rows of the stripes so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Bytes held.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.tail.capacity() + self.pieces.iter().map(Bytes::len).sum::<usize>()
    }

    /// The pieces since the last call.
    pub(crate) fn take_pieces(&mut self) -> Vec<Bytes> {
        std::mem::take(&mut self.pieces)
    }

    /// Appends a stripe of the columns after the root, which has `groups` and `root` for its statistics.
    pub(crate) fn push_stripe(
        &mut self,
        columns: Vec<FinishedColumn>,
        rows: u64,
        groups: Vec<proto::ColumnStatistics>,
        root: proto::ColumnStatistics,
        compressor: &mut BlockCompressor,
    ) -> Result<()> {
        let start = self.offset;
        let mut footer = proto::StripeFooter { writer_timezone: Some(ZONE.to_owned()), ..Default::default() };
        let mut encoding = proto::ColumnEncoding::default();
        encoding.set_kind(proto::EncodingKind::Direct);
        footer.columns.push(encoding);
        let mut statistics = proto::StripeStatistics { col_stats: vec![root] };
        if self.indexed {
            let entry = |statistics| proto::RowIndexEntry { positions: Vec::new(), statistics: Some(statistics) };
            let index = proto::RowIndex { entry: groups.into_iter().map(entry).collect() };
            let mut bytes = Vec::new();
            compressor.append_all(&index.encode_to_vec(), &mut bytes)?;
            self.push_stream(0, FinishedStream { kind: StreamKind::RowIndex, bytes }, &mut footer);
        }
        let mut data = Vec::with_capacity(columns.len());
        for column in columns {
            let mut encoding = proto::ColumnEncoding::default();
            encoding.set_kind(column.encoding);
            encoding.dictionary_size = column.dictionary_size;
            // BLOOM_FILTER_UTF8 counts strings in UTF-8 and times in UTC.
            let bloom = column.index.iter().any(|stream| stream.kind == StreamKind::BloomFilterUtf8);
            encoding.bloom_encoding = bloom.then_some(1);
            footer.columns.push(encoding);
            statistics.col_stats.push(column.statistics);
            column.index.into_iter().for_each(|stream| self.push_stream(column.id, stream, &mut footer));
            data.push((column.id, column.data));
        }
        let index_end = self.offset;
        for (id, streams) in data {
            streams.into_iter().for_each(|stream| self.push_stream(id, stream, &mut footer));
        }
        let data_end = self.offset;
        self.push_message(&footer, compressor)?;
        self.flush();
        self.stripes.push(proto::StripeInformation {
            offset: Some(start),
            index_length: Some(index_end - start),
            data_length: Some(data_end - index_end),
            footer_length: Some(self.offset - data_end),
            number_of_rows: Some(rows),
            ..Default::default()
        });
        self.metadata.stripe_stats.push(statistics);
        self.rows += rows;
        Ok(())
    }

    fn push_stream(&mut self, column: u32, stream: FinishedStream, footer: &mut proto::StripeFooter) {
        let length = stream.bytes.len();
        self.offset += length as u64;
        let mut wire = proto::Stream { column: Some(column), length: Some(length as u64), kind: None };
        wire.set_kind(stream.kind);
        footer.streams.push(wire);
        if length < JOINED {
            self.tail.extend_from_slice(&stream.bytes);
        } else {
            self.flush();
            self.pieces.push(stream.bytes.into());
        }
    }

    /// Appends a message in blocks and returns its length in the file.
    fn push_message(&mut self, message: &impl Message, compressor: &mut BlockCompressor) -> Result<u64> {
        let before = self.tail.len();
        compressor.append_all(&message.encode_to_vec(), &mut self.tail)?;
        let length = (self.tail.len() - before) as u64;
        self.offset += length;
        Ok(length)
    }

    fn flush(&mut self) {
        if !self.tail.is_empty() {
            self.pieces.push(std::mem::take(&mut self.tail).into());
        }
    }

    /// Ends the file.
    pub(crate) fn finish(
        mut self,
        statistics: Vec<proto::ColumnStatistics>,
        options: &WriterOptions,
        compressor: &mut BlockCompressor,
    ) -> Result<WrittenParts> {
        let content = self.offset;
        let metadata = std::mem::take(&mut self.metadata);
        let metadata_length = self.push_message(&metadata, compressor)?;
        let item = |(name, value): &(String, Vec<u8>)| proto::UserMetadataItem {
            name: Some(name.clone()),
            value: Some(value.clone()),
        };
        let mut footer = proto::Footer {
            header_length: Some(MAGIC.len() as u64),
            content_length: Some(content),
            stripes: std::mem::take(&mut self.stripes),
            types: std::mem::take(&mut self.types),
            metadata: options.metadata.iter().map(item).collect(),
            number_of_rows: Some(self.rows),
            statistics,
            row_index_stride: Some(options.row_index_stride),
            writer: Some(WRITER),
            software_version: Some(concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION")).to_owned()),
            ..Default::default()
        };
        footer.set_calendar(proto::CalendarKind::ProlepticGregorian);
        let footer_length = self.push_message(&footer, compressor)?;
        let mut postscript = proto::PostScript {
            footer_length: Some(footer_length),
            version: FORMAT.to_vec(),
            metadata_length: Some(metadata_length),
            writer_version: Some(WRITER_VERSION),
            magic: Some(MAGIC.to_owned()),
            ..Default::default()
        };
        postscript.set_compression(options.codec.to_proto());
        if !compressor.is_none() {
            postscript.compression_block_size = Some(compressor.block_size() as u64);
        }
        let postscript = postscript.encode_to_vec();
        self.tail.extend_from_slice(&postscript);
        // The postscript has at most some sixty bytes for any numbers in it.
        self.tail.push(postscript.len() as u8);
        self.offset += postscript.len() as u64 + 1;
        self.flush();
        Ok(WrittenParts { pieces: self.pieces, rows: self.rows, stripes: footer.stripes.len(), bytes: self.offset })
    }
}
