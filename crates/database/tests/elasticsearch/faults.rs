//! A server that is busy, breaks off, refuses, or is not there.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use arrow::record_batch::RecordBatch;
use lakerace_database::WriteMode;
use lakerace_io::ErrorKind;
use serde_json::json;

use crate::proxy::{Fault, Proxy};
use crate::server::*;

/// Loads rows through a proxy, and gives those that are there then.
fn through(proxy: &Proxy, index: &str, batch: &RecordBatch, parameters: &str) -> lakerace_io::Result<u64> {
    let location = format!("{}{parameters}", at(&proxy.endpoint, index));
    load(&location, batch, &options(WriteMode::Error)).map(|written| written.rows)
}

#[test]
#[ignore = "needs a server"]
fn rows_that_are_busy_are_sent_again_and_no_others() {
    let index = index("thirds");
    // Of a request of one row all would be busy: the fourth request passes.
    let proxy = Proxy::start(|_, path, number| match path.contains("_bulk") && number < 3 {
        true => Fault::BusyThirds,
        false => Fault::None,
    });
    assert_eq!(through(&proxy, &index, &rows(0, 900, "row"), "").unwrap(), 900);
    assert_eq!(read_all(&at(&endpoint(), &index)).unwrap(), rows(0, 900, "row"));
    let seen = proxy.seen.lock().unwrap();
    let sent: Vec<usize> =
        seen.iter().filter(|request| request.contains("_bulk")).map(|request| request.lines().count() / 2).collect();
    assert_eq!(sent, [900, 300, 100, 34], "only rejected rows are sent again");
}

#[test]
#[ignore = "needs a server"]
fn whole_requests_that_are_busy_are_sent_again() {
    let index = index("busy");
    let proxy = Proxy::start(|_, path, number| match path.contains("_bulk") && number < 4 {
        true => Fault::Answer(429, r#"{"error":{"type":"es_rejected_execution_exception","reason":"x"},"status":429}"#),
        false => Fault::None,
    });
    assert_eq!(through(&proxy, &index, &rows(0, 900, "row"), "").unwrap(), 900);
    assert_eq!(read_all(&at(&endpoint(), &index)).unwrap(), rows(0, 900, "row"));
}

#[test]
#[ignore = "needs a server"]
fn a_server_that_stays_busy_is_unavailable() {
    let proxy = Proxy::start(|_, path, _| match path.contains("_bulk") {
        true => Fault::Answer(429, "{}"),
        false => Fault::None,
    });
    let index = index("always-busy");
    let error = through(&proxy, &index, &rows(0, 10, "row"), "?retry_seconds=1").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let (status, _) = ask("GET", &format!("/{index}"), &serde_json::Value::Null);
    assert_eq!(status, 404);
}

#[test]
#[ignore = "needs a server"]
fn a_lost_answer_doubles_nothing() {
    for parameters in ["", "?op_type=create"] {
        let index = index("lost");
        let proxy = Proxy::start(|_, path, number| match path.contains("_bulk") && number == 0 {
            true => Fault::CutAfterSending,
            false => Fault::None,
        });
        assert_eq!(through(&proxy, &index, &rows(0, 500, "row"), parameters).unwrap(), 500);
        assert_eq!(read_all(&at(&endpoint(), &index)).unwrap(), rows(0, 500, "row"));
    }
}

#[test]
#[ignore = "needs a server"]
fn requests_that_are_too_large_are_cut() {
    let index = index("cut");
    let proxy = Proxy::start(|_, path, number| match path.contains("_bulk") && number < 2 {
        true => Fault::Answer(413, ""),
        false => Fault::None,
    });
    assert_eq!(through(&proxy, &index, &rows(0, 900, "row"), "").unwrap(), 900);
    assert_eq!(read_all(&at(&endpoint(), &index)).unwrap(), rows(0, 900, "row"));
}

#[test]
#[ignore = "needs a server"]
fn one_document_that_is_too_large_is_rejected_and_the_others_are_there() {
    let folder = tempfile::tempdir().unwrap();
    let huge = "x".repeat(21 << 20);
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", huge.as_str(), "c"]));
    let batch = RecordBatch::try_from_iter_with_nullable([("n", numbers, true), ("t", texts, true)]).unwrap();
    let location = format!("{}?text=t", at(&endpoint(), &index("huge")));
    let mut lettered = options(WriteMode::Error);
    lettered.dead_letter = Some(folder.path().join("rejected.jsonl"));
    assert_eq!(load(&location, &batch, &lettered).unwrap().rows, 2);
    let lines = std::fs::read_to_string(folder.path().join("rejected.jsonl")).unwrap();
    assert!(lines.lines().count() == 1 && lines.contains("bytes, more than the server accepts"));
    assert_eq!(read_all(&location).unwrap().num_rows(), 2);
}

#[test]
#[ignore = "needs a server"]
fn answers_for_fewer_rows_are_an_error() {
    let proxy = Proxy::start(|_, path, _| match path.contains("_bulk") {
        true => Fault::Answer(200, r#"{"errors":false,"items":[{"index":{"status":201}}]}"#),
        false => Fault::None,
    });
    let error = through(&proxy, &index("fewer"), &rows(0, 10, "row"), "").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.message().contains("1 of 10"), "{error}");
}

#[test]
#[ignore = "needs a server"]
fn rows_that_a_server_lost_after_its_confirmation_are_an_error() {
    let proxy = Proxy::start(|_, path, _| match path.contains("_bulk") {
        true => Fault::Answer(200, r#"{"errors":false,"items":[{"index":{"status":201}}]}"#),
        false => Fault::None,
    });
    let error = through(&proxy, &index("vanished"), &rows(0, 1, "row"), "").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

#[test]
#[ignore = "needs a server"]
fn refused_users_and_blocks_say_what_to_do_and_show_no_password() {
    let proxy = Proxy::start(|_, _, _| Fault::Answer(401, r#"{"error":{"type":"security_exception","reason":"no"}}"#));
    let location = at(&proxy.endpoint, "i").replace("://", "://me:canary@");
    let error = load(&location, &rows(0, 1, "a"), &options(WriteMode::Error)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(
        error.to_string().contains("ELASTICSEARCH_API_KEY") && !format!("{error:?}").contains("canary"),
        "{error:?}"
    );

    let index = index("block");
    load(&at(&endpoint(), &index), &rows(0, 1, "a"), &options(WriteMode::Error)).unwrap();
    ok("PUT", &format!("/{index}/_settings"), &json!({ "index.blocks.write": true }));
    let error = load(&at(&endpoint(), &index), &rows(1, 2, "a"), &options(WriteMode::Append)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("block"), "{error}");
}

#[test]
#[ignore = "needs a server"]
fn a_server_that_is_down_or_speaks_no_tls_is_told() {
    let error = load("elasticsearch://127.0.0.1:9/i", &rows(0, 1, "a"), &options(WriteMode::Error)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("127.0.0.1:9/i"), "{error}");
    let location = at(&endpoint(), "i").replace("elasticsearch:", "elasticsearch+https:");
    let error = load(&location, &rows(0, 1, "a"), &options(WriteMode::Error)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().contains("TLS"), "{error}");
}
