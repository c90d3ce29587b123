//! Loads: modes, keys, checkpoints, and what a kill leaves.

use arrow::compute::concat_batches;
use lakerace_database::{SinkOptions, WriteMode};
use lakerace_io::ErrorKind;
use serde_json::{Value, json};

use crate::server::*;

fn named(mode: WriteMode, load: &str, resume: bool) -> SinkOptions {
    SinkOptions { load_name: Some(load.to_owned()), resume, ..options(mode) }
}

/// The one index that an alias stands for, with its settings and mappings.
fn aliased_index(alias: &str) -> (String, Value) {
    let found = ok("GET", &format!("/{alias}?flat_settings=true"), &Value::Null);
    let all = found.as_object().unwrap();
    assert_eq!(all.len(), 1, "{found}");
    all.iter().next().map(|(name, index)| (name.clone(), index.clone())).unwrap()
}

fn indices_of(alias: &str) -> usize {
    let found = ok("GET", &format!("/{alias}*?allow_no_indices=true"), &Value::Null);
    found.as_object().unwrap().len()
}

#[test]
#[ignore = "needs a server"]
fn a_target_that_exists_is_a_conflict_replaced_or_added_to() {
    let index = index("modes");
    let location = at(&endpoint(), &index);
    load(&location, &rows(0, 100, "a"), &options(WriteMode::Error)).unwrap();
    let error = load(&location, &rows(0, 1, "b"), &options(WriteMode::Error)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    load(&location, &rows(0, 50, "c"), &options(WriteMode::Overwrite)).unwrap();
    assert_eq!(read_all(&location).unwrap(), rows(0, 50, "c"));
    assert_eq!(indices_of(&index), 1, "the replaced index is gone");
    load(&location, &rows(50, 60, "c"), &options(WriteMode::Append)).unwrap();
    assert_eq!(read_all(&location).unwrap(), rows(0, 60, "c"));
}

#[test]
#[ignore = "needs a server"]
fn an_index_of_others_gives_way_to_the_alias() {
    let index = index("theirs");
    ok("PUT", &format!("/{index}/_doc/1?refresh=true"), &json!({ "old": true }));
    let location = at(&endpoint(), &index);
    load(&location, &rows(0, 5, "a"), &options(WriteMode::Overwrite)).unwrap();
    assert_eq!(read_all(&location).unwrap(), rows(0, 5, "a"));
}

#[test]
#[ignore = "needs a server"]
fn what_is_given_up_leaves_nothing_and_the_old_rows_stay() {
    let index = index("given-up");
    let location = at(&endpoint(), &index);
    let mut begun = sink(&location, &rows(0, 1, "a"), &options(WriteMode::Error)).unwrap();
    begun.write(rows(0, 1000, "a")).unwrap();
    drop(begun);
    assert_eq!(indices_of(&index), 0);
    load(&location, &rows(0, 5, "old"), &options(WriteMode::Error)).unwrap();
    let mut begun = sink(&location, &rows(0, 1, "a"), &options(WriteMode::Overwrite)).unwrap();
    begun.write(rows(0, 1000, "a")).unwrap();
    assert_eq!(read_all(&location).unwrap(), rows(0, 5, "old"));
    drop(begun);
    assert_eq!(indices_of(&index), 1);
    assert_eq!(read_all(&location).unwrap(), rows(0, 5, "old"));
}

#[test]
#[ignore = "needs a server"]
fn of_two_loads_at_once_one_wins() {
    let index = index("two");
    let location = at(&endpoint(), &index);
    let mut first = sink(&location, &rows(0, 1, "a"), &options(WriteMode::Error)).unwrap();
    let mut second = sink(&location, &rows(0, 1, "a"), &options(WriteMode::Error)).unwrap();
    first.write(rows(0, 10, "first")).unwrap();
    second.write(rows(0, 10, "second")).unwrap();
    second.finish().unwrap();
    assert_eq!(first.finish().unwrap_err().kind(), ErrorKind::Conflict);
    assert_eq!(read_all(&location).unwrap(), rows(0, 10, "second"));
    assert_eq!(indices_of(&index), 1);
}

#[test]
#[ignore = "needs a server"]
fn rows_of_one_key_are_replaced_and_removed_and_the_last_one_wins() {
    let index = index("keys");
    let location = at(&endpoint(), &index);
    load(&location, &rows(0, 100, "a"), &keyed(WriteMode::Upsert, &["n"])).unwrap();
    let mut again = sink(&location, &rows(0, 1, "a"), &keyed(WriteMode::Upsert, &["n"])).unwrap();
    for text in ["b", "c", "d"] {
        again.write(rows(50, 150, text)).unwrap();
        again.checkpoint().unwrap();
        again.write(rows(50, 150, &format!("{text}{text}"))).unwrap();
    }
    again.finish().unwrap();
    load(&location, &rows(0, 50, "x"), &keyed(WriteMode::Delete, &["n"])).unwrap();
    // What is not there needs no removal.
    load(&location, &rows(0, 50, "x"), &keyed(WriteMode::Delete, &["n"])).unwrap();
    assert_eq!(read_all(&location).unwrap(), rows(50, 150, "dd"));
    let (status, found) = ask("GET", &format!("/{index}/_doc/77"), &Value::Null);
    assert_eq!((status, &found["_source"]["t"]), (200, &json!("dd 77")));
}

#[test]
#[ignore = "needs a server"]
fn added_rows_of_a_key_that_exists_are_rejected_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let location = at(&endpoint(), &index("exists"));
    load(&location, &rows(0, 10, "a"), &keyed(WriteMode::Upsert, &["n"])).unwrap();
    let error = load(&location, &rows(5, 15, "canary"), &keyed(WriteMode::Append, &["n"])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("5 rows") && !format!("{error:?}").contains("canary"), "{error}");
    let mut lettered = keyed(WriteMode::Append, &["n"]);
    lettered.dead_letter = Some(folder.path().join("rejected.jsonl"));
    let written = load(&location, &rows(8, 20, "canary"), &lettered).unwrap();
    let lines = std::fs::read_to_string(folder.path().join("rejected.jsonl")).unwrap();
    assert_eq!(written.rows + lines.lines().count() as u64, 12);
    assert!(lines.lines().all(|line| line.contains("canary") && line.contains("exists")), "{lines}");
    assert_eq!(read_all(&location).unwrap().num_rows(), 20);
}

