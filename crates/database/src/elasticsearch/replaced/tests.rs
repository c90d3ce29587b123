#![allow(clippy::unwrap_used, reason = "a test may panic")]

use arrow::datatypes::Field;

use super::*;
use crate::elasticsearch::aliases::alias_actions;
use crate::elasticsearch::json_tree::JsonTree;
use crate::elasticsearch::mapping::properties;

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn old(mappings: Value, settings: Value) -> SearchIndex {
    let mappings = object(mappings);
    SearchIndex {
        name: "i".to_owned(),
        properties: object(mappings["properties"].clone()),
        meta: mappings.get("_meta").cloned().map(object).unwrap_or_default(),
        mappings,
        settings: object(settings),
        aliases: Vec::new(),
        has_source: true,
    }
}

fn schema(fields: &[(&str, DataType)]) -> Schema {
    Schema::new(fields.iter().map(|(name, data_type)| Field::new(*name, data_type.clone(), true)).collect::<Vec<_>>())
}

#[test]
fn fields_stay_where_columns_keep_their_types() {
    let text =
        json!({ "type": "text", "analyzer": "mine", "copy_to": "all", "fields": { "raw": { "type": "keyword" } } });
    let index = old(
        json!({
            "dynamic": "false",
            "_meta": { "theirs": 1, OURS: { "schema": "x" } },
            "runtime": { "r": { "type": "long", "script": { "source": "emit(1)" } } },
            "properties": {
                "t": text, "n": { "type": "keyword" }, "gone": { "type": "long" },
                "all": { "type": "text" }, "other": { "type": "alias", "path": "t" },
                "lost": { "type": "alias", "path": "gone" },
                "o": { "dynamic": "strict", "properties": { "x": { "type": "long", "doc_values": false } } },
            },
        }),
        json!({
            "index.uuid": "u", "index.version.created": "8", "index.number_of_shards": "3",
            "index.analysis.analyzer.mine.type": "custom",
        }),
    );
    let inner = DataType::Struct(vec![Field::new("x", DataType::Int64, true)].into());
    let schema = schema(&[("t", DataType::Utf8), ("n", DataType::Int64), ("o", inner)]);
    let mapped = properties(&schema, &LocationParameters::default()).unwrap();
    let expected = json!({
        "settings": { "index.number_of_shards": "3", "index.analysis.analyzer.mine.type": "custom" },
        "mappings": {
            "dynamic": "false",
            "_meta": { "theirs": 1 },
            "runtime": { "r": { "type": "long", "script": { "source": "emit(1)" } } },
            "properties": {
                "t": text, "n": { "type": "long", "coerce": false }, "all": { "type": "text" },
                "other": { "type": "alias", "path": "t" },
                "o": { "dynamic": "strict", "properties": { "x": { "type": "long", "doc_values": false } } },
            },
        },
    });
    assert_eq!(body(&index, &schema, mapped, &LocationParameters::default()), expected);
}

#[test]
fn aliases_keep_their_filters_to_the_last_digit() {
    let answer =
        br#"{"old":{"aliases":{"i":{},"view":{"filter":{"term":{"n":12345678901234567890.5}},"index_routing":"1"}}}}"#;
    let answers = [JsonTree::parse(answer).unwrap()];
    let mut made = Vec::new();
    alias_actions(&answers, "i", "new", Vec::new()).write(&mut made);
    let expected = r#"{"actions":[{"add":{"index":"new","alias":"i"}},{"add":{"index":"new","alias":"view","filter":{"term":{"n":12345678901234567890.5}},"index_routing":"1"}}]}"#;
    assert_eq!(String::from_utf8(made).unwrap(), expected);
}

#[test]
fn a_blocked_index_is_refused_by_the_settings_name() {
    let blocked = |name: &str| old(json!({ "properties": {} }), json!({ name: "true" }));
    let error = check_blocks(&blocked("index.blocks.write")).unwrap_err();
    assert!(error.to_string().contains("index.blocks.write"), "{error}");
    assert!(check_blocks(&blocked(FULL_DISK)).is_ok());
}
