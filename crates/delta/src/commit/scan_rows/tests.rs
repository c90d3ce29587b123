#![allow(clippy::unwrap_used)]

use super::*;

/// Statistics of two files, after the first one got a vector.
fn after(statistics: Option<&str>, rows: u64) -> (String, String) {
    let other = r#"{"numRecords":1,"maxValues":{"v":9007199254740993.50}}"#;
    let columns: [(&str, ArrayRef); 2] = [
        ("path", Arc::new(StringArray::from(vec!["a", "b"]))),
        ("stats", Arc::new(StringArray::from(vec![statistics, Some(other)]))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true))).unwrap();
    let batch = for_vectors(&batch, &[("a".to_owned(), rows)].into()).unwrap();
    let stats = batch.column(1).as_string::<i32>();
    assert_eq!(stats.value(1), other);
    let whole: serde_json::Value = serde_json::from_str(stats.value(0)).unwrap();
    (stats.value(0).to_owned(), whole["tightBounds"].to_string())
}

#[test]
fn statistics_keep_their_digits() {
    let bounds = r#""minValues":{"v":-5388493425193644.48},"maxValues":{"v":99999999999999999999999999999999999999}"#;
    let stated = format!(r#"{{"numRecords":4,{bounds},"tightBounds":true}}"#);
    let expected = format!(r#"{{"numRecords":4,{bounds},"tightBounds":false}}"#);
    assert_eq!(after(Some(&stated), 4).0, expected);
    let (text, wide) = after(Some(&format!("{{{bounds}}}")), 7);
    assert!(text.contains(bounds) && text.contains(r#""numRecords":7"#), "{text}");
    assert_eq!(wide, "false");
}

#[test]
fn statistics_that_cannot_be_read_are_left_out() {
    let expected = r#"{"numRecords":5,"tightBounds":false}"#;
    for statistics in [None, Some(""), Some("[1]"), Some(r#"{"numRecords":"#)] {
        assert_eq!(after(statistics, 5).0, expected);
    }
}
