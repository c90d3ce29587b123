//! A file's outer parts: magic, row groups in their places, indexes and footer.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use lakerace_io::{Error, Result};
use parquet::errors::ParquetError;
use parquet::file::metadata::page_index::PageIndexBuilder;
use parquet::file::metadata::{
    FileMetaData, KeyValue, ParquetMetaDataBuilder, ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::file::writer::TrackedWrite;
use parquet::schema::types::SchemaDescPtr;

use crate::parquet::encode::page::EncodedChunk;

/// First and last bytes of a file.
const MAGIC: &[u8] = b"PAR1";
/// `FileMetaData.version`, of which only 1 and 2 are in use; 2 means that newer logical types may occur.
const VERSION: i32 = 2;

/// The parts of a file so far.
pub(crate) struct FileParts {
    schema: SchemaDescPtr,
    key_values: Vec<KeyValue>,
    position: u64,
    rows: u64,
    row_groups: Vec<RowGroupMetaData>,
    column_indexes: Vec<Vec<Option<ColumnIndexMetaData>>>,
    offset_indexes: Vec<Vec<Option<OffsetIndexMetaData>>>,
}

impl FileParts {
    /// An empty file of this schema, and its first bytes.
    pub(crate) fn new(schema: SchemaDescPtr, key_values: Vec<KeyValue>) -> (Self, Bytes) {
        let parts = Self {
            schema,
            key_values,
            position: MAGIC.len() as u64,
            rows: 0,
            row_groups: Vec::new(),
            column_indexes: Vec::new(),
            offset_indexes: Vec::new(),
        };
        (parts, Bytes::from_static(MAGIC))
    }

    /// Rows so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Appends a row group of these chunks, one for each leaf; gives its bytes.
    pub(crate) fn row_group(&mut self, chunks: Vec<EncodedChunk>, rows: u64) -> Result<Vec<Bytes>> {
        let start = self.position as i64;
        let mut pieces = Vec::new();
        let (mut columns, mut column_indexes, mut offset_indexes) = (Vec::new(), Vec::new(), Vec::new());
        let mut filters = Vec::new();
        let mut uncompressed = 0;
        for chunk in chunks {
            let first = self.position as i64;
            let metadata = chunk.metadata;
            uncompressed += metadata.uncompressed_size();
            let data_page = metadata.data_page_offset() + first;
            let dictionary_page = metadata.dictionary_page_offset().map(|offset| offset + first);
            columns.push(
                metadata.into_builder().set_data_page_offset(data_page).set_dictionary_page_offset(dictionary_page),
            );
            offset_indexes.push(chunk.offset_index.map(|mut index| {
                index.page_locations.iter_mut().for_each(|page| page.offset += first);
                index
            }));
            column_indexes.push(chunk.column_index);
            filters.push(chunk.bloom_filter);
            for piece in chunk.pieces {
                self.position += piece.len() as u64;
                pieces.push(piece);
            }
        }
        let mut finished = Vec::with_capacity(columns.len());
        for (mut column, filter) in columns.into_iter().zip(filters) {
            if let Some(filter) = filter {
                let mut bytes = Vec::new();
                filter.write(&mut bytes).map_err(internal)?;
                let length = i32::try_from(bytes.len()).map_err(|_| Error::internal("a bloom filter is too large"))?;
                column =
                    column.set_bloom_filter_offset(Some(self.position as i64)).set_bloom_filter_length(Some(length));
                self.position += bytes.len() as u64;
                pieces.push(bytes.into());
            }
            finished.push(column.build().map_err(internal)?);
        }
        let ordinal = i32::try_from(self.row_groups.len()).map_err(|_| {
            Error::unsupported("more row groups than a file can hold").advice("write larger row groups")
        })?;
        let row_group = RowGroupMetaData::builder(Arc::clone(&self.schema))
            .set_column_metadata(finished)
            .set_total_byte_size(uncompressed)
            .set_num_rows(rows as i64)
            .set_ordinal(ordinal)
            .set_file_offset(start)
            .build()
            .map_err(internal)?;
        self.row_groups.push(row_group);
        self.column_indexes.push(column_indexes);
        self.offset_indexes.push(offset_indexes);
        self.rows += rows;
        Ok(pieces)
    }

    /// The file's last bytes: page indexes, footer, its length and the magic.
    pub(crate) fn finish(self) -> Result<Bytes> {
        let columns = self.schema.num_columns();
        let mut page_index = PageIndexBuilder::new(self.row_groups.len(), columns);
        for (group, (bounds, places)) in self.column_indexes.into_iter().zip(self.offset_indexes).enumerate() {
            for (column, (bounds, places)) in bounds.into_iter().zip(places).enumerate() {
                if let Some(bounds) = bounds {
                    page_index.put_column_index(bounds, group, column);
                }
                if let Some(places) = places {
                    page_index.put_offset_index(places, group, column);
                }
            }
        }
        let created_by = format!("lakerace version {}", env!("CARGO_PKG_VERSION"));
        let file =
            FileMetaData::new(VERSION, self.rows as i64, Some(created_by), Some(self.key_values), self.schema, None);
        let metadata = ParquetMetaDataBuilder::new(file)
            .set_row_groups(self.row_groups)
            .set_page_index(Some(Arc::new(page_index.build())))
            .build();
        let mut tail = FooterTail { skip: self.position, bytes: Vec::new() };
        let mut tracked = TrackedWrite::new(&mut tail);
        feed_zeros(&mut tracked, self.position).map_err(Error::unexpected)?;
        ParquetMetaDataWriter::new_with_tracked(tracked, &metadata).finish().map_err(internal)?;
        order_by_type(&mut tail.bytes, columns)?;
        Ok(tail.bytes.into())
    }
}

/// Footer length and magic at the end of a file.
const TRAILER_BYTES: usize = 8;
/// The bytes of a `ColumnOrder` in Thrift's compact protocol: the header of its one field, an empty struct, its end.
const ORDER_BYTES: usize = 3;
/// `ColumnOrder.TYPE_ORDER` and `ColumnOrder.IEEE_754_TOTAL_ORDER`: fields 1 and 2, structs.
const TYPE_ORDER: [u8; ORDER_BYTES] = [0x1c, 0, 0];
const TOTAL_ORDER: [u8; ORDER_BYTES] = [0x2c, 0, 0];

/// Declares the type's own order for the columns of floats, where the crate declares IEEE 754's total order. Most
/// readers don't know that order, and would ignore the statistics. `tail` is the end of a file with this number of
/// columns.
///
/// The orders are the footer's last field, so they precede the byte that ends it.
fn order_by_type(tail: &mut [u8], columns: usize) -> Result<()> {
    let unexpected = || Error::internal("the column orders are not at their expected place in the footer");
    let end = tail.len().checked_sub(TRAILER_BYTES + 1).ok_or_else(unexpected)?;
    let start = end.checked_sub(columns * ORDER_BYTES).ok_or_else(unexpected)?;
    for order in tail[start..end].chunks_exact_mut(ORDER_BYTES) {
        if order == TOTAL_ORDER {
            order.copy_from_slice(&TYPE_ORDER);
        } else if order != TYPE_ORDER {
            return Err(unexpected());
        }
    }
    Ok(())
}

/// The metadata writer takes the bytes that went through it for the place in the file. The bytes before the footer
/// have long been sent: zeros pass instead of them, and are dropped.
struct FooterTail {
    skip: u64,
    bytes: Vec<u8>,
}

impl Write for FooterTail {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(bytes.len());
        self.skip -= skipped as u64;
        self.bytes.extend_from_slice(&bytes[skipped..]);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn feed_zeros(out: &mut impl Write, mut count: u64) -> std::io::Result<()> {
    static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
    while count > 0 {
        let part = count.min(ZEROS.len() as u64);
        out.write_all(&ZEROS[..part as usize])?;
        count -= part;
    }
    Ok(())
}

fn internal(error: ParquetError) -> Error {
    Error::internal("file metadata").because(error)
}
