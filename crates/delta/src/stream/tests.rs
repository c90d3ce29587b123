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

#[test]
fn versions_that_are_made_during_a_look_are_no_gap() {
    assert_eq!(MissingEntry::from_listing(4, vec![2, 3], None), MissingEntry::NotYet);
    // Two writers were faster than the listing.
    assert_eq!(MissingEntry::from_listing(4, vec![2, 3, 4, 5], None), MissingEntry::NotYet);
    assert_eq!(MissingEntry::from_listing(4, vec![], Some(3)), MissingEntry::NotYet);
    assert_eq!(MissingEntry::from_listing(4, vec![5, 6], Some(5)), MissingEntry::Removed);
    assert_eq!(MissingEntry::from_listing(4, vec![0, 1], None), MissingEntry::Replaced);
    assert_eq!(MissingEntry::from_listing(4, vec![], None), MissingEntry::Replaced);
}

#[test]
fn positions_of_earlier_checkpoints_are_read() -> serde_json::Result<()> {
    let text = r#"{"table_id":"t","version":3,"file":1,"is_initial":false}"#;
    let position: StreamPosition = serde_json::from_str(text)?;
    assert_eq!((position.non_append, position.reads_changes), (None, false));
    let planned = StreamPosition { non_append: Some(NonAppend::IgnoreDeletes), ..position };
    assert_eq!(serde_json::from_str::<StreamPosition>(&serde_json::to_string(&planned)?)?, planned);
    Ok(())
}
