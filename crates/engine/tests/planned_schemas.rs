//! Columns that change in the commit of rows, which other processes have written for them.
#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use lakerace::{
    ErrorKind, FilesCommit, Job, NewTable, OpenVersion, PendingFile, PlannedSchema, ReadOptions, Replaced, Result,
    Scan, SchemaReplacement, SharedTable, StorageOptions, WriteOptions, commit_files, merged_schema, replaced_schema,
    table_writer,
};

struct Place {
    _folder: tempfile::TempDir,
    name: String,
}

fn ids(ids: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(ids.into_iter().map(Some).collect::<Int64Array>())
}

fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap()
}

impl Place {
    /// A table of the columns id and n with a row.
    fn new(properties: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Self { name: format!("delta:{}/t", folder.path().display()), _folder: folder };
        let properties = properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let new = NewTable { properties, ..NewTable::default() };
        let rows = batch([("id", ids([1])), ("n", Arc::new(Int32Array::from(vec![10])))]);
        SharedTable::find_or_make(&place.name, &rows.schema(), &new, &StorageOptions::default(), &Job::default())
            .unwrap();
        assert_eq!(place.commit(0, &rows, Replaced::Nothing, None).unwrap(), Some(1));
        place
    }

    fn at(&self, version: u64) -> OpenVersion {
        OpenVersion::open(&self.name, version, None, &StorageOptions::default(), &Job::default()).unwrap()
    }

    fn merged(&self, version: u64, rows: &Schema) -> Result<Option<PlannedSchema>> {
        merged_schema(&self.at(version), rows)
    }

    fn replaced(&self, version: u64, columns: &Schema, new: &SchemaReplacement) -> Result<Option<PlannedSchema>> {
        replaced_schema(&self.at(version), columns, new)
    }

    /// Writes rows in one process and commits them in another: the plan goes there as text.
    fn commit(
        &self,
        version: u64,
        rows: &RecordBatch,
        replaced: Replaced,
        planned: Option<&PlannedSchema>,
    ) -> Result<Option<u64>> {
        let planned = planned.map(|planned| serde_json::to_string(planned).unwrap());
        let planned: Option<PlannedSchema> = planned.map(|text| serde_json::from_str(&text).unwrap());
        let base = self.at(version);
        let target = planned.as_ref().map_or(base.clone(), |planned| base.planned(planned).unwrap());
        let mut writer = table_writer(&target, &rows.schema(), &WriteOptions::default()).unwrap();
        writer.write(rows).unwrap();
        let text = serde_json::to_string(&writer.finish().unwrap()).unwrap();
        let files: Vec<PendingFile> = serde_json::from_str(&text).unwrap();
        let options = FilesCommit { planned: planned.as_ref(), ..FilesCommit::default() };
        Ok(commit_files(&base, files, replaced, &options)?.and_then(|written| written.version))
    }

    fn rows(&self, at: Option<u64>) -> (SchemaRef, usize) {
        let options = ReadOptions { at: at.map(|at| at.to_string()), ..ReadOptions::default() };
        let scan = Scan::open(&self.name, &options, &Job::default()).unwrap();
        (scan.schema(), scan.batches().unwrap().map(|batch| batch.unwrap().num_rows()).sum())
    }

    fn names(&self, at: Option<u64>) -> Vec<String> {
        self.rows(at).0.fields().iter().map(|field| field.name().clone()).collect()
    }
}

#[test]
fn columns_come_with_their_rows() {
    for mapping in ["none", "name"] {
        let place = Place::new(&[("delta.columnMapping.mode", mapping)]);
        let inner: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
        let inner = StructArray::from(vec![(Arc::new(Field::new("text", DataType::Utf8, true)), inner)]);
        let rows = batch([("id", ids([2])), ("s", Arc::new(inner))]);
        let planned = place.merged(1, &rows.schema()).unwrap().unwrap();
        assert_eq!(place.commit(1, &rows, Replaced::Nothing, Some(&planned)).unwrap(), Some(2));
        assert_eq!((place.names(None), place.rows(None).1), (vec!["id".into(), "n".into(), "s".into()], 2));
        assert_eq!(place.names(Some(1)), ["id", "n"]);
        // It has all of them now.
        assert_eq!(place.merged(2, &rows.schema()).unwrap(), None);
        // The plan was for columns that are there no more.
        let more = batch([("id", ids([3])), ("m", ids([3]))]);
        let late = place.merged(1, &more.schema()).unwrap().unwrap();
        let error = place.commit(1, &more, Replaced::Nothing, Some(&late)).unwrap_err();
        assert_eq!((error.kind(), place.rows(None).1), (ErrorKind::Conflict, 2));
    }
}

