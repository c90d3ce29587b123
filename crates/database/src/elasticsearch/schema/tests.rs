#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use serde_json::json;

use super::*;

#[test]
fn a_kept_schema_comes_back_with_metadata() {
    let metadata = HashMap::from([("k".to_owned(), "v".to_owned())]);
    let schema = Schema::new(vec![
        Field::new("d", DataType::Decimal128(38, 4), false).with_metadata(metadata),
        Field::new("t", DataType::Timestamp(TimeUnit::Nanosecond, Some("Europe/Berlin".into())), true),
    ]);
    let mut meta = json!({ "theirs": 1 }).as_object().unwrap().clone();
    keep(&mut meta, &schema);
    assert_eq!(kept(&meta).unwrap().unwrap().as_ref(), &schema);
    assert_eq!(meta["theirs"], 1);
    meta[OURS][SCHEMA] = json!("AAAA");
    assert!(kept(&meta).is_err());
}

#[test]
fn fields_of_others_become_columns() {
    let properties = json!({
        "a": { "type": "keyword" },
        "when": { "type": "date" },
        "odd": { "type": "date", "format": "dd.MM.yyyy" },
        "o": { "properties": { "x": { "type": "long" }, "tags": { "type": "keyword" } } },
        "n": { "type": "nested", "properties": { "y": { "type": "short" } } },
        "g": { "type": "geo_point" },
        "l": { "type": "alias", "path": "a" },
    });
    let parameters = LocationParameters { lists: vec!["o.tags".to_owned()], ..LocationParameters::default() };
    let schema = schema_of(properties.as_object().unwrap(), None, &parameters).unwrap();
    let type_of = |name: &str| schema.field_with_name(name).unwrap().data_type().to_string();
    assert_eq!(type_of("when"), "Timestamp(µs, \"UTC\")");
    assert_eq!(type_of("odd"), "Utf8");
    assert!(type_of("o").contains("List"));
    assert!(type_of("n").starts_with("List(Struct("));
    assert!(schema.field_with_name("g").unwrap().metadata().contains_key(JSON_TEXT));
    assert!(schema.field_with_name("l").is_err());
}