#[test]
#[ignore = "needs a server"]
fn a_killed_load_goes_on_after_what_is_acknowledged() {
    for (mode, exists) in [(WriteMode::Error, false), (WriteMode::Overwrite, true), (WriteMode::Append, true)] {
        let index = index("resume");
        let location = at(&endpoint(), &index);
        if exists {
            load(&location, &rows(-10, 0, "old"), &options(WriteMode::Error)).unwrap();
        }
        let mut begun = sink(&location, &rows(0, 1, "a"), &named(mode, "src@1", false)).unwrap();
        begun.write(rows(0, 100, "a")).unwrap();
        begun.checkpoint().unwrap();
        begun.write(rows(100, 150, "a")).unwrap();
        // Killed: nothing is put right, and rows behind the checkpoint may have arrived.
        std::mem::forget(begun);
        let mut again = sink(&location, &rows(0, 1, "a"), &named(mode, "src@1", true)).unwrap();
        assert_eq!(again.acknowledged_rows(), 100);
        again.write(rows(100, 200, "a")).unwrap();
        again.finish().unwrap();
        let first = if mode == WriteMode::Append { -10 } else { 0 };
        let back = read_all(&location).unwrap();
        assert_eq!(back.num_rows() as i64, 200 - first);
        assert_eq!(back.slice((-first) as usize, 200), rows(0, 200, "a"));
        // Once more, it has nothing to do.
        let done = sink(&location, &rows(0, 1, "a"), &named(mode, "src@1", true)).unwrap();
        assert_eq!(done.acknowledged_rows(), 200);
        done.finish().unwrap();
        assert_eq!(read_all(&location).unwrap(), back);
        assert_eq!(indices_of(&index), 1);
    }
}

#[test]
#[ignore = "needs a server"]
fn a_killed_load_by_key_knows_its_own_rows_again() {
    for mode in [WriteMode::Error, WriteMode::Overwrite, WriteMode::Append] {
        let location = at(&endpoint(), &index("again"));
        let options = |resume| SinkOptions { key: vec!["n".to_owned()], ..named(mode, "src@1", resume) };
        let mut begun = sink(&location, &rows(0, 1, "a"), &options(false)).unwrap();
        begun.write(rows(0, 100, "a")).unwrap();
        begun.checkpoint().unwrap();
        begun.write(rows(100, 150, "a")).unwrap();
        std::mem::forget(begun);
        let mut again = sink(&location, &rows(0, 1, "a"), &options(true)).unwrap();
        assert_eq!(again.acknowledged_rows(), 100);
        again.write(rows(100, 200, "a")).unwrap();
        assert_eq!(again.finish().unwrap().rows, 100);
        assert_eq!(read_all(&location).unwrap(), rows(0, 200, "a"));
    }
}

