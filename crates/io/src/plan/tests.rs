#![allow(clippy::unwrap_used, clippy::panic, clippy::single_range_in_vec_init)]

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::profile::Observations;

fn wanted(file: u32, ranges: &[Range<u64>]) -> Vec<Wanted> {
    ranges.iter().map(|range| Wanted { file, range: range.clone() }).collect()
}

fn fixed(gap: u64, max: u64) -> RangeOptions {
    RangeOptions { min_seek_size: MinSeekSize::Bytes(gap), max_request_bytes: Some(max), ..RangeOptions::default() }
}

fn ranges(plan: &RequestPlan) -> Vec<(u32, Range<u64>)> {
    plan.requests.iter().map(|r| (r.file, r.range.clone())).collect()
}

#[test]
fn gaps_below_the_seek_size_are_read_through() {
    let wanted = wanted(0, &[0..10, 20..30, 40..50]);
    let plan = |gap| plan_requests(&wanted, &fixed(gap, 1000), &Observations::s3());
    assert_eq!(ranges(&plan(10)), [(0, 0..10), (0, 20..30), (0, 40..50)]);
    assert_eq!(ranges(&plan(11)), [(0, 0..50)]);
    assert_eq!((plan(11).wanted_bytes, plan(11).read_through_bytes), (30, 20));
}

#[test]
fn zero_switches_merging_off_except_for_overlaps() {
    let plan = plan_requests(&wanted(0, &[0..10, 10..20, 15..30]), &fixed(0, 1000), &Observations::s3());
    assert_eq!(ranges(&plan), [(0, 0..10), (0, 10..30)]);
}

#[test]
fn the_order_is_that_of_need() {
    let mut all = wanted(1, &[500..600, 0..10]);
    all.extend(wanted(0, &[100..200]));
    all.extend(wanted(1, &[600..700]));
    let plan = plan_requests(&all, &fixed(1, 1000), &Observations::s3());
    assert_eq!(ranges(&plan), [(1, 500..700), (1, 0..10), (0, 100..200)]);
}

#[test]
fn long_spans_are_cut_at_borders() {
    let plan = plan_requests(&wanted(0, &[0..90, 90..170, 170..230]), &fixed(1, 100), &Observations::s3());
    assert_eq!(ranges(&plan), [(0, 0..90), (0, 90..170), (0, 170..230)]);
    // Without a border in reach, in the middle; the gap at a cut is read by nobody.
    let plan = plan_requests(&wanted(0, &[0..120]), &fixed(1, 100), &Observations::s3());
    assert_eq!(ranges(&plan), [(0, 0..70), (0, 70..120)]);
    let plan = plan_requests(&wanted(0, &[0..80, 85..150]), &fixed(50, 100), &Observations::s3());
    assert_eq!(ranges(&plan), [(0, 0..80), (0, 85..150)]);
    assert_eq!(plan.read_through_bytes, 0);
}

#[test]
fn auto_merges_on_s3_what_it_keeps_apart_on_a_disk() {
    // 200 columns of 64 KiB, every other one wanted.
    let every_other: Vec<_> = (0..100u64).map(|i| i * 131_072..i * 131_072 + 65_536).collect();
    let s3 = plan_requests(&wanted(0, &every_other), &RangeOptions::default(), &Observations::s3());
    let disk = plan_requests(&wanted(0, &every_other), &RangeOptions::default(), &Observations::local_disk());
    assert!(s3.requests.len() <= 20, "{}", s3.requests.len());
    assert!(disk.requests.len() > 50, "{}", disk.requests.len());
    assert!(s3.usd > 0.0 && disk.usd == 0.0);
}

#[test]
fn auto_does_not_read_through_for_ever() {
    let far = wanted(0, &[0..1_000_000, 100_000_000..101_000_000]);
    let plan = plan_requests(&far, &RangeOptions::default(), &Observations::s3());
    assert_eq!(plan.requests.len(), 2);
    assert_eq!(plan.read_through_bytes, 0);
}

