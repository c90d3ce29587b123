#![allow(clippy::unwrap_used)]

use super::{EntryActions, VersionState};

fn apply(state: &mut VersionState, text: &str) {
    state.apply(&EntryActions::parse(text.as_bytes()).unwrap(), true);
}

#[test]
fn a_file_with_another_vector_is_another_file() {
    let mut state = VersionState::empty();
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
    let (mut one, mut other) = (VersionState::empty(), VersionState::empty());
    apply(&mut one, r#"{"add":{"path":"a","size":3}}"#);
    apply(&mut other, r#"{"add":{"path":"a","size":4}}"#);
    assert!(one.difference_to(&other).unwrap().contains("size"));
    apply(&mut other, r#"{"add":{"path":"a","size":3}}"#);
    let metadata = r#"{"metaData":{"id":"1","schemaString":"{}","configuration":{"a":"b"}}}"#;
    apply(&mut one, metadata);
    apply(&mut other, &metadata.replace("\"b\"", "\"c\""));
    assert!(one.difference_to(&other).unwrap().contains("properties"));
}

#[test]
fn an_entry_that_does_not_fit_the_ones_before_proves_nothing() {
    let first = r#"{"add":{"path":"a","size":3}}"#;
    let vector = r#""deletionVector":{"storageType":"u","pathOrInlineDv":"x","offset":1}"#;
    let hides = format!("{}\n{{\"add\":{{\"path\":\"a\",\"size\":3,{vector}}}}}", r#"{"remove":{"path":"a"}}"#);
    for (entries, is_proven) in [
        (vec![first, hides.as_str()], true),
        // An entry that stands in the place of another one.
        (vec![first, first], false),
        (vec![first, hides.as_str(), hides.as_str()], false),
        (vec![first, r#"{"remove":{"path":"b"}}"#], false),
        // A file that comes back.
        (vec![first, r#"{"remove":{"path":"a"}}"#, first], true),
    ] {
        let mut state = VersionState::empty();
        entries.iter().for_each(|entry| apply(&mut state, entry));
        assert_eq!(state.is_proven, is_proven, "{entries:?}");
    }
}

#[test]
fn files_that_only_one_state_has_are_seen() {
    let (mut one, mut other) = (VersionState::empty(), VersionState::empty());
    apply(&mut one, r#"{"add":{"path":"a","size":3}}"#);
    assert_eq!(one.files_beyond(&other).collect::<Vec<_>>(), ["a"]);
    assert_eq!(other.files_beyond(&one).count(), 0);
    apply(&mut other, r#"{"add":{"path":"a","size":3}}"#);
    assert_eq!(one.files_beyond(&other).count(), 0);
}
