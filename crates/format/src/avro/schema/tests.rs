#![allow(clippy::unwrap_used)]

use lakerace_io::ErrorKind;
use serde_json::{Value, json};

use super::{AvroType, fits, largest};

fn column(kind: Value) -> lakerace_io::Result<AvroType> {
    let schema = json!({ "type": "record", "name": "r", "fields": [{ "name": "c", "type": kind }] });
    AvroType::parse(&schema.to_string()).map(|mut columns| columns.remove(0).1)
}

fn fails(kind: Value, wanted: ErrorKind, says: &str) {
    let error = column(kind).unwrap_err();
    assert_eq!(error.kind(), wanted, "{error}");
    assert!(error.to_string().contains(says) && error.to_string().contains("column \"c\""), "{error}");
}

#[test]
fn names_are_replaced_by_their_definitions() {
    let kind = json!({ "type": "record", "name": "a.b.Pair", "aliases": ["Old"], "doc": "two", "fields": [
        { "name": "x", "type": { "type": "fixed", "name": "Id", "size": 4 }, "default": "    ", "order": "ignore" },
        { "name": "y", "type": ["null", "Id"], "default": null },
        { "name": "z", "type": { "type": "array", "items": "a.b.Id" } },
        { "name": "w", "type": { "type": { "type": "map", "values": "Id" } } },
    ] });
    let fixed = || AvroType::Fixed(4);
    let wanted = [
        ("x", fixed()),
        ("y", AvroType::Nullable(true, Box::new(fixed()))),
        ("z", AvroType::Array(Box::new(fixed()))),
        ("w", AvroType::Map(Box::new(fixed()))),
    ];
    let wanted = AvroType::Record(wanted.map(|(name, kind)| (name.to_owned(), kind)).to_vec());
    assert_eq!(column(kind).unwrap(), wanted);
    let printed = AvroType::print(&[("c".to_owned(), wanted.clone())]);
    assert_eq!(AvroType::parse(&printed).unwrap()[0].1, wanted);
}

#[test]
fn logical_types_that_do_not_fit_are_ignored() {
    let logical = |of: &str, logical: &str| json!({ "type": of, "logicalType": logical });
    assert_eq!(column(logical("int", "date")).unwrap(), AvroType::Int(Some("date")));
    assert_eq!(column(logical("long", "date")).unwrap(), AvroType::Long(None));
    assert_eq!(column(logical("string", "uuid")).unwrap(), AvroType::Text);
    assert_eq!(
        column(logical("long", "local-timestamp-nanos")).unwrap(),
        AvroType::Long(Some("local-timestamp-nanos"))
    );
    assert_eq!(column(logical("bytes", "decimal")).unwrap(), AvroType::Bytes);
    let decimal = |precision: u64, scale: u64, size: u64| {
        column(json!({ "type": "fixed", "name": "d", "size": size, "logicalType": "decimal",
            "precision": precision, "scale": scale }))
        .unwrap()
    };
    assert_eq!(decimal(9, 2, 4), AvroType::Decimal { precision: 9, scale: 2, size: Some(4) });
    for (precision, scale, size) in [(10, 2, 4), (9, 10, 4), (0, 0, 4), (77, 0, 33), (300, 0, 4)] {
        assert_eq!(decimal(precision, scale, size), AvroType::Fixed(size as usize));
    }
}

#[test]
fn digits_fit_in_the_bytes_that_the_specification_says() {
    let most = [2, 4, 6, 9, 11, 14, 16, 18, 21, 23, 26, 28, 31, 33, 35, 38];
    for (bytes, digits) in (1..).zip(most) {
        assert!(fits(digits, bytes) && !fits(digits + 1, bytes), "{bytes}");
    }
    assert_eq!(largest(38).to_string(), "9".repeat(38));
    assert!(fits(76, 32));
}

#[test]
fn types_that_contain_themselves_are_refused() {
    let list = json!({ "type": "record", "name": "ns.List", "fields": [{ "name": "next", "type": ["null", "List"] }] });
    fails(list, ErrorKind::Unsupported, "\"ns.List\" contains itself");
    let tree = json!({ "type": "record", "name": "Tree", "fields": [
        { "name": "children", "type": { "type": "array", "items": "Tree" } }] });
    fails(tree, ErrorKind::Unsupported, "field \"children\"");
}

