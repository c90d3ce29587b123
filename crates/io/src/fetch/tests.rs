#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init)]

use std::time::Duration;

use object_store::ObjectStoreExt;
use object_store::memory::InMemory;
use object_store::path::Path;
use proptest::prelude::*;

use super::*;
use crate::profile::Observations;
use crate::store::wrap::Metered;
use crate::{
    ErrorKind, JobOptions, JobStore, Location, MinSeekSize, RangeOptions, StorageOptions, Wanted, plan_requests,
};

fn data(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn remote(job: &Job, bytes: &[u8]) -> Object {
    let memory = Arc::new(InMemory::new());
    let path = Path::from("x");
    futures::executor::block_on(memory.put(&path, bytes.to_vec().into())).unwrap();
    let metered = Arc::new(Metered::operations(memory, Arc::clone(job.meter())));
    JobStore::wrapping(metered, "test://", Observations::s3(), job).object(path)
}

fn local(job: &Job, folder: &tempfile::TempDir, bytes: &[u8]) -> Object {
    let path = folder.path().join("x");
    std::fs::write(&path, bytes).unwrap();
    Location::parse(path.to_str().unwrap()).unwrap().object(&StorageOptions::default(), job).unwrap()
}

fn plan_of(ranges: &[Range<u64>], gap: u64, max: u64) -> RequestPlan {
    let wanted: Vec<_> = ranges.iter().map(|range| Wanted { file: 0, range: range.clone() }).collect();
    let options = RangeOptions {
        min_seek_size: MinSeekSize::Bytes(gap),
        max_request_bytes: Some(max),
        ..RangeOptions::default()
    };
    plan_requests(&wanted, &options, &Observations::s3())
}

fn job_with(prefetch_bytes: u64, extra_bytes_tolerance: f64) -> Job {
    let ranges = RangeOptions { extra_bytes_tolerance, prefetch_bytes, ..RangeOptions::default() };
    Job::new(JobOptions { ranges, ..JobOptions::default() })
}

/// Waits until the count of requests stands still.
fn settled(job: &Job) -> u64 {
    let mut last = u64::MAX;
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let now = job.meter().counts().requests.get;
        if now == last {
            return now;
        }
        last = now;
    }
}

#[test]
fn bytes_are_those_of_the_object_on_every_store() {
    let bytes = data(1_000_000);
    let folder = tempfile::tempdir().unwrap();
    let ranges = [0..1000, 5000..400_000, 400_000..700_000, 999_000..1_000_000];
    for tolerance in [0.0, 2.0] {
        let job = job_with(1 << 20, tolerance);
        for object in [remote(&job, &bytes), local(&job, &folder, &bytes)] {
            let fetcher = Fetcher::start(vec![object], &plan_of(&ranges, 5000, 65_536), &job).unwrap();
            for range in &ranges {
                let expected = &bytes[range.start as usize..range.end as usize];
                assert_eq!(fetcher.bytes(0, range.clone()).unwrap(), expected);
                let mut at = range.start;
                while at < range.end {
                    let some = fetcher.bytes_some(0, at..range.end).unwrap();
                    assert!(!some.is_empty());
                    assert_eq!(some, bytes[at as usize..at as usize + some.len()]);
                    at += some.len() as u64;
                }
                fetcher.release(0, range.clone());
                // Asked for after all: right, though not free.
                assert_eq!(fetcher.bytes(0, range.clone()).unwrap(), expected);
            }
            assert_eq!(fetcher.bytes(0, 2000..3000).unwrap(), bytes[2000..3000]);
            assert_eq!(fetcher.bytes(0, 800_000..800_001).unwrap_err().kind(), ErrorKind::Internal);
            assert!(fetcher.bytes(0, 7..7).unwrap().is_empty());
        }
    }
}

