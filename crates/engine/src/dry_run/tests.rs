use super::*;

#[test]
fn unknown_counts_are_left_out() {
    let run = DryRun { rows: Some(1), bytes: Some(2), ..DryRun::new("would create a.parquet".to_owned(), Some(3)) };
    assert_eq!(run.to_string(), "would create a.parquet; starts from version 3; 1 row, 2 bytes");
    assert_eq!(DryRun::new("would change nothing".to_owned(), None).to_string(), "would change nothing");
}
