#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, TimeUnit};

use super::*;

#[test]
fn a_plan_survives_json() {
    let fields = vec![
        Field::new("id", DataType::Int64, false),
        Field::new("at", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true),
        Field::new_dictionary("kind", DataType::Int32, DataType::Utf8, true),
        Field::new_list("tags", Field::new("item", DataType::Utf8View, true), true),
    ];
    let schema = Schema::new_with_metadata(fields, HashMap::from([("key".to_owned(), "value".to_owned())]));
    let plan = ReadPlan {
        request: ReadRequest {
            columns: Some(vec!["id".to_owned()]),
            fields: [("s".to_owned(), vec![vec!["a".to_owned(), "b.c".to_owned()]])].into(),
            limit: Some(7),
            ..ReadRequest::default()
        },
        schema: Arc::new(schema),
        files: vec![FilePlan { url: "a".to_owned(), size_bytes: 9, e_tag: None, units: Vec::new() }],
        requests: RequestPlan {
            requests: Vec::new(),
            gap_bytes: 0,
            wanted_bytes: 0,
            read_through_bytes: 0,
            requests_in_flight: 1,
            seconds: 0.5,
            usd: 0.0,
        },
    };
    let text = serde_json::to_string(&plan).unwrap();
    let again: ReadPlan = serde_json::from_str(&text).unwrap();
    assert_eq!(again.schema, plan.schema);
    assert_eq!((again.request, again.files, again.requests), (plan.request, plan.files, plan.requests));
    for length in 0..text.len() {
        assert!(serde_json::from_str::<ReadPlan>(&text[..length]).is_err());
    }
}
