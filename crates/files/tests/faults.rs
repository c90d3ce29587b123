//! Damage, and files that are no stores of ours.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use lakerace_files::{IfExists, Options, PutOptions, Reads, SecretKey, Store};
use lakerace_io::ErrorKind;

fn content(i: usize) -> Vec<u8> {
    let len = [20, 300, 5_000, 40_000][i % 4];
    (0..len).map(|at| (at * 7 + i * 31) as u8).collect()
}

fn options() -> Options {
    let compression = Some("zstd".parse().unwrap());
    Options { page_bytes: 4096, compression, pack_bytes: Some(16_384), ..Options::default() }
}

/// A store with contents of every way of storing.
fn sample(folder: &Path) -> (PathBuf, BTreeMap<String, Vec<u8>>) {
    let path = folder.join("sample.db");
    let store = Store::open(path.to_str().unwrap(), options()).unwrap();
    let files: BTreeMap<String, Vec<u8>> = (0..120).map(|i| (format!("folder/file-{i:03}"), content(i))).collect();
    let (packed, single): (Vec<_>, Vec<_>) = files.iter().enumerate().partition(|(i, _)| i % 3 == 0);
    store
        .put_many(packed.iter().map(|(_, (name, content))| (name.as_str(), content.as_slice())), &PutOptions::default())
        .unwrap();
    for (i, (name, content)) in single {
        let compression = (i % 2 == 0).then(|| "none".parse().unwrap());
        store.put(name, content, &PutOptions { compression, ..PutOptions::default() }).unwrap();
    }
    store.compact().unwrap();
    (path, files)
}

#[test]
fn a_flipped_byte_never_gives_wrong_contents_and_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (path, files) = sample(folder.path());
    let sound = std::fs::read(&path).unwrap();
    let damaged = folder.path().join("damaged.db");
    let (mut found, mut flips) = (0, 0);
    // Every byte of the headers of pages sooner or later: the step has no factor in common with their length.
    for at in (0..sound.len()).step_by(397) {
        let mut bytes = sound.clone();
        bytes[at] ^= 1 << (at % 8);
        std::fs::write(&damaged, bytes).unwrap();
        flips += 1;
        let Ok(store) = Store::open(damaged.to_str().unwrap(), options()) else {
            found += 1;
            continue;
        };
        let mut lost = 0;
        for (name, content) in &files {
            match store.get(name) {
                Ok(got) => assert!(got == *content, "byte {at}: {name}"),
                Err(e) => {
                    assert!(matches!(e.kind(), ErrorKind::Corrupt | ErrorKind::NotFound), "byte {at}: {e:?}");
                    lost += 1;
                }
            }
        }
        if let Ok(listed) = store.list("") {
            assert!(
                listed.iter().all(|stat| files.get(&stat.name).is_some_and(|c| c.len() as u64 == stat.size)),
                "byte {at}"
            );
        }
        let verified = store.verify();
        let is_told = verified.as_ref().map_or_else(|e| e.kind() == ErrorKind::Corrupt, |v| !v.damage.is_empty());
        assert!(is_told || lost == 0, "byte {at}: {lost} files are lost, and nothing tells");
        found += usize::from(is_told);
        drop(store);
    }
    assert!(flips > 300, "{flips}");
    // Others are in pages that nobody uses, and in what SQLite rewrites.
    assert!(found * 4 > flips, "{found} of {flips}");
}

