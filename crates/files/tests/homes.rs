//! What every home does alike.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use std::collections::BTreeMap;

use lakerace_files::{Child, IfExists, Options, PutOptions, Store};
use lakerace_io::{DurabilityLevel, ErrorKind};
use proptest::prelude::*;

/// The stores that are tested, each empty, and what they live in.
fn stores() -> (tempfile::TempDir, Vec<Store>) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let with = |compression: &str, pack: u32| Options {
        compression: Some(compression.parse().unwrap()),
        pack_bytes: Some(pack),
        ..Options::default()
    };
    let encrypted =
        Options { key: Some(lakerace_files::SecretKey::new(&[3; 32]).unwrap()), encrypt: true, ..with("zstd", 0) };
    let stores = vec![
        Store::open(&at("plain.db"), Options::default()).unwrap(),
        Store::open(&at("zstd.db"), with("zstd-dict", 0)).unwrap(),
        Store::open(&at("packed.db"), with("zstd", 16_384)).unwrap(),
        Store::open(&at("secret.db"), encrypted).unwrap(),
        Store::open("memory:", with("lz4", 0)).unwrap(),
        Store::open(&format!("dir:{}", at("files")), Options::default()).unwrap(),
    ];
    (folder, stores)
}

fn kind<T>(outcome: lakerace_io::Result<T>) -> ErrorKind {
    outcome.err().map(|e| e.kind()).expect("an error")
}

fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    })
    .take(len)
    .collect()
}

#[test]
fn contents_of_any_length_come_back() {
    let (_folder, stores) = stores();
    for store in &stores {
        for len in [0, 1, 64, 1_960, 2_000, 2_030, 4_096, 8_192, 32_768, 32_769, 262_144, 262_145, 600_000, 17 << 20] {
            let name = format!("a/{len}");
            let content = noise(len);
            store.put(&name, &content, &PutOptions::default()).unwrap();
            assert!(store.get(&name).unwrap() == content, "{} {len}", store.location());
            assert_eq!(store.stat(&name).unwrap().unwrap().size, len as u64);
        }
        let (files, damage) = store.verify().map(|v| (v.files, v.damage)).unwrap();
        assert_eq!((files, damage.len()), (14, 0), "{}", store.location());
    }
}

#[test]
fn a_put_replaces_or_is_refused() {
    let (_folder, stores) = stores();
    for store in &stores {
        let put = |content: &[u8]| store.put("x", content, &PutOptions::default()).unwrap();
        // From each way of storing to each other.
        for len in [10, 300_000, 40_000, 5, 3_000, 1_000_000, 4_000, 0, 2_500, 2_500, 20] {
            put(&noise(len));
            assert!(store.get("x").unwrap() == noise(len), "{} {len}", store.location());
        }
        let only_new = PutOptions { if_exists: IfExists::Error, ..PutOptions::default() };
        for len in [1, 3_000, 300_000] {
            assert_eq!(kind(store.put("x", &noise(len), &only_new)), ErrorKind::Conflict);
        }
        assert_eq!(store.get("x").unwrap(), noise(20));
        assert_eq!(store.list("").unwrap().len(), 1);
    }
}

#[test]
fn absent_files_are_not_found_and_bad_names_refused() {
    let (_folder, stores) = stores();
    for store in &stores {
        store.put("a/b", b"1", &PutOptions::default()).unwrap();
        for name in ["b", "a/c", "a/b2", "A/b"] {
            assert_eq!(kind(store.get(name)), ErrorKind::NotFound, "{}", store.location());
            assert_eq!(kind(store.remove(name)), ErrorKind::NotFound);
            assert_eq!(kind(store.rename(name, "z", IfExists::Replace)), ErrorKind::NotFound);
            assert_eq!(kind(store.copy(name, "z", IfExists::Replace)), ErrorKind::NotFound);
            assert_eq!(kind(store.open_read(name).map(drop)), ErrorKind::NotFound);
            assert!(!store.exists(name).unwrap());
        }
        for name in ["", "/a", "../a", "a/../../b", "a//b", "a\0b", &"x".repeat(20_000)] {
            assert_eq!(kind(store.put(name, b"", &PutOptions::default())), ErrorKind::Invalid, "{name:.20}");
            assert_eq!(kind(store.rename("a/b", name, IfExists::Replace)), ErrorKind::Invalid, "{name:.20}");
        }
        assert_eq!(store.list("").unwrap().len(), 1);
    }
}

