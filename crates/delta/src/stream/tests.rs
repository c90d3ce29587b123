use super::*;

fn budget(files: u64, bytes: u64) -> StreamBudget {
    StreamBudget { files, bytes, is_unused: true }
}

#[test]
fn a_budget_has_room_for_one_file_at_least() {
    assert_eq!(budget(2, u64::MAX).take([5, 5, 5].into_iter()), 2);
    assert_eq!(budget(9, 12).take([5, 5, 5].into_iter()), 2);
    assert_eq!(budget(9, 4).take([5, 5].into_iter()), 1);
    let mut used = budget(3, 10);
    assert_eq!((used.take([5].into_iter()), used.take([6].into_iter()), used.take([5, 1].into_iter())), (1, 0, 1));
}

#[test]
fn the_files_of_a_version_of_changes_stay_together() {
    assert_eq!(budget(2, 10).take_all([5, 5, 5].into_iter()), 3);
    let mut used = budget(4, 100);
    assert_eq!(used.take_all([1, 1].into_iter()), 2);
    assert_eq!(used.take_all([1, 1, 1].into_iter()), 0);
    assert_eq!(used.take_all([1, 1].into_iter()), 2);
}
