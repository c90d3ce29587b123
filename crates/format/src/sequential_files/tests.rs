#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use lakerace_io::{ErrorKind, Job, Location, Object, StorageOptions, plan_requests};

use super::*;

fn object(name: &str, size_bytes: u64) -> Object {
    let location = Location::parse(&format!("/nowhere/{name}")).unwrap();
    let mut object = location.object(&StorageOptions::default(), &Job::default()).unwrap();
    object.size_bytes = Some(size_bytes);
    object
}

fn plan(files: Vec<FilePlan>, objects: &[Object]) -> ReadPlan {
    let ranges = Job::default().options().ranges;
    ReadPlan {
        request: ReadRequest::default(),
        schema: Arc::new(Schema::empty()),
        files,
        requests: plan_requests(&[], &ranges, &objects[0].store.profile()),
    }
}

#[test]
fn files_of_a_plan_are_found_with_their_properties_at_that_time() {
    let objects = [object("a", 10), object("b", 0), object("c", 30)];
    let mut files: Vec<FilePlan> = [&objects[2], &objects[1], &objects[0]].map(sequential_plan).into();
    files[0].size_bytes = 29;
    files[2].units[0].pruned = Some("excluded".to_owned());
    let planned = planned_files(&plan(files.clone(), &objects), objects.iter()).unwrap();
    let found: Vec<_> = planned.iter().map(|file| (file.position, file.object.size_bytes, file.is_read)).collect();
    assert_eq!(found, [(2, Some(29), true), (1, Some(0), true), (0, Some(10), false)]);
    let wanted = wanted_bytes(planned.iter().map(|file| (&file.object, 4, file.is_read)));
    assert_eq!(wanted.iter().map(|wanted| (wanted.file, wanted.range.clone())).collect::<Vec<_>>(), [(0, 4..29)]);

    let error = planned_files(&plan(files, &objects), objects[1..].iter()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("/nowhere/a") && error.advice_text().is_some(), "{error}");
}

#[test]
fn columns_are_selected_by_name_in_the_requested_order() {
    let schema = Schema::new(["a", "b", "c"].map(|name| Field::new(name, DataType::Int64, true)).to_vec());
    let of = |columns: Option<&[&str]>| {
        let columns = columns.map(|names| names.iter().map(|name| (*name).to_owned()).collect());
        selected_columns(&ReadRequest { columns, ..ReadRequest::default() }, &schema, &object("x", 1))
    };
    assert_eq!(of(None).unwrap(), [0, 1, 2]);
    assert_eq!(of(Some(&["c", "a"])).unwrap(), [2, 0]);
    assert_eq!(of(Some(&["d"])).unwrap_err().kind(), ErrorKind::NotFound);
}
