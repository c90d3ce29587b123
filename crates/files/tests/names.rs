//! The memory that the names of a store of packs take.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]
#![allow(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use lakerace_files::{EachName, Index, IndexChange, IndexEntry, IndexVersion, Options, PutOptions, Segment, Store};
use lakerace_io::{Job, JobOptions, Location, Result, StorageOptions};

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(held, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most bytes that `run` held at once: of Rust, and of SQLite.
fn most(run: impl FnOnce()) -> usize {
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    // SAFETY: SQLite counts by itself.
    let sqlite = unsafe { rusqlite::ffi::sqlite3_memory_highwater(1) };
    run();
    // SAFETY: as above.
    let sqlite_most = unsafe { rusqlite::ffi::sqlite3_memory_highwater(0) };
    assert!(sqlite_most > 0 && sqlite >= 0, "SQLite does not count its memory");
    MOST.load(Ordering::Relaxed) - before + sqlite_most as usize
}

/// A table of names that are made as they are read.
#[derive(Debug, Default)]
struct Table {
    names: u64,
    version: Arc<AtomicU64>,
}

struct Version {
    names: u64,
    version: u64,
}

fn name(number: u64) -> String {
    format!("folder-{:03}/{number:09}", number % 1_000)
}

impl IndexVersion for Version {
    fn table_id(&self) -> &str {
        "table"
    }

    fn version(&self) -> u64 {
        self.version
    }

    fn each(&self, each: EachName<'_>) -> Result<()> {
        (0..self.names).try_for_each(|number| {
            let segments = vec![Segment { pack: 1, start: number * 64, len: 64, check_sum: 0 }];
            let entry = IndexEntry {
                size: 64,
                mtime_ms: 0,
                encoding: "none".into(),
                checksum: number,
                metadata: None,
                segments,
            };
            each(name(number), Some(entry))
        })
    }

    fn commit(&self) -> Option<u64> {
        Some(self.version)
    }

    fn each_since(&self, _: u64, _: u64, _: EachName<'_>) -> Result<bool> {
        Ok(false)
    }
}

impl Index for Table {
    fn newest(&self) -> Result<Option<Box<dyn IndexVersion>>> {
        let version = self.version.load(Ordering::Relaxed);
        Ok((version > 0).then(|| Box::new(Version { names: self.names, version }) as Box<dyn IndexVersion>))
    }

    fn at(&self, _: i64) -> Result<Option<Box<dyn IndexVersion>>> {
        Ok(None)
    }

    fn change(&self, _: &[(Arc<str>, Option<Arc<IndexEntry>>)], _: Option<u64>) -> Result<IndexChange> {
        let before = self.version.fetch_add(1, Ordering::Relaxed);
        Ok(IndexChange { version: before + 1, commit: Some(before + 1), before: Some(before) })
    }

    fn compact(&self) -> Result<()> {
        Ok(())
    }
}

fn open(folder: &tempfile::TempDir, names: u64) -> Store {
    let place = Location::parse(&format!("{}/store/", folder.path().display()))
        .and_then(|place| place.open(&StorageOptions::default(), &Job::new(JobOptions::default())))
        .unwrap();
    let options = Options { cache_folder: Some(folder.path().join("cache")), ..Options::default() };
    let table = Table { names, version: Arc::new(AtomicU64::new(u64::from(names > 0))) };
    Store::on_packs(place, "packs", Box::new(table), &options).unwrap()
}

/// Opens a store of many names twice, from its table and from what is kept, and looks at all of them.
fn read(names: u64) -> usize {
    let folder = tempfile::tempdir().unwrap();
    most(|| {
        for _ in 0..2 {
            let store = open(&folder, names);
            let mut seen = 0;
            store
                .each("", &mut |_| {
                    seen += 1;
                    Ok(true)
                })
                .unwrap();
            assert_eq!(seen, names);
            for number in (0..names).step_by(499) {
                assert_eq!(store.stat(&name(number)).unwrap().unwrap().checksum, Some(number));
            }
        }
    })
}

/// Puts many names one by one.
fn write(names: u64) -> usize {
    let folder = tempfile::tempdir().unwrap();
    most(|| {
        let store = open(&folder, 0);
        for number in 0..names {
            store.put(&name(number), b"", &PutOptions::default()).unwrap();
        }
        store.flush().unwrap();
        assert_eq!(store.stat(&name(names - 1)).unwrap().unwrap().size, 0);
        assert!(!store.exists(&name(names)).unwrap());
    })
}

#[test]
fn memory_does_not_grow_with_the_names() {
    // A million by LAKERACE_NAMES=1000000.
    let many: u64 = std::env::var("LAKERACE_NAMES").ok().and_then(|text| text.parse().ok()).unwrap_or(500_000);
    for (what, run) in [("read", read as fn(u64) -> usize), ("write", write)] {
        let (some, all) = (run(many / 2), run(many));
        eprintln!("{what}: {some} bytes for {} names, {all} bytes for {many}", many / 2);
        assert!(all < some + (4 << 20), "{what}: {some} bytes for {} names, {all} bytes for {many}", many / 2);
        assert!(all < 160 << 20, "{what}: {all} bytes");
    }
}
