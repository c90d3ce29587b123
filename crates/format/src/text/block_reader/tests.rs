use lakerace_io::JobOptions;
use lakerace_io::profile::Observations;

use super::*;

#[test]
fn requests_are_a_part_of_what_is_read_ahead() {
    let wanted = [Wanted { file: 0, range: 0..900_000_000 }];
    for (prefetch_bytes, longest) in [(1 << 20, 1 << 20), (16 << 20, 4 << 20), (480 << 20, 8 << 20)] {
        let ranges = RangeOptions { prefetch_bytes, ..RangeOptions::default() };
        let job = Job::new(JobOptions { threads: 2, ranges, ..JobOptions::default() });
        let plan = text_requests(&wanted, &Observations::s3(), &job);
        let bytes = |request: &lakerace_io::Request| request.range.end - request.range.start;
        assert!(plan.requests.iter().map(bytes).max() <= Some(longest), "{prefetch_bytes}");
        assert_eq!(plan.requests.iter().map(bytes).sum::<u64>(), 900_000_000);
    }
}
