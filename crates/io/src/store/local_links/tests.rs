#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;

use object_store::path::Path;

use crate::{Job, JobStore, Location, StorageOptions};

fn open(folder: &std::path::Path) -> (JobStore, Path) {
    Location::parse(folder.to_str().unwrap()).unwrap().open(&StorageOptions::default(), &Job::default()).unwrap()
}

/// `data/a`, `data/day=1/b` and `outside/c`, with links to a folder beside, to one outside, upwards, and in a ring.
fn linked() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    fs::create_dir_all(data.join("day=1")).unwrap();
    fs::create_dir_all(folder.path().join("outside")).unwrap();
    for name in ["data/a", "data/day=1/b", "outside/c"] {
        fs::write(folder.path().join(name), name).unwrap();
    }
    symlink("day=1", data.join("latest")).unwrap();
    symlink(folder.path().join("outside"), data.join("more")).unwrap();
    symlink(folder.path().join("data"), folder.path().join("outside/ring")).unwrap();
    symlink("..", data.join("day=1/up")).unwrap();
    symlink("nowhere", data.join("dead")).unwrap();
    symlink("a", data.join("same")).unwrap();
    folder
}

fn below(root: &Path, found: &[crate::ObjectInfo]) -> Vec<String> {
    found.iter().map(|info| info.path.as_ref()[root.as_ref().len() + 1..].to_owned()).collect()
}

#[test]
fn listings_never_descend_into_links() {
    let folder = linked();
    let (store, root) = open(&folder.path().join("data"));
    assert_eq!(below(&root, &store.list(&root).unwrap()), ["a", "day=1/b", "same"]);
    // The root itself may be a link.
    let (store, root) = open(&folder.path().join("data/latest"));
    assert_eq!(below(&root, &store.list(&root).unwrap()), ["b"]);
}

#[test]
fn reading_follows_links_and_takes_each_file_once() {
    let folder = linked();
    let (store, root) = open(&folder.path().join("data"));
    let found = store.list_linked_unless(&root, |_| false).unwrap().unwrap();
    let found = store.without_doubles(&root, found);
    assert_eq!(below(&root, &found), ["a", "day=1/b", "dead", "more/c", "same"]);
    let only = |name: &'static str| {
        let found = store.list_linked_unless(&root, |_| false).unwrap().unwrap();
        found.into_iter().filter(|info| info.path.as_ref().contains(name)).collect::<Vec<_>>()
    };
    // Where only the link is asked for, its files are read by it.
    assert_eq!(below(&root, &store.without_doubles(&root, only("/data/latest/"))), ["latest/b"]);
    let stopped = store.list_linked_unless(&root, |path| path.as_ref().ends_with("more/c")).unwrap();
    assert_eq!(stopped, None);
}

#[test]
fn files_are_told_by_what_they_are() {
    let folder = linked();
    let (store, root) = open(&folder.path().join("data"));
    let path = |name: &str| Path::parse(format!("{root}/{name}")).unwrap();
    let needed = [path("latest/b")];
    let ids = store.file_ids(&needed);
    assert!(!store.is_removable(&path("day=1/b"), &ids));
    assert!(store.is_removable(&path("a"), &ids));
    for kept in ["same", "dead", "more", "day=1"] {
        assert!(!store.is_removable(&path(kept), &ids), "{kept}");
    }
    fs::hard_link(folder.path().join("data/a"), folder.path().join("data/twin")).unwrap();
    assert!(!store.is_removable(&path("twin"), &store.file_ids(&[path("a")])));
}
