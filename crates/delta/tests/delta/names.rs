//! Names of columns and fields that differ in their case alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, LargeListArray, RecordBatch, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field};
use lakerace_delta::{DeltaSink, Evolve, TableWrite, UpsertOptions, WriteMode, upsert};
use lakerace_format::{Batches, WriteOptions};
use lakerace_io::ErrorKind;
use lakerace_io::object_store::memory::InMemory;

use crate::common::{batch, create, read, rows, table, version};

/// Rows with more columns than the table of [`create`] has.
fn wider(more: &[(&str, ArrayRef)]) -> RecordBatch {
    let known = batch(&rows(0..1, "more"));
    let schema = known.schema();
    let columns = schema.fields().iter().zip(known.columns()).map(|(f, c)| (f.name().clone(), c.clone()));
    let more = more.iter().map(|(name, column)| ((*name).to_owned(), column.clone()));
    RecordBatch::try_from_iter_with_nullable(columns.chain(more).map(|(name, column)| (name, column, true))).unwrap()
}

#[test]
fn new_columns_and_fields_differ_in_more_than_their_case() {
    let inner = Arc::new(InMemory::new());
    let table = table(&inner);
    create(&table, 0..3, &[]);
    let before = read(&table);

    let number: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let field = |name| Field::new(name, DataType::Int64, true);
    let pair = StructArray::new(vec![field("x"), field("X")].into(), vec![number.clone(), number.clone()], None);
    let element = Arc::new(Field::new("item", pair.data_type().clone(), true));
    let list = LargeListArray::new(element, OffsetBuffer::from_lengths([1]), Arc::new(pair.clone()), None);
    let columns: [&[(&str, ArrayRef)]; 3] =
        [&[("x", number.clone()), ("X", number)], &[("s", Arc::new(pair))], &[("l", Arc::new(list))]];
    for more in columns {
        let rows = wider(more);
        let evolve = Evolve { add: true, ..Evolve::default() };
        let write = TableWrite {
            mode: WriteMode::Append,
            partition_by: Vec::new(),
            properties: BTreeMap::new(),
            evolve,
            keep_not_null: false,
            options: WriteOptions::default(),
            load_name: None,
            resumes: false,
            replace_where: None,
        };
        let appended = DeltaSink::create(&table, &rows.schema(), &write).map(drop).unwrap_err();
        let options = UpsertOptions { key: vec!["id".to_owned()], evolve, ..UpsertOptions::default() };
        let batches = Batches::new(rows.schema(), std::iter::once(Ok(rows)));
        let upserted = upsert(&table, batches, &options).unwrap_err();
        for error in [appended, upserted] {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert!(error.to_string().contains(r#""x" and "X" differ only in case"#), "{error}");
        }
    }
    assert_eq!((version(&table), read(&table)), (0, before));
}
