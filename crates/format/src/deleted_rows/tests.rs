#![allow(clippy::unwrap_used, clippy::single_range_in_vec_init)]

use lakerace_io::ErrorKind;

use super::DeletedRows;

fn hidden(rows: &[u64], file_rows: u64) -> DeletedRows {
    DeletedRows::new(rows.iter().copied(), rows.last().copied(), file_rows).unwrap()
}

#[test]
fn rows_that_the_file_does_not_have_are_refused() {
    let error = DeletedRows::new([3, 10], Some(10), 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("row 10"), "{error}");
    let error = DeletedRows::new([u64::MAX], Some(u64::MAX), 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    // A last row that is smaller than another one must not write outside of the bits.
    assert_eq!(DeletedRows::new([7, 9], Some(7), 10).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn visible_rows_are_those_that_are_not_hidden() {
    let rows = hidden(&[0, 5, 6, 19], 30);
    assert_eq!(rows.count(), 4);
    assert_eq!(rows.count_in(5..7), 2);
    assert_eq!(rows.count_in(20..30), 0);
    assert!(rows.visible(7..19).is_none());
    assert!(rows.visible(20..30).is_none());
    let visible = rows.visible(4..8).unwrap();
    assert_eq!(visible.iter().flatten().collect::<Vec<_>>(), [true, false, false, true]);
    // Behind the last hidden row all are visible.
    let visible = rows.visible(18..22).unwrap();
    assert_eq!(visible.iter().flatten().collect::<Vec<_>>(), [true, false, true, true]);
}

#[test]
fn long_runs_are_cut_out_and_short_ones_are_not() {
    let long: Vec<u64> = (10_000..20_000).chain([5]).collect();
    let rows = DeletedRows::new(long, Some(19_999), 50_000).unwrap();
    assert_eq!(rows.without_runs(0..50_000), [0..10_000, 20_000..50_000]);
    assert_eq!(rows.without_runs(15_000..50_000), [5000..35_000]);
    assert_eq!(rows.without_runs(12_000..13_000), []);
    assert_eq!(rows.without_runs(0..8), [0..8]);
    assert_eq!(rows.without_runs(30_000..30_010), [0..10]);
    let none = hidden(&[], 50_000);
    assert_eq!(none.without_runs(0..7), [0..7]);
}

#[test]
fn some_rows_can_be_read_alone() {
    let rows = DeletedRows::all_but([2, 5], 9).unwrap();
    assert_eq!(rows, hidden(&[0, 1, 3, 4, 6, 7, 8], 9));
    assert_eq!(rows.count(), 7);
    assert_eq!(DeletedRows::all_but([9], 9).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn rows_come_as_bits() {
    let rows = DeletedRows::from_bits(vec![0b0110, 0, 0b1, 0, 0], 17).unwrap();
    assert_eq!(rows, hidden(&[1, 2, 16], 17));
    assert_eq!(DeletedRows::from_bits(vec![0, 0], 0).unwrap(), hidden(&[], 0));
    let error = DeletedRows::from_bits(vec![0, 0b100], 10).unwrap_err();
    assert!(error.to_string().contains("row 10") && error.kind() == ErrorKind::Corrupt, "{error}");
}

#[test]
fn runs_are_long_wherever_they_begin() {
    for start in [0, 1, 63, 64, 100, 4096] {
        for length in [4095, 4096, 4097, 4160, 9000] {
            let scattered = (20_000..30_000u64).step_by(3);
            let rows: Vec<u64> = (start..start + length).chain(scattered).collect();
            let rows = DeletedRows::new(rows, Some(29_999), 40_000).unwrap();
            let mut wanted = vec![0..start, start + length..40_000];
            wanted.retain(|range| !range.is_empty());
            if length < 4096 {
                wanted = vec![0..40_000];
            }
            assert_eq!(rows.without_runs(0..40_000), wanted, "{start} {length}");
        }
    }
}
