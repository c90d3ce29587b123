//! The columns for which this crate has a decoder.

use crate::parquet::decode::block::MemoryPool;
use crate::parquet::decode::values::ValueCollector;
use crate::parquet::decode::values_for;
use crate::parquet::footer::FileMeta;
use arrow::datatypes::DataType;
use parquet::basic::{CompressionCodec, Encoding};
use parquet::file::metadata::ColumnChunkMetaData;
use std::sync::Arc;

/// The decoder for a root column of a row group, to the file's type or its compact type; `None` if it is left to the parquet
/// crate, which reads all pages of a chunk, and so needs all of its bytes.
pub(crate) fn decoder(
    file: &FileMeta,
    row_group: usize,
    root: usize,
    to: &DataType,
    pool: &Arc<MemoryPool>,
) -> Option<Box<dyn ValueCollector>> {
    let leaves = file.leaves.get(root).cloned().unwrap_or(0..0);
    let chunk = file.metadata().row_group(row_group).columns().get(leaves.start)?;
    let descriptor = chunk.column_descr();
    let is_flat = leaves.len() == 1 && descriptor.max_rep_level() == 0 && descriptor.max_def_level() <= 1;
    let file_type = file.schema().field(root).data_type();
    if !is_flat || file_type.is_nested() || !are_known(chunk) {
        return None;
    }
    values_for(descriptor, to, file.rounds_int96, pool)
}

/// Returns true if this decoder supports the codec and all encodings of a chunk, as far as the footer lists them.
pub(crate) fn are_known(chunk: &ColumnChunkMetaData) -> bool {
    use Encoding as E;
    let is_known = |encoding: Encoding| {
        #[allow(deprecated, reason = "old files have it for levels")]
        let for_levels = E::BIT_PACKED;
        encoding == for_levels
            || matches!(
                encoding,
                E::PLAIN
                    | E::PLAIN_DICTIONARY
                    | E::RLE
                    | E::RLE_DICTIONARY
                    | E::DELTA_BINARY_PACKED
                    | E::DELTA_LENGTH_BYTE_ARRAY
                    | E::DELTA_BYTE_ARRAY
                    | E::BYTE_STREAM_SPLIT
            )
    };
    use CompressionCodec as C;
    let codec = chunk.compression_codec();
    let has_codec = matches!(codec, C::UNCOMPRESSED | C::SNAPPY | C::GZIP | C::BROTLI | C::LZ4 | C::ZSTD | C::LZ4_RAW);
    has_codec && chunk.encodings().all(is_known)
}