#[test]
fn deep_and_wide_schemas_are_refused() {
    let deep = (0..60).fold(json!("int"), |item, _| json!({ "type": "array", "items": item }));
    assert!(column(deep).is_ok());
    let deeper = (0..120).fold(json!("int"), |item, _| json!({ "type": "array", "items": item }));
    assert_eq!(column(deeper).unwrap_err().kind(), ErrorKind::Unsupported);
    let mut fields = vec![json!({ "name": "f0", "type": { "type": "record", "name": "r0", "fields": [] } })];
    for n in 1..40 {
        let pair = ["a", "b"].map(|name| json!({ "name": name, "type": format!("r{}", n - 1) }));
        fields.push(
            json!({ "name": format!("f{n}"), "type": { "type": "record", "name": format!("r{n}"), "fields": pair } }),
        );
    }
    let doubled = json!({ "type": "record", "name": "all", "fields": fields });
    fails(doubled, ErrorKind::Unsupported, "more than 100000 types");
}

#[test]
fn unions_are_nullable_or_of_several_types() {
    assert_eq!(column(json!(["int", "null"])).unwrap(), AvroType::Nullable(false, Box::new(AvroType::Int(None))));
    let written_out = json!({ "type": "null" });
    assert_eq!(column(json!([written_out, "int"])).unwrap(), AvroType::Nullable(true, Box::new(AvroType::Int(None))));
    let several = column(json!(["null", "int", "string"])).unwrap();
    assert_eq!(several, AvroType::Union(vec![AvroType::Null, AvroType::Int(None), AvroType::Text]));
    fails(json!([["int"], "null"]), ErrorKind::Corrupt, "a union contains a union");
    fails(json!([]), ErrorKind::Unsupported, "0 types");
}

#[test]
fn texts_that_are_no_schema_are_refused() {
    for (text, kind) in [
        ("", ErrorKind::Corrupt),
        ("{", ErrorKind::Corrupt),
        ("3", ErrorKind::Corrupt),
        ("{}", ErrorKind::Corrupt),
        ("\"string\"", ErrorKind::Unsupported),
        ("{\"type\":\"array\",\"items\":\"int\"}", ErrorKind::Unsupported),
        ("{\"type\":\"record\",\"name\":\"r\"}", ErrorKind::Corrupt),
        ("{\"type\":\"record\",\"fields\":[]}", ErrorKind::Corrupt),
    ] {
        assert_eq!(AvroType::parse(text).unwrap_err().kind(), kind, "{text}");
    }
    fails(json!("Unknown"), ErrorKind::Corrupt, "no type \"Unknown\"");
    fails(json!({ "type": "fixed", "name": "f", "size": 0 }), ErrorKind::Unsupported, "0 bytes");
    fails(json!({ "type": "fixed", "name": "f", "size": i64::MAX }), ErrorKind::Unsupported, "bytes");
    fails(json!({ "type": "enum", "name": "e", "symbols": [1] }), ErrorKind::Corrupt, "no symbols");
    fails(json!({ "type": "array" }), ErrorKind::Corrupt, "no items");
    let twin = json!({ "name": "f", "type": "int" });
    let twice = json!({ "type": "record", "name": "t", "fields": [twin, twin] });
    fails(twice, ErrorKind::Unsupported, "two fields are named \"f\"");
    for of_nulls in [json!({ "type": "array", "items": "null" }), json!({ "type": "map", "values": "null" })] {
        fails(of_nulls, ErrorKind::Unsupported, "the type null");
    }
    let inner = json!({ "name": "inner", "type": { "type": "record", "name": "f", "fields": [] } });
    let empty = json!({ "type": "record", "name": "e", "fields": [inner] });
    for of_empty in [json!({ "type": "array", "items": empty }), json!({ "type": "map", "values": empty })] {
        fails(of_empty, ErrorKind::Unsupported, "items without fields");
    }
}