#[test]
fn a_page_in_the_place_of_another_gives_no_content_of_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let store = Store::open(path.to_str().unwrap(), Options::default()).unwrap();
    let content = |number: usize| vec![number as u8; 5_000 + number];
    let names: Vec<String> = (0..60).map(|number| format!("mid/{number:02}")).collect();
    let contents: Vec<_> = (0..60).map(content).collect();
    let files = names.iter().map(String::as_str).zip(contents.iter().map(Vec::as_slice));
    store.put_many(files, &PutOptions::default()).unwrap();
    store.compact().unwrap();
    drop(store);
    let sound = std::fs::read(&path).unwrap();
    let pages: Vec<usize> = (0..sound.len()).step_by(8192).filter(|page| [2, 10].contains(&sound[*page])).collect();
    let damaged = folder.path().join("damaged.db");
    let mut told = 0;
    for pair in pages.windows(2).flat_map(|pair| [[pair[0], pair[1]], [pair[1], pair[0]]]) {
        let mut bytes = sound.clone();
        bytes.copy_within(pair[0]..pair[0] + 8192, pair[1]);
        std::fs::write(&damaged, bytes).unwrap();
        let Ok(store) = Store::open(damaged.to_str().unwrap(), Options::default()) else { continue };
        let is_told = store.verify().map_or(true, |verified| !verified.damage.is_empty());
        let mut lost = 0;
        for (name, content) in names.iter().zip(&contents) {
            let mut check = |got: lakerace_io::Result<Vec<u8>>| match got {
                Ok(got) => assert!(got == *content, "{pair:?}: {name}"),
                Err(e) if e.kind() == ErrorKind::NotFound => lost += 1,
                Err(e) => {
                    assert_eq!(e.kind(), ErrorKind::Corrupt, "{pair:?}: {e}");
                    assert!(e.to_string().contains(name) && e.to_string().contains("damaged.db"), "{e}");
                    (lost, told) = (lost + 1, told + 1);
                }
            };
            check(store.get(name));
            let mut seen = Vec::new();
            let many = Reads::get_many(&store, &[name], &mut |_, content| {
                seen.extend(content.map(<[u8]>::to_vec));
                Ok(())
            });
            check(many.and_then(|()| seen.pop().ok_or_else(|| lakerace_io::Error::not_found("none"))));
            if let Ok(Some(stat)) = store.stat(name) {
                assert_eq!((&stat.name, stat.size), (name, content.len() as u64), "{pair:?}");
            }
            // Nor is another file copied.
            if store.copy(name, "copy", IfExists::Replace).is_ok()
                && let Ok(copied) = store.get("copy")
            {
                assert!(copied == *content, "{pair:?}: {name}");
            }
        }
        assert!(is_told || lost == 0, "{pair:?}: {lost} files are lost, and nothing tells");
    }
    assert!(told > 0);
}

#[test]
fn a_lost_page_is_told_as_the_range_of_its_names_and_the_rest_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let store = Store::open(path.to_str().unwrap(), Options { page_bytes: 4096, ..Options::default() }).unwrap();
    let names: Vec<String> = (0..3_000).map(|i| format!("file-{i:05}")).collect();
    store.put_many(names.iter().map(|name| (name.as_str(), name.as_bytes())), &PutOptions::default()).unwrap();
    store.compact().unwrap();
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    // Leaves of the tree, recognised by their kind and a name that they hold.
    let is_leaf = |page: &[u8], name: &str| page[0] == 10 && page.windows(name.len()).any(|at| at == name.as_bytes());
    for name in ["file-00700", "file-02000"] {
        let page = bytes.chunks(4096).position(|page| is_leaf(page, name)).unwrap() * 4096;
        bytes[page..page + 4096].fill(0xa5);
    }
    std::fs::write(&path, bytes).unwrap();
    let store = Store::open(path.to_str().unwrap(), Options::default()).unwrap();
    assert_eq!(store.get("file-00700").unwrap_err().kind(), ErrorKind::Corrupt);
    let verified = store.verify().unwrap();
    let ranges: Vec<_> = verified.damage.iter().filter_map(|damage| damage.between.clone()).collect();
    assert_eq!(ranges.len(), 2, "{:?}", verified.damage);
    let mut lost = 0;
    for ((last, next), name) in ranges.iter().zip(["file-00700", "file-02000"]) {
        let (last, next) = (last.as_deref().unwrap(), next.as_deref().unwrap());
        assert!(last < name && name < next, "{last} {next}");
        let number = |name: &str| name[5..].parse::<u64>().unwrap();
        lost += number(next) - number(last) - 1;
        assert_eq!(store.get(last).unwrap(), last.as_bytes());
        assert_eq!(store.get(next).unwrap(), next.as_bytes());
    }
    assert_eq!(verified.files + lost, 3_000);
    assert!((20..300).contains(&lost), "{lost}");
}

