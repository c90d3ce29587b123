//! Reads: pages, slices, filters, and the view that is always closed.

use std::sync::Mutex;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Int64Type};
use lakerace_database::{ELASTICSEARCH, SourceOptions, WriteMode, open_source};
use lakerace_format::{CompareOp, Expr, Literal, ReadRequest};
use lakerace_io::{ErrorKind, Job, JobOptions};
use serde_json::json;

use crate::proxy::{Fault, Proxy};
use crate::server::*;

/// Tests that count open views go one after the other; the other tests have theirs on other indices and end.
static VIEWS: Mutex<()> = Mutex::new(());

fn less_than(limit: i128) -> Expr {
    Expr::Compare {
        op: CompareOp::Less,
        left: Box::new(Expr::Column("n".to_owned())),
        right: Box::new(Expr::Literal(Literal::Number { digits: limit, scale: 0 })),
    }
}

#[test]
#[ignore = "needs a server"]
fn many_pages_and_slices_give_every_row_once() {
    let location = at(&endpoint(), &index("pages"));
    let all = rows(0, 45_000, "row");
    load(&location, &all, &options(WriteMode::Error)).unwrap();
    for threads in [1, 4] {
        let job = Job::new(JobOptions { threads, ..JobOptions::default() });
        let source = open_source(&ELASTICSEARCH, &location, &SourceOptions::default(), &job).unwrap();
        assert_eq!(source.info().rows, Some(45_000));
        let plan = source.plan(&ReadRequest { batch_rows: Some(777), ..ReadRequest::default() }).unwrap();
        let mut seen = vec![false; 45_000];
        for batch in source.read(&plan).unwrap() {
            let batch = batch.unwrap();
            assert!(batch.num_rows() <= 777);
            for n in batch.column(0).as_primitive::<Int64Type>().values() {
                assert!(!std::mem::replace(&mut seen[*n as usize], true), "{n} is there twice");
            }
        }
        assert!(seen.into_iter().all(|seen| seen));
    }
}

