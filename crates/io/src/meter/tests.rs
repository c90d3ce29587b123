use super::*;

#[test]
fn progress_is_that_of_the_last_step_that_is_known() {
    let meter = Meter::default();
    meter.read_bytes(50);
    assert_eq!(meter.progress(), None);
    meter.plan_read(100, None);
    meter.read_bytes(25);
    assert_eq!(meter.progress(), Some(75.0 / 150.0));
    meter.read_rows(10);
    meter.plan_read(100, Some(40));
    meter.read_rows(10);
    assert_eq!(meter.progress(), Some(20.0 / 50.0));
    meter.plan_write(Some(40));
    assert_eq!(meter.progress(), Some(0.0));
    meter.wrote_rows(10);
    assert_eq!(meter.progress(), Some(0.25));
    meter.wrote_rows(100);
    assert_eq!(meter.progress(), Some(1.0));
}

#[test]
fn a_copy_of_unknown_rows_is_done_as_far_as_it_has_written() {
    let meter = Meter::default();
    meter.plan_write(None);
    assert_eq!(meter.progress(), None);
    meter.plan_read(100, None);
    // All is read ahead, and nothing is written.
    meter.read_bytes(100);
    meter.read_rows(75);
    assert_eq!((meter.progress(), meter.rows_done()), (Some(0.0), 0));
    meter.wrote_rows(30);
    assert_eq!((meter.progress(), meter.rows_done()), (Some(0.4), 30));
    meter.wrote_rows(45);
    assert_eq!((meter.progress(), meter.rows_done()), (Some(1.0), 75));
}
