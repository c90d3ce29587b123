#![allow(clippy::unwrap_used)]

use lakerace_io::ErrorKind;
use roaring::RoaringTreemap;

use super::split;

#[test]
fn places_are_rows_of_the_file_that_they_fall_into() {
    let new = [("a".to_owned(), 10), ("b".to_owned(), 5), ("c".to_owned(), 5)];
    let places: RoaringTreemap = [0, 9, 15, 19].into_iter().collect();
    let split_up = split(&places, &new).unwrap();
    let told: Vec<(&str, Vec<u64>)> =
        split_up.iter().map(|(name, rows)| (name.as_str(), rows.iter().collect())).collect();
    assert_eq!(told, [("a", vec![0, 9]), ("c", vec![0, 4])]);
    assert_eq!(split(&[20].into_iter().collect(), &new).unwrap_err().kind(), ErrorKind::Corrupt);
}
