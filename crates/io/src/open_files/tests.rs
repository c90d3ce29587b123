#![allow(clippy::unwrap_used)]

use super::*;

fn opened() -> Arc<OpenedFile> {
    let file = tempfile::tempfile().unwrap();
    let version = FileIdentity::from_metadata(&file.metadata().unwrap());
    Arc::new(OpenedFile { file, version })
}

#[test]
fn shares_leave_room_and_are_never_nothing() {
    for limit in [1, 20, 64, 256, 1024, 1 << 20] {
        let FileShares { kept, reads, complete, written } = FileShares::of_limit(Some(limit));
        assert!([kept, reads, complete, written].iter().all(|share| *share > 0), "{limit}");
        // Complete files have two handles while they are synced.
        assert!(limit < 64 || kept + reads + 2 * complete + written <= limit as usize * 3 / 4, "{limit}");
    }
    assert_eq!(FileShares::of_limit(None), FileShares::of_limit(Some(1 << 40)));
}

#[test]
fn the_file_that_was_read_longest_ago_is_closed_unless_it_is_being_read() {
    let mut all = KeptFiles::default();
    let keep = |all: &mut KeptFiles, number: u32| all.keep((0, number), &opened(), 2);
    assert!(keep(&mut all, 0) && keep(&mut all, 1));
    drop(all.find((0, 0)).unwrap());
    assert!(keep(&mut all, 2));
    assert!(all.find((0, 1)).is_none());
    let (zero, two) = (all.find((0, 0)).unwrap(), all.find((0, 2)).unwrap());
    assert!(!keep(&mut all, 3), "both are being read");
    drop(zero);
    assert!(keep(&mut all, 3));
    assert!(all.find((0, 0)).is_none());
    drop(two);
    assert!(all.find((0, 2)).is_some());
}

#[test]
fn a_reader_that_goes_closes_its_files() {
    let reader = ReaderFiles::new();
    let file = opened();
    let again = OpenedFile { file: file.file.try_clone().unwrap(), version: file.version };
    let handle = reader.keep(7, again);
    assert!(Arc::ptr_eq(&reader.find(7).unwrap().opened, &handle.opened));
    drop(reader);
    assert_eq!(Arc::strong_count(&handle.opened), 1);
}

#[test]
fn what_finds_no_room_is_opened_once_more() {
    let mut answers = vec![Ok(7), Err(io::Error::from_raw_os_error(libc::EMFILE))];
    assert_eq!(open_or_make_room(|| answers.pop().unwrap()).unwrap(), 7);
    let mut answers = vec![Ok(7), Err(io::Error::from_raw_os_error(libc::EACCES))];
    assert_eq!(open_or_make_room(|| answers.pop().unwrap()).unwrap_err().raw_os_error(), Some(libc::EACCES));
}
