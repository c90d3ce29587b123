use lakerace::{Altered, Error, Result};

use super::AlterNotes;

fn with_features(version: Option<u64>, readers: &[&str], writers: &[&str]) -> Altered {
    let texts = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    Altered {
        version,
        features_added: texts(&[readers, writers].concat()),
        reader_features_added: texts(readers),
        ..Altered::default()
    }
}

#[test]
fn an_announcement_names_consequences_and_no_outcome() {
    let mut notes = AlterNotes::default();
    assert_eq!(
        notes.announce(&with_features(None, &["columnMapping"], &["checkConstraints"])),
        [
            "after this change, readers and writers of the table must support: columnMapping",
            "after this change, writers of the table must support: checkConstraints"
        ]
    );
    let made = Ok(with_features(Some(3), &["columnMapping"], &["checkConstraints"]));
    assert_eq!(notes.outcome(&made, false), ["version 3 has the changes"]);
    let lost: Result<Altered> = Err(Error::conflict("another writer has changed the schema"));
    assert_eq!(notes.outcome(&lost, false), ["the change was not committed"]);
    // It is unknown whether an entry exists of which the store gave no answer.
    assert!(notes.outcome(&Err(Error::unavailable("no answer")), false).is_empty());
    assert!(AlterNotes::default().outcome(&lost, false).is_empty());
}

#[test]
fn a_retry_that_changes_the_outcome_is_told() {
    let mut notes = AlterNotes::default();
    notes.announce(&with_features(None, &["deletionVectors", "columnMapping"], &[]));
    assert_eq!(
        notes.announce(&with_features(None, &["columnMapping"], &[])),
        [
            "another writer has added deletionVectors in the meantime",
            "after this change, readers and writers of the table must support: columnMapping"
        ]
    );
    let nothing = Ok(with_features(None, &[], &[]));
    assert_eq!(
        notes.outcome(&nothing, false),
        ["another writer has made these changes in the meantime: nothing was committed"]
    );
    assert_eq!(AlterNotes::default().outcome(&nothing, false), ["the table already has these settings"]);
}

#[test]
fn a_dry_run_names_what_would_be() {
    let notes = AlterNotes::default();
    let planned = Ok(with_features(None, &["typeWidening"], &[]));
    assert_eq!(notes.outcome(&planned, true), ["readers and writers of the table would need to support: typeWidening"]);
    let mut nothing = with_features(None, &[], &[]);
    assert_eq!(notes.outcome(&Ok(nothing.clone()), true), ["the change adds no features to the protocol"]);
    nothing.properties.insert("owner".to_owned(), "finance".to_owned());
    assert_eq!(
        notes.outcome(&Ok(nothing), true),
        ["properties of the table after the change: owner = finance", "the change adds no features to the protocol"]
    );
}
