#![allow(clippy::unwrap_used)]

use super::*;
use crate::JobOptions;

fn job(durability: DurabilityLevel) -> Job {
    Job::new(JobOptions { durability, ..JobOptions::default() })
}

#[test]
fn a_failed_sync_fails_the_whole_job() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(DurabilityLevel::Full);
    job.syncs().fail(io::Error::from_raw_os_error(libc::EIO));
    let file = File::create(folder.path().join("a")).unwrap();
    for error in [job.sync_file(&file).unwrap_err(), job.sync_folders().unwrap_err()] {
        assert_eq!(error.kind(), crate::ErrorKind::Unavailable);
        assert!(error.to_string().contains("the disk failed to store"), "{error}");
    }
    // A part of the job with other limits is the same job.
    assert!(job.with_threads(1).sync_folders().is_err());
}

#[test]
fn a_folder_is_noted_once_and_may_be_gone() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(DurabilityLevel::Full);
    for name in ["a", "b", "x/c", "gone/d"] {
        job.note_name(&folder.path().join(name));
    }
    assert_eq!(lock(&job.syncs().folders).len(), 3);
    std::fs::create_dir(folder.path().join("x")).unwrap();
    job.sync_folders().unwrap();
    assert!(lock(&job.syncs().folders).is_empty());
    assert!(job.warnings().is_empty());
}

#[test]
fn a_folder_that_has_no_sync_is_warned_of_once() {
    let job = job(DurabilityLevel::Full);
    // The kernel's own files have none.
    for _ in 0..2 {
        job.note_folder(Path::new("/proc"));
        job.sync_folders().unwrap();
    }
    assert_eq!(job.warnings().len(), 1, "{:?}", job.warnings());
}

#[test]
fn a_job_that_is_not_durable_syncs_nothing() {
    let job = job(DurabilityLevel::Normal);
    job.note_folder(Path::new("/proc"));
    job.sync_folders().unwrap();
    assert!(job.warnings().is_empty());
}

#[test]
fn levels_have_names() {
    for level in [DurabilityLevel::Full, DurabilityLevel::Normal] {
        assert_eq!(level.to_string().parse::<DurabilityLevel>().unwrap(), level);
    }
    assert_eq!("off".parse::<DurabilityLevel>().unwrap_err().kind(), crate::ErrorKind::Usage);
}
