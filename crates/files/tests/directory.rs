//! What a directory does that other programs and other writers change at the same time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use std::path::{Path, PathBuf};

use lakerace_files::{IfExists, Options, PutOptions, Store};
use lakerace_io::{DurabilityLevel, ErrorKind, Result};

const ONLY_NEW: IfExists = IfExists::Error;

fn store(at: &Path) -> Store {
    Store::open(&format!("dir:{}", at.display()), Options::default()).unwrap()
}

fn put(store: &Store, files: &[(&str, &str)]) {
    for (name, content) in files {
        store.put(name, content.as_bytes(), &PutOptions::default()).unwrap();
    }
}

/// All paths below a folder, hidden ones and folders, too, with the contents.
fn tree(folder: &Path) -> Vec<(PathBuf, Option<String>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        found.push((path.clone(), std::fs::read_to_string(&path).ok()));
        if path.is_dir() {
            found.extend(tree(&path));
        }
    }
    found.sort();
    found
}

fn failure<T>(outcome: Result<T>) -> lakerace_io::Error {
    outcome.map(drop).expect_err("an error")
}

#[test]
fn a_batch_that_can_be_seen_to_fail_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    put(&store, &[("b", "old"), ("x/1", "1"), ("x/2", "2"), ("y/2", "taken"), ("f/g", "3")]);
    let before = tree(folder.path());
    let only_new = PutOptions { if_exists: ONLY_NEW, ..PutOptions::default() };
    let many = [("a", &b"1"[..]), ("b", b"2"), ("c/d", b"3")];
    let done = failure(store.put_many(many, &only_new));
    assert_eq!((done.kind(), tree(folder.path())), (ErrorKind::Conflict, before.clone()));
    assert_eq!(failure(store.put_many([("n", &b""[..]), ("n", b"")], &only_new)).kind(), ErrorKind::Conflict);
    assert_eq!(failure(store.rename_tree("x", "y", ONLY_NEW)).kind(), ErrorKind::Conflict);
    assert_eq!(tree(folder.path()), before);
    type Step<'a> = &'a dyn Fn(&mut dyn lakerace_files::WriteBatch) -> Result<()>;
    let steps: [(Step<'_>, ErrorKind); 8] = [
        (&|batch| batch.remove("missing"), ErrorKind::NotFound),
        (&|batch| batch.remove("x"), ErrorKind::NotFound),
        (&|batch| batch.remove("b").and_then(|()| batch.remove("b")), ErrorKind::NotFound),
        (&|batch| batch.rename("b", "q", ONLY_NEW).and_then(|()| batch.remove("b")), ErrorKind::NotFound),
        (&|batch| batch.rename("b", "new", ONLY_NEW), ErrorKind::Conflict),
        (&|batch| batch.rename("b", "f", IfExists::Replace), ErrorKind::Conflict),
        (&|batch| batch.rename("x/1", "b/c", IfExists::Replace), ErrorKind::Conflict),
        (&|batch| batch.put("f", b"", &PutOptions::default()), ErrorKind::Conflict),
    ];
    for (number, (step, kind)) in steps.iter().enumerate() {
        let mut batch = store.batch().unwrap();
        batch.put("new", b"1", &PutOptions::default()).unwrap();
        batch.put("n/ew", b"1", &PutOptions::default()).unwrap();
        batch.remove("x/2").unwrap();
        step(&mut *batch).unwrap();
        assert_eq!(failure(batch.commit()).kind(), *kind, "{number}");
        assert_eq!(tree(folder.path()), before, "{number}");
    }
}

#[test]
fn the_steps_of_a_batch_see_those_before() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    put(&store, &[("a", "1"), ("f/g", "2")]);
    let only_new = PutOptions { if_exists: ONLY_NEW, ..PutOptions::default() };
    let mut batch = store.batch().unwrap();
    batch.rename("a", "b", ONLY_NEW).unwrap();
    batch.put("a", b"3", &only_new).unwrap();
    batch.rename("b", "c", ONLY_NEW).unwrap();
    batch.put("a", b"4", &PutOptions::default()).unwrap();
    batch.remove("f/g").unwrap();
    batch.put("f", b"5", &only_new).unwrap();
    batch.put("t", b"", &only_new).unwrap();
    batch.remove("t").unwrap();
    batch.commit().unwrap();
    let found = [("a", "4"), ("c", "1"), ("f", "5")];
    assert_eq!(tree(folder.path()), found.map(|(name, text)| (folder.path().join(name), Some(text.to_owned()))));
}

#[test]
fn a_batch_takes_back_what_it_did_where_a_later_step_fails() {
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    put(&store, &[("a", "1"), ("b", "2"), ("c/d", "3"), ("e/f", "4"), ("g", "5"), ("h", "6"), ("i", "7")]);
    let before = tree(folder.path());
    let mut batch = store.batch().unwrap();
    batch.put("new/1", b"n", &PutOptions::default()).unwrap();
    batch.put("a", b"n", &PutOptions::default()).unwrap();
    batch.put("a", b"m", &PutOptions::default()).unwrap();
    batch.remove("c/d").unwrap();
    batch.put("c", b"instead of a folder", &PutOptions::default()).unwrap();
    batch.rename("e/f", "g", IfExists::Replace).unwrap();
    batch.rename("h", "e/h", ONLY_NEW).unwrap();
    batch.put("i", b"n", &PutOptions::default()).unwrap();
    batch.put("last/1", b"n", &PutOptions::default()).unwrap();
    // Somebody removes the content on its way.
    let hidden = std::fs::read_dir(folder.path().join("last")).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(hidden).unwrap();
    let error = failure(batch.commit());
    assert_eq!((error.kind(), error.advice_text()), (ErrorKind::NotFound, None));
    assert_eq!(tree(folder.path()), before);
}

