#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

#[test]
fn a_name_is_followed_by_its_definition() {
    for sql in [
        "CREATE TABLE t(a)",
        "CREATE TABLE \"a \"\"( b\"(a)",
        "CREATE TABLE [a (b](a)",
        "CREATE TABLE `t`(a)",
        "CREATE TABLE 't'(a)",
        "CREATE TABLE größe(a)",
    ] {
        assert_eq!(after_name(sql), Some("(a)"), "{sql}");
    }
    assert_eq!(after_name("CREATE TABLE t (a)"), Some(" (a)"));
}

#[test]
fn words_are_those_outside_of_names_texts_and_comments() {
    let sql =
        "CREATE TABLE t(\"CHECK\" TEXT DEFAULT 'COLLATE', [unique] INT -- CHECK\n, b /* CHECK */ int Check (b > 0))";
    let found = words(sql);
    assert_eq!(found.iter().filter(|word| *word == "CHECK").count(), 1);
    assert!(!found.contains(&"COLLATE".to_owned()) && !found.contains(&"UNIQUE".to_owned()), "{found:?}");
}
