#![allow(clippy::unwrap_used)]

use bytes::Bytes;

use super::RINGS_IN_USE;
use crate::output::tests::{job, names, target};
use crate::{ErrorKind, FileIo, IfExists, Job, Object, Output, Result};

const RING_WAYS: [FileIo; 2] = [FileIo::Uring, FileIo::UringDirect];
const CHUNKS: [usize; 7] = [3 << 20, 5, 1 << 20, 70_000, 9 << 20, 8 << 20, 1];

/// Faults of the kernel, on this thread: there are no disks that fail at will.
pub(super) mod faults {
    use std::cell::{Cell, RefCell};
    use std::collections::VecDeque;

    thread_local! {
        static NEVER_BLOCKS: Cell<Option<bool>> = const { Cell::new(Some(true)) };
        static LONGEST: Cell<usize> = const { Cell::new(usize::MAX) };
        static DIRECT_WRITES: Cell<usize> = const { Cell::new(usize::MAX) };
        static RESULTS: RefCell<VecDeque<Option<i32>>> = const { RefCell::new(VecDeque::new()) };
    }

    /// What the file system is taken for; `None`: for what it is. Rings are tested on any.
    pub(crate) fn never_blocks() -> Option<bool> {
        NEVER_BLOCKS.get()
    }

    pub(super) fn set_never_blocks(known: Option<bool>) {
        NEVER_BLOCKS.set(known);
    }

    /// How much of a write the kernel is told of: it writes so much of it.
    pub(crate) fn longest(len: usize) -> usize {
        LONGEST.get().min(len)
    }

    /// What a write comes to instead of `result`.
    pub(crate) fn result(result: i32, is_direct: bool) -> i32 {
        if is_direct {
            let Some(left) = DIRECT_WRITES.get().checked_sub(1) else { return -libc::EINVAL };
            DIRECT_WRITES.set(left);
        }
        RESULTS.with_borrow_mut(|results| results.pop_front().flatten().unwrap_or(result))
    }

    /// The disk takes so many direct writes, and refuses all after them, however many are under way.
    pub(super) fn take_direct(writes: usize) {
        DIRECT_WRITES.set(writes);
    }

    pub(super) fn shorten(longest: usize) {
        LONGEST.set(longest);
    }

    /// The next writes come to this; `None`: to what they come to.
    pub(super) fn inject(results: &[Option<i32>]) {
        RESULTS.with_borrow_mut(|queue| *queue = results.iter().copied().collect());
    }

    pub(super) fn left() -> usize {
        RESULTS.with_borrow(VecDeque::len)
    }
}

fn write(object: &Object, seed: usize) -> Result<Vec<u8>> {
    let mut output = Output::create(&object.store, &object.path, IfExists::Replace)?;
    let mut all = Vec::new();
    for (i, len) in CHUNKS.iter().enumerate() {
        let chunk: Vec<u8> = (0..*len).map(|j| (seed * 13 + i * 31 + j * 7 + j / 4096) as u8).collect();
        all.extend_from_slice(&chunk);
        output.write(chunk.into())?;
    }
    output.finish()?;
    Ok(all)
}

fn is_written(object: &Object, seed: usize) -> bool {
    write(object, seed).unwrap() == std::fs::read(object.url()).unwrap()
}

#[test]
fn writes_that_were_interrupted_or_cut_short_are_made_again() {
    let folder = tempfile::tempdir().unwrap();
    for way in RING_WAYS {
        let object = target(&folder, way.name(), &job(way));
        for code in [libc::EINTR, libc::EAGAIN, libc::EBUSY, libc::ECANCELED] {
            faults::inject(&[Some(-code), None, Some(-code), Some(-code)]);
            assert!(is_written(&object, code as usize));
            assert_eq!(faults::left(), 0);
        }
        for longest in [64 << 10, 100_001, (1 << 20) - 512] {
            faults::shorten(longest);
            assert!(is_written(&object, longest), "{way} {longest}");
            faults::shorten(usize::MAX);
        }
    }
}

