#![allow(clippy::unwrap_used)]

use parquet::arrow::{ArrowSchemaConverter, parquet_to_arrow_schema};
use parquet::file::metadata::{ColumnChunkMetaData, FileMetaData};

use super::*;

#[test]
fn many_texts_within_other_columns_have_long_offsets() {
    use arrow::datatypes::{Field, Fields};
    let text = |name| Field::new(name, DataType::Utf8, true);
    let fields: Fields = vec![text("a"), text("b")].into();
    let schema = Schema::new(vec![text("flat"), Field::new("s", DataType::Struct(fields), true)]);
    let stored = Arc::new(ArrowSchemaConverter::new().convert(&schema).unwrap());
    let with_sizes = |sizes: [i64; 3]| {
        let chunk = |(leaf, bytes)| {
            let chunk = ColumnChunkMetaData::builder(stored.column(leaf)).set_total_uncompressed_size(bytes);
            chunk.build().unwrap()
        };
        let chunks: Vec<_> = sizes.into_iter().enumerate().map(chunk).collect();
        let group = RowGroupMetaData::builder(Arc::clone(&stored)).set_column_metadata(chunks).build().unwrap();
        let file = FileMetaData::new(1, 0, None, None, Arc::clone(&stored), None);
        let arrow = Arc::new(parquet_to_arrow_schema(&stored, None).unwrap());
        let large = with_large_texts(&arrow, &ParquetMetaData::new(file, vec![group]));
        leaf_types(&large.fields()[1])
    };
    assert_eq!(with_sizes([4 << 30, 1 << 20, (1 << 30) - 1]), [DataType::Utf8, DataType::Utf8]);
    assert_eq!(with_sizes([0, 1 << 20, 1 << 30]), [DataType::Utf8, DataType::LargeUtf8]);
}