#[test]
fn a_name_that_no_file_can_have_is_absent() {
    let (_folder, stores) = stores();
    let long = "x".repeat(20_000);
    for store in &stores {
        store.put("a/b", b"1", &PutOptions::default()).unwrap();
        let names = ["", "/", "..", ".", "a/", "a/b/", "/a/b", "a//b", "a/./b", "a/../a/b", "a\0b", "a/b\0", &long];
        for name in names {
            let place = format!("{} {name:.20}", store.location());
            assert_eq!(store.stat(name).unwrap(), None, "{place}");
            assert!(!store.exists(name).unwrap(), "{place}");
            assert_eq!(kind(store.get(name)), ErrorKind::NotFound, "{place}");
            assert_eq!(kind(store.open_read(name).map(drop)), ErrorKind::NotFound, "{place}");
            assert_eq!(kind(store.remove(name)), ErrorKind::NotFound, "{place}");
            assert_eq!(kind(store.rename(name, "z", IfExists::Replace)), ErrorKind::NotFound, "{place}");
            assert_eq!(kind(store.copy(name, "z", IfExists::Replace)), ErrorKind::NotFound, "{place}");
            let mut batch = store.batch().unwrap();
            batch.remove(name).unwrap();
            assert_eq!(kind(batch.commit()), ErrorKind::NotFound, "{place}");
            let mut batch = store.batch().unwrap();
            batch.rename(name, "z", IfExists::Replace).unwrap();
            assert_eq!(kind(batch.commit()), ErrorKind::NotFound, "{place}");
        }
        let mut found = 0;
        let mut each = |_: usize, content: Option<&[u8]>| {
            found += usize::from(content.is_some());
            Ok(())
        };
        store.home().get_many(&names, &mut each).unwrap();
        assert_eq!((found, store.list("").unwrap().len()), (0, 1), "{}", store.location());
    }
}

#[test]
fn odd_names_are_kept_byte_by_byte() {
    let (_folder, stores) = stores();
    let long_parts = vec!["y".repeat(200); 20].join("/");
    let names =
        ["a\nb", "e\u{301}", "\u{e9}", "A", "a b", "\u{1f980}/\u{202e}x", "%2e%2e", "-rf", "a'b\"c;--", &long_parts];
    for store in &stores {
        for name in names {
            store.put(name, name.as_bytes(), &PutOptions::default()).unwrap();
        }
        let mut sorted = names.to_vec();
        sorted.sort_unstable();
        let listed: Vec<String> = store.list("").unwrap().into_iter().map(|stat| stat.name).collect();
        assert_eq!(listed, sorted, "{}", store.location());
        for name in names {
            assert_eq!(store.get(name).unwrap(), name.as_bytes());
        }
        if store.location() != "memory:" {
            assert!(store.warnings().iter().any(|warning| warning.contains("NFC")), "{}", store.location());
        }
        assert_eq!(store.verify().unwrap().alike, [("e\u{301}".to_owned(), "\u{e9}".to_owned())]);
    }
}

