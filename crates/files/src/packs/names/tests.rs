#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lakerace_io::Result;

use super::{CHANGED_NAMES, NameCache, StoreNames};
use crate::{EachName, IndexEntry, IndexVersion, Options, Segment};

type Model = BTreeMap<String, u64>;

/// Versions of a table, all of which are kept.
#[derive(Default)]
struct Table {
    versions: Vec<Model>,
    /// A table that is put back from a copy goes on with other commits.
    history: u64,
    whole_reads: AtomicUsize,
}

impl Table {
    fn commit(&self, version: usize) -> u64 {
        // Both histories begin with the same versions.
        if version < 2 { version as u64 } else { self.history * 1_000 + version as u64 }
    }
}

struct Version<'a>(&'a Table, usize);

fn entry(value: u64) -> IndexEntry {
    let segment = |part: u64| Segment {
        pack: u128::from(value % 7) << 100,
        start: value * 1_000 + part,
        len: value as u32,
        check_sum: u32::MAX - value as u32,
    };
    IndexEntry {
        size: value,
        mtime_ms: -(value as i64),
        encoding: if value.is_multiple_of(2) { "none".into() } else { "zstd; base64".into() },
        checksum: value.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        metadata: value.is_multiple_of(3).then(|| format!("{{\"value\":{value}}}")),
        segments: (0..1 + value % 3).map(segment).collect(),
    }
}

impl IndexVersion for Version<'_> {
    fn table_id(&self) -> &str {
        "a table"
    }

    fn version(&self) -> u64 {
        self.1 as u64
    }

    fn each(&self, each: EachName<'_>) -> Result<()> {
        self.0.whole_reads.fetch_add(1, Ordering::Relaxed);
        self.0.versions[self.1].iter().try_for_each(|(name, value)| each(name.clone(), Some(entry(*value))))
    }

    fn commit(&self) -> Option<u64> {
        Some(self.0.commit(self.1))
    }

    fn each_since(&self, version: u64, commit: u64, each: EachName<'_>) -> Result<bool> {
        if commit != self.0.commit(version as usize) {
            return Ok(false);
        }
        let (before, now) = (&self.0.versions[version as usize], &self.0.versions[self.1]);
        for name in before.keys().filter(|name| !now.contains_key(*name)) {
            each(name.clone(), None)?;
        }
        for (name, value) in now.iter().filter(|(name, value)| before.get(*name) != Some(value)) {
            each(name.clone(), Some(entry(*value)))?;
        }
        Ok(true)
    }
}

fn cache(folder: &Path) -> NameCache {
    NameCache::new("s3://bucket/store", &Options { cache_folder: Some(folder.join("cache")), ..Options::default() })
}

fn check(names: &StoreNames, model: &Model) {
    let found = |files: &mut dyn Iterator<Item = Result<(Arc<str>, Arc<IndexEntry>)>>| -> Vec<(String, IndexEntry)> {
        files
            .map(|found| found.map(|(name, entry)| (name.to_string(), IndexEntry::clone(&entry))))
            .collect::<Result<_>>()
            .unwrap()
    };
    let all: Vec<_> = model.iter().map(|(name, value)| (name.clone(), entry(*value))).collect();
    assert!(found(&mut names.walk("", "", usize::MAX)) == all);
    let some: Vec<_> = all.iter().filter(|(name, _)| name.starts_with("d3/")).take(1_500).cloned().collect();
    assert!(found(&mut names.walk("d3/", "", 700).take(1_500)) == some);
    let behind: Vec<_> = all.iter().filter(|(name, _)| name.as_str() >= "d5/0").take(3).cloned().collect();
    assert!(found(&mut names.walk("", "d5/0", 3).take(3)) == behind);
    for (name, entry) in all.iter().step_by(997) {
        assert_eq!(names.find(name).unwrap().as_deref(), Some(entry));
        assert_eq!(names.find(&format!("{name}x")).unwrap(), None);
    }
    let mut placed = Vec::new();
    names
        .by_place(&mut |(name, entry)| {
            placed.push((name.to_string(), IndexEntry::clone(&entry)));
            Ok(())
        })
        .unwrap();
    placed.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(placed == all);
}

fn changed(model: &Model, round: u64, count: u64) -> Model {
    let mut model = model.clone();
    for number in 0..count {
        let mixed = (number * 7_919 + round * 104_729) % 60_000;
        let name = format!("d{}/{mixed}", mixed % 9);
        if number.is_multiple_of(5) {
            model.remove(&name);
        } else {
            model.insert(name, number + round * 1_000_000);
        }
    }
    model
}

/// A table of many names and versions that change a few and many.
fn table() -> Table {
    let mut table = Table::default();
    table.versions.push((0..50_000).map(|number| (format!("d{}/{number}", number % 9), number)).collect());
    for (round, count) in (1..).zip([10, 20_000, 3_000, 40_000, 100]) {
        let next = changed(table.versions.last().unwrap(), round, count);
        table.versions.push(next);
    }
    table
}

