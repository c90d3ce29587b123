//! Stores of files on an object store: what they keep, and how many requests that takes.

use lakerace::{ErrorKind, Job, JobOptions, open_files};
use lakerace_files::{IfExists, Options, PutOptions, SecretKey, Store};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A folder and the location of a store of packs in it.
fn temporary_store() -> Result<(tempfile::TempDir, String), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let location = format!("packs:{}/store", folder.path().display());
    Ok((folder, location))
}

fn open(location: &str) -> lakerace::Result<(Store, Job)> {
    let job = Job::new(JobOptions::default());
    // The user's own folder of caches stays as it is.
    let cache_folder = location.strip_prefix("packs:").map(|folder| format!("{folder}.cache").into());
    Ok((open_files(location, Options { cache_folder, ..Options::default() }, &job)?, job))
}

fn requests(job: &Job) -> u64 {
    let counts = job.meter().counts().requests;
    counts.get + counts.put + counts.list + counts.head + counts.delete
}

fn content(number: usize) -> Vec<u8> {
    format!("{number:064}").into_bytes()
}

#[test]
fn files_are_there_for_all_after_a_flush() -> Outcome {
    let (_folder, location) = temporary_store()?;
    let (store, _) = open(&location)?;
    let long: Vec<u8> = (0..30_000_000_u32).map(|i| (i / 7) as u8).collect();
    for compression in ["none", "zstd", "lz4", "snappy", "gzip", "brotli", "xz", "bz2"] {
        let options = PutOptions {
            compression: Some(compression.parse()?),
            metadata: Some("{\"a\":1}".to_owned()),
            ..PutOptions::default()
        };
        store.put(&format!("small/{compression}"), &content(1), &options)?;
        store.put(&format!("empty/{compression}"), b"", &options)?;
        let mut upload = store.create(&format!("long/{compression}"), &options)?;
        long[..9_000_000].chunks(700_001).try_for_each(|part| upload.write(part))?;
        upload.finish()?;
    }
    store.put("whole", &long, &PutOptions::default())?;
    assert_eq!(store.get("whole")?, long);
    assert!(open(&location).is_ok_and(|(other, _)| other.list("").is_ok_and(|all| all.is_empty())));
    store.flush()?;
    let (other, _) = open(&location)?;
    assert_eq!(other.list("")?, store.list("")?);
    for stat in other.list("")? {
        let expected = match stat.name.split('/').next() {
            Some("small") => content(1),
            Some("empty") => Vec::new(),
            Some("long") => long[..9_000_000].to_vec(),
            _ => long.clone(),
        };
        assert!(other.get(&stat.name)? == expected, "{}", stat.name);
        assert_eq!(stat.size, expected.len() as u64);
    }
    assert_eq!(other.stat("small/zstd")?.and_then(|stat| stat.metadata).as_deref(), Some("{\"a\":1}"));
    let mut opened = other.open_read("long/zstd")?;
    let mut part = vec![0; 100_000];
    assert_eq!(opened.read_at(4_150_000, &mut part)?, part.len());
    assert!(part == long[4_150_000..4_250_000]);
    let verified = other.verify()?;
    assert_eq!((verified.files, verified.damage.len()), (25, 0));
    Ok(())
}

#[test]
fn names_change_together() -> Outcome {
    let (_folder, location) = temporary_store()?;
    let (store, _) = open(&location)?;
    let names = || store.list("").map(|all| all.into_iter().map(|stat| stat.name).collect::<Vec<_>>());
    let mut batch = store.batch()?;
    for number in 0..10 {
        batch.put(&format!("a/{number}"), &content(number), &PutOptions::default())?;
    }
    assert!(names()?.is_empty());
    batch.commit()?;
    store.rename("a/1", "b/1", IfExists::Error)?;
    store.copy("a/2", "b/2", IfExists::Error)?;
    store.remove("a/3")?;
    assert_eq!(store.remove("a/3").map_err(|e| e.kind()), Err(ErrorKind::NotFound));
    assert_eq!(store.rename("a/4", "b/2", IfExists::Error).map_err(|e| e.kind()), Err(ErrorKind::Conflict));
    store.set_metadata("a/5", Some("[1]"))?;
    assert_eq!(store.remove_tree("b")?, 2);
    assert_eq!(names()?, ["a/0", "a/2", "a/4", "a/5", "a/6", "a/7", "a/8", "a/9"]);
    let snapshot = store.snapshot()?;
    store.put("a/0", b"new", &PutOptions::default())?;
    store.flush()?;
    let mut old = Vec::new();
    let size = snapshot.get("a/0", &mut old)?;
    // SAFETY: an answer says that all of it is written.
    unsafe { old.set_len(size) };
    assert_eq!(old, content(0));
    let (other, _) = open(&location)?;
    assert_eq!(other.get("a/0")?, b"new");
    let before = other.list("")?;
    store.compact()?;
    assert_eq!(store.list("")?, before);
    assert_eq!(open(&location)?.0.list("")?, before);
    assert_eq!(open(&location)?.0.get("a/9")?, content(9));
    Ok(())
}