#[test]
fn lists_are_in_order_of_bytes_and_pages_fit_together() {
    let (_folder, stores) = stores();
    let names: Vec<String> = (0..2_500).map(|i| format!("n{}/f{i:04}", i % 7)).collect();
    for store in &stores {
        let files = names.iter().map(|name| (name.as_str(), name.as_bytes()));
        assert_eq!(store.put_many(files, &PutOptions::default()).unwrap(), 2_500);
        let mut sorted = names.clone();
        sorted.sort_unstable();
        let listed: Vec<String> = store.list("").unwrap().into_iter().map(|stat| stat.name).collect();
        assert_eq!(listed, sorted, "{}", store.location());
        assert_eq!(store.list("n3/f00").unwrap().len(), 14);
        assert_eq!(store.glob("n?/f001*").unwrap().len(), 10);
        assert_eq!(store.glob("**/*9").unwrap().len(), 250);
        let folders: Vec<String> = (0..7).map(|i| format!("n{i}")).collect();
        let children = store.children("").unwrap();
        assert_eq!(children.iter().map(Child::name).collect::<Vec<_>>(), folders);
        assert_eq!(store.children("n1").unwrap().len(), 357);
        assert_eq!(store.remove_tree("n1").unwrap(), 357);
        assert_eq!(store.rename_tree("n2", "m", IfExists::Error).unwrap(), 357);
        assert_eq!(store.list("m/").unwrap().len(), 357);
        assert_eq!(store.list("").unwrap().len(), 2_500 - 357);
        assert_eq!(store.get("m/f0002").unwrap(), b"n2/f0002");
    }
}

#[test]
fn many_are_got_in_one_state_with_those_that_are_missing() {
    let (_folder, stores) = stores();
    for store in &stores {
        for i in 0..100 {
            store.put(&format!("f{i}"), &noise(i * 700), &PutOptions::default()).unwrap();
        }
        let names: Vec<String> = (0..120).rev().map(|i| format!("f{i}")).collect();
        let asked: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut found = vec![false; 120];
        store
            .home()
            .get_many(&asked, &mut |at, content| {
                let i = 119 - at;
                assert_eq!(content.is_some(), i < 100);
                assert!(content.is_none_or(|content| content == noise(i * 700)));
                found[i] = true;
                Ok(())
            })
            .unwrap();
        assert!(found.into_iter().all(|seen| seen));
    }
}

#[test]
fn renames_and_copies_keep_contents() {
    let (_folder, stores) = stores();
    for store in &stores {
        for len in [100, 300_000] {
            let content = noise(len);
            store.put("a", &content, &PutOptions::default()).unwrap();
            store.copy("a", "b/c", IfExists::Error).unwrap();
            assert_eq!(kind(store.copy("a", "b/c", IfExists::Error)), ErrorKind::Conflict);
            store.rename("a", "d", IfExists::Replace).unwrap();
            assert!(!store.exists("a").unwrap());
            store.put("e", b"old", &PutOptions::default()).unwrap();
            assert_eq!(kind(store.rename("d", "e", IfExists::Error)), ErrorKind::Conflict);
            store.rename("d", "e", IfExists::Replace).unwrap();
            store.remove("b/c").unwrap();
            assert!(store.get("e").unwrap() == content, "{}", store.location());
            store.rename("e", "e", IfExists::Replace).unwrap();
            assert_eq!(store.list("").unwrap().len(), 1);
        }
        assert_eq!(store.verify().unwrap().damage, []);
    }
}

#[test]
fn contents_are_read_and_written_in_parts() {
    let (_folder, stores) = stores();
    let content = noise(3_000_001);
    for store in &stores {
        let mut out = store.create("big", &PutOptions::default()).unwrap();
        content.chunks(70_001).for_each(|part| out.write(part).unwrap());
        assert!(!store.exists("big").unwrap());
        out.finish().unwrap();
        let mut open = store.open_read("big").unwrap();
        assert_eq!(open.size(), 3_000_001);
        for (at, len) in
            [(0, 10), (262_140, 10), (1_000_000, 1_000_000), (3_000_000, 100), (3_000_001, 5), (9_000_000, 1)]
        {
            let mut buffer = vec![0; len];
            let got = open.read_at(at as u64, &mut buffer).unwrap();
            let expected = &content[at.min(content.len())..(at + len).min(content.len())];
            assert_eq!(&buffer[..got], expected, "{} {at}", store.location());
        }
        // One that is given up leaves nothing.
        let mut out = store.create("none", &PutOptions::default()).unwrap();
        out.write(&noise(9_000_000)).unwrap();
        drop(out);
        assert_eq!(store.list("").unwrap().len(), 1);
        assert_eq!(store.compact().unwrap().orphans, 0);
    }
}

