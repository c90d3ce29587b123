//! Encoding nested columns with the `parquet` crate's column writers.

use std::io::Sink as Nowhere;
use std::sync::{Arc, Mutex};

use arrow::array::ArrayRef;
use arrow::datatypes::{Field, FieldRef, Schema};
use bytes::Bytes;
use lakerace_io::wait::lock;
use lakerace_io::{Error, Result};
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_writer::{
    ArrowColumnWriter, ArrowRowGroupWriterFactory, PageKey, PageStore, PageStoreArgs, PageStoreFactory, compute_leaves,
};
use parquet::basic::{BoundaryOrder, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ColumnIndexBuilder, LevelHistogram};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnDescriptor, ColumnPath, SchemaDescPtr};

use super::doubtful_times::DoubtfulTimes;
use super::options::{CheckedOptions, ColumnLayout};
use crate::parquet::encode::bloom::with_other_floats;
use crate::parquet::encode::encoder::{
    BLOOM_FALSE_POSITIVES, ColumnEncoder, DICTIONARY_BYTES, EncoderScratch, PAGE_ROWS,
};
use crate::parquet::encode::intervals::check_intervals;
use crate::parquet::encode::page::EncodedChunk;
use crate::parquet::encode::statistics::{ValueBounds, ValueOrder, chunk_statistics, time_scale, time_value};

/// Encodes one nested column, all of its leaves.
pub(crate) struct NestedEncoder {
    field: FieldRef,
    leaves: Vec<ArrowColumnWriter>,
    pages: LeafPageSet,
    /// By leaf, if it has a bloom filter.
    doubtful_times: Vec<Option<DoubtfulTimes>>,
}

impl NestedEncoder {
    /// An encoder for one chunk of each leaf of `column`.
    pub(crate) fn new(column: &ColumnLayout, file: &SchemaDescPtr, settings: &CheckedOptions) -> Result<Self> {
        let mut properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_1_0)
            .set_compression(settings.codec)
            .set_coerce_types(true)
            .set_dictionary_enabled(settings.dictionary)
            .set_dictionary_page_size_limit(DICTIONARY_BYTES)
            .set_data_page_size_limit(settings.page_bytes)
            .set_data_page_row_count_limit(PAGE_ROWS)
            .set_statistics_enabled(if settings.statistics {
                EnabledStatistics::Page
            } else {
                EnabledStatistics::None
            });
        for leaf in &column.bloom {
            let path = ColumnPath::new(file.column(*leaf).path().parts().to_vec());
            properties = properties
                .set_column_bloom_filter_enabled(path.clone(), true)
                .set_column_bloom_filter_fpp(path, BLOOM_FALSE_POSITIVES);
        }
        // The crate makes column writers from a file's writer only: a file of this one column, which is never written.
        let schema = Arc::new(Schema::new(vec![Arc::clone(&column.stored)]));
        let descriptor = ArrowSchemaConverter::new()
            .with_coerce_types(true)
            .convert(&schema)
            .map_err(|e| failed(&column.field, e))?;
        let nowhere = SerializedFileWriter::<Nowhere>::new(
            std::io::sink(),
            descriptor.root_schema_ptr(),
            Arc::new(properties.build()),
        )
        .map_err(|e| failed(&column.field, e))?;
        let pages = LeafPageSet::default();
        let leaves = ArrowRowGroupWriterFactory::new(&nowhere, schema)
            .with_page_store_factory(Arc::new(pages.clone()))
            .create_column_writers(0)
            .map_err(|e| failed(&column.field, e))?;
        let leaf_numbers = column.first_leaf..column.first_leaf + column.leaves;
        let doubtful_times = leaf_numbers
            .map(|leaf| column.bloom.contains(&leaf).then(|| DoubtfulTimes::new(&file.column(leaf))).flatten())
            .collect();
        Ok(Self { field: Arc::clone(&column.stored), leaves, pages, doubtful_times })
    }
}