#[test]
fn larger_requests_are_taken_where_they_are_as_fast() {
    let path = PathProfile { reader_bytes_per_second: 0.7e9, ..Observations::s3() };
    let whole = wanted(0, &[0..890_000_000]);
    let plan = plan_requests(&whole, &RangeOptions::default(), &path);
    let sizes: Vec<u64> = plan.requests.iter().map(|r| (r.range.end - r.range.start) >> 20).collect();
    assert_eq!(sizes[..7], [8, 8, 8, 12, 18, 27, 40], "they grow, so that reading begins soon");
    assert_eq!(plan.requests.len(), 26, "{} s", plan.seconds);
    // A wider path needs more of them at once than fit into memory at that size.
    let wide = PathProfile { reader_bytes_per_second: 2e9, total_bytes_per_second: 2e9, ..path };
    let plan = plan_requests(&whole, &RangeOptions::default(), &wide);
    assert!(plan.requests.len() > 35, "{}", plan.requests.len());
    // On a disk nothing is saved by them.
    let disk = plan_requests(&whole, &RangeOptions::default(), &Observations::local_disk());
    assert_eq!(disk.requests.len(), 849);
    // What was asked for is kept to.
    let asked = RangeOptions { max_request_bytes: Some(8 << 20), ..RangeOptions::default() };
    assert_eq!(plan_requests(&whole, &asked, &path).requests.len(), 107);
}

#[test]
fn what_is_being_decoded_takes_memory_from_reading_ahead() {
    let path = PathProfile { reader_bytes_per_second: 2.6e9, ..Observations::s3() };
    let longest = |bytes: u64, prefetch_bytes: u64| {
        let options = RangeOptions { prefetch_bytes, ..RangeOptions::default() };
        let plan = plan_requests(&wanted(0, &[0..bytes]), &options, &path);
        plan.requests.iter().map(|r| r.range.end - r.range.start).max().unwrap() >> 20
    };
    // Eleven of 32 MiB fit beside a row group and bring 0.8 of the 1.2 GB/s, 15 of 24 MiB bring 1.1.
    assert_eq!(longest(4 << 30, 480 << 20), 24);
    // With a third more memory, 15 of 32 MiB fit, too.
    assert_eq!(longest(4 << 30, 640 << 20), 32);
    // What fits as a whole is all under way.
    assert_eq!(longest(480 << 20, 480 << 20), longest(480 << 20, 4 << 30));
}

#[test]
fn a_short_read_is_shared_among_connections() {
    // Eight column chunks of 4 MiB that touch: one connection would take twice as long.
    let chunks: Vec<_> = (0..8u64).map(|n| n << 22..(n + 1) << 22).collect();
    let auto = plan_requests(&wanted(0, &chunks), &RangeOptions::default(), &Observations::s3());
    let off = plan_requests(
        &wanted(0, &chunks),
        &RangeOptions { min_seek_size: MinSeekSize::Bytes(0), ..RangeOptions::default() },
        &Observations::s3(),
    );
    assert_eq!(off.requests.len(), 8);
    assert!(auto.seconds <= 1.1 * off.seconds, "{} s after {} s", auto.seconds, off.seconds);
    assert!(auto.requests.len() <= 16, "{}", auto.requests.len());
}

/// 64 of 128 columns of 576 KiB, one after the other: 36 of 72 MiB.
fn alternate_columns() -> Vec<Wanted> {
    wanted(0, &(0..64u64).map(|i| i * 1_179_648..i * 1_179_648 + 589_824).collect::<Vec<_>>())
}