#[test]
fn a_batch_is_all_or_nothing() {
    let (_folder, stores) = stores();
    for store in &stores {
        store.put("old", b"1", &PutOptions::default()).unwrap();
        let mut batch = store.batch().unwrap();
        batch.put("new", b"2", &PutOptions::default()).unwrap();
        batch.remove("absent").unwrap();
        assert_eq!(kind(batch.commit()), ErrorKind::NotFound);
        let only_new = PutOptions { if_exists: IfExists::Error, ..PutOptions::default() };
        let files = [("new", &b"2"[..]), ("old", b"3"), ("newer", b"4")];
        assert_eq!(kind(store.put_many(files, &only_new)), ErrorKind::Conflict);
        let mut batch = store.batch().unwrap();
        batch.put("dropped", b"2", &PutOptions::default()).unwrap();
        drop(batch);
        assert_eq!(store.list("").unwrap().len(), 1, "{}", store.location());
        let mut batch = store.batch().unwrap();
        // More than a batch keeps in memory.
        for i in 0..40 {
            batch.put(&format!("big{i}"), &noise(500_000), &PutOptions::default()).unwrap();
        }
        batch.put("big0", b"the last one of a name wins", &PutOptions::default()).unwrap();
        batch.rename("old", "renamed", IfExists::Error).unwrap();
        assert_eq!(store.list("").unwrap().len(), 1);
        batch.commit().unwrap();
        assert_eq!(store.list("").unwrap().len(), 41);
        assert_eq!(store.get("big0").unwrap(), b"the last one of a name wins");
        assert_eq!(store.get("renamed").unwrap(), b"1");
    }
}

#[test]
fn metadata_and_times_are_kept() {
    let (_folder, stores) = stores();
    for store in &stores {
        let options = PutOptions { mtime_ms: Some(1_234_567_890_123), ..PutOptions::default() };
        store.put("a", b"x", &options).unwrap();
        assert_eq!(store.stat("a").unwrap().unwrap().mtime_ms, 1_234_567_890_123);
        if store.location().ends_with("files") {
            assert_eq!(kind(store.set_metadata("a", Some("{}"))), ErrorKind::Unsupported);
            continue;
        }
        let options = PutOptions { metadata: Some("{\"a\": [1, null]}".to_owned()), ..options };
        store.put("b", b"y", &options).unwrap();
        assert_eq!(store.stat("b").unwrap().unwrap().metadata, options.metadata);
        store.set_metadata("a", Some("3")).unwrap();
        store.rename("a", "c", IfExists::Error).unwrap();
        assert_eq!(store.stat("c").unwrap().unwrap().metadata.as_deref(), Some("3"));
        assert_eq!(store.get("c").unwrap(), b"x");
        store.set_metadata("c", None).unwrap();
        assert_eq!(store.stat("c").unwrap().unwrap().metadata, None);
        assert_eq!(kind(store.set_metadata("c", Some("{"))), ErrorKind::Invalid);
        assert_eq!(kind(store.set_metadata("absent", None)), ErrorKind::NotFound);
        assert_eq!(store.verify().unwrap().damage, []);
    }
}

#[test]
fn a_snapshot_sees_one_state() {
    let (_folder, stores) = stores();
    for store in &stores {
        store.put("a", b"1", &PutOptions::default()).unwrap();
        store.put("big", &noise(600_000), &PutOptions::default()).unwrap();
        if store.location().ends_with("files") {
            assert_eq!(kind(store.snapshot().map(drop)), ErrorKind::Unsupported);
            continue;
        }
        let snapshot = store.snapshot().unwrap();
        store.put("a", b"2", &PutOptions::default()).unwrap();
        store.remove("big").unwrap();
        store.put("b", b"3", &PutOptions::default()).unwrap();
        let mut content = Vec::new();
        assert_eq!(snapshot.get("a", &mut content).unwrap(), 1);
        assert_eq!(snapshot.list("", "", 10).unwrap().len(), 2);
        let mut open = snapshot.open("big").unwrap();
        let mut buffer = vec![0; 600_000];
        assert_eq!(open.read_at(0, &mut buffer).unwrap(), 600_000);
        assert!(buffer == noise(600_000));
        drop((open, snapshot));
        assert_eq!(store.get("a").unwrap(), b"2");
    }
}