#[test]
fn long_gaps_are_read_through_and_not_kept() {
    let bytes = data(2_000_000);
    let folder = tempfile::tempdir().unwrap();
    let ranges: Vec<_> = (0..10u64).map(|i| i * 200_000 + 50_000..i * 200_000 + 150_000).collect();
    // Room for what is wanted of the second request beside the first, and not for the gaps.
    let job = job_with(1_000_000, 0.0);
    for (object, is_remote) in [(remote(&job, &bytes), true), (local(&job, &folder, &bytes), false)] {
        let plan = plan_of(&ranges, 1 << 20, 1_000_000);
        assert_eq!(plan.requests.len(), 2);
        assert_eq!(plan.requests.iter().map(|r| r.gap_bytes()).sum::<u64>(), plan.read_through_bytes);
        let before = job.meter().counts().requests.get;
        let fetcher = Fetcher::start(vec![object], &plan, &job).unwrap();
        if is_remote {
            assert_eq!(settled(&job) - before, 2);
            let error = fetcher.bytes(0, 149_000..151_000).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Internal);
            assert!(error.message().contains("in a gap of the plan"), "{error}");
        }
        for range in ranges.iter().rev() {
            let (start, end) = (range.start as usize, range.end as usize);
            assert_eq!(fetcher.bytes(0, range.clone()).unwrap(), bytes[start..end]);
            assert_eq!(fetcher.bytes(0, range.start + 10..range.end - 10).unwrap(), bytes[start + 10..end - 10]);
            assert_eq!(fetcher.bytes_some(0, range.clone()).unwrap(), bytes[start..end]);
            fetcher.release(0, range.clone());
        }
    }
}

#[test]
fn reading_ahead_is_bounded_and_goes_on_after_a_release() {
    let job = job_with(10_000, 2.0);
    let object = remote(&job, &data(100_000));
    let ranges: Vec<_> = (0..100u64).map(|i| i * 1000..(i + 1) * 1000).collect();
    let fetcher = Fetcher::start(vec![object], &plan_of(&ranges, 0, 1000), &job).unwrap();
    assert_eq!(settled(&job), 10);
    // One that is waited for is fetched in spite of the bound.
    fetcher.bytes(0, 50_000..51_000).unwrap();
    assert_eq!(settled(&job), 11);
    fetcher.release(0, 0..5000);
    // 6 of the first 10, the demanded one, and 4 more: 10 pieces of 1,000 bytes are held.
    assert_eq!(settled(&job), 15);
    // What is released before it was fetched never is.
    fetcher.release(0, 20_000..100_000);
    assert_eq!(settled(&job), 16);
    fetcher.release(0, 5000..20_000);
    assert_eq!(settled(&job), 16);
}

#[test]
fn a_request_larger_than_the_bound_is_fetched_all_the_same() {
    let job = job_with(10, 2.0);
    let bytes = data(50_000);
    let object = remote(&job, &bytes);
    let fetcher = Fetcher::start(vec![object], &plan_of(&[0..25_000, 25_000..50_000], 0, 25_000), &job).unwrap();
    assert_eq!(fetcher.bytes(0, 0..50_000).unwrap(), bytes);
}

