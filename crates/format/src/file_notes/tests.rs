#![allow(clippy::unwrap_used)]

use arrow::datatypes::{DataType, Field, Fields, Metadata};
use serde_json::{Value, json};

use super::{common_notes, requested_notes};
use crate::{Expr, Literal, ReadRequest};

fn notes(pairs: &[(&str, String)]) -> Metadata {
    pairs.iter().cloned().collect()
}

fn columns(names: &[&str]) -> Fields {
    names.iter().map(|name| Field::new(*name, DataType::Int32, true)).collect()
}

fn pandas() -> String {
    let column = |name: &str| json!({"name": name, "field_name": name, "pandas_type": "int32"});
    json!({
        "index_columns": ["id", {"kind": "range", "start": 0, "stop": 3, "step": 1}],
        "columns": [column("id"), column("x"), column("geometry")],
    })
    .to_string()
}

fn geo(west: f64) -> String {
    json!({
        "version": "1.1.0",
        "primary_column": "geometry",
        "columns": {
            "geometry": {
                "encoding": "WKB", "geometry_types": ["Point"], "bbox": [west, 0.1, 2.0, 3.0],
                "covering": {"bbox": {"xmin": ["box", "xmin"]}},
            },
            "other": {"encoding": "WKB", "geometry_types": []},
        },
    })
    .to_string()
}

fn parsed(notes: &Metadata, key: &str) -> Value {
    serde_json::from_str(&notes[key]).unwrap()
}

#[test]
fn a_whole_read_keeps_the_very_texts_but_for_those_of_the_writer() {
    let own = [("geo", geo(0.1)), ("pandas", pandas()), ("mine", "x".to_owned())];
    let mut stored = notes(&own);
    for writers in
        ["ARROW:schema", "org.apache.spark.sql.parquet.row.metadata", "parquet.avro.schema", "writer.model.name"]
    {
        stored.insert(writers, "of another file");
    }
    let all = columns(&["id", "x", "geometry", "other", "box"]);
    let common = common_notes([&stored].into_iter());
    assert_eq!(common, notes(&own));
    assert_eq!(requested_notes(&common, &all, &all, &ReadRequest::default()), notes(&own));
}

#[test]
fn files_that_differ_keep_what_they_agree_on() {
    let one = notes(&[("geo", geo(0.0)), ("pandas", pandas()), ("mine", "x".into()), ("only", "here".into())]);
    let two = notes(&[("geo", geo(9.0)), ("pandas", pandas()), ("mine", "y".into())]);
    let common = common_notes([&one, &two].into_iter());
    let keys: Vec<&String> = common.keys().collect();
    assert_eq!(keys, ["geo", "pandas"]);
    assert_eq!(parsed(&common, "geo")["columns"]["geometry"].get("bbox"), None);
    assert_eq!(parsed(&common, "pandas")["index_columns"], json!(["id"]));
}

#[test]
fn rows_that_are_left_out_take_bounds_and_ranges_with_them() {
    let stored = notes(&[("geo", geo(0.0)), ("pandas", pandas()), ("mine", "x".to_owned())]);
    let all = columns(&["id", "x", "geometry", "other", "box"]);
    let filter = Some(Expr::Literal(Literal::Boolean(true)));
    for request in [ReadRequest { filter, ..Default::default() }, ReadRequest { limit: Some(1), ..Default::default() }]
    {
        let read = requested_notes(&stored, &all, &all, &request);
        let geometry = &parsed(&read, "geo")["columns"]["geometry"];
        assert_eq!((geometry.get("bbox"), &geometry["geometry_types"]), (None, &json!([])));
        assert_eq!(parsed(&read, "pandas")["index_columns"], json!(["id"]));
        assert_eq!(read["mine"], "x");
    }
}

#[test]
fn columns_that_are_left_out_are_not_described() {
    let stored = notes(&[("geo", geo(0.0)), ("pandas", pandas()), ("broken", "{".to_owned())]);
    let all = columns(&["id", "x", "geometry", "other", "box"]);
    let read = requested_notes(&stored, &all, &columns(&["x", "geometry"]), &ReadRequest::default());
    let geo = parsed(&read, "geo");
    assert_eq!(geo["columns"].as_object().unwrap().keys().collect::<Vec<_>>(), ["geometry"]);
    assert_eq!(geo["columns"]["geometry"].get("covering"), None);
    let pandas = parsed(&read, "pandas");
    assert_eq!(pandas["columns"].as_array().unwrap().len(), 2);
    assert_eq!(pandas["index_columns"].as_array().unwrap().len(), 1);
    let read = requested_notes(&stored, &all, &columns(&["x"]), &ReadRequest::default());
    assert_eq!(read.get("geo"), None);
    assert_eq!(read["broken"], "{");
}
