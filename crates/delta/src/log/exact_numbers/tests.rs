#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn numbers_keep_their_digits() {
    let text = r#"{"a":[12345678901234567890.50,1.0,-7,1e5,18446744073709551616,0.1],"b":"5\"1.50\\","c":{"d":1e400}}"#;
    let mut exact = ExactNumbers::parse(text).unwrap();
    assert_eq!(exact.text(), text);
    assert_eq!(exact.tree["a"][2], -7);
    exact.tree["a"][1] = "x".into();
    assert_eq!(exact.text(), text.replace(",1.0,", ",\"x\","));
}

#[test]
fn damaged_texts_are_errors() {
    for text in ["", "{", r#"{"a":1.2.3"#, r#""\"#, "-"] {
        ExactNumbers::parse(text).unwrap_err();
    }
}
