//! Losses of power: what the device had not synced is gone, in part or in whole.
//!
//! `LAKERACE_POWER_SEEDS` is the number of runs of each test. Each cuts the power many times.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

mod device;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use device::{Cut, Device, Numbers};
use lakerace_files::{Durability, IfExists, Options, PutOptions, Store};

/// The process has one device.
static ALONE: Mutex<()> = Mutex::new(());

/// Names and the seeds of their contents.
type Files = BTreeMap<String, u64>;

fn seeds() -> std::ops::Range<u64> {
    0..std::env::var("LAKERACE_POWER_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(3)
}

fn options(durability: Durability, numbers: &mut Numbers) -> Options {
    Options {
        durability,
        page_bytes: 4096 << numbers.below(3),
        pack_bytes: (numbers.below(2) == 0).then_some(16_384),
        // So small that the log is moved into the file again and again.
        wal_limit_bytes: 1 << 18,
        ..Options::default()
    }
}

fn open(folder: &Path, options: Options) -> Store {
    Store::open(folder.join("s.db").to_str().unwrap(), options).unwrap()
}

/// A content that no other seed has: a row, pieces, or many pieces.
fn content(seed: u64) -> Vec<u8> {
    let mut numbers = Numbers::new(seed);
    let len = [60, 3_000, 30_000, 90_000, 600_000][[0, 0, 0, 0, 1, 1, 2, 2, 3, 4][numbers.below(10) as usize]];
    (0..len / 8).flat_map(|_| numbers.below(u64::MAX).to_le_bytes()).collect()
}

/// Changes a store and says what it then has.
fn change(store: &Store, files: &Files, numbers: &mut Numbers, seed: &mut u64) -> Files {
    let mut files = files.clone();
    let name = |numbers: &mut Numbers| format!("folder-{}/{}", numbers.below(3), numbers.below(20));
    let mut next = |files: &mut Files, name: &str| {
        *seed += 1;
        files.insert(name.to_owned(), *seed);
        content(*seed)
    };
    let target = name(numbers);
    let known = files.keys().nth(numbers.below(files.len() as u64 + 1) as usize).cloned();
    match (numbers.below(10), known) {
        (0, Some(known)) => {
            files.remove(&known);
            store.remove(&known).unwrap();
        }
        (1, Some(known)) if known != target => {
            let moved = files.remove(&known).unwrap();
            files.insert(target.clone(), moved);
            store.rename(&known, &target, IfExists::Replace).unwrap();
        }
        (2 | 3, _) => {
            let mut batch = store.batch().unwrap();
            for _ in 0..30 {
                let target = name(numbers);
                batch.put(&target, &next(&mut files, &target), &PutOptions::default()).unwrap();
            }
            batch.commit().unwrap();
        }
        (4, _) => {
            let mut upload = store.create(&target, &PutOptions::default()).unwrap();
            next(&mut files, &target).chunks(70_000).for_each(|part| upload.write(part).unwrap());
            upload.finish().unwrap();
        }
        (5, _) if numbers.below(4) == 0 => drop(store.compact().unwrap()),
        _ => store.put(&target, &next(&mut files, &target), &PutOptions::default()).unwrap(),
    }
    files
}

/// What a store has: every content is read and must be one that was put.
fn found(folder: &Path, options: Options) -> Files {
    let store = open(folder, options);
    let files = store.list("").unwrap().into_iter().map(|stat| {
        let read = store.get(&stat.name).unwrap();
        (stat.name, xxhash_rust::xxh3::xxh3_64(&read))
    });
    let files = files.collect();
    assert_eq!(store.verify().unwrap().damage, []);
    store.put("later", b"later", &PutOptions::default()).unwrap();
    assert_eq!(store.get("later").unwrap(), b"later");
    files
}

fn sums(files: &Files) -> Files {
    files.iter().map(|(name, seed)| (name.clone(), xxhash_rust::xxh3::xxh3_64(&content(*seed)))).collect()
}

/// Changes a store step by step while the power is cut; gives what it had after each step, and what is left after each cut.
fn run(folder: &Path, durability: Durability, numbers: &mut Numbers) -> (Vec<Files>, Vec<Cut>) {
    let (place, out) = (folder.join("device"), folder.join("cuts"));
    std::fs::create_dir_all(&place).unwrap();
    let confirmed = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&confirmed);
    Device::watch(&place, &out, numbers.clone(), 60, Box::new(move || seen.load(Ordering::SeqCst)));
    let (options, mut seed) = (options(durability, numbers), 0);
    let mut store = open(&place, options.clone());
    let mut states = vec![Files::new()];
    for _ in 0..40 {
        if numbers.below(15) == 0 {
            drop(store);
            store = open(&place, options.clone());
        }
        let next = change(&store, states.last().unwrap(), numbers, &mut seed);
        states.push(next);
        confirmed.fetch_add(1, Ordering::SeqCst);
    }
    drop(store);
    (states.iter().map(sums).collect(), Device::cuts())
}