#[test]
fn writers_at_the_same_time_lose_nothing() -> Outcome {
    let (_folder, location) = temporary_store()?;
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let location = &location;
                scope.spawn(move || -> lakerace::Result<()> {
                    let (store, _) = open(location)?;
                    for round in 0..5 {
                        for number in 0..20 {
                            let name = format!("{writer}/{round}/{number}");
                            store.put(&name, name.as_bytes(), &PutOptions::default())?;
                        }
                        store.flush()?;
                    }
                    Ok(())
                })
            })
            .collect();
        for writer in writers {
            let done = writer.join().map_err(|_| "a panic");
            assert!(matches!(done, Ok(Ok(()))), "{done:?}");
        }
    });
    let (store, _) = open(&location)?;
    let all = store.list("")?;
    assert_eq!(all.len(), 400);
    for stat in all {
        assert_eq!(store.get(&stat.name)?, stat.name.as_bytes());
    }
    Ok(())
}

#[test]
fn many_files_take_few_requests() -> Outcome {
    // A million by LAKERACE_PACKS_FILES=1000000: the packs and the index grow, and nothing else.
    let count: usize = std::env::var("LAKERACE_PACKS_FILES").ok().and_then(|text| text.parse().ok()).unwrap_or(50_000);
    let (_folder, location) = temporary_store()?;
    let (store, job) = open(&location)?;
    let contents: Vec<_> =
        (0..count).map(|number| (format!("d{:03}/{number:07}", number % 1000), content(number))).collect();
    let mut batch = store.batch()?;
    for (name, data) in &contents {
        batch.put(name, data, &PutOptions::default())?;
    }
    batch.commit()?;
    let written = requests(&job);
    // A pack holds 12 MiB. What remains is of the index, a new table.
    let packs = (count * 64).div_ceil(12 << 20) as u64;
    assert!(written <= packs + 100, "{written} requests for {packs} packs");
    assert!(written < 200, "{written} requests");

    let (reader, job) = open(&location)?;
    let opened = requests(&job);
    assert!(opened < 60, "{opened} requests to read the index");
    for (reads, at) in [7, count / 2, count - 1, 3].into_iter().enumerate() {
        assert_eq!(reader.get(&contents[at].0)?, contents[at].1);
        assert_eq!(requests(&job), opened + reads as u64 + 1);
    }
    let before = requests(&job);
    let names: Vec<&str> = contents[..500].iter().map(|(name, _)| name.as_str()).collect();
    let mut got = 0;
    reader.home().get_many(&names, &mut |at, data| {
        assert_eq!(data, Some(contents[at].1.as_slice()));
        got += 1;
        Ok(())
    })?;
    assert_eq!(got, 500);
    assert!(requests(&job) - before <= 20);
    Ok(())
}

/// Makes all files of a folder two days old.
fn age(folder: &std::path::Path) -> Outcome {
    let then = std::time::SystemTime::now() - std::time::Duration::from_secs(2 * 24 * 60 * 60);
    for found in std::fs::read_dir(folder)? {
        let path = found?.path();
        if path.is_file() {
            std::fs::File::options().write(true).open(path)?.set_modified(then)?;
        }
    }
    Ok(())
}