#[test]
fn a_write_that_fails_is_the_error_that_a_plain_write_gives() {
    let folder = tempfile::tempdir().unwrap();
    for way in RING_WAYS {
        let object = target(&folder, "x", &job(way));
        for (at, code) in [(0, libc::EIO), (1, libc::ENOSPC), (3, libc::EFBIG), (5, libc::EDQUOT)] {
            let mut results = vec![None; at];
            results.push(Some(-code));
            faults::inject(&results);
            let error = write(&object, at).map(|written| written.len()).unwrap_err();
            let plain = crate::Error::from(std::io::Error::from_raw_os_error(code)).at(object.url());
            assert_eq!((error.kind(), error.to_string()), (plain.kind(), plain.to_string()));
            assert!(names(folder.path()).is_empty());
        }
        faults::inject(&[None, Some(0)]);
        assert!(write(&object, 0).is_err_and(|e| e.kind() == ErrorKind::Unavailable));
        assert!(names(folder.path()).is_empty());
    }
}

#[test]
fn a_disk_that_wants_other_blocks_is_written_through_the_page_cache() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(FileIo::UringDirect);
    let object = target(&folder, "x", &job);
    faults::take_direct(1);
    assert!(is_written(&object, 1));
    assert_eq!(job.file_io(), Some(FileIo::Uring));
    assert!(job.warnings().iter().any(|warning| warning.contains("page cache")), "{:?}", job.warnings());
}

#[test]
fn more_files_than_rings_are_written_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for way in RING_WAYS {
        let job = job(way);
        let objects: Vec<_> = (0..super::RINGS + 4).map(|i| target(&folder, &format!("{way}/{i}"), &job)).collect();
        let create = |object: &Object| Output::create(&object.store, &object.path, IfExists::Error).unwrap();
        let mut outputs: Vec<_> = objects.iter().map(create).collect();
        let bytes: Vec<u8> = (0..(3 << 20) + 77).map(|i: u32| (i ^ (i >> 8)) as u8).collect();
        for part in [0..1_500_000, 1_500_000..bytes.len()] {
            for (i, output) in outputs.iter_mut().enumerate() {
                output.write(Bytes::copy_from_slice(&bytes[part.clone()])).unwrap();
                output.write(Bytes::from(vec![i as u8; i])).unwrap();
            }
        }
        assert!(RINGS_IN_USE.used() <= super::RINGS);
        outputs.into_iter().for_each(|output| output.finish().unwrap());
        for (i, object) in objects.iter().enumerate() {
            let end = vec![i as u8; i];
            let wanted = [&bytes[..1_500_000], &end, &bytes[1_500_000..], &end].concat();
            assert!(std::fs::read(object.url()).unwrap() == wanted, "{way} {i}");
        }
    }
}

#[test]
fn what_is_dropped_with_writes_under_way_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for way in RING_WAYS {
        let object = target(&folder, "x", &job(way));
        for count in 0..20 {
            let mut output = Output::create(&object.store, &object.path, IfExists::Replace).unwrap();
            (0..count).for_each(|i| output.write(vec![i; (1 << 20) + 5].into()).unwrap());
            drop(output);
            assert!(names(folder.path()).is_empty());
        }
        let panic = std::panic::AssertUnwindSafe(|| {
            let mut output = Output::create(&object.store, &object.path, IfExists::Replace).unwrap();
            output.write(vec![1; 5 << 20].into()).unwrap();
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        assert!(std::panic::catch_unwind(panic).is_err() && names(folder.path()).is_empty());
    }
}

#[test]
fn a_file_goes_from_thread_to_thread() {
    let folder = tempfile::tempdir().unwrap();
    for way in RING_WAYS {
        let object = target(&folder, "x", &job(way));
        let mut output = Output::create(&object.store, &object.path, IfExists::Replace).unwrap();
        for i in 0..24 {
            // The thread ends at once, with its write under way.
            let write = move || output.write(vec![i; 1_100_000].into()).map(|()| output);
            output = std::thread::spawn(write).join().unwrap().unwrap();
        }
        output.finish().unwrap();
        let wanted: Vec<u8> = (0..24).flat_map(|i| vec![i; 1_100_000]).collect();
        assert!(std::fs::read(object.url()).unwrap() == wanted);
    }
}

#[test]
fn bytes_may_follow_a_flush() {
    let folder = tempfile::tempdir().unwrap();
    for way in RING_WAYS {
        let object = target(&folder, "x", &job(way));
        let mut output = Output::create(&object.store, &object.path, IfExists::Replace).unwrap();
        for i in 0..4 {
            output.write(vec![i; (2 << 20) + 3].into()).unwrap();
            output.prepare().unwrap();
        }
        output.finish().unwrap();
        let wanted: Vec<u8> = (0..4).flat_map(|i| vec![i; (2 << 20) + 3]).collect();
        assert!(std::fs::read(object.url()).unwrap() == wanted);
    }
}

/// Makes a system call fail on this thread for good, as the filter of a container does: any call of `number`, or those whose
/// second argument is `operation`. False where that is not allowed.
fn refuse(number: libc::c_long, operation: Option<u32>, code: i32) -> bool {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    // The number of a call lies at 0 of what a filter is given, the low half of its second argument at 24.
    let is_any = u8::from(operation.is_none());
    let mut program = [
        step(LOAD, 0, 0, 0),
        step(IF_EQUAL, 0, 3, number as u32),
        step(LOAD, 0, 0, 24),
        step(IF_EQUAL, 0, 1 - is_any, operation.unwrap_or_default()),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | code as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: both calls change this thread alone; the program outlives the call that copies it.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) == 0
    }
}