#[test]
#[ignore = "needs a server"]
fn columns_filters_limits_and_queries_are_exact() {
    let location = at(&endpoint(), &index("filter"));
    load(&location, &rows(0, 2000, "row"), &options(WriteMode::Error)).unwrap();
    let texts =
        ReadRequest { columns: Some(vec!["t".to_owned()]), filter: Some(less_than(10)), ..ReadRequest::default() };
    let back = read(&location, &texts).unwrap();
    assert_eq!((back.num_rows(), back.num_columns()), (10, 1));
    assert_eq!(back.schema().field(0).name(), "t");
    let limited = ReadRequest { limit: Some(7), ..ReadRequest::default() };
    assert_eq!(read(&location, &limited).unwrap().num_rows(), 7);
    let none = ReadRequest { columns: Some(Vec::new()), filter: Some(less_than(10)), ..ReadRequest::default() };
    assert_eq!(read(&location, &none).unwrap().num_rows(), 10);
    let queried = format!("{location}?query=%7B%22range%22%3A%7B%22n%22%3A%7B%22gte%22%3A1990%7D%7D%7D");
    assert_eq!(read_all(&queried).unwrap(), rows(1990, 2000, "row"));
    let unknown = ReadRequest { columns: Some(vec!["tt".to_owned()]), ..ReadRequest::default() };
    assert_eq!(read(&location, &unknown).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
#[ignore = "needs a server"]
fn a_filter_is_sent_to_the_server() {
    let location = index("pushed");
    load(&at(&endpoint(), &location), &rows(0, 2000, "row"), &options(WriteMode::Error)).unwrap();
    let proxy = Proxy::start(|_, _, _| Fault::None);
    let filtered = ReadRequest { filter: Some(less_than(10)), ..ReadRequest::default() };
    assert_eq!(read(&at(&proxy.endpoint, &location), &filtered).unwrap().num_rows(), 10);
    let seen = proxy.seen.lock().unwrap();
    let searches: Vec<&String> = seen.iter().filter(|request| request.contains("/_search?")).collect();
    assert!(searches.iter().all(|search| search.contains(r#""range":{"n":{"lt":10}}"#)), "{searches:?}");
}

#[test]
#[ignore = "needs a server"]
fn the_view_is_closed_at_the_end_and_when_a_read_is_given_up_or_fails() {
    let _alone = VIEWS.lock().unwrap();
    let location = index("views");
    load(&at(&endpoint(), &location), &rows(0, 30_000, "row"), &options(WriteMode::Error)).unwrap();
    let closes = |change: fn(String) -> String, takes: usize| {
        let proxy = Proxy::start(move |_, path, number| match path.contains("/_search?") && number > 0 {
            true => Fault::Change(change),
            false => Fault::None,
        });
        let endpoint = at(&proxy.endpoint, &location);
        let source = open_source(&ELASTICSEARCH, &endpoint, &SourceOptions::default(), &Job::default()).unwrap();
        let plan = source.plan(&ReadRequest::default()).unwrap();
        let taken = source.read(&plan).unwrap().take(takes).last().unwrap();
        let seen = proxy.seen.lock().unwrap();
        // OpenSearch is asked by another path, once the first one is refused.
        let opens =
            seen.iter().filter(|request| request.contains("_pit?") || request.contains("point_in_time?")).count();
        assert!((1..=2).contains(&opens), "{seen:?}");
        assert_eq!(seen.iter().filter(|request| request.starts_with("DELETE ")).count(), 1, "{seen:?}");
        taken
    };
    assert!(closes(|answer| answer, usize::MAX).is_ok());
    assert!(closes(|answer| answer, 1).is_ok());
    let late = |answer: String| answer.replace(r#""timed_out":false"#, r#""timed_out":true"#);
    assert_eq!(closes(late, usize::MAX).unwrap_err().kind(), ErrorKind::Unavailable);
    let failed = |answer: String| answer.replace(r#""failed":0"#, r#""failed":1,"failures":[]"#);
    assert_eq!(closes(failed, usize::MAX).unwrap_err().kind(), ErrorKind::Unavailable);
}

#[test]
#[ignore = "needs a server"]
fn pages_that_are_refused_or_cut_are_asked_for_again() {
    let location = index("again");
    load(&at(&endpoint(), &location), &rows(0, 3000, "row"), &options(WriteMode::Error)).unwrap();
    let proxy = Proxy::start(|_, path, number| match number % 3 {
        0 if path.contains("/_search?") => Fault::Answer(429, "{}"),
        1 if path.contains("/_search?") => Fault::CutAfterSending,
        _ => Fault::None,
    });
    assert_eq!(read_all(&at(&proxy.endpoint, &location)).unwrap(), rows(0, 3000, "row"));
}

#[test]
#[ignore = "needs a server"]
fn documents_of_others_are_read_by_their_mapping_and_misfits_are_named() {
    let index = index("others");
    let mapping = json!({ "mappings": { "properties": {
        "n": { "type": "long" }, "when": { "type": "date" }, "tags": { "type": "keyword" }, "o": { "properties": { "x": { "type": "long" } } },
    } } });
    ok("PUT", &format!("/{index}"), &mapping);
    ok("PUT", &format!("/{index}/_doc/a"), &json!({ "n": "12", "when": 1, "tags": "one", "o.x": 5 }));
    ok(
        "PUT",
        &format!("/{index}/_doc/b?refresh=true"),
        &json!({ "n": null, "when": "2024-02-29T12:00:00.5Z", "o": { "x": 6 } }),
    );
    let location = at(&endpoint(), &index);
    let back = read_all(&format!("{location}?metadata=_id")).unwrap();
    assert_eq!(back.column_by_name("_id").unwrap().as_string::<i32>().value(1), "b");
    let numbers = back.column_by_name("n").unwrap().as_primitive::<Int64Type>();
    assert_eq!((numbers.value(0), numbers.is_null(1)), (12, true));
    let inner = back.column_by_name("o").unwrap().as_struct().column(0).as_primitive::<Int64Type>().clone();
    assert_eq!(inner.values().as_ref(), [5, 6]);
    assert!(matches!(back.schema().field_with_name("when").unwrap().data_type(), DataType::Timestamp(_, Some(_))));
    ok("PUT", &format!("/{index}/_doc/c?refresh=true"), &json!({ "n": 1.7, "tags": ["x", "y"] }));
    let error = read_all(&location).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().contains("\"c\"") && error.message().contains("\"n\""), "{error}");
    let tags = ReadRequest { columns: Some(vec!["tags".to_owned()]), ..ReadRequest::default() };
    assert!(read(&location, &tags).unwrap_err().to_string().contains("?lists="));
    let back = read(&format!("{location}?lists=tags"), &tags).unwrap();
    assert_eq!(back.column(0).as_list::<i32>().values().len(), 3);
}

#[test]
#[ignore = "needs a server"]
fn what_is_not_there_is_not_found() {
    let location = at(&endpoint(), &index("missing"));
    let opened = open_source(&ELASTICSEARCH, &location, &SourceOptions::default(), &Job::default());
    assert_eq!(opened.err().unwrap().kind(), ErrorKind::NotFound);
}