#[test]
fn compacting_keeps_packs_a_day_after_their_last_file() -> Outcome {
    let (folder, location) = temporary_store()?;
    let (packs, log) = (folder.path().join("store/packs"), folder.path().join("store/index/_delta_log"));
    let (store, _) = open(&location)?;
    for name in ["removed", "stays"] {
        store.put(name, &content(1), &PutOptions::default())?;
        store.flush()?;
    }
    age(&packs)?;
    age(&log)?;
    let (copies, _) = open(&location)?;
    copies.copy("removed", "copied", IfExists::Error)?;
    let mut older = copies.open_read("removed")?;
    store.remove("removed")?;
    assert_eq!(store.compact()?.orphans, 0);
    let mut part = vec![0; 64];
    assert_eq!((older.read_at(0, &mut part)?, part), (64, content(1)));
    copies.flush()?;
    assert_eq!(open(&location)?.0.get("copied")?, content(1));
    store.flush()?;
    copies.remove("copied")?;
    copies.flush()?;
    age(&log)?;
    let compacted = store.compact()?;
    assert_eq!((compacted.orphans, std::fs::read_dir(&packs)?.count()), (1, 1));
    assert_eq!(open(&location)?.0.verify()?.damage, []);
    Ok(())
}

#[test]
fn many_reads_at_once_are_of_one_state() -> Outcome {
    let (_folder, location) = temporary_store()?;
    let (store, _) = open(&location)?;
    // Many names are between the two that change together.
    let absent: Vec<String> = (0..5_000).map(|number| format!("absent/{number}")).collect();
    let mut names = vec!["first"];
    names.extend(absent.iter().map(String::as_str));
    names.push("last");
    let has_ended = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| -> lakerace::Result<()> {
            let written = (0..40).try_for_each(|round| {
                let mut batch = store.batch()?;
                for name in ["first", "last"] {
                    batch.put(name, &content(round), &PutOptions::default())?;
                }
                batch.commit()
            });
            has_ended.store(true, std::sync::atomic::Ordering::Release);
            written
        });
        while !has_ended.load(std::sync::atomic::Ordering::Acquire) {
            let mut seen = vec![None; names.len()];
            store.home().get_many(&names, &mut |at, data| {
                seen[at] = data.map(<[u8]>::to_vec);
                Ok(())
            })?;
            assert_eq!(seen.first(), seen.last());
        }
        assert!(matches!(writer.join(), Ok(Ok(()))));
        Ok(())
    })
}

/// Overwrites the file of names that openings of a store share.
fn damage_names(location: &str) -> Outcome {
    let folder = format!("{}.cache", location.strip_prefix("packs:").unwrap_or(location));
    for store in std::fs::read_dir(folder)? {
        for file in std::fs::read_dir(store?.path())? {
            let path = file?.path();
            if path.extension().is_some_and(|end| end == "names") {
                let length = std::fs::metadata(&path)?.len();
                std::fs::write(&path, vec![0; usize::try_from(length)?])?;
            }
        }
    }
    Ok(())
}

#[test]
fn a_damaged_file_of_names_is_made_again_and_hides_no_file() -> Outcome {
    let (folder, location) = temporary_store()?;
    let mut batch = open(&location)?.0.batch()?;
    for number in 0..40_000 {
        batch.put(&format!("{number:05}"), &content(number), &PutOptions::default())?;
    }
    batch.commit()?;
    let (reader, _) = open(&location)?;
    damage_names(&location)?;
    assert_eq!(reader.get("00007")?, content(7));
    assert_eq!(reader.list("3999")?.len(), 10);
    let (reader, _) = open(&location)?;
    damage_names(&location)?;
    // There is nothing that it could be made from.
    std::fs::rename(folder.path().join("store/index"), folder.path().join("gone"))?;
    for _ in 0..2 {
        assert_eq!(reader.get("20000").err().map(|error| error.kind()), Some(ErrorKind::Corrupt));
        assert_eq!(reader.list("").err().map(|error| error.kind()), Some(ErrorKind::Corrupt));
    }
    std::fs::rename(folder.path().join("gone"), folder.path().join("store/index"))?;
    assert_eq!(reader.get("20000")?, content(20_000));
    Ok(())
}

