#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn answers_are_keys_or_errors() {
    let keys = parse("keys\u{1f}id\u{1f}secret\u{1f}token").unwrap();
    assert_eq!(
        (keys.key_id.as_str(), keys.secret_key.as_str(), keys.token.as_deref()),
        ("id", "secret", Some("token"))
    );
    assert_eq!(parse("keys\u{1f}id\u{1f}secret\u{1f}").unwrap().token, None);
    let error = parse("error\u{1f}no keys").err().unwrap();
    assert_eq!(error.to_string(), "no keys");
    let broken = parse("id\u{1f}secret").err().unwrap();
    assert!(!broken.to_string().contains("secret"));
}
