#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray, TimestampMillisecondArray};

use super::*;

#[derive(Clone, Default)]
struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn batch(ids: Vec<Option<i64>>, names: Vec<Option<&str>>) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int64Array::from(ids));
    let names: ArrayRef = Arc::new(StringArray::from(names));
    RecordBatch::try_from_iter_with_nullable([("id", ids, true), ("name", names, true)]).unwrap()
}

fn print(batches: &[RecordBatch], schema: SchemaRef, terminal: Option<usize>) -> String {
    console::set_colors_enabled(false);
    let out = Shared::default();
    let mut table = TablePrinter::new(Box::new(out.clone()), schema, terminal);
    for batch in batches {
        table.write(batch).unwrap();
    }
    table.finish().unwrap();
    let bytes = out.0.borrow().clone();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn numbers_stand_right_and_control_characters_are_escaped() {
    let rows = batch(vec![Some(7), None, Some(1000)], vec![Some("a\u{1b}[2J\n"), Some("größe"), None]);
    let schema = rows.schema();
    let text = print(&[rows], schema, None);
    let expected = "  id  name\n────  ───────────────\n   7  a\\u{1b}[2J\\n\nnull  größe\n1000  null\n";
    assert_eq!(text, expected.replace("───────────────", &"─".repeat(r"a\u{1b}[2J\n".len())));
}

#[test]
fn a_terminal_cuts_long_values_and_a_pipe_does_not() {
    let long = "x".repeat(100);
    let rows = batch(vec![Some(1)], vec![Some(&long)]);
    let schema = rows.schema();
    assert!(print(std::slice::from_ref(&rows), Arc::clone(&schema), None).contains(&long));
    let cut = print(&[rows], schema, Some(20));
    assert!(cut.lines().all(|line| measure_text_width(line) <= 20), "{cut}");
    assert!(cut.contains('…'));
}

#[test]
fn no_rows_print_the_header_and_the_first_rows_of_all_batches_set_the_widths() {
    let first = batch(vec![Some(1)], vec![Some("a")]);
    let second = batch(vec![Some(12345)], vec![Some("b")]);
    let schema = first.schema();
    assert_eq!(print(&[], Arc::clone(&schema), None), "id  name\n──  ────\n");
    let few = print(&[first.clone(), second.clone()], Arc::clone(&schema), None);
    assert_eq!(few, "   id  name\n─────  ────\n    1  a\n12345  b\n");
    let mut many = vec![first; SAMPLE_ROWS];
    many.push(second);
    assert!(print(&many, schema, None).ends_with("\n 1  a\n12345  b\n"));
}

#[test]
fn a_terminal_shows_numbers_and_times_whole() {
    let columns: [(&str, ArrayRef); 4] = [
        ("text", Arc::new(StringArray::from(vec!["a long text that is cut"]))),
        ("number", Arc::new(Int64Array::from(vec![1_234_567_890_123]))),
        ("time", Arc::new(TimestampMillisecondArray::from(vec![1_700_000_000_000]).with_timezone("UTC"))),
        ("other", Arc::new(StringArray::from(vec!["another text that is cut"]))),
    ];
    let rows = RecordBatch::try_from_iter(columns).unwrap();
    let schema = rows.schema();
    let text = print(&[rows], Arc::clone(&schema), Some(60));
    assert!(text.contains("1234567890123") && text.contains("2023-11-14T22:13:20Z"), "{text}");
    assert!(text.lines().all(|line| measure_text_width(line) <= 60), "{text}");
    assert_eq!(text.matches('…').count(), 2, "{text}");
    // Numbers of later rows that are larger than the first ones.
    let rows =
        batch((0..=1000).map(|at| Some(if at < 1000 { 1 } else { 123_456_789 })).collect(), vec![Some("a"); 1001]);
    let schema = rows.schema();
    assert!(print(&[rows], schema, Some(60)).contains("123456789  a"));
}

#[test]
fn columns_that_do_not_fit_are_counted() {
    let column: ArrayRef = Arc::new(Int64Array::from(vec![123_456_789]));
    let rows = RecordBatch::try_from_iter((0..50).map(|i| (format!("column{i}"), Arc::clone(&column)))).unwrap();
    let schema = rows.schema();
    let text = print(&[rows], schema, Some(40));
    assert!(text.lines().all(|line| measure_text_width(line) <= 40), "{text}");
    assert!(text.lines().next().unwrap().ends_with("… 48 more"), "{text}");
    assert_eq!(text.matches("123456789").count(), 2, "{text}");
}