#[test]
#[ignore = "needs a server"]
fn a_new_index_takes_one_row_of_each_key() {
    for mode in [WriteMode::Error, WriteMode::Overwrite] {
        let index = index("doubles");
        let location = at(&endpoint(), &index);
        let twice = concat_batches(&rows(0, 1, "a").schema(), &[rows(0, 10, "a"), rows(9, 12, "b")]).unwrap();
        let error = load(&location, &twice, &keyed(mode, &["n"])).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        assert_eq!(read_all(&location).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(indices_of(&index), 0);
    }
}

#[test]
#[ignore = "needs a server"]
fn the_same_row_twice_is_a_conflict_also_after_a_stop() {
    let location = at(&endpoint(), &index("same"));
    let options = |resume| SinkOptions { key: vec!["n".to_owned()], ..named(WriteMode::Error, "src@1", resume) };
    let mut begun = sink(&location, &rows(0, 1, "a"), &options(false)).unwrap();
    begun.write(rows(0, 100, "a")).unwrap();
    begun.checkpoint().unwrap();
    std::mem::forget(begun);
    let mut again = sink(&location, &rows(0, 1, "a"), &options(true)).unwrap();
    again.write(rows(99, 150, "a")).unwrap();
    let error = again.finish().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(error.to_string().contains("150"), "{error}");
}

#[test]
#[ignore = "needs a server"]
fn settings_that_a_kill_left_off_are_put_back_by_the_next_load() {
    let index = index("repair");
    let body = json!({ "settings": { "refresh_interval": "7s", "number_of_replicas": 1 }, "mappings": { "_meta": { "theirs": 1 } } });
    ok("PUT", &format!("/{index}"), &body);
    let location = at(&endpoint(), &index);
    let mut begun = sink(&location, &rows(0, 1, "a"), &options(WriteMode::Append)).unwrap();
    for from in 0..10 {
        begun.write(rows(from * 100, from * 100 + 100, "a")).unwrap();
        begun.checkpoint().unwrap();
    }
    let (_, off) = aliased_index(&index);
    assert_eq!(off["settings"]["index.refresh_interval"], "-1");
    assert_eq!(off["settings"]["index.number_of_replicas"], "1", "copies of an index in use stay");
    std::mem::forget(begun);
    load(&location, &rows(2000, 2001, "a"), &options(WriteMode::Append)).unwrap();
    let (_, back) = aliased_index(&index);
    assert_eq!(back["settings"]["index.refresh_interval"], "7s");
    assert_eq!(back["mappings"]["_meta"]["theirs"], 1);
    assert!(back["mappings"]["_meta"]["lakerace"]["restore"].is_null());
    assert_eq!(count(&index), 1001);
}

#[test]
#[ignore = "needs a server"]
fn a_new_index_has_the_settings_and_analyzers_that_are_given() {
    let index = index("body");
    let body = json!({
        "settings": { "number_of_replicas": 1, "refresh_interval": "9s" },
        "mappings": { "properties": { "t": { "type": "text", "analyzer": "whitespace" } } },
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("body.json");
    std::fs::write(&file, body.to_string()).unwrap();
    let location = format!("{}?body={}", at(&endpoint(), &index), file.display());
    load(&location, &rows(0, 3, "a"), &options(WriteMode::Error)).unwrap();
    let (_, made) = aliased_index(&index);
    assert_eq!(made["settings"]["index.refresh_interval"], "9s");
    assert_eq!(made["settings"]["index.number_of_replicas"], "1");
    assert_eq!(made["mappings"]["properties"]["t"], json!({ "type": "text", "analyzer": "whitespace" }));
    assert_eq!(made["mappings"]["properties"]["n"], json!({ "type": "long", "coerce": false }));
    assert_eq!(made["mappings"]["dynamic"], "strict");
    assert_eq!(read_all(&location).unwrap(), rows(0, 3, "a"));
}

#[test]
#[ignore = "needs a server"]
fn texts_that_a_field_does_not_find_are_rejected() {
    let index = index("ignored");
    let mapping = json!({ "mappings": { "properties": { "t": { "type": "keyword", "ignore_above": 6 } } } });
    ok("PUT", &format!("/{index}"), &mapping);
    let location = at(&endpoint(), &index);
    let error = load(&location, &rows(8, 12, "long"), &options(WriteMode::Append)).unwrap_err();
    assert!(error.message().contains("row 3") && error.message().contains("ignore_above"), "{error}");
    load(&location, &rows(0, 8, "long"), &options(WriteMode::Append)).unwrap();
    // Servers count UTF-16 units.
    for (text, is_found) in [("é€éx", true), ("aa😀", true), ("aaa😀", false), ("aaaaa", false)] {
        let taken = load(&location, &rows(0, 1, text), &options(WriteMode::Append));
        assert_eq!(taken.is_ok(), is_found, "{text} 0");
    }
    let found = ok("POST", &format!("/{index}/_count"), &json!({ "query": { "exists": { "field": "t" } } }));
    assert_eq!(found["count"].as_u64(), Some(count(&index)), "a text that is there is found");
}

#[test]
#[ignore = "needs a server"]
fn fields_of_others_that_hold_other_values_are_refused_before_the_first_row() {
    let index = index("refused");
    ok(
        "PUT",
        &format!("/{index}"),
        &json!({ "mappings": { "properties": { "n": { "type": "keyword" }, "t": { "type": "long" } } } }),
    );
    let error = load(&at(&endpoint(), &index), &rows(0, 3, "a"), &options(WriteMode::Append)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().contains("\"t\"") && error.message().contains("long"), "{error}");
    assert_eq!(count(&index), 0);
}