#[test]
fn alternate_columns_take_a_fifth_of_the_requests_that_seeking_takes() {
    let all = alternate_columns();
    for (latency_ms, connection) in [(20.0, 100e6), (30.0, 80e6), (25.0, 80e6), (65.0, 80e6), (100.0, 60e6)] {
        let path = PathProfile { latency_ms, connection_bytes_per_second: connection, ..Observations::s3() };
        let plan = |options: RangeOptions| plan_requests(&all, &options, &path);
        let auto = plan(RangeOptions::default());
        let seeking = plan(RangeOptions { min_seek_size: MinSeekSize::Bytes(0), ..RangeOptions::default() });
        let through = plan(RangeOptions { min_seek_size: MinSeekSize::Bytes(4 << 20), ..RangeOptions::default() });
        assert_eq!(seeking.requests.len(), 64);
        // With the footer's one.
        assert!((auto.requests.len() + 1) * 5 <= 64 + 1, "{path:?}: {} requests", auto.requests.len());
        let opening = latency_ms / 1000.0;
        let best = seeking.seconds.min(through.seconds) + opening;
        assert!(auto.seconds + opening <= 1.1 * best + 1e-9, "{path:?}: {} s after {best} s", auto.seconds + opening);
    }
}

#[test]
fn requests_name_their_longer_gaps() {
    let plan = plan_requests(
        &wanted(0, &[0..10, 1000..2000, 200_000..200_010]),
        &fixed(1 << 20, 1 << 30),
        &Observations::s3(),
    );
    let [request] = plan.requests.as_slice() else { panic!("{} requests", plan.requests.len()) };
    assert_eq!((request.gaps.as_slice(), request.gap_bytes()), ([2000..200_000].as_slice(), 198_000));
    assert_eq!(request.read_through_bytes, 198_000 + 990);
    // As JSON, too; a request without gaps doesn't speak of them.
    let text = serde_json::to_string(&plan).unwrap();
    assert_eq!(serde_json::from_str::<RequestPlan>(&text).unwrap(), plan);
    let plain = plan_requests(&wanted(0, &[0..10]), &fixed(0, 10), &Observations::s3());
    assert!(!serde_json::to_string(&plain).unwrap().contains("\"gaps\""));
}

#[test]
fn on_a_disk_alternate_columns_are_sought() {
    let plan = plan_requests(&alternate_columns(), &RangeOptions::default(), &Observations::local_disk());
    assert_eq!((plan.requests.len(), plan.read_through_bytes), (64, 0));
}

#[test]
fn a_queue_ends_when_its_last_request_is_answered() {
    // Nine requests of 8 MB at 4 at once: the ninth waits for two others.
    let path =
        PathProfile { latency_ms: 20.0, connection_bytes_per_second: 1e8, requests_in_flight: 4, ..Observations::s3() };
    let nine: Vec<_> = (0..9u64).map(|i| i << 30..(i << 30) + 8_000_000).collect();
    let plan = plan_requests(&wanted(0, &nine), &fixed(0, 8_000_000), &path);
    assert!((plan.seconds - 3.0 * 0.1).abs() < 1e-6, "{}", plan.seconds);
}

#[test]
fn nothing_wanted_is_no_request() {
    let plan = plan_requests(&wanted(0, &[5..5]), &RangeOptions::default(), &Observations::s3());
    assert_eq!((plan.requests.len(), plan.wanted_bytes, plan.seconds), (0, 0, 0.0));
}

#[test]
fn a_wide_table_is_planned_in_one_go() {
    // 5,000 columns x 40 row groups.
    let many: Vec<_> = (0..200_000u64).map(|i| i * 5000..i * 5000 + 3000).collect();
    let plan = plan_requests(&wanted(0, &many), &RangeOptions::default(), &Observations::s3());
    assert_eq!(plan.wanted_bytes, 600_000_000);
    assert!(plan.requests.len() < 1000);
}

#[test]
fn sizes_are_parsed() {
    assert_eq!(parse_bytes("4MiB").unwrap(), 4 << 20);
    assert_eq!(parse_bytes("1.5GB").unwrap(), 1_500_000_000);
    assert!(parse_bytes("4 parsecs").is_err());
    assert_eq!("AUTO".parse::<MinSeekSize>().unwrap(), MinSeekSize::Auto);
}

