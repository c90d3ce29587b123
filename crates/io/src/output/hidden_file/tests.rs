#![allow(clippy::unwrap_used)]

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::*;

fn files(folder: &Path) -> [HiddenFile; 2] {
    ["a", "b"].map(|name| HiddenFile::create(folder.join("x/y").join(name), &Job::default()).unwrap())
}

#[test]
fn the_last_file_to_be_given_up_takes_the_folders_with_it() {
    let folder = tempfile::tempdir().unwrap();
    for maker_goes_first in [true, false] {
        let [maker, other] = files(folder.path());
        let (first, last) = if maker_goes_first { (maker, other) } else { (other, maker) };
        drop(first);
        assert!(folder.path().join("x/y").exists());
        drop(last);
        assert!(!folder.path().join("x").exists(), "{maker_goes_first}");
    }
}

#[test]
fn folders_of_files_that_appeared_stay() {
    let folder = tempfile::tempdir().unwrap();
    let [maker, mut other] = files(folder.path());
    other.publish(false).unwrap();
    drop(maker);
    std::fs::remove_file(folder.path().join("x/y/b")).unwrap();
    // They belong to the user by now.
    drop(HiddenFile::create(folder.path().join("x/y/c"), &Job::default()).unwrap());
    assert!(folder.path().join("x/y").exists());
}

#[test]
fn folders_that_were_there_stay() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("x")).unwrap();
    drop(files(folder.path()));
    assert!(folder.path().join("x").exists() && !folder.path().join("x/y").exists());
}

#[test]
fn folders_of_files_that_appeared_and_are_given_up_go_with_the_last_file() {
    let folder = tempfile::tempdir().unwrap();
    let [mut one, other] = files(folder.path());
    one.publish(false).unwrap();
    // It begins when nothing is known of the folder any more.
    let later = HiddenFile::create(folder.path().join("x/z"), &Job::default()).unwrap();
    std::fs::remove_file(folder.path().join("x/y/a")).unwrap();
    give_up_folders(one.made_folders());
    drop(other);
    assert!(folder.path().join("x").exists() && !folder.path().join("x/y").exists());
    drop(later);
    assert!(!folder.path().join("x").exists());
}

#[test]
fn a_file_that_is_replaced_hands_its_permissions_on() {
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o7777;
    let target = folder.path().join("a");
    std::fs::write(folder.path().join("usual"), b"").unwrap();
    let mut new = HiddenFile::create(target.clone(), &Job::default()).unwrap();
    new.publish(true).unwrap();
    assert_eq!(mode(&target), mode(&folder.path().join("usual")));
    for kept in [0o600, 0o640, 0o664, 0o444, 0o755] {
        std::fs::set_permissions(&target, std::fs::Permissions::from_mode(kept)).unwrap();
        let mut other = HiddenFile::create(target.clone(), &Job::default()).unwrap();
        // Nobody else reads it while it is written.
        assert_eq!(mode(&other.hidden), 0o600);
        other.publish(true).unwrap();
        assert_eq!(mode(&target), kept, "{kept:o}");
    }
    // No new contents run as another user.
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o4755)).unwrap();
    HiddenFile::create(target.clone(), &Job::default()).unwrap().publish(true).unwrap();
    assert_eq!(mode(&target), 0o755);
}