#[test]
fn a_damaged_content_is_named_and_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let store = Store::open(path.to_str().unwrap(), Options::default()).unwrap();
    store.put("sound", b"sound", &PutOptions::default()).unwrap();
    store.put("hit", b"unmistakable content", &PutOptions::default()).unwrap();
    let big: Vec<u8> = (0..900_000_u32).map(|i| (i / 1000) as u8).collect();
    store.put("big", &big, &PutOptions::default()).unwrap();
    store.compact().unwrap();
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(12).position(|window| window == b"unmistakable").unwrap();
    bytes[at + 3] ^= 0x40;
    let at = bytes.windows(500).position(|window| window.iter().all(|byte| *byte == 100)).unwrap();
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let store = Store::open(path.to_str().unwrap(), Options::default()).unwrap();
    assert_eq!(store.get("sound").unwrap(), b"sound");
    for name in ["hit", "big"] {
        let error = store.get(name).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains(name), "{error}");
    }
    // Pieces that are whole are still read.
    let mut open = store.open_read("big").unwrap();
    let mut buffer = vec![0; 1000];
    assert_eq!(open.read_at(800_000, &mut buffer).unwrap(), 1000);
    assert_eq!(buffer, big[800_000..801_000]);
    assert_eq!(open.read_at(100_000, &mut buffer).unwrap_err().kind(), ErrorKind::Corrupt);
    let named: Vec<_> = store.verify().unwrap().damage.into_iter().filter_map(|damage| damage.name).collect();
    assert_eq!(named, ["big", "hit"]);
}

#[test]
fn what_is_no_store_of_a_known_version_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let kind = |name: &str, options: Options| Store::open(&at(name), options).map(drop).map_err(|e| e.kind());
    std::fs::write(at("text"), "no database, but longer than the header of one: ".repeat(100)).unwrap();
    assert_eq!(kind("text", Options::default()), Err(ErrorKind::Invalid));
    let other = rusqlite::Connection::open(at("other.db")).unwrap();
    other.execute_batch("CREATE TABLE t (x)").unwrap();
    drop(other);
    assert_eq!(kind("other.db", Options::default()), Err(ErrorKind::Invalid));
    assert_eq!(kind("absent.db", Options { create: false, ..Options::default() }), Err(ErrorKind::NotFound));
    assert_eq!(kind("absent.db", Options { read_only: true, ..Options::default() }), Err(ErrorKind::NotFound));
    assert_eq!(kind("page.db", Options { page_bytes: 1000, ..Options::default() }), Err(ErrorKind::Usage));
    Store::open(&at("newer.db"), Options::default()).unwrap();
    rusqlite::Connection::open(at("newer.db")).unwrap().pragma_update(None, "user_version", 2).unwrap();
    assert_eq!(kind("newer.db", Options::default()), Err(ErrorKind::Unsupported));
    Store::open(&at("altered.db"), Options::default()).unwrap();
    rusqlite::Connection::open(at("altered.db")).unwrap().execute_batch("ALTER TABLE files ADD COLUMN x").unwrap();
    assert_eq!(kind("altered.db", Options::default()), Err(ErrorKind::Corrupt));
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let pipe = std::ffi::CString::new(at("pipe")).unwrap();
    // SAFETY: the name ends in a zero.
    assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), mode.bits()) }, 0);
    std::os::unix::fs::symlink(at("pipe"), at("link")).unwrap();
    std::fs::create_dir(at("folder")).unwrap();
    for location in [at("pipe"), at("socket"), at("link"), "/dev/zero".to_owned(), format!("sqlite:{}", at("folder"))] {
        for read_only in [false, true] {
            let refused = Store::open(&location, Options { read_only, ..Options::default() }).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused}");
            assert!(refused.to_string().contains("only a regular file"), "{refused}");
        }
    }
}

