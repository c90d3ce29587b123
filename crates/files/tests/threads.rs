//! Many threads and processes at once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use lakerace_files::{Durability, IfExists, Options, PutOptions, Store, Transform};
use lakerace_io::ErrorKind;

fn open(folder: &tempfile::TempDir, options: Options) -> Store {
    Store::open(folder.path().join("s.db").to_str().unwrap(), options).unwrap()
}

#[test]
fn the_puts_of_many_threads_share_transactions_and_none_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, Options { durability: Durability::Full, ..Options::default() });
    let barrier = Barrier::new(16);
    std::thread::scope(|scope| {
        for thread in 0..16 {
            let (store, barrier) = (&store, &barrier);
            scope.spawn(move || {
                barrier.wait();
                for i in 0..50 {
                    let name = format!("t{thread}/{i}");
                    store.put(&name, name.as_bytes(), &PutOptions::default()).unwrap();
                    assert_eq!(store.get(&name).unwrap(), name.as_bytes());
                }
            });
        }
    });
    assert_eq!(store.list("").unwrap().len(), 800);
    assert_eq!(store.verify().unwrap().damage, []);
}

#[test]
fn of_threads_that_put_one_name_only_if_absent_one_wins() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, Options::default());
    let wins = AtomicU64::new(0);
    let options = PutOptions { if_exists: IfExists::Error, ..PutOptions::default() };
    std::thread::scope(|scope| {
        for thread in 0..8_u8 {
            let (store, wins, options) = (&store, &wins, &options);
            scope.spawn(move || {
                for i in 0..100 {
                    // A long content changes chunks before it learns that the name is taken.
                    let content = vec![thread; if i % 10 == 0 { 100_000 } else { 10 }];
                    match store.put(&format!("n{i}"), &content, options) {
                        Ok(()) => drop(wins.fetch_add(1, Ordering::Relaxed)),
                        Err(e) => assert_eq!(e.kind(), ErrorKind::Conflict),
                    }
                }
            });
        }
    });
    assert_eq!(wins.into_inner(), 100);
    assert_eq!(store.list("").unwrap().len(), 100);
    assert_eq!(store.compact().unwrap().orphans, 0);
}

#[test]
fn two_stores_of_one_file_write_in_turn() {
    let folder = tempfile::tempdir().unwrap();
    let stores = [open(&folder, Options::default()), open(&folder, Options::default())];
    std::thread::scope(|scope| {
        for (number, store) in stores.iter().enumerate() {
            scope.spawn(move || {
                (0..300).for_each(|i| store.put(&format!("s{number}/{i}"), b"x", &PutOptions::default()).unwrap());
            });
        }
    });
    assert_eq!(stores[0].list("").unwrap().len(), 600);
    assert_eq!(stores[1].list("").unwrap().len(), 600);
}

#[test]
fn a_batch_that_holds_the_store_makes_others_wait_or_give_up() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, Options { busy_timeout: Duration::from_millis(300), ..Options::default() });
    let other = open(&folder, Options { busy_timeout: Duration::from_millis(300), ..Options::default() });
    let mut batch = store.batch().unwrap();
    for i in 0..20 {
        batch.put(&format!("b{i}"), &vec![i; 1_000_000], &PutOptions::default()).unwrap();
    }
    for waiting in [&store, &other] {
        let refused = waiting.put("x", b"1", &PutOptions::default()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unavailable, "{refused}");
        assert!(!waiting.exists("b1").unwrap());
    }
    batch.commit().unwrap();
    other.put("x", b"1", &PutOptions::default()).unwrap();
    assert_eq!(store.list("").unwrap().len(), 21);
}

#[test]
fn the_log_stays_bounded_while_others_read_and_tells_of_a_reader_that_stays() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, Options { wal_limit_bytes: 20 << 20, durability: Durability::Off, ..Options::default() });
    let log = folder.path().join("s.db-wal");
    let log_bytes = || std::fs::metadata(&log).unwrap().len();
    let write = |from: u32| {
        for i in from..from + 60 {
            store.put(&format!("f{}", i % 10), &vec![i as u8; 1_000_000], &PutOptions::default()).unwrap();
            // Enough for the connection that keeps the lock for others.
            (0..60).for_each(|_| drop(store.stat("f0").unwrap()));
        }
    };
    write(0);
    assert!(log_bytes() < 40 << 20, "{}", log_bytes());
    assert_eq!(store.warnings(), [] as [String; 0]);
    let snapshot = store.snapshot().unwrap();
    write(100);
    assert!(store.warnings().iter().any(|warning| warning.contains("reader")));
    drop(snapshot);
    write(200);
    store.compact().unwrap();
    assert_eq!(log_bytes(), 0);
}