/// Writes a file of several megabytes while `refused` is, and gives the job.
fn written_while(refused: impl FnOnce() -> bool + Send + 'static, way: FileIo) -> Option<Job> {
    let write = move || {
        if !refused() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let job = job(way);
        assert!(is_written(&target(&folder, "x", &job), 1));
        assert!(is_written(&target(&folder, "y", &job), 2));
        Some(job)
    };
    std::thread::spawn(write).join().unwrap()
}

#[test]
fn a_kernel_that_refuses_is_told_of_once_and_done_without() {
    for way in RING_WAYS {
        for code in [libc::ENOSYS, libc::EPERM, libc::ENOMEM] {
            let Some(job) = written_while(move || refuse(libc::SYS_io_uring_setup, None, code), way) else {
                eprintln!("skipped: system calls can't be filtered here");
                return;
            };
            assert_eq!(job.file_io(), Some(FileIo::Sync));
            let warnings = job.warnings();
            assert!(warnings.len() == 1 && warnings[0].contains("io_uring is not available"), "{warnings:?}");
            let name = std::io::Error::from_raw_os_error(code).to_string();
            assert!(warnings[0].contains(&name), "{warnings:?}");
        }
    }
}

#[test]
fn a_kernel_that_locks_no_memory_writes_from_memory_that_is_not_locked() {
    for way in RING_WAYS {
        let refused = || refuse(libc::SYS_io_uring_register, Some(0), libc::ENOMEM);
        let Some(job) = written_while(refused, way) else {
            eprintln!("skipped: system calls can't be filtered here");
            return;
        };
        assert_eq!(job.file_io(), Some(way));
        let warnings = job.warnings();
        // Into the page cache, nothing is locked.
        assert_eq!(warnings.len(), usize::from(way == FileIo::UringDirect), "{warnings:?}");
        assert!(warnings.iter().all(|warning| warning.contains("ulimit -l")), "{warnings:?}");
    }
}

#[test]
fn a_file_system_whose_writes_block_is_written_by_blocking_writes() {
    let folder = tempfile::tempdir().unwrap();
    faults::set_never_blocks(Some(false));
    let blocking = job(FileIo::Uring);
    for name in ["x", "y"] {
        assert!(is_written(&target(&folder, name, &blocking), 1));
    }
    assert_eq!(blocking.file_io(), Some(FileIo::Sync));
    let warnings = blocking.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("uring-direct"), "{warnings:?}");
    // The job knows another file system, whose writes don't block, from a file before.
    let other = job(FileIo::Uring);
    faults::set_never_blocks(Some(true));
    assert!(is_written(&target(&folder, "z", &other), 1));
    assert_eq!(other.file_io(), Some(FileIo::Uring));
    faults::set_never_blocks(Some(false));
    assert!(is_written(&target(&folder, "z", &other), 2));
    assert_eq!((other.file_io(), other.warnings().len()), (Some(FileIo::Sync), 1));
}

#[test]
fn a_file_system_that_was_asked_keeps_the_file_as_it_is() {
    use std::os::unix::fs::FileExt;
    faults::set_never_blocks(None);
    let file = tempfile::tempfile().unwrap();
    super::never_blocks(&file, 0);
    assert_eq!(file.metadata().unwrap().len(), 0);
    file.write_all_at(b"abc", 0).unwrap();
    super::never_blocks(&file, 3);
    assert_eq!(file.metadata().unwrap().len(), 3);
    let folder = tempfile::tempdir().unwrap();
    let whatever = job(FileIo::Uring);
    assert!(is_written(&target(&folder, "x", &whatever), 1));
    assert_eq!(whatever.file_io() == Some(FileIo::Sync), whatever.warnings().len() == 1);
}