#[test]
fn names_are_those_of_their_version_and_a_clone_stays_what_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (table, cache) = (table(), cache(folder.path()));
    let mut all = Vec::new();
    let mut names = StoreNames::default();
    for at in 0..table.versions.len() {
        names = StoreNames::load(&Version(&table, at), &names, &cache).unwrap();
        all.push(names.clone());
    }
    all.iter().zip(&table.versions).for_each(|(names, model)| check(names, model));
    assert_eq!(table.whole_reads.load(Ordering::Relaxed), 1);
    assert!(names.changed.len() <= CHANGED_NAMES);
}

#[test]
fn a_later_opening_reads_what_has_changed_alone() {
    let folder = tempfile::tempdir().unwrap();
    let table = table();
    StoreNames::load(&Version(&table, 0), &StoreNames::default(), &cache(folder.path())).unwrap();
    for at in 0..table.versions.len() {
        let names = StoreNames::load(&Version(&table, at), &StoreNames::default(), &cache(folder.path())).unwrap();
        check(&names, &table.versions[at]);
    }
    assert_eq!(table.whole_reads.load(Ordering::Relaxed), 1);
    let private = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let root = folder.path().join("cache");
    let own = std::fs::read_dir(&root).unwrap().next().unwrap().unwrap().path();
    assert_eq!((private(&root), private(&own)), (0o700, 0o700));
    let kept: Vec<_> = std::fs::read_dir(&own).unwrap().map(|file| file.unwrap().path()).collect();
    let files = || kept.iter().filter(|path| path.extension().is_some_and(|end| end == "names"));
    // Older versions go when a later one is kept, but for the one that it was made from.
    assert!((1..=2).contains(&files().count()), "{kept:?}");
    assert!(files().all(|path| private(path) == 0o600));
}

#[test]
fn the_names_of_a_table_that_was_put_back_are_not_those_of_the_versions_that_it_had() {
    let table = table();
    let mut back = Table { versions: table.versions[..2].to_vec(), history: 1, ..Table::default() };
    for round in 10..14 {
        let next = changed(back.versions.last().unwrap(), round, 20_000);
        back.versions.push(next);
    }
    for (then, now) in [(1, 4), (3, 3), (3, 5), (4, 2)] {
        let folder = tempfile::tempdir().unwrap();
        let names = StoreNames::load(&Version(&table, then), &StoreNames::default(), &cache(folder.path())).unwrap();
        // In a process that has the store open, and in another one.
        for known in [&names, &StoreNames::default()] {
            let names = StoreNames::load(&Version(&back, now), known, &cache(folder.path())).unwrap();
            check(&names, &back.versions[now]);
        }
    }
}

#[test]
fn a_damaged_file_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let table = table();
    let open = || StoreNames::load(&Version(&table, 0), &StoreNames::default(), &cache(folder.path())).unwrap();
    let file = || {
        let own = std::fs::read_dir(folder.path().join("cache")).unwrap().next().unwrap().unwrap().path();
        let mut files = std::fs::read_dir(own).unwrap().map(|file| file.unwrap().path());
        files.find(|path| path.extension().is_some_and(|end| end == "names")).unwrap()
    };
    open();
    let sound = std::fs::read(file()).unwrap();
    for (read, at) in [100, sound.len() / 2, sound.len() - 1].into_iter().enumerate() {
        let mut bytes = sound.clone();
        bytes[at] ^= 1;
        std::fs::write(file(), bytes).unwrap();
        check(&open(), &table.versions[0]);
        assert_eq!(table.whole_reads.load(Ordering::Relaxed), read + 2);
    }
    std::fs::write(file(), &sound[..sound.len() / 2]).unwrap();
    check(&open(), &table.versions[0]);
    open();
    assert_eq!(table.whole_reads.load(Ordering::Relaxed), 5);
}

#[test]
fn a_folder_that_others_may_write_to_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let (table, root) = (table(), folder.path().join("cache"));
    std::fs::create_dir(&root).unwrap();
    std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o777)).unwrap();
    let names = StoreNames::load(&Version(&table, 0), &StoreNames::default(), &cache(folder.path())).unwrap();
    check(&names, &table.versions[0]);
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);
    let own = names.base.as_ref().unwrap().path().to_owned();
    assert!(own.exists());
    drop(names);
    assert!(!own.exists());
}

#[test]
fn folders_of_stores_go_when_nobody_has_used_them_and_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("cache");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(90 * 24 * 60 * 60);
    let old_folder = |name: &str, file: &str| {
        let path = root.join(name);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join(file), "x").unwrap();
        for old in [path.join(file), path.clone()] {
            std::fs::File::open(old).unwrap().set_modified(long_ago).unwrap();
        }
        path
    };
    let store = old_folder(&"0f".repeat(16), "lock");
    let others = [old_folder("pictures", "lock"), old_folder(&"ab".repeat(16), "letter.txt")];
    std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o700)).unwrap();
    StoreNames::load(&Version(&table(), 0), &StoreNames::default(), &cache(folder.path())).unwrap();
    assert!(!store.exists());
    assert!(others.iter().all(|path| std::fs::read_dir(path).unwrap().count() == 1));
}

#[test]
fn threads_that_open_at_once_read_the_table_once() {
    let folder = tempfile::tempdir().unwrap();
    let table = table();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let names =
                    StoreNames::load(&Version(&table, 0), &StoreNames::default(), &cache(folder.path())).unwrap();
                check(&names, &table.versions[0]);
            });
        }
    });
    assert_eq!(table.whole_reads.load(Ordering::Relaxed), 1);
}