impl ColumnEncoder for NestedEncoder {
    fn write(&mut self, array: &ArrayRef, _scratch: &mut EncoderScratch) -> Result<()> {
        check_intervals(array.as_ref())?;
        self.doubtful_times.iter_mut().flatten().try_for_each(|times| times.add(array))?;
        let values = compute_leaves(&self.field, array).map_err(|e| failed(&self.field, e))?;
        for (writer, values) in self.leaves.iter_mut().zip(values) {
            writer.write(&values).map_err(|e| failed(&self.field, e))?;
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.leaves.iter().map(|leaf| leaf.get_estimated_total_bytes() as u64).sum()
    }

    fn finish(self: Box<Self>, _scratch: &mut EncoderScratch) -> Result<Vec<EncodedChunk>> {
        let mut chunks = Vec::with_capacity(self.leaves.len());
        for (leaf, (writer, times)) in self.leaves.into_iter().zip(self.doubtful_times).enumerate() {
            let chunk = writer.close().map_err(|e| failed(&self.field, e))?;
            let close = chunk.close();
            let pieces = self.pages.take(leaf);
            let (pieces, dictionary_bytes) = dictionary_first(pieces, close.metadata.dictionary_page_offset());
            let (metadata, mut offset_index) = (close.metadata.clone(), close.offset_index.clone());
            let metadata = if dictionary_bytes == 0 {
                metadata
            } else {
                let builder = metadata.into_builder().set_dictionary_page_offset(Some(0));
                builder.set_data_page_offset(dictionary_bytes).build().map_err(|e| failed(&self.field, e))?
            };
            // Pages follow each other without gaps, in the order of the index.
            let mut offset = dictionary_bytes;
            for page in offset_index.iter_mut().flat_map(|index| &mut index.page_locations) {
                page.offset = offset;
                offset += i64::from(page.compressed_page_size);
            }
            let physical = metadata.column_type();
            let bloom_filter = close.bloom_filter.clone().map(|mut filter| {
                let bytes = if physical == Physical::INT32 { size_of::<i32>() } else { size_of::<i64>() };
                times.iter().for_each(|times| times.complete(&mut filter, bytes));
                with_other_floats(filter, physical)
            });
            let (metadata, column_index) =
                for_readers(metadata, close.column_index.clone()).map_err(|e| failed(&self.field, e))?;
            chunks.push(EncodedChunk { pieces, metadata, column_index, offset_index, bloom_filter });
        }
        Ok(chunks)
    }
}

/// Adapts statistics for readers. The crate orders floats by IEEE 754's total order: they get the order that the footer
/// declares. Days and times get the bounds that readers look for. The encodings of the pages are left out if readers
/// look for other values.
fn for_readers(
    metadata: ColumnChunkMetaData,
    index: Option<ColumnIndexMetaData>,
) -> Result<(ColumnChunkMetaData, Option<ColumnIndexMetaData>), ParquetError> {
    let column = metadata.column_descr_ptr();
    let order = ValueOrder::for_column(&column);
    if !order.is_float() && !may_be_doubtful(&metadata) {
        return Ok((metadata, index));
    }
    // Without these, readers do not take the dictionary for all values: it may lack the zero, the NaN or the day that they look for.
    let metadata = metadata.into_builder().clear_page_encoding_stats().build()?;
    let index = index.map(|index| pages_for_readers(&column, order, &index)).transpose()?.flatten();
    let Some(statistics) = metadata.statistics() else { return Ok((metadata, index)) };
    let min_max = match (statistics.min_bytes_opt(), statistics.max_bytes_opt()) {
        (Some(min), Some(max)) if order.is_float() => order.float_bounds(min.to_vec(), max.to_vec()),
        (Some(min), Some(max)) => Some((min.to_vec(), max.to_vec())),
        _ => None,
    };
    let bounds = ValueBounds { min_max, nans: statistics.nan_count_opt().unwrap_or(0) };
    let statistics = chunk_statistics(&column, order, &bounds, statistics.null_count_opt().unwrap_or(0));
    Ok((metadata.into_builder().set_statistics(statistics).build()?, index))
}

/// Returns true if a chunk of days or times may have some for which readers look by others.
fn may_be_doubtful(metadata: &ColumnChunkMetaData) -> bool {
    let Some(scale) = time_scale(metadata.column_descr()) else { return false };
    let bounds = metadata.statistics().and_then(|statistics| {
        Some((time_value(statistics.min_bytes_opt()?)?, time_value(statistics.max_bytes_opt()?)?))
    });
    bounds.is_none_or(|(least, greatest)| scale.has_doubtful(least, greatest))
}

/// Makes the pages of a column index; `None` where a page has a NaN.
fn pages_for_readers(
    column: &ColumnDescriptor,
    order: ValueOrder,
    index: &ColumnIndexMetaData,
) -> Result<Option<ColumnIndexMetaData>, ParquetError> {
    let mut builder = ColumnIndexBuilder::new(column.physical_type());
    for page in 0..usize::try_from(index.num_pages())? {
        let histogram = |levels: Option<&[i64]>| levels.map(|levels| LevelHistogram::from(levels.to_vec()));
        let levels =
            (histogram(index.repetition_level_histogram(page)), histogram(index.definition_level_histogram(page)));
        builder.append_histograms(&levels.0, &levels.1);
        let nulls = index.null_count(page).unwrap_or(0);
        let nans = order.is_float().then(|| index.nan_count(page).unwrap_or(0));
        if nans.is_some_and(|nans| nans > 0) {
            return Ok(None);
        }
        if index.is_null_page(page) {
            builder.append(true, Vec::new(), Vec::new(), nulls, nans);
            continue;
        }
        let min_max = page_bounds(index, page);
        let min_max = if order.is_float() { min_max.and_then(|(a, b)| order.float_bounds(a, b)) } else { min_max };
        let stored = ValueBounds { min_max, nans: 0 }.stored(order, column);
        let Some((min, Some(max))) = stored.map(|stored| (stored.min, stored.max)) else { return Ok(None) };
        builder.append(false, min, max, nulls, nans);
    }
    // Zeros of either sign are equal now, and some days as well: an order that held before still holds.
    builder.set_boundary_order(index.get_boundary_order().unwrap_or(BoundaryOrder::UNORDERED));
    builder.build().map(Some)
}

/// The least and the greatest value of a page of numbers or of values of fixed length.
fn page_bounds(index: &ColumnIndexMetaData, page: usize) -> Option<(Vec<u8>, Vec<u8>)> {
    macro_rules! numbers {
        ($index:expr) => {
            $index
                .min_value(page)
                .zip($index.max_value(page))
                .map(|(a, b)| (a.to_le_bytes().to_vec(), b.to_le_bytes().to_vec()))
        };
    }
    match index {
        ColumnIndexMetaData::FLOAT(index) => numbers!(index),
        ColumnIndexMetaData::DOUBLE(index) => numbers!(index),
        ColumnIndexMetaData::INT32(index) => numbers!(index),
        ColumnIndexMetaData::INT64(index) => numbers!(index),
        ColumnIndexMetaData::FIXED_LEN_BYTE_ARRAY(index) => {
            index.min_value(page).zip(index.max_value(page)).map(|(a, b)| (a.to_vec(), b.to_vec()))
        }
        _ => None,
    }
}

/// The crate returns the dictionary page when it is complete, after data pages: moves its header and body to the front.
/// `at` is its offset among the pieces. Returns its length, 0 if there is none.
fn dictionary_first(mut pieces: Vec<Bytes>, at: Option<i64>) -> (Vec<Bytes>, i64) {
    let Some(at) = at else { return (pieces, 0) };
    let mut offset = 0;
    let Some(first) = pieces.iter().position(|piece| {
        let found = offset == at;
        offset += piece.len() as i64;
        found
    }) else {
        return (pieces, 0);
    };
    let last = (first + 2).min(pieces.len());
    let length = pieces[first..last].iter().map(|piece| piece.len() as i64).sum();
    pieces[..last].rotate_right(last - first);
    (pieces, length)
}

/// The pages of all leaves of one column, in the order of their making.
#[derive(Debug, Clone, Default)]
struct LeafPageSet {
    leaves: Arc<Mutex<Vec<Vec<Bytes>>>>,
}

impl LeafPageSet {
    fn take(&self, leaf: usize) -> Vec<Bytes> {
        let mut leaves = lock(&self.leaves);
        leaves.get_mut(leaf).map(std::mem::take).unwrap_or_default()
    }
}

impl PageStoreFactory for LeafPageSet {
    fn create(&self, args: &PageStoreArgs<'_>) -> Result<Box<dyn PageStore>, ParquetError> {
        let leaf = args.column_index();
        let mut leaves = lock(&self.leaves);
        let length = leaves.len().max(leaf + 1);
        leaves.resize_with(length, Vec::new);
        Ok(Box::new(LeafPages { pages: self.clone(), leaf }))
    }
}

/// The pages of a leaf.
struct LeafPages {
    pages: LeafPageSet,
    leaf: usize,
}

impl PageStore for LeafPages {
    fn put(&mut self, value: Bytes) -> Result<PageKey, ParquetError> {
        let mut leaves = lock(&self.pages.leaves);
        let pages = leaves.get_mut(self.leaf).ok_or_else(|| ParquetError::General("unknown leaf".to_owned()))?;
        pages.push(value);
        Ok(PageKey::new(pages.len() as u64 - 1))
    }

    fn take(&mut self, _key: PageKey) -> Result<Bytes, ParquetError> {
        Err(ParquetError::General("pages are requested by the chunk".to_owned()))
    }
}

fn failed(field: &Field, error: ParquetError) -> Error {
    let place = format!("column {:?}", field.name());
    match error {
        ParquetError::NYI(what) => Error::unsupported(what).at(place),
        other => Error::invalid(other.to_string()).at(place),
    }
}
