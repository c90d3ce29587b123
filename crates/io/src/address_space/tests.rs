#![allow(clippy::unwrap_used)]

use super::*;
use crate::ErrorKind;

#[test]
fn a_limit_that_is_too_low_is_named_with_what_is_needed() {
    let used = 100 << 20;
    for size in [JobSize::Reads, JobSize::Writes] {
        let needed = used + size.least_bytes();
        check_limit(needed, used, size).unwrap();
        let error = check_limit(needed - 1, used, size).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains(&format!("the job needs {} kB", needed >> 10)), "{error}");
        assert!(error.to_string().contains("ulimit -v"), "{error}");
    }
}

#[test]
fn threads_and_memory_follow_what_is_free() {
    assert_eq!(threads_of(WRITE_BYTES + 3 * THREAD_BYTES), 3);
    assert_eq!(threads_of(0), 0);
    assert_eq!(memory_of(WRITE_BYTES + (1 << 30)), 512 << 20);
    assert_eq!(memory_of(0), LEAST_MEMORY_BYTES);
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_used_grows_with_what_is_mapped() {
    let before = used_bytes();
    let mapped = vec![1u8; 64 << 20];
    assert!(used_bytes() >= before + (mapped.len() as u64 - (8 << 20)) || before > (1 << 30), "{before}");
}