#[test]
fn a_reader_that_stays_open_reads_what_it_began_with_or_says_that_it_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, Options::default());
    store.put("big", &vec![1; 1_000_000], &PutOptions::default()).unwrap();
    let mut content = store.open_read("big").unwrap();
    let mut buffer = vec![0; 10];
    assert_eq!(content.read_at(0, &mut buffer).unwrap(), 10);
    store.put("big", &vec![2; 1_000_000], &PutOptions::default()).unwrap();
    // The piece that it has is read on.
    assert_eq!(content.read_at(100, &mut buffer).unwrap(), 10);
    assert_eq!(buffer, [1; 10]);
    assert_eq!(content.read_at(900_000, &mut buffer).unwrap_err().kind(), ErrorKind::Conflict);
}

/// Compacts a store while threads put and remove files that a compaction puts anew.
fn compact_while_others_write(options: Options) {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder, options);
    let text = |number: usize| format!("{{\"n\":{number},\"name\":\"text that repeats\",\"v\":[1,2,3]}}").into_bytes();
    let put_many = |names: &[String], content: &[u8], options: &PutOptions| {
        store.put_many(names.iter().map(|name| (name.as_str(), content)), options).unwrap();
    };
    for number in 0..2500 {
        put_many(&[format!("seed/{number}")], &text(number), &PutOptions::default());
    }
    let without_dictionary = PutOptions { compression: Some("zstd".parse().unwrap()), ..PutOptions::default() };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (store, is_over, put_many, plain) = (&store, &is_over, &put_many, &without_dictionary);
            scope.spawn(move || {
                let names = ["a", "b", "c"].map(|name| format!("t{thread}/{name}"));
                for number in 0.. {
                    // Of one block, two thirds are removed.
                    put_many(&names, &text(number), plain);
                    names[1..].iter().for_each(|name| store.remove(name).unwrap());
                    let content = text(number).repeat(3);
                    store.put(&names[0], &content, plain).unwrap();
                    for _ in 0..3 {
                        assert_eq!(store.get(&names[0]).unwrap(), content, "{thread} {number}");
                        assert_eq!(store.list(&format!("t{thread}/")).unwrap().len(), 1, "{thread} {number}");
                    }
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        for _ in 0..10 {
            let names: Vec<_> = (0..1000).map(|number| format!("seed/{number}")).collect();
            put_many(&names, b"again", &without_dictionary);
            let mut batch = store.batch().unwrap();
            names.iter().skip(200).for_each(|name| batch.remove(name).unwrap());
            batch.commit().unwrap();
            assert!(store.compact().unwrap().rewritten > 0);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(store.verify().unwrap().damage, []);
}

#[test]
fn a_compaction_loses_no_write_of_another_thread_and_brings_back_no_file() {
    compact_while_others_write(Options { compression: Some("zstd-dict".parse().unwrap()), ..Options::default() });
    compact_while_others_write(Options { pack_bytes: Some(16_384), ..Options::default() });
}

#[test]
fn the_number_of_an_encoding_is_used_by_others_only_when_it_is_committed() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Options { transforms: vec![<dyn Transform>::named("base64").unwrap()], ..Options::default() };
    let store = open(&folder, options());
    let mut batch = store.batch().unwrap();
    for number in 0..20 {
        batch.put(&format!("b{number}"), &vec![number; 1_000_000], &PutOptions::default()).unwrap();
    }
    // The batch holds the store by now.
    let other = PutOptions { compression: Some("zstd".parse().unwrap()), ..PutOptions::default() };
    batch.put("x", b"1", &other).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| store.put("y", b"2", &other).unwrap());
        std::thread::sleep(Duration::from_millis(300));
        drop(batch);
    });
    assert_eq!(open(&folder, options()).get("y").unwrap(), b"2");
    assert_eq!(store.verify().unwrap().damage, []);
}