#[test]
fn a_loss_of_power_takes_nothing_that_was_confirmed_at_full() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    Device::install();
    let mut cuts = 0;
    for seed in seeds() {
        let (folder, mut numbers) = (tempfile::tempdir().unwrap(), Numbers::new(seed));
        let (states, all) = run(folder.path(), Durability::Full, &mut numbers);
        cuts += all.len();
        for cut in all {
            let left = found(&cut.folder, Options { durability: Durability::Full, ..Options::default() });
            let confirmed = cut.confirmed as usize;
            let known = &states[confirmed..(confirmed + 2).min(states.len())];
            assert!(known.contains(&left), "seed {seed}: {cut:?} has {left:?}");
        }
    }
    eprintln!("full: {cuts} losses of power");
    assert!(cuts > 100, "{cuts}");
}

#[test]
fn a_loss_of_power_takes_the_last_commits_alone_at_normal() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    Device::install();
    let (mut cuts, mut lost, mut most) = (0, 0, 0);
    for seed in seeds() {
        let (folder, mut numbers) = (tempfile::tempdir().unwrap(), Numbers::new(1_000_000 + seed));
        let (states, all) = run(folder.path(), Durability::Normal, &mut numbers);
        cuts += all.len();
        for cut in all {
            let left = found(&cut.folder, Options::default());
            let end = (cut.confirmed as usize + 2).min(states.len());
            let at = states[..end].iter().rposition(|state| *state == left);
            let at = at.unwrap_or_else(|| panic!("seed {seed}: {cut:?} has {left:?}"));
            let gone = (cut.confirmed as usize).saturating_sub(at);
            lost += usize::from(gone > 0);
            most = most.max(gone);
        }
    }
    eprintln!("normal: {cuts} losses of power, {lost} took commits, {most} at most");
    // The device does lose what is not synced.
    assert!(cuts > 100 && lost > 10, "{cuts} {lost}");
}

#[test]
fn threads_that_share_a_commit_lose_nothing_that_was_confirmed() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    Device::install();
    let (mut cuts, mut files) = (0, 0);
    for seed in seeds() {
        let folder = tempfile::tempdir().unwrap();
        let (place, out) = (folder.path().join("device"), folder.path().join("cuts"));
        std::fs::create_dir_all(&place).unwrap();
        // The puts that had returned, in that order: a cut notes how many.
        let returned = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&returned);
        Device::watch(&place, &out, Numbers::new(seed), 40, Box::new(move || seen.lock().unwrap().len() as u64));
        let store = open(&place, options(Durability::Full, &mut Numbers::new(seed)));
        std::thread::scope(|scope| {
            for thread in 0..8_u64 {
                let (store, returned) = (&store, &returned);
                scope.spawn(move || {
                    for number in 0..12 {
                        let name = format!("{thread}/{number}");
                        store.put(&name, &content(thread * 1000 + number), &PutOptions::default()).unwrap();
                        returned.lock().unwrap().push((name, thread * 1000 + number));
                    }
                });
            }
        });
        drop(store);
        let returned = std::mem::take(&mut *returned.lock().unwrap());
        let all: Files = sums(&returned.iter().cloned().collect());
        for cut in Device::cuts() {
            let left = found(&cut.folder, Options::default());
            let confirmed = &returned[..cut.confirmed as usize];
            let absent: BTreeSet<_> = confirmed.iter().filter(|(name, _)| !left.contains_key(name)).collect();
            assert!(absent.is_empty(), "seed {seed}: {cut:?} lost {absent:?}");
            assert!(left.iter().all(|(name, sum)| all[name] == *sum), "seed {seed}: {cut:?}");
            (cuts, files) = (cuts + 1, files + confirmed.len());
        }
    }
    eprintln!("threads: {cuts} losses of power, {files} confirmed files");
    assert!(cuts > 100, "{cuts}");
}