#[test]
fn a_store_that_is_cut_off_is_told_as_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = sample(folder.path());
    let sound = std::fs::read(&path).unwrap();
    let damaged = folder.path().join("damaged.db");
    let cut = |bytes: &[u8], read_only: bool| {
        std::fs::write(&damaged, bytes).unwrap();
        Store::open(damaged.to_str().unwrap(), Options { read_only, ..options() }).map(drop).unwrap_err()
    };
    for len in [100, 512, 4_000, 8_192, sound.len() / 2, sound.len() - 1] {
        for read_only in [false, true] {
            let told = cut(&sound[..len], read_only);
            assert_eq!(told.kind(), ErrorKind::Corrupt, "{len}: {told}");
            assert!(told.to_string().contains(&format!("{len} of {} bytes", sound.len())), "{told}");
        }
    }
    let mut header = sound.clone();
    header[..16].fill(0);
    assert_eq!(cut(&header, true).kind(), ErrorKind::Corrupt);
    // The pages of the schema.
    let mut schema = sound.clone();
    schema[100..4_096].fill(0xa5);
    assert_eq!(cut(&schema, true).kind(), ErrorKind::Corrupt);
    // Without the mark of a store, it may be anybody's.
    assert_eq!(cut(&sound[..60], true).kind(), ErrorKind::Invalid);
}

#[test]
fn an_open_store_stays_the_one_that_its_link_led_to() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for name in ["one.db", "two.db"] {
        let store = Store::open(&at(name), Options::default()).unwrap();
        store.put("name", name.as_bytes(), &PutOptions::default()).unwrap();
    }
    std::os::unix::fs::symlink("one.db", at("link")).unwrap();
    let store = Store::open(&at("link"), Options::default()).unwrap();
    std::fs::remove_file(at("link")).unwrap();
    std::os::unix::fs::symlink("two.db", at("link")).unwrap();
    assert_eq!(store.get("name").unwrap(), b"one.db");
    store.put("new", b"1", &PutOptions::default()).unwrap();
    assert!(Store::open(&at("one.db"), Options::default()).unwrap().exists("new").unwrap());
    assert!(!Store::open(&at("two.db"), Options::default()).unwrap().exists("new").unwrap());
    assert_eq!(store.location(), at("link"));
}

#[test]
fn a_key_that_is_wrong_or_missing_is_told_and_stored_bytes_are_verified_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let with = |key: Option<u8>| Options {
        key: key.map(|byte| SecretKey::new(&[byte; 32]).unwrap()),
        encrypt: key.is_some(),
        ..Options::default()
    };
    let open = |key| Store::open(path.to_str().unwrap(), with(key)).unwrap();
    let store = open(Some(1));
    store.put("small", b"secret", &PutOptions::default()).unwrap();
    store.put("big", &[5; 1_000_000], &PutOptions::default()).unwrap();
    store.compact().unwrap();
    drop(store);
    let bytes = std::fs::read(&path).unwrap();
    assert!(!bytes.windows(6).any(|window| window == b"secret"));
    for (key, expected) in [(Some(2), ErrorKind::Invalid), (None, ErrorKind::Usage)] {
        let store = open(key);
        for name in ["small", "big"] {
            assert_eq!(store.get(name).unwrap_err().kind(), expected, "{name}");
            assert!(store.stat(name).unwrap().unwrap().encoding.contains("aes-256-gcm"));
        }
        let verified = store.verify().unwrap();
        assert_eq!((verified.files, verified.undecoded, verified.damage.len()), (2, 2, 0));
    }
    assert_eq!(open(Some(1)).get("small").unwrap(), b"secret");
}

