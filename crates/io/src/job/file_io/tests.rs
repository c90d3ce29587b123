use crate::Job;

#[test]
fn bad_rows_are_a_warning_of_the_last_count() {
    let job = Job::default();
    assert!(job.warnings().is_empty());
    job.meter().bad_rows(1);
    assert!(job.warnings()[0].starts_with("1 row does not fit its columns and is skipped"), "{:?}", job.warnings());
    job.warn("another");
    job.meter().bad_rows(2);
    let warnings = job.warnings();
    assert_eq!((warnings.len(), warnings[0].as_str()), (2, "another"));
    assert!(warnings[1].starts_with("3 rows do not fit their columns and are skipped"), "{warnings:?}");
}

#[test]
fn warnings_are_taken_once_by_all_parts_of_a_job() {
    let job = Job::default();
    job.warn("one");
    job.meter().bad_rows(1);
    let part = job.with_threads(1).with_reporter();
    assert_eq!((part.has_reporter(), job.has_reporter()), (true, false));
    assert_eq!(part.take_warnings(), ["one"]);
    assert!(job.take_warnings().is_empty());
    part.warn("one");
    part.warn("two");
    assert_eq!(job.take_warnings(), ["two"]);
    // The whole list stays for the report of a command.
    assert_eq!(job.warnings().len(), 3);
}
