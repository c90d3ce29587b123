#![allow(clippy::unwrap_used)]

use super::*;
use crate::{Job, Location, StorageOptions};

/// Up to which request the kernel was told of those of the first file.
fn told(files: &LocalFiles) -> usize {
    files.told[0].load(Ordering::Relaxed)
}

#[test]
fn the_kernel_is_told_once_of_as_much_as_it_shall_fetch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    std::fs::write(&path, vec![7; 4000]).unwrap();
    let object =
        Location::parse(path.to_str().unwrap()).unwrap().object(&StorageOptions::default(), &Job::default()).unwrap();
    let ends = [0, 1000, 2000, 2000 + READ_AHEAD_BYTES, 4000 + READ_AHEAD_BYTES];
    let request =
        |range: &[u64]| Request { file: 0, range: range[0]..range[1], read_through_bytes: 0, gaps: Vec::new() };
    let plan: Vec<Request> = ends.windows(2).map(request).collect();
    let files = LocalFiles::new(1, &plan);
    let read = |number: usize| files.read(0, &object, &plan[number].range, (&plan, number + 1)).unwrap();
    assert_eq!(read(0).len(), 1000);
    assert_eq!(told(&files), 3);
    // A short piece takes longer than its bytes would, wherever they are: it tells nothing.
    files.from_disk.store(false, Ordering::Relaxed);
    read(1);
    assert!(!files.from_disk.load(Ordering::Relaxed));
    assert_eq!(told(&files), 3);
    files.from_disk.store(true, Ordering::Relaxed);
    read(1);
    assert!(files.from_disk.load(Ordering::Relaxed));
    // What comes next is all that it shall fetch, and it knows of that.
    assert_eq!(told(&files), 3);
}

/// What telling the kernel takes is not multiplied by the number of requests: a wide table has one for each column.
#[test]
fn the_kernel_is_told_of_each_request_of_many_once() {
    const REQUESTS: u64 = 50_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    std::fs::write(&path, vec![7; REQUESTS as usize]).unwrap();
    let object =
        Location::parse(path.to_str().unwrap()).unwrap().object(&StorageOptions::default(), &Job::default()).unwrap();
    let request = |at: u64| Request { file: 0, range: at..at + 1, read_through_bytes: 0, gaps: Vec::new() };
    let plan: Vec<Request> = (0..REQUESTS).map(request).collect();
    let files = LocalFiles::new(1, &plan);
    assert_eq!(told(&files), NOT_TOLD);
    // All of them are nearer than the kernel is to read ahead.
    for (number, request) in plan.iter().enumerate() {
        files.from_disk.store(true, Ordering::Relaxed);
        files.read(0, &object, &request.range, (&plan, number + 1)).unwrap();
        assert_eq!(told(&files), plan.len());
    }
}
