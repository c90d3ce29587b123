//! Files that many append to, versions that are replaced, and what is read back while it is written.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use lakerace_files::{IfExists, Options, PutOptions, SecretKey, Store};
use lakerace_io::ErrorKind;

fn stores() -> (tempfile::TempDir, Vec<Store>) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let zstd = Options { compression: Some("zstd".parse().unwrap()), ..Options::default() };
    let secret = Options { key: Some(SecretKey::new(&[3; 32]).unwrap()), encrypt: true, ..zstd.clone() };
    let stores = vec![
        Store::open(&at("plain.db"), Options::default()).unwrap(),
        Store::open(&at("zstd.db"), zstd.clone()).unwrap(),
        Store::open(&at("secret.db"), secret).unwrap(),
        Store::open("memory:", zstd).unwrap(),
        Store::open(&format!("dir:{}", at("files")), Options::default()).unwrap(),
    ];
    (folder, stores)
}

#[test]
fn the_appends_of_many_threads_are_all_there() {
    let (_folder, stores) = stores();
    for store in &stores {
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    for i in 0..25 {
                        let line = format!("{thread} {i}\n");
                        store.append("log", &mut line.as_bytes(), &PutOptions::default()).unwrap();
                    }
                });
            }
        });
        let found = String::from_utf8(store.get("log").unwrap()).unwrap();
        let mut lines: Vec<&str> = found.lines().collect();
        assert_eq!(lines.len(), 100, "{}", store.location());
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), 100, "{}", store.location());
    }
}

#[test]
fn a_version_is_replaced_once() {
    let (_folder, stores) = stores();
    for store in &stores {
        store.put("f", b"one", &PutOptions::default()).unwrap();
        let version = store.version("f").unwrap().unwrap();
        let with = PutOptions { if_exists: IfExists::ReplaceVersion(version), ..PutOptions::default() };
        store.put("f", b"two", &with).unwrap();
        let place = store.location();
        let refused =
            |outcome: lakerace_io::Result<()>| assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Conflict, "{place}");
        refused(store.put("f", b"three", &with));
        refused(store.put("f", &vec![7; 300_000], &with));
        let mut writer = store.create("f", &with).unwrap();
        writer.write(b"four").unwrap();
        refused(writer.finish());
        refused(store.put_many([("f", &b"five"[..])], &with).map(drop));
        refused(store.put("absent", b"six", &with));
        store.put("g", b"g", &PutOptions::default()).unwrap();
        refused(store.rename("g", "f", with.if_exists));
        assert_eq!(store.get("f").unwrap(), b"two", "{place}");
        let now = IfExists::ReplaceVersion(store.version("f").unwrap().unwrap());
        store.rename("g", "f", now).unwrap();
        assert_eq!(store.get("f").unwrap(), b"g", "{place}");
        assert_eq!(store.version("g").unwrap(), None);
    }
}

#[test]
fn what_was_written_can_be_read_back() {
    let (_folder, stores) = stores();
    let content: Vec<u8> = (0..6_000_000_u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    for store in &stores {
        let mut writer = store.create("f", &PutOptions::default()).unwrap();
        for part in content.chunks(1_234_567) {
            writer.write(part).unwrap();
        }
        for (offset, len) in [(0, 10), (262_143, 3), (4_000_000, 1_500_000), (5_999_990, 100), (6_000_000, 1)] {
            let mut out = vec![0; len];
            let read = writer.read_back(offset as u64, &mut out).unwrap();
            let end = content.len().min(offset + len);
            assert!(out[..read] == content[offset..end], "{} {offset}", store.location());
        }
        writer.finish().unwrap();
        assert!(store.get("f").unwrap() == content);
    }
}
