#![allow(clippy::unwrap_used)]

use super::{LocationCheck, RightOutcome, check_location};
use crate::{Job, StorageOptions};

fn outcomes(check: &LocationCheck) -> Vec<(&'static str, RightOutcome)> {
    check.rights.iter().map(|right| (right.right, right.outcome)).collect()
}

#[test]
fn a_folder_of_this_machine_allows_all_and_is_left_as_it_was() {
    use RightOutcome::Allowed;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.csv"), "a\n1\n").unwrap();
    for name in ["", "x.csv", "new.parquet", "new/folder/"] {
        let place = folder.path().join(name);
        let check = check_location(place.to_str().unwrap(), &StorageOptions::default(), &Job::default()).unwrap();
        let all = ["list", "write", "read", "put_if_absent", "delete"].map(|right| (right, Allowed));
        assert_eq!(outcomes(&check), all, "{check:?}");
        assert!(check.failure().is_none() && check.advice.is_empty(), "{check:?}");
        assert!(check.read_bytes_per_second.unwrap() > 0.0 && check.latency_ms.unwrap() > 0.0);
        assert_eq!(check.store, "local files");
    }
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["x.csv"]);
}

#[test]
fn a_clock_that_is_off_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap();
    let check = check_location(place, &StorageOptions::default(), &Job::default()).unwrap();
    for (seconds, says) in
        [(30, None), (600, Some("600 s ahead of")), (-600, Some("600 s behind")), (1200, Some("reject requests"))]
    {
        let mut check = LocationCheck { clock_skew_seconds: Some(seconds), ..check.clone() };
        check.add_advice(true);
        assert_eq!(check.advice.len(), usize::from(says.is_some()), "{check:?}");
        assert!(says.is_none_or(|says| check.advice[0].contains(says)), "{check:?}");
    }
}