#[test]
fn types_stay_unless_they_may_widen() {
    let wide = Schema::new(vec![Field::new("n", DataType::Int64, true)]);
    let error = Place::new(&[]).merged(1, &wide).unwrap_err();
    assert!(error.to_string().contains("delta.enableTypeWidening"), "{error}");
    let place = Place::new(&[("delta.enableTypeWidening", "true")]);
    let planned = place.merged(1, &wide).unwrap().unwrap();
    let rows = batch([("id", ids([2])), ("n", ids([1 << 40]))]);
    assert_eq!(place.commit(1, &rows, Replaced::Nothing, Some(&planned)).unwrap(), Some(2));
    assert_eq!(place.rows(None).0.field(1).data_type(), &DataType::Int64);
}

#[test]
fn a_column_brings_its_feature() {
    let place = Place::new(&[]);
    let time = DataType::Timestamp(TimeUnit::Microsecond, None);
    let rows = Schema::new(vec![Field::new("at", time, true)]);
    let planned = place.merged(1, &rows).unwrap().unwrap();
    let empty = RecordBatch::new_empty(Arc::new(rows));
    assert_eq!(place.commit(1, &empty, Replaced::Nothing, Some(&planned)).unwrap(), Some(2));
    assert_eq!(place.names(None), ["id", "n", "at"]);
}

#[test]
fn columns_are_replaced() {
    let place = Place::new(&[("owner", "a")]);
    let rows = batch([("k", Arc::new(StringArray::from(vec!["x", "y"])) as ArrayRef), ("v", ids([1, 2]))]);
    let keeps = SchemaReplacement { partition_by: vec!["k".to_owned()], ..SchemaReplacement::default() };
    let planned = place.replaced(1, &rows.schema(), &keeps).unwrap().unwrap();
    let error = place.commit(1, &rows, Replaced::Nothing, Some(&planned)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Internal);
    assert_eq!(place.commit(1, &rows, Replaced::Table, Some(&planned)).unwrap(), Some(2));
    let opened = place.at(2);
    assert_eq!(
        (opened.partition_columns(), opened.properties().get("owner").cloned()),
        (vec!["k".into()], Some("a".into()))
    );
    assert_eq!((place.names(None), place.rows(None).1, place.rows(Some(1)).1), (vec!["k".into(), "v".into()], 2, 1));
    assert_eq!(opened.table_id(), place.at(1).table_id());
    // The same columns and partitions change nothing.
    assert_eq!(place.replaced(2, &rows.schema(), &keeps).unwrap(), None);
    let properties = BTreeMap::from([("team".to_owned(), "b".to_owned())]);
    let new = SchemaReplacement { properties: Some(properties), ..SchemaReplacement::default() };
    let planned = place.replaced(2, &rows.schema(), &new).unwrap().unwrap();
    assert_eq!(place.commit(2, &rows, Replaced::Table, Some(&planned)).unwrap(), Some(3));
    let opened = place.at(3);
    assert!(opened.partition_columns().is_empty());
    assert_eq!((opened.properties().get("owner"), opened.properties()["team"].as_str()), (None, "b"));
}

#[test]
fn a_replacement_keeps_what_its_properties_need() {
    let place = Place::new(&[("lakerace.primaryKey", "id")]);
    let other = Schema::new(vec![Field::new("k", DataType::Utf8, true)]);
    let error = place.replaced(1, &other, &SchemaReplacement::default()).unwrap_err();
    assert!(error.to_string().contains("lakerace.primaryKey=id"), "{error}");
    let properties = BTreeMap::from([("delta.enableRowTracking".to_owned(), "true".to_owned())]);
    let new = SchemaReplacement { properties: Some(properties), ..SchemaReplacement::default() };
    assert_eq!(place.replaced(1, &other, &new).unwrap_err().kind(), ErrorKind::Unsupported);
}
