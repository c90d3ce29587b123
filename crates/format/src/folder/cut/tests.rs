use super::*;

fn file(rows: u64, bytes: u64) -> Written {
    Written { rows, bytes, ..Written::default() }
}

#[test]
fn the_first_file_ends_by_its_bytes_and_others_by_their_rows() {
    let mut cut = FileCut::new(1_000_000);
    assert_eq!(cut.room(0, 4), 15_625);
    assert_eq!(cut.room(50_000, 999_999), 15_625);
    assert_eq!(cut.room(50_000, 1_000_000), 0);
    cut.learn(&file(60_000, 1_200_000));
    assert_eq!(cut.room(0, 4), 50_000);
    assert_eq!(cut.room(49_999, 4), 1);
    assert_eq!(cut.room(50_000, 4), 0);
    assert_eq!(cut.room(50_001, 4), 0);
    // Rows that take more bytes than those before.
    assert_eq!(cut.room(10, 1_000_000), 0);
    cut.learn(&file(20_000, 1_200_000));
    assert_eq!(cut.room(0, 4), 33_333);
}

#[test]
fn sizes_that_make_no_sense_give_files_with_rows() {
    for bytes in [0, 1] {
        let mut cut = FileCut::new(bytes);
        assert!(cut.room(0, 100) > 0);
        assert_eq!(cut.room(1, 100), 0);
        cut.learn(&file(10, 1000));
        assert_eq!(cut.room(0, 0), FEWEST_ROWS);
    }
    let mut cut = FileCut::new(u64::MAX);
    cut.learn(&file(u64::MAX, 1));
    cut.learn(&file(u64::MAX, 1));
    assert_eq!(cut.room(0, 0), u64::MAX);
}
