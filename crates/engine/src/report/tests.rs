use lakerace_io::RequestKind;

use super::*;

#[test]
fn reports_what_the_job_counted() {
    let clock = Clock::start();
    let job = Job::default();
    job.meter().count(RequestKind::Get, 1000);
    job.meter().bill(RequestKind::Get, 500);
    job.meter().bill(RequestKind::Put, 10);
    job.meter().bill(RequestKind::Delete, 3);
    job.meter().read_bytes(42);
    job.meter().bad_rows(2);
    let report = clock.report(7, &job, &Prices::default());
    assert_eq!((report.rows, report.bytes_read, report.bad_rows), (7, 42, 2));
    assert_eq!((report.requests.get, report.requests.put, report.requests.delete), (1500, 10, 3));
    // Local requests are counted and free.
    assert!((report.cost_usd - (0.5 * 0.0004 + 0.01 * 0.005)).abs() < 1e-12);
    assert!(report.peak_rss_bytes > 1 << 20 && report.wall_seconds >= 0.0);
}

#[test]
fn counts_cpu_time() {
    let before = cpu_seconds();
    let mut x = 1u64;
    while cpu_seconds() == before {
        x = x.wrapping_mul(3);
    }
    assert!(cpu_seconds() > before, "{x}");
}
