#![allow(clippy::unwrap_used)]

use std::io::Read;

use lakerace_io::{Error, ErrorKind};
use proptest::prelude::*;
use serde_json::Value;

use super::JsonValues;

/// Gives a text in pieces of a few bytes.
struct Pieces(Vec<u8>, usize);

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.1.min(self.0.len()).min(buffer.len());
        buffer[..read].copy_from_slice(&self.0[..read]);
        self.0.drain(..read);
        Ok(read)
    }
}

fn lines(text: &str, piece_bytes: usize) -> Result<String, Error> {
    let mut lines = String::new();
    let mut values = JsonValues::new(Box::new(Pieces(text.as_bytes().to_vec(), piece_bytes)));
    match values.read_to_string(&mut lines) {
        Ok(_) => Ok(lines),
        Err(error) => Err(error.get_ref().unwrap().downcast_ref::<Error>().unwrap().clone()),
    }
}

#[test]
fn each_value_is_a_line() {
    let cases = [
        ("[]", ""),
        (" [ ] \n", ""),
        ("", ""),
        ("[{\"a\":1},{\"a\":2}]", "{\"a\":1}\n{\"a\":2}\n"),
        ("[\n  {\n    \"a\": [1,\n 2]\n  }\n,\n {}\n]\n", "{     \"a\": [1,  2]   }\n{}\n"),
        ("[{\"a\":\"],}{\\\"\\\\\"}]", "{\"a\":\"],}{\\\"\\\\\"}\n"),
        ("[1, null, \"a,]\", [2]]", "1\nnull\n\"a,]\"\n[2]\n"),
        ("{\"a\":1}{\"a\":2}\n\n{\"a\":3}", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n"),
        ("\u{feff}[{}]", "{}\n"),
    ];
    for (text, expected) in cases {
        for piece_bytes in [1, 2, 7, 1000] {
            assert_eq!(lines(text, piece_bytes).unwrap(), expected, "{text:?} by {piece_bytes}");
        }
    }
}

#[test]
fn what_is_no_array_of_rows_is_an_error_with_its_row() {
    let cases = [
        ("[{\"a\":1}", ErrorKind::Corrupt, "the JSON array has no end: the text is truncated", "row 1"),
        ("[{\"a\":1},", ErrorKind::Corrupt, "the JSON array has no end: the text is truncated", "row 1"),
        ("[", ErrorKind::Corrupt, "the JSON array has no end: the text is truncated", "row 0"),
        ("[{\"a\":1},{\"a", ErrorKind::Corrupt, "the text ends within a row", "row 2"),
        ("{\"a\":{}", ErrorKind::Corrupt, "the text ends within a row", "row 1"),
        ("[{\"a\":1} {\"a\":2}]", ErrorKind::Invalid, "a comma or ] is missing after the row: '{' follows", "row 1"),
        ("[{},]", ErrorKind::Invalid, "a row is missing before ']'", "row 1"),
        ("[,{}]", ErrorKind::Invalid, "a row is missing before ','", "row 0"),
        ("[{}] {}", ErrorKind::Invalid, "'{' follows the end of the array", "row 1"),
        ("{}, {}", ErrorKind::Invalid, "',' follows the object", "row 1"),
        ("[{\"a\":\"x\ny\"}]", ErrorKind::Invalid, "a text contains a line break, which JSON writes as \\n", "row 1"),
    ];
    for (text, kind, message, place) in cases {
        for piece_bytes in [1, 1000] {
            let error = lines(text, piece_bytes).unwrap_err();
            assert_eq!((error.kind(), error.message()), (kind, message), "{text:?}");
            assert!(error.to_string().contains(place), "{error}");
        }
    }
    assert!(lines("id,name", 3).unwrap_err().message().contains("starts with 'i'"));
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        "[\\[\\]{},:\"\\\\\n ]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(".{0,3}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn rows_are_those_of_another_reader(rows in prop::collection::vec(json(), 0..6), piece_bytes in 1usize..40, is_pretty: bool) {
        let rows = Value::from(rows);
        let text = if is_pretty { serde_json::to_string_pretty(&rows) } else { serde_json::to_string(&rows) }.unwrap();
        let read: Vec<Value> = lines(&text, piece_bytes).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        prop_assert_eq!(Value::from(read), rows);
    }
}
