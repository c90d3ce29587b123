#![allow(clippy::unwrap_used)]

use arrow::datatypes::i256;
use bson::{Document, RawDocumentBuf, doc};

use super::decimal::{BsonDecimal, at_scale, decode, digits, encode, encode_i128};
use super::elements::{ElementIterator, extended_json, shown_id};

fn bytes(document: Document) -> Vec<u8> {
    RawDocumentBuf::try_from(document).unwrap().into_bytes()
}

#[test]
fn decimals_are_those_of_the_driver() {
    for (value, scale, text) in [
        (0, 0, "0"),
        (-150, 2, "-1.50"),
        (1, 6176, "1E-6176"),
        (10_i128.pow(34) - 1, 0, "9999999999999999999999999999999999"),
        (-(10_i128.pow(34) - 1), 34, "-0.9999999999999999999999999999999999"),
    ] {
        let encoded = encode_i128(value, scale).unwrap();
        assert_eq!(bson::Decimal128::from_bytes(encoded).to_string(), text);
        assert_eq!(decode(encoded), BsonDecimal::Finite { coefficient: value, exponent: -scale });
    }
    assert_eq!(encode_i128(10_i128.pow(34) + 1, 0), None);
    let long = i256::from_i128(12) * i256::from_i128(10_i128.pow(38));
    assert_eq!(bson::Decimal128::from_bytes(encode(long, 40).unwrap()).to_string().parse::<f64>().unwrap(), 0.12);
    for special in ["NaN", "Infinity", "-Infinity"] {
        assert_eq!(decode(special.parse::<bson::Decimal128>().unwrap().bytes()), BsonDecimal::Special);
    }
    assert_eq!(digits(1500, -2), (2, 0));
    assert_eq!(digits(5, -3), (0, 3));
    assert_eq!(at_scale(15, -1, 3), Some(i256::from_i128(1500)));
    assert_eq!(at_scale(15, -1, 0), None);
}

#[test]
fn damaged_documents_are_told_and_never_read_past_their_end() {
    let whole =
        bytes(doc! { "_id": 7, "a": "text", "b": [1, { "c": 2.5 }], "d": bson::oid::ObjectId::from_bytes([1; 12]) });
    let walk = |bytes: &[u8]| -> Option<usize> {
        let mut elements = ElementIterator::new(bytes).ok()?;
        let mut count = 0;
        while elements.next_element(b"a").ok()?.is_some() {
            count += 1;
        }
        Some(count)
    };
    assert_eq!(walk(&whole), Some(4));
    assert_eq!(shown_id(&whole), r#"_id {"$numberInt":"7"}"#);
    for cut in 0..whole.len() {
        assert_eq!(walk(&whole[..cut]), None);
    }
    for at in 0..whole.len() {
        for flip in [1, 0x80, 0xff] {
            let mut broken = whole.clone();
            broken[at] ^= flip;
            // Any answer will do, as long as there is one.
            let _ = walk(&broken);
            let _ = shown_id(&broken);
        }
    }
}

#[test]
fn values_become_extended_json() {
    let document =
        bytes(doc! { "v": bson::Regex { pattern: "a".try_into().unwrap(), options: "i".try_into().unwrap() } });
    let (_, value) = ElementIterator::new(&document).unwrap().next_element(b"").unwrap().unwrap();
    assert_eq!(extended_json(value).unwrap(), r#"{"$regularExpression":{"options":"i","pattern":"a"}}"#);
    let nested = doc! { "v": { "z": 1, "a": [i64::MAX, { "y": f64::NAN, "b": bson::Bson::Null }], "\"": "text" } };
    let document = bytes(nested.clone());
    let (_, value) = ElementIterator::new(&document).unwrap().next_element(b"").unwrap().unwrap();
    let text = extended_json(value).unwrap();
    assert!(text.starts_with(r#"{"z":{"$numberInt":"1"},"a":["#), "{text}");
    // Fields keep their order, and values their types.
    assert_eq!(bytes(doc! { "v": super::json::parse(&text).unwrap() }), document);
}

#[test]
fn numbers_of_extended_json_are_exact_or_refused() {
    let parse = super::json::parse;
    assert_eq!(parse("9223372036854775807"), Some(i64::MAX.into()));
    assert_eq!(parse("[1, 1.5]"), Some(bson::Bson::Array(vec![1.into(), 1.5.into()])));
    assert_eq!(parse("9223372036854775808"), None);
    assert_eq!(parse("123456789012345678901234567890"), None);
    assert_eq!(parse("12345678901234567.89"), None);
    assert_eq!(parse("[{\"a\":-0.12345678901234567890}]"), None);
    assert_eq!(parse("-0.1000"), Some((-0.1).into()));
    let pipeline = doc! { "$match": { "n": { "$gt": 4_611_686_018_427_387_905_i64 } } };
    assert_eq!(parse(r#"{"$match":{"n":{"$gt":4611686018427387905}}}"#), Some(pipeline.into()));
    assert_eq!(parse(&"[".repeat(100_000)), None);
}