#[test]
fn a_content_of_an_unknown_codec_is_named_and_others_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let store = Store::open(path.to_str().unwrap(), Options::default()).unwrap();
    store.put("plain", b"x", &PutOptions::default()).unwrap();
    let zstd = PutOptions { compression: Some("zstd".parse().unwrap()), ..PutOptions::default() };
    store.put("new", &[7; 1000], &zstd).unwrap();
    drop(store);
    let text = b"lzx9";
    let sum = xxhash_rust::xxh3::xxh3_64_with_seed(text, xxhash_rust::xxh3::xxh3_64(&1_i64.to_le_bytes()));
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute("UPDATE encodings SET encoding='lzx9', check_sum=?1 WHERE id=1", [sum as i64]).unwrap();
    drop(raw);
    let store = Store::open(path.to_str().unwrap(), Options::default()).unwrap();
    assert_eq!(store.get("plain").unwrap(), b"x");
    let error = store.get("new").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("lzx9"), "{error}");
}

#[test]
fn a_directory_follows_no_links() {
    let folder = tempfile::tempdir().unwrap();
    let (outside, inside) = (folder.path().join("outside"), folder.path().join("inside"));
    std::fs::create_dir_all(&outside).unwrap();
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::write(outside.join("secret"), "x").unwrap();
    std::fs::create_dir_all(folder.path().join("inside-too")).unwrap();
    std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
    std::os::unix::fs::symlink(outside.join("secret"), inside.join("file")).unwrap();
    let store = Store::open(inside.to_str().unwrap(), Options::default()).unwrap();
    for name in ["link/secret", "file"] {
        assert_eq!(store.get(name).unwrap_err().kind(), ErrorKind::Invalid, "{name}");
    }
    assert_eq!(store.put("link/new", b"y", &PutOptions::default()).unwrap_err().kind(), ErrorKind::Invalid);
    // A put replaces the link, and not what it points to.
    store.put("file", b"y", &PutOptions::default()).unwrap();
    assert_eq!(std::fs::read(outside.join("secret")).unwrap(), b"x");
    std::fs::write(folder.path().join("inside-too/x"), "x").unwrap();
    assert_eq!(store.get("../inside-too/x").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(store.put("../inside-too/x", b"y", &PutOptions::default()).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(std::fs::read(folder.path().join("inside-too/x")).unwrap(), b"x");
    assert_eq!(store.list("").unwrap().len(), 1);
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
}

#[test]
fn a_dictionary_is_trained_kept_and_given_to_older_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let document = |i: usize| {
        format!(
            "{{\"id\":{},\"kind\":\"reading\",\"unit\":\"celsius\",\"site\":\"plant-{}\",\"value\":{}.{}}}",
            i * 7919,
            i % 13,
            i % 40,
            i % 10
        )
    };
    let options = Options { compression: Some("zstd-dict".parse().unwrap()), ..Options::default() };
    let store = Store::open(path.to_str().unwrap(), options.clone()).unwrap();
    let files: Vec<(String, String)> = (0..4_000).map(|i| (format!("d/{i}"), document(i))).collect();
    store.put_many(files.iter().map(|(n, c)| (n.as_str(), c.as_bytes())), &PutOptions::default()).unwrap();
    assert_eq!(store.stat("d/10").unwrap().unwrap().encoding, "zstd");
    assert_eq!(store.stat("d/3999").unwrap().unwrap().encoding, "zstd dictionary=1");
    assert!(store.compact().unwrap().rewritten > 1_000);
    assert_eq!(store.train().unwrap(), 2);
    store.put("new", document(5_000).as_bytes(), &PutOptions::default()).unwrap();
    assert_eq!(store.stat("new").unwrap().unwrap().encoding, "zstd dictionary=2");
    drop(store);
    let store = Store::open(path.to_str().unwrap(), options).unwrap();
    assert_eq!(store.stat("d/10").unwrap().unwrap().encoding, "zstd dictionary=1");
    for (name, content) in &files {
        assert_eq!(store.get(name).unwrap(), content.as_bytes());
    }
    assert_eq!(store.verify().unwrap().damage, []);
}