#[test]
fn writers_of_one_folder_make_it_again_where_others_remove_it() {
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..3 {
            let store = store(folder.path());
            scope.spawn(move || {
                let (name, other) = (format!("d/e/{thread}"), format!("d/e/{thread}-moved"));
                for _ in 0..3_000 {
                    put(&store, &[(&name, "1")]);
                    assert_eq!(store.get(&name).unwrap(), b"1");
                    store.remove(&name).unwrap();
                    put(&store, &[("kept", "2")]);
                    store.copy("kept", &other, ONLY_NEW).unwrap();
                    store.rename(&other, &name, ONLY_NEW).unwrap();
                    let mut batch = store.batch().unwrap();
                    batch.put(&other, b"3", &PutOptions::default()).unwrap();
                    batch.remove(&name).unwrap();
                    batch.rename(&other, &name, ONLY_NEW).unwrap();
                    batch.commit().unwrap();
                    store.remove(&name).unwrap();
                }
            });
        }
    });
    assert_eq!(tree(folder.path()), [(folder.path().join("kept"), Some("2".to_owned()))]);
}

#[test]
fn all_is_done_in_the_directory_that_was_opened() {
    let folder = tempfile::tempdir().unwrap();
    let (old, new) = (folder.path().join("old"), folder.path().join("new"));
    std::fs::create_dir(&old).unwrap();
    let opened = store(&old);
    put(&opened, &[("a/1", "mine"), ("b", "mine")]);
    std::fs::write(old.join("a/.lakerace-files-1.tmp"), "left").unwrap();
    let hidden = std::fs::File::options().write(true).open(old.join("a/.lakerace-files-1.tmp")).unwrap();
    hidden.set_modified(std::time::UNIX_EPOCH).unwrap();
    std::fs::rename(&old, &new).unwrap();
    let others = store(&old);
    put(&others, &[("a/1", "theirs"), ("c", "theirs")]);
    let names: Vec<String> = opened.list("").unwrap().into_iter().map(|stat| stat.name).collect();
    assert_eq!(names, ["a/1", "b"]);
    assert_eq!(opened.verify().unwrap().bytes, 8);
    assert_eq!((opened.compact().unwrap().orphans, opened.remove_tree("").unwrap()), (1, 2));
    assert_eq!((opened.list("").unwrap().len(), others.list("").unwrap().len()), (0, 2));
    assert_eq!(others.remove_tree("").unwrap(), 2);
    std::fs::remove_dir(&new).unwrap();
    assert_eq!(failure(opened.put("d/e", b"", &PutOptions::default())).kind(), ErrorKind::NotFound);
    assert_eq!(failure(opened.list("")).kind(), ErrorKind::NotFound);
}

#[test]
fn a_part_that_is_too_long_for_the_disk_is_told_with_the_most_it_takes() {
    let folder = tempfile::tempdir().unwrap();
    let (at, long) = (folder.path().join("files"), "x".repeat(300));
    let files = store(&at);
    let memory = Store::open("memory:", Options::default()).unwrap();
    for name in [long.clone(), format!("{long}/a"), format!("a/{long}")] {
        let mut batch = files.batch().unwrap();
        batch.put("b", b"", &PutOptions::default()).unwrap();
        batch.rename("b", &name, ONLY_NEW).unwrap();
        memory.put(&name, b"", &PutOptions::default()).unwrap();
        let out = folder.path().join("out");
        let exported = memory.export_tree("", (&out, DurabilityLevel::Full), ONLY_NEW, &mut |_, _| true);
        memory.remove(&name).unwrap();
        let written = files.put(&name, b"", &PutOptions::default());
        for error in [failure(written), failure(batch.commit()), failure(exported)] {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert!(error.to_string().contains("at most 255 bytes in a part"), "{error}");
        }
        assert!(!files.exists(&name).unwrap());
        assert_eq!(failure(files.get(&name)).kind(), ErrorKind::NotFound);
        assert_eq!(failure(files.remove(&name)).kind(), ErrorKind::NotFound);
    }
    assert_eq!(tree(&at), []);
    // A name may have many parts, and more bytes than a path of the system's.
    let deep = vec!["y".repeat(250); 30].join("/");
    put(&files, &[(&deep, "deep")]);
    assert_eq!(files.list("y").unwrap()[0].name, deep);
    assert_eq!((files.verify().unwrap().bytes, files.remove_tree("").unwrap()), (4, 1));
    assert_eq!(tree(&at), []);
}

#[test]
fn a_look_at_a_folder_does_not_list_its_parent() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let store = store(folder.path());
    store.put("big/a/x", b"1", &PutOptions::default()).unwrap();
    store.put("big/b", b"1", &PutOptions::default()).unwrap();
    // Whoever lists the folder tells of it.
    std::fs::write(folder.path().join("big").join(std::ffi::OsStr::from_bytes(b"\xff")), b"1").unwrap();
    let names = |prefix: &str| store.list(prefix).unwrap().into_iter().map(|stat| stat.name).collect::<Vec<_>>();
    assert_eq!(names("big/a/"), ["big/a/x"]);
    for prefix in ["big/b/", "big/absent/", "big/a/x/", "big/a/../", "big//", "/", "../", "big/a/.."] {
        assert!(names(prefix).is_empty(), "{prefix}");
    }
    assert!(store.warnings().is_empty());
    assert_eq!(names("big/b"), ["big/b"]);
    assert_eq!(store.warnings().len(), 1);
}
