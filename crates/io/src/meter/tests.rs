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
    meter.plan_write(40);
    assert_eq!(meter.progress(), Some(0.0));
    meter.wrote_rows(10);
    assert_eq!(meter.progress(), Some(0.25));
    meter.wrote_rows(100);
    assert_eq!(meter.progress(), Some(1.0));
}