#[test]
fn an_object_that_is_too_short_is_corrupt() {
    let job = Job::default();
    let folder = tempfile::tempdir().unwrap();
    for object in [remote(&job, &data(1000)), local(&job, &folder, &data(1000))] {
        for range in [500..1500, 2000..3000] {
            let fetcher =
                Fetcher::start(vec![object.clone()], &plan_of(std::slice::from_ref(&range), 0, 5000), &job).unwrap();
            let error = fetcher.bytes(0, range.clone()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            assert_eq!(object.read_range(range).unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }
}

#[test]
fn a_replaced_object_is_a_conflict_and_never_mixed() {
    let job = job_with(1000, 2.0);
    let object = remote(&job, &data(10_000));
    let ranges: Vec<_> = (0..10u64).map(|i| i * 1000..(i + 1) * 1000).collect();
    let fetcher = Fetcher::start(vec![object.clone()], &plan_of(&ranges, 0, 1000), &job).unwrap();
    fetcher.bytes(0, 0..1000).unwrap();
    futures::executor::block_on(object.store.store.put(&object.path, vec![0; 10_000].into())).unwrap();
    let error = fetcher.bytes(0, 9000..10_000).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert!(error.to_string().contains("replaced while it was read"), "{error}");
}

#[test]
fn a_local_file_written_to_meanwhile_is_a_conflict() {
    use std::io::Write;
    let job = Job::default();
    let folder = tempfile::tempdir().unwrap();
    let object = local(&job, &folder, &data(10_000));
    let plan = plan_of(&[0..1000, 5000..6000], 0, 1000);
    let fetcher = Fetcher::start(vec![object.clone()], &plan, &job).unwrap();
    fetcher.bytes(0, 0..1000).unwrap();
    std::fs::File::options().append(true).open(object.url()).unwrap().write_all(b"more").unwrap();
    assert_eq!(fetcher.bytes(0, 5000..6000).unwrap_err().kind(), ErrorKind::Conflict);
    // Known by an older tag, it is not even begun.
    let tail = object.read_tail(10).unwrap();
    std::fs::write(object.url(), b"another").unwrap();
    let known = Object { e_tag: tail.e_tag, ..object };
    let fetcher = Fetcher::start(vec![known], &plan, &job).unwrap();
    assert_eq!(fetcher.bytes(0, 0..1000).unwrap_err().kind(), ErrorKind::Conflict);
}

#[test]
fn a_missing_object_is_not_found() {
    let job = Job::default();
    let folder = tempfile::tempdir().unwrap();
    let mut gone = local(&job, &folder, &[1]);
    gone.path = gone.path.parent().unwrap().join("nothing");
    let fetcher = Fetcher::start(vec![gone], &plan_of(&[0..1], 0, 10), &job).unwrap();
    assert_eq!(fetcher.bytes(0, 0..1).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn many_files_do_not_use_up_descriptors() {
    let job = Job::default();
    let folder = tempfile::tempdir().unwrap();
    let mut objects = Vec::new();
    let mut wanted = Vec::new();
    for file in 0..300u32 {
        let path = folder.path().join(file.to_string());
        std::fs::write(&path, file.to_le_bytes()).unwrap();
        let location = Location::parse(path.to_str().unwrap()).unwrap();
        objects.push(location.object(&StorageOptions::default(), &job).unwrap());
        wanted.extend([Wanted { file, range: 0..2 }, Wanted { file, range: 3..4 }]);
    }
    let options = RangeOptions { min_seek_size: MinSeekSize::Bytes(0), ..RangeOptions::default() };
    let plan = plan_requests(&wanted, &options, &Observations::local_disk());
    let fetcher = Fetcher::start(objects, &plan, &job).unwrap();
    let before = std::fs::read_dir("/proc/self/fd").unwrap().count();
    for file in 0..300u32 {
        assert_eq!(fetcher.bytes(file, 0..2).unwrap(), file.to_le_bytes()[..2]);
    }
    let after = std::fs::read_dir("/proc/self/fd").unwrap().count();
    // Other tests of this process open files, too.
    assert!(after < before + 150, "{before} {after}");
    for file in (0..300u32).rev() {
        assert_eq!(fetcher.bytes(file, 3..4).unwrap(), file.to_le_bytes()[3..]);
    }
}

#[test]
fn threads_share_one_request() {
    let job = Job::default();
    let bytes = data(100_000);
    let folder = tempfile::tempdir().unwrap();
    for object in [remote(&job, &bytes), local(&job, &folder, &bytes)] {
        let before = job.meter().counts().requests.get;
        let fetcher = Fetcher::start(vec![object], &plan_of(&[0..100_000], 0, 100_000), &job).unwrap();
        std::thread::scope(|scope| {
            for i in 0..8u64 {
                let (fetcher, bytes) = (fetcher.clone(), &bytes);
                scope.spawn(move || {
                    let range = i * 1000..(i + 1) * 1000;
                    assert_eq!(
                        fetcher.bytes(0, range.clone()).unwrap(),
                        bytes[range.start as usize..range.end as usize]
                    );
                });
            }
        });
        assert_eq!(job.meter().counts().requests.get - before, 1);
    }
}

#[test]
fn a_cancelled_job_wakes_its_waiters() {
    let job = Job::default();
    let object = remote(&job, &data(10));
    let fetcher = Fetcher::start(vec![object], &plan_of(&[0..10], 0, 10), &job).unwrap();
    job.cancel();
    // Either it was there already, or the wait ends.
    match fetcher.bytes(0, 0..10) {
        Ok(bytes) => assert_eq!(bytes, data(10)),
        Err(error) => assert_eq!(error.kind(), ErrorKind::Cancelled),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_plan_gives_the_right_bytes(
        starts in proptest::collection::vec((0u64..9000, 1u64..1000), 1..20),
        gap in 0u64..500, max in 10u64..2000, prefetch in 1u64..5000, tolerance in 0.0f64..3.0,
    ) {
        let bytes = data(10_000);
        let ranges: Vec<_> = starts.iter().map(|(start, len)| *start..start + len).collect();
        let job = job_with(prefetch, tolerance);
        let folder = tempfile::tempdir().unwrap();
        for object in [remote(&job, &bytes), local(&job, &folder, &bytes)] {
            let fetcher = Fetcher::start(vec![object], &plan_of(&ranges, gap, max), &job).unwrap();
            for range in &ranges {
                let got = fetcher.bytes(0, range.clone()).unwrap();
                prop_assert_eq!(&got[..], &bytes[range.start as usize..range.end as usize]);
                fetcher.release(0, range.clone());
            }
        }
    }
}
