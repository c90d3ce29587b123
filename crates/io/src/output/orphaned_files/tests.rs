#![allow(clippy::unwrap_used)]

use super::*;

const DAY: Duration = OLD;

/// A file, or a folder with a file in it, that was changed so long ago.
fn make(path: &Path, age: Duration, is_folder: bool) {
    let set = |path: &Path| File::open(path).unwrap().set_modified(SystemTime::now() - age).unwrap();
    if is_folder {
        std::fs::create_dir(path).unwrap();
        std::fs::write(path.join("part-0.parquet"), b"rows").unwrap();
        set(&path.join("part-0.parquet"));
    } else {
        std::fs::write(path, b"rows").unwrap();
    }
    set(path);
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn old_hidden_files_and_folders_of_ours_go_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let old = DAY + Duration::from_secs(60);
    for (name, is_folder) in
        [(".a.csv.lakerace-0123456789abcdef.tmp", false), (".d.lakerace-0123456789abcdef.tmp", true)]
    {
        make(&at(name), old, is_folder);
    }
    let kept = [
        ".a.lakerace-0123456789ABCDEF.tmp",
        ".a.lakerace-0123456789abcde.tmp",
        ".a.lakerace-mine.tmp",
        ".lakerace-notes.tmp",
        "a.csv",
        "a.lakerace-0123456789abcdef.tmp",
    ];
    kept.iter().for_each(|name| make(&at(name), old, false));
    make(&at(".young.lakerace-0123456789abcdef.tmp"), DAY - Duration::from_secs(60), false);
    make(&at(".b.lakerace-00000000000000ff.tmp"), old, true);
    std::fs::write(at(".b.lakerace-00000000000000ff.tmp/part-1.parquet"), b"new").unwrap();
    File::open(at(".b.lakerace-00000000000000ff.tmp")).unwrap().set_modified(SystemTime::now() - old).unwrap();
    std::os::unix::fs::symlink(at("a.csv"), at(".l.lakerace-0123456789abcdef.tmp")).unwrap();
    remove_orphaned_files(folder.path());
    let mut expected: Vec<String> = kept.iter().map(|name| (*name).to_owned()).collect();
    expected.push(".b.lakerace-00000000000000ff.tmp".to_owned());
    expected.push(".l.lakerace-0123456789abcdef.tmp".to_owned());
    expected.push(".young.lakerace-0123456789abcdef.tmp".to_owned());
    expected.sort();
    assert_eq!(names(folder.path()), expected);
}

#[test]
fn what_is_held_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(".a.lakerace-0123456789abcdef.tmp");
    make(&path, 2 * DAY, false);
    let held = File::open(&path).unwrap();
    hold(&held);
    remove_older_than(folder.path(), DAY);
    assert!(path.exists());
    drop(held);
    remove_older_than(folder.path(), DAY);
    assert!(!path.exists());
}