fn any_wanted() -> impl Strategy<Value = Vec<Wanted>> {
    let one =
        (0u32..3, 0u64..3000, 0u64..300).prop_map(|(file, start, len)| Wanted { file, range: start..start + len });
    proptest::collection::vec(one, 0..40)
}

fn byte_set(ranges: impl Iterator<Item = (u32, Range<u64>)>) -> BTreeSet<(u32, u64)> {
    ranges.flat_map(|(file, range)| range.map(move |byte| (file, byte))).collect()
}

proptest! {
    #[test]
    fn every_wanted_byte_is_fetched_once(all in any_wanted(), gap in 0u64..400, max in 1u64..800) {
        let plan = plan_requests(&all, &fixed(gap, max), &Observations::s3());
        let need = byte_set(all.iter().map(|w| (w.file, w.range.clone())));
        let got = byte_set(plan.requests.iter().map(|r| (r.file, r.range.clone())));
        prop_assert!(need.is_subset(&got));
        // No byte twice, and the counts are right.
        let sum: u64 = plan.requests.iter().map(|r| r.range.end - r.range.start).sum();
        prop_assert_eq!(sum, got.len() as u64);
        prop_assert_eq!(plan.wanted_bytes, need.len() as u64);
        prop_assert_eq!(plan.wanted_bytes + plan.read_through_bytes, sum);
        for request in &plan.requests {
            let bytes = request.range.clone();
            prop_assert!(bytes.start < bytes.end && bytes.end - bytes.start <= max);
            let extra = bytes.clone().filter(|b| !need.contains(&(request.file, *b))).count() as u64;
            prop_assert_eq!(extra, request.read_through_bytes);
            // Only gaps below the seek size are read through, and none at the borders.
            prop_assert!(need.contains(&(request.file, bytes.start)) && need.contains(&(request.file, bytes.end - 1)));
            let mut run = 0;
            for byte in bytes {
                run = if need.contains(&(request.file, byte)) { 0 } else { run + 1 };
                prop_assert!(run == 0 || run < gap);
            }
        }
    }

    #[test]
    fn requests_come_in_the_order_of_need(all in any_wanted(), gap in 0u64..400, max in 1u64..800) {
        let plan = plan_requests(&all, &fixed(gap, max), &Observations::s3());
        let first_need = |r: &Request| {
            all.iter().position(|w| w.file == r.file && w.range.start < r.range.end && r.range.start < w.range.end)
        };
        let places: Vec<_> = plan.requests.iter().map(first_need).collect();
        prop_assert!(places.iter().all(Option::is_some));
        // A range that overlaps an earlier one shares its place, so the order may differ only within one segment.
        let disjoint = all.iter().enumerate().all(|(i, a)| all[..i].iter().all(|b| {
            a.file != b.file || a.range.end <= b.range.start || b.range.end <= a.range.start
        }));
        if disjoint {
            prop_assert!(places.is_sorted(), "{:?}", places);
        }
    }

    #[test]
    fn auto_is_within_ten_per_cent_of_the_fastest(all in any_wanted(), scale in 1u64..100_000) {
        let profile = Observations::s3();
        let scaled = |w: Wanted| Wanted { range: w.range.start * scale..w.range.end * scale, ..w };
        let all: Vec<Wanted> = all.into_iter().map(scaled).collect();
        let auto = plan_requests(&all, &RangeOptions::default(), &profile);
        for gap in [0, 1, 65_536, 1 << 20, 16 << 20] {
            let options = RangeOptions { min_seek_size: MinSeekSize::Bytes(gap), ..RangeOptions::default() };
            let other = plan_requests(&all, &options, &profile);
            let opening = profile.latency_ms / 1000.0;
            prop_assert!(auto.seconds + opening <= (other.seconds + opening) * 1.1 + 1e-9);
        }
    }
}