#[test]
fn trees_and_archives_go_in_and_out() {
    let (folder, stores) = stores();
    let tree = folder.path().join("tree");
    std::fs::create_dir_all(tree.join("a/b")).unwrap();
    let mut expected = BTreeMap::new();
    for (name, len) in [("a/b/c.txt", 10_usize), ("a.txt", 0), ("a/z", 300_000), ("ä", 17 << 20)] {
        std::fs::write(tree.join(name), noise(len)).unwrap();
        expected.insert(name.to_owned(), noise(len));
    }
    std::os::unix::fs::symlink("/etc/passwd", tree.join("link")).unwrap();
    let bytes: u64 = expected.values().map(|content| content.len() as u64).sum();
    let mut go_on = |_: u64, _: u64| true;
    for (number, store) in stores.iter().enumerate() {
        let told = store.import_tree(&tree, "in", &PutOptions::default(), &mut go_on).unwrap();
        assert_eq!(told, (4, bytes), "{}", store.location());
        let out = folder.path().join(format!("out{number}"));
        assert_eq!(
            store.export_tree("in", (&out, DurabilityLevel::Full), IfExists::Error, &mut go_on).unwrap(),
            (4, bytes)
        );
        assert_eq!(
            kind(store.export_tree("in", (&out, DurabilityLevel::Full), IfExists::Error, &mut go_on)),
            ErrorKind::Conflict
        );
        for (name, content) in &expected {
            assert!(std::fs::read(out.join(name)).unwrap() == *content, "{name}");
        }
        for kind in ["tar", "tar.gz", "tar.zst", "zip"] {
            let file = folder.path().join(format!("{number}.{kind}"));
            let mut out = std::fs::File::create(&file).unwrap();
            let kind = kind.parse().unwrap();
            assert_eq!(store.export_archive("in", &mut out, kind, &mut go_on).unwrap(), (4, bytes));
            let archive = lakerace_files::Archive::File(std::fs::File::open(&file).unwrap());
            let told = store.import_archive(archive, kind, "again", &PutOptions::default(), &mut go_on).unwrap();
            assert_eq!(told, (4, bytes));
            for (name, content) in &expected {
                assert!(store.get(&format!("again/{name}")).unwrap() == *content, "{} {name}", store.location());
            }
            store.remove_tree("again").unwrap();
        }
        let stopped = store.import_tree(&tree, "stop", &PutOptions::default(), &mut |files, _| files < 2);
        assert_eq!(kind(stopped), ErrorKind::Cancelled);
        store.remove_tree("").unwrap();
    }
}

#[test]
fn an_archive_with_names_that_lead_elsewhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = Vec::new();
    let mut header = tar::Header::new_gnu();
    let name = b"../evil";
    header.as_mut_bytes()[..name.len()].copy_from_slice(name);
    header.set_size(1);
    header.set_cksum();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(&[0; 512 * 3]);
    let store = Store::open(folder.path().join("s.db").to_str().unwrap(), Options::default()).unwrap();
    let archive = lakerace_files::Archive::Stream(&mut bytes.as_slice());
    let done = store.import_archive(archive, "tar".parse().unwrap(), "", &PutOptions::default(), &mut |_, _| true);
    assert_eq!(kind(done), ErrorKind::Invalid);
}

#[derive(Debug, Clone)]
enum Step {
    Put(u8, Vec<u8>, bool),
    Big(u8, usize),
    Remove(u8),
    Rename(u8, u8),
    Copy(u8, u8),
    RemoveTree(u8),
    Batch(Vec<(u8, Vec<u8>)>),
    Compact,
}

