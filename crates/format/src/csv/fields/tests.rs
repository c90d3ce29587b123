#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::CsvOptions;
use crate::csv::rules::Dialect;
use crate::csv::scan::{ScanState, step};

fn split(
    text: &str,
    columns: usize,
    on_ragged: OnRagged,
    most: usize,
) -> (Vec<Vec<Option<String>>>, Option<RaggedRow>) {
    let rules = DialectRules::new(Dialect::Csv, &CsvOptions::default()).unwrap();
    let mut splitter = FieldSplitter::new(text.as_bytes(), &rules, columns, on_ragged);
    let mut table = FieldTable::default();
    let mut rows = Vec::new();
    let mut ragged = None;
    while !splitter.is_done() {
        ragged = splitter.fill(&mut table, most);
        assert!(table.rows() <= most);
        for row in 0..table.rows() {
            let field = |column| {
                let (start, end) = table.column(column).nth(row).unwrap();
                text.get(start..end - 1).map(str::to_owned)
            };
            rows.push((0..columns).map(field).collect());
        }
    }
    (rows, ragged)
}

fn some(fields: &[&str]) -> Vec<Option<String>> {
    fields.iter().map(|f| Some((*f).to_owned())).collect()
}

#[test]
fn rows_come_in_portions() {
    let row = format!("a,{},\"x,\ny\"\r\n", "b".repeat(70));
    let text = row.repeat(50);
    for most in [1, 3, 1000] {
        let (rows, ragged) = split(&text, 3, OnRagged::Stop, most);
        assert_eq!((rows.len(), ragged), (50, None));
        assert!(rows.iter().all(|r| *r == some(&["a", &"b".repeat(70), "\"x,\ny\""])));
    }
}

#[test]
fn ragged_rows_stop_or_go_or_are_mended() {
    let text = "a,b\nc\n\nd,e,f,g,h\ni,j";
    let (rows, ragged) = split(text, 2, OnRagged::Stop, 10);
    assert_eq!((rows, ragged), (vec![some(&["a", "b"])], Some(RaggedRow { start: 4, fields: 1 })));
    let (rows, _) = split(text, 2, OnRagged::Skip, 10);
    assert_eq!(rows, [some(&["a", "b"]), some(&["i", "j"])]);
    let (rows, _) = split(text, 2, OnRagged::Mend, 1);
    let short = vec![Some("c".to_owned()), None];
    assert_eq!(rows, [some(&["a", "b"]), short, some(&["d", "e"]), some(&["i", "j"])]);
}

#[test]
fn far_too_many_fields_are_counted() {
    let text = format!("{}\n1,2\n", ",".repeat(100_000));
    assert_eq!(split(&text, 2, OnRagged::Stop, 10).1, Some(RaggedRow { start: 0, fields: 100_001 }));
    assert_eq!(split(&text, 2, OnRagged::Skip, 10).0, [some(&["1", "2"])]);
}

/// Fields as walking through byte by byte finds them.
fn walked(text: &str, columns: usize) -> Vec<Vec<Option<String>>> {
    let rules = DialectRules::new(Dialect::Csv, &CsvOptions::default()).unwrap();
    let (mut rows, mut row, mut from) = (Vec::new(), Vec::new(), 0);
    let mut state = ScanState::Start;
    for at in 0..=text.len() {
        let byte = text.as_bytes().get(at).copied();
        let (next, ended) = byte.map_or((ScanState::Start, true), |b| step(state, b, &rules));
        let is_delimiter = byte == Some(b',') && next == ScanState::Start && state != ScanState::Quoted;
        if ended || is_delimiter {
            let field = &text[from..at];
            let field = if ended { field.strip_suffix('\r').unwrap_or(field) } else { field };
            row.push(Some(field.to_owned()));
            from = at + 1;
        }
        if ended {
            let row = std::mem::take(&mut row);
            if row.len() == columns {
                rows.push(row);
            }
        }
        state = next;
    }
    rows
}

#[test]
fn random_text_is_split_as_if_walked_through() {
    let mut random = StdRng::seed_from_u64(5);
    let alphabet = ["\"", "\"\"", ",", ",", "\n", "\r\n", "x", "some more text", ",\"", "\",", "\"\n"];
    let mut seen = 0;
    for _ in 0..20_000 {
        let len = random.random_range(0..100);
        let text: String = (0..len).map(|_| alphabet[random.random_range(0..alphabet.len())]).collect();
        let wanted = walked(&text, 2);
        seen += wanted.len();
        let most = random.random_range(1..5);
        assert_eq!(split(&text, 2, OnRagged::Skip, most).0, wanted, "{text:?}");
    }
    assert!(seen > 10_000);
}