#[test]
fn damage_is_named_and_nothing_wrong_is_read() -> Outcome {
    let (folder, location) = temporary_store()?;
    let (store, _) = open(&location)?;
    for number in 0..100 {
        store.put(&format!("{number:02}"), &content(number), &PutOptions::default())?;
    }
    store.flush()?;
    let mut packs = std::fs::read_dir(folder.path().join("store/packs"))?.collect::<Result<Vec<_>, _>>()?;
    assert_eq!(packs.len(), 1);
    let pack = packs.remove(0).path();
    let bytes = std::fs::read(&pack)?;
    assert_eq!((&bytes[..8], &bytes[bytes.len() - 8..]), (&b"LRPACK01"[..], &b"LRPACK01"[..]));
    for at in (0..bytes.len()).step_by(97) {
        let mut other = bytes.clone();
        other[at] ^= 1 << (at % 8);
        std::fs::write(&pack, &other)?;
        let (store, _) = open(&location)?;
        let mut damaged = Vec::new();
        for number in 0..100 {
            let name = format!("{number:02}");
            match store.get(&name) {
                Ok(data) => assert_eq!(data, content(number)),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Corrupt);
                    damaged.push(name);
                }
            }
        }
        let named: Vec<_> = store.verify()?.damage.into_iter().filter_map(|damage| damage.name).collect();
        assert_eq!(named, damaged);
        assert_eq!(damaged.len(), usize::from((8..8 + 6400).contains(&at)));
    }
    std::fs::remove_file(&pack)?;
    let (store, _) = open(&location)?;
    assert_eq!(store.verify()?.damage.len(), 100);
    assert_eq!(store.get("07").map_err(|e| e.kind()), Err(ErrorKind::NotFound));
    Ok(())
}

#[test]
fn a_flush_that_fails_is_told_and_the_next_one_makes_up_for_it() -> Outcome {
    let (folder, location) = temporary_store()?;
    let (store, _) = open(&location)?;
    std::fs::create_dir_all(folder.path().join("store"))?;
    // Where the folder of packs should be is a file.
    let blocked = folder.path().join("store/packs");
    std::fs::write(&blocked, b"")?;
    for number in 0..10 {
        store.put(&format!("{number}"), &content(number), &PutOptions::default())?;
    }
    for _ in 0..2 {
        assert!(store.flush().is_err());
        assert_eq!(open(&location)?.0.list("")?, []);
        assert_eq!(store.get("7")?, content(7));
    }
    store.put("later", &content(77), &PutOptions::default())?;
    std::fs::remove_file(&blocked)?;
    store.flush()?;
    let (other, _) = open(&location)?;
    assert_eq!(other.list("")?.len(), 11);
    assert_eq!((other.get("7")?, other.get("later")?), (content(7), content(77)));
    assert_eq!(other.verify()?.damage, []);
    Ok(())
}

#[test]
fn keys_encrypt_and_options_are_checked() -> Outcome {
    let (_folder, location) = temporary_store()?;
    let job = Job::new(JobOptions::default());
    let with = |key: &[u8]| -> Result<Options, lakerace::Error> {
        Ok(Options { key: Some(SecretKey::new(key)?), encrypt: true, ..Options::default() })
    };
    let store = open_files(&location, with(&[1; 32])?, &job)?;
    store.put("secret", &content(1), &PutOptions::default())?;
    store.close()?;
    assert_eq!(open_files(&location, with(&[1; 32])?, &job)?.get("secret")?, content(1));
    assert_eq!(
        open_files(&location, with(&[2; 32])?, &job)?.get("secret").map_err(|e| e.kind()),
        Err(ErrorKind::Invalid)
    );
    assert_eq!(open(&location)?.0.get("secret").map_err(|e| e.kind()), Err(ErrorKind::Usage));
    assert_eq!(open(&location)?.0.verify()?.undecoded, 1);
    let dictionary = Options { compression: Some("zstd-dict".parse()?), ..Options::default() };
    assert_eq!(open_files(&location, dictionary, &job).map(drop).map_err(|e| e.kind()), Err(ErrorKind::Unsupported));
    let absent = Options { create: false, ..Options::default() };
    let absent = open_files(&format!("{location}2"), absent, &job);
    assert_eq!(absent.map(drop).map_err(|e| e.kind()), Err(ErrorKind::NotFound));
    let read_only = Options { read_only: true, ..Options::default() };
    let store = open_files(&location, read_only, &job)?;
    assert_eq!(store.put("x", b"", &PutOptions::default()).map_err(|e| e.kind()), Err(ErrorKind::Usage));
    Ok(())
}