fn step() -> impl Strategy<Value = Step> {
    let name = 0..12_u8;
    let bytes = proptest::collection::vec(any::<u8>(), 0..200);
    prop_oneof![
        4 => (name.clone(), bytes.clone(), any::<bool>()).prop_map(|(n, b, r)| Step::Put(n, b, r)),
        1 => (name.clone(), 30_000..600_000_usize).prop_map(|(n, len)| Step::Big(n, len)),
        2 => name.clone().prop_map(Step::Remove),
        2 => (name.clone(), name.clone()).prop_map(|(a, b)| Step::Rename(a, b)),
        1 => (name.clone(), name.clone()).prop_map(|(a, b)| Step::Copy(a, b)),
        1 => (0..3_u8).prop_map(Step::RemoveTree),
        2 => proptest::collection::vec((name, bytes), 0..10).prop_map(Step::Batch),
        1 => Just(Step::Compact),
    ]
}

fn name(number: u8) -> String {
    format!("d{}/f{number}", number % 3)
}

fn apply(store: &Store, model: &mut BTreeMap<String, Vec<u8>>, step: &Step) {
    match step {
        Step::Put(n, bytes, replace) => {
            let if_exists = if *replace { IfExists::Replace } else { IfExists::Error };
            let done = store.put(&name(*n), bytes, &PutOptions { if_exists, ..PutOptions::default() });
            match !replace && model.contains_key(&name(*n)) {
                true => assert_eq!(kind(done), ErrorKind::Conflict),
                false => {
                    done.unwrap();
                    model.insert(name(*n), bytes.clone());
                }
            }
        }
        Step::Big(n, len) => {
            store.put(&name(*n), &noise(*len), &PutOptions::default()).unwrap();
            model.insert(name(*n), noise(*len));
        }
        Step::Remove(n) => assert_eq!(store.remove(&name(*n)).is_ok(), model.remove(&name(*n)).is_some()),
        Step::Rename(from, to) => {
            let done = store.rename(&name(*from), &name(*to), IfExists::Replace);
            assert_eq!(done.is_ok(), model.contains_key(&name(*from)));
            if let Some(content) = model.remove(&name(*from)) {
                model.insert(name(*to), content);
            }
        }
        Step::Copy(from, to) => {
            let done = store.copy(&name(*from), &name(*to), IfExists::Replace);
            assert_eq!(done.is_ok(), model.contains_key(&name(*from)));
            if let Some(content) = model.get(&name(*from)).cloned() {
                model.insert(name(*to), content);
            }
        }
        Step::RemoveTree(n) => {
            let before = model.len();
            model.retain(|name, _| !name.starts_with(&format!("d{n}/")));
            assert_eq!(store.remove_tree(&format!("d{n}")).unwrap(), (before - model.len()) as u64);
        }
        Step::Batch(files) => {
            let names: Vec<(String, &[u8])> = files.iter().map(|(n, bytes)| (name(*n), bytes.as_slice())).collect();
            store.put_many(names.iter().map(|(name, bytes)| (name.as_str(), *bytes)), &PutOptions::default()).unwrap();
            model.extend(files.iter().map(|(n, bytes)| (name(*n), bytes.clone())));
        }
        Step::Compact => drop(store.compact().unwrap()),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn any_steps_leave_what_a_map_would_have(steps in proptest::collection::vec(step(), 1..25)) {
        let (_folder, stores) = stores();
        for store in &stores {
            let mut model = BTreeMap::new();
            steps.iter().for_each(|step| apply(store, &mut model, step));
            let names: Vec<String> = store.list("").unwrap().into_iter().map(|stat| stat.name).collect();
            prop_assert_eq!(&names, &model.keys().cloned().collect::<Vec<_>>());
            for (name, content) in &model {
                prop_assert!(store.get(name).unwrap() == *content);
            }
            prop_assert_eq!(store.verify().unwrap().damage, []);
        }
    }
}
