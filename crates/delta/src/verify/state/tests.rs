#![allow(clippy::unwrap_used)]

use super::{EntryActions, State};

fn apply(state: &mut State, text: &str) {
    state.apply(&EntryActions::parse(text.as_bytes()).unwrap(), true);
}

#[test]
fn a_file_with_another_vector_is_another_file() {
    let mut state = State::empty();
    apply(&mut state, r#"{"add":{"path":"a","size":3}}"#);
    let with_vector =
        r#"{"add":{"path":"a","size":3,"deletionVector":{"storageType":"u","pathOrInlineDv":"x","offset":1}}}"#;
    let mut other = state.clone();
    apply(&mut other, &format!("{with_vector}\n{}", r#"{"remove":{"path":"a"}}"#));
    assert_eq!(other.totals(), (1, 3));
    assert!(state.difference_to(&other).unwrap().contains("a"));
    apply(&mut state, &format!("{}\n\n{with_vector}\n", r#"{"remove":{"path":"a"}}"#));
    assert_eq!(state.difference_to(&other), None);
}

#[test]
fn a_size_and_the_metadata_are_compared() {
    let (mut one, mut other) = (State::empty(), State::empty());
    apply(&mut one, r#"{"add":{"path":"a","size":3}}"#);
    apply(&mut other, r#"{"add":{"path":"a","size":4}}"#);
    assert!(one.difference_to(&other).unwrap().contains("size"));
    apply(&mut other, r#"{"add":{"path":"a","size":3}}"#);
    let metadata = r#"{"metaData":{"id":"1","schemaString":"{}","configuration":{"a":"b"}}}"#;
    apply(&mut one, metadata);
    apply(&mut other, &metadata.replace("\"b\"", "\"c\""));
    assert!(one.difference_to(&other).unwrap().contains("properties"));
}
