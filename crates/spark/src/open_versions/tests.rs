#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use lakerace::{ErrorKind, NewTable, StorageOptions};

use super::*;

fn made(location: &str, column: &str) -> SharedTable {
    let schema = Arc::new(Schema::new(vec![Field::new(column, DataType::Int64, true)]));
    let (storage, job) = (StorageOptions::default(), Job::default());
    SharedTable::find_or_make(&format!("delta:{location}"), &schema, &NewTable::default(), &storage, &job).unwrap()
}

fn settings(table: &SharedTable) -> SparkSettings {
    let id = table.open_version().table_id().to_owned();
    SparkSettings::parse(&format!(r#"{{"write.table_id": "{id}"}}"#)).unwrap()
}

#[test]
fn a_version_is_one_of_its_table() {
    let folder = std::env::temp_dir().join(format!("lakerace-open-versions-{}", std::process::id()));
    let (location, job) = (folder.display().to_string(), Job::default());
    let first = made(&location, "a");
    let opened = open_at(&location, &settings(&first), 0, &job).unwrap();
    assert_eq!(opened.schema().field(0).name(), "a");
    // Names with and without the scheme are one table, and a version that is open needs no request.
    let again = Job::default();
    open_at(&format!("delta:{location}/"), &settings(&first), 0, &again).unwrap();
    assert_eq!(again.meter().counts().requests, Job::default().meter().counts().requests);

    lakerace::drop_table(&location, &StorageOptions::default(), &job).unwrap();
    let second = made(&location, "b");
    let opened = open_at(&location, &settings(&second), 0, &job).unwrap();
    assert_eq!(opened.schema().field(0).name(), "b");
    let error = open_at(&location, &settings(&first), 0, &job).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(find_before(&location, &settings(&first), None).is_none());
    lakerace::drop_table(&location, &StorageOptions::default(), &job).unwrap();
    assert!(open_last(&location, &SparkSettings::default(), &job).unwrap().is_none());
}
