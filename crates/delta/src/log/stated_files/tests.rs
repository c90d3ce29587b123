#![allow(clippy::unwrap_used)]

use super::StatedFiles;

/// The line of delta-spark.
fn spark(operation: &str, mode: &str, metrics: &str) -> String {
    format!(
        r#"{{"commitInfo":{{"operation":"{operation}","operationParameters":{{"mode":"{mode}"}},"operationMetrics":{{{metrics}}},"engineInfo":"Apache-Spark/3.5.8 Delta-Lake/3.3.2"}}}}"#
    )
}

/// The line of delta-rs.
fn delta_rs(operation: &str, metrics: &str) -> String {
    format!(
        r#"{{"commitInfo":{{"operation":"{operation}","operationParameters":{{"mode":"Append"}},"engineInfo":"delta-rs:py-1.6.6","operationMetrics":{{{metrics}}}}}}}"#
    )
}

#[test]
fn metrics_of_known_writers_count() {
    let cases = [
        (delta_rs("WRITE", r#""num_added_files":3,"num_removed_files":2,"num_added_rows":9"#), (3, 2, 0)),
        (delta_rs("MERGE", r#""num_target_files_added":3,"num_target_files_removed":1"#), (3, 1, 0)),
        (delta_rs("OPTIMIZE", r#""numFilesAdded":1,"numFilesRemoved":7,"filesAdded":"{\"avg\":1.0}""#), (1, 7, 0)),
        (delta_rs("RESTORE", r#""numRemovedFile":2,"numRestoredFile":3"#), (3, 2, 0)),
        (spark("DELETE", "", r#""numAddedFiles":"1","numRemovedFiles":"2""#), (1, 2, 0)),
        (spark("MERGE", "", r#""numTargetFilesAdded":"1","numTargetFilesRemoved":"2""#), (1, 2, 0)),
        (spark("RESTORE", "", r#""numRestoredFiles":"4","numRemovedFiles":"2""#), (4, 2, 0)),
        (spark("WRITE", "Append", r#""numFiles":"5","numOutputRows":"9""#), (1, 0, 9)),
        (spark("WRITE", "Overwrite", r#""numFiles":"5","numOutputRows":"9""#), (1, 0, 0)),
    ];
    for (line, (added, removed, rows)) in cases {
        assert_eq!(StatedFiles::parse(line.as_bytes()), StatedFiles { added, removed, rows }, "{line}");
    }
}

#[test]
fn uncertain_metrics_state_nothing() {
    let cases = [
        // A file without rows is written and not added.
        spark("WRITE", "Append", r#""numFiles":"1","numOutputRows":"0""#),
        spark("VACUUM END", "", r#""numDeletedFiles":"7""#),
        delta_rs("VACUUM START", r#""numFilesToDelete":7"#),
        delta_rs("WRITE", r#""num_added_files":1.5,"num_removed_files":-1"#),
        delta_rs("WRITE", r#""num_added_files":18446744073709551616"#),
        delta_rs("WRITE", r#""num_added_files":null"#),
        delta_rs("WRITE", r#""num_added_files":3"#).replace("delta-rs:py", "other"),
        spark("DELETE", "", r#""numAddedFiles":"1""#).replace("Apache-Spark", "Databricks-Runtime"),
        r#"{"commitInfo":{"operation":"WRITE","engineInfo":"delta-rs:py-1","operationMetrics":[1]}}"#.to_owned(),
        // An entry of lakerace counts its actions.
        r#"{"commitInfo":{"operation":"DELETE","engineInfo":"lakerace/0.1.0","operationMetrics":{"numAddedFiles":"3","numRemovedFiles":"2"}}}"#.to_owned(),
        r#"{"commitInfo":null}"#.to_owned(),
        "{".to_owned(),
    ];
    for line in cases {
        assert_eq!(StatedFiles::parse(line.as_bytes()), StatedFiles::default(), "{line}");
    }
    assert_eq!(StatedFiles::parse(b"\xff"), StatedFiles::default());
}

#[test]
fn counts_are_told_in_words() {
    let told = |added, removed| StatedFiles { added, removed, rows: 0 }.told();
    assert_eq!(
        [told(1, 0), told(0, 2), told(3, 1)],
        ["adds 1 file", "removes 2 files", "adds 3 files and removes 1 file"]
    );
}
