//! Stores as trees of files and folders, and mounted where the system allows it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test may panic")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use lakerace_files::{
    ContentSink, Each, FileTree, FolderEntry, Mount, MountOptions, NodeKind, Options, PutOptions, RandomAccessFile,
    Reads, Stat, Store, Tell,
};
use lakerace_io::{Error, ErrorKind, Result};

/// Any names at all, as a damaged or foreign store may have them. A content is its size in zeroes.
#[derive(Debug, Default)]
struct Names {
    sizes: BTreeMap<String, u64>,
    most: Arc<AtomicUsize>,
}

impl Names {
    fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { sizes: names.into_iter().map(|name| (name.to_owned(), name.len() as u64)).collect(), ..Self::default() }
    }

    fn properties(name: &str, size: u64) -> Stat {
        let encoding = "none".to_owned();
        Stat { name: name.to_owned(), size, mtime_ms: 1_700_000_000_000, checksum: None, encoding, metadata: None }
    }
}

struct Zeroes(u64, Arc<AtomicUsize>);

impl RandomAccessFile for Zeroes {
    fn size(&self) -> u64 {
        self.0
    }

    fn read_at(&mut self, offset: u64, out: &mut [u8]) -> Result<usize> {
        self.1.fetch_max(out.len(), Ordering::Relaxed);
        // Less than asked for, as a home may give it.
        let len = out.len().min(self.0.saturating_sub(offset) as usize).min(100_000);
        out[..len].fill(0);
        Ok(len)
    }
}

impl Reads for Names {
    fn get(&self, _: &str, _: &mut dyn ContentSink) -> Result<usize> {
        panic!("a whole content was read");
    }

    fn get_many(&self, _: &[&str], _: Each<'_>) -> Result<()> {
        panic!("whole contents were read");
    }

    fn stat(&self, name: &str) -> Result<Option<Stat>> {
        Ok(self.sizes.get(name).map(|size| Self::properties(name, *size)))
    }

    fn list(&self, prefix: &str, from: &str, limit: usize) -> Result<Vec<Stat>> {
        let from = prefix.max(from).to_owned();
        let found = self.sizes.range(from..).take_while(|(name, _)| name.starts_with(prefix)).take(limit);
        Ok(found.map(|(name, size)| Self::properties(name, *size)).collect())
    }

    fn open(&self, name: &str) -> Result<Box<dyn RandomAccessFile>> {
        let size = self.sizes.get(name).ok_or_else(|| Error::not_found("gone"))?;
        Ok(Box::new(Zeroes(*size, Arc::clone(&self.most))))
    }
}

fn told() -> (Arc<Mutex<Vec<String>>>, Tell) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&told);
    (told, Box::new(move |message: &str| into.lock().unwrap().push(message.to_owned())))
}

fn tree(reads: impl Reads + 'static) -> FileTree {
    FileTree::new(Arc::new(reads), "", told().1).unwrap()
}

/// All of a folder's entries, `step` at a look.
fn entries(tree: &FileTree, id: u64, step: usize) -> Vec<FolderEntry> {
    let handle = tree.open_folder(id).unwrap();
    let mut found: Vec<FolderEntry> = Vec::new();
    loop {
        let (mut seen, offset) = (0, found.last().map_or(0, |last| last.next));
        let mut each = |entry: &FolderEntry| {
            // The one that does not fit comes again.
            let fits = seen < step;
            if fits {
                found.push(entry.clone());
            }
            seen += 1;
            fits
        };
        tree.entries(handle, offset, &mut each).unwrap();
        if seen <= step {
            break;
        }
    }
    // A look from the start gives the same.
    let mut again = Vec::new();
    let mut each = |entry: &FolderEntry| {
        again.push(entry.clone());
        true
    };
    tree.entries(handle, 0, &mut each).unwrap();
    assert_eq!(again, found);
    tree.close_folder(handle);
    assert!(tree.entries(handle, 0, &mut |_| true).is_err());
    found
}

/// Names of a folder's children and whether they are folders. Each is looked up.
fn children(tree: &FileTree, id: u64, step: usize) -> Vec<(String, bool)> {
    let entries = entries(tree, id, step);
    assert_eq!([entries[0].name.as_str(), entries[1].name.as_str()], [".", ".."]);
    let children = entries[2..].iter().map(|entry| {
        let node = tree.lookup(id, &entry.name).unwrap();
        assert_eq!((node.id, node.kind), (entry.id, entry.kind), "{}", entry.name);
        assert_eq!(tree.node(node.id).unwrap(), node);
        tree.forget(node.id, 1);
        (entry.name.clone(), entry.kind == NodeKind::Folder)
    });
    children.collect()
}

#[test]
fn names_that_no_path_can_hold_are_left_out_and_told() {
    let long = "n".repeat(1_025);
    let longest = "m".repeat(1_024);
    let bad = ["a//b", "..", "../up", "nul\0", "e/", "e/.", "e/f/", "/rooted", &long];
    let good = ["a.b", "a/x", "a", "e/f/g", "line\nend", &longest];
    let (messages, tell) = told();
    let tree = FileTree::new(Arc::new(Names::from_names(bad.into_iter().chain(good))), "", tell).unwrap();
    let mut found = children(&tree, FileTree::ROOT, 3);
    found.sort();
    let expected = [("a", true), ("a.b", false), ("e", true), ("line\nend", false), (longest.as_str(), false)];
    assert_eq!(found, expected.map(|(name, is_folder)| (name.to_owned(), is_folder)));
    let messages_of = |name: &str| messages.lock().unwrap().iter().filter(|one| one.starts_with(name)).count();
    assert_eq!(messages_of("a: both a file and a folder"), 1);
    assert_eq!(messages_of("..: skipped"), 1);
    let a = tree.lookup(FileTree::ROOT, "a").unwrap();
    assert_eq!((a.kind, a.size), (NodeKind::Folder, 0));
    assert_eq!(children(&tree, a.id, 100), [("x".to_owned(), false)]);
    for part in ["..", ".", "", "nul\0", "a/x", "gone", &long] {
        let error = tree.lookup(FileTree::ROOT, part).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{part}");
    }
    let e = tree.lookup(FileTree::ROOT, "e").unwrap();
    assert_eq!(children(&tree, e.id, 1), [("f".to_owned(), true)]);
}

#[test]
fn large_folders_are_read_page_by_page() {
    let mut names = BTreeSet::new();
    let mut expected = BTreeMap::new();
    for i in 0..4_321_u32 {
        let name = format!("{:05}", i.wrapping_mul(7_919) % 100_000);
        // Files, folders, and names that are both, with others between the two.
        let (is_file, is_folder) = (i % 3 != 0, i % 3 == 0 || i % 7 == 0);
        if is_file {
            names.insert(format!("d/{name}"));
        }
        if is_folder {
            names.extend((0..i % 5 + 1).map(|k| format!("d/{name}/{k}")));
            names.extend((0..i % 4).map(|k| format!("d/{name}-{k}")));
            expected.extend((0..i % 4).map(|k| (format!("{name}-{k}"), false)));
        }
        expected.insert(name, is_folder);
    }
    names.insert("c".to_owned());
    names.insert("e".to_owned());
    for step in [1, 999, 1_000, 100_000] {
        let tree = tree(Names::from_names(names.iter().map(String::as_str)));
        let folder = tree.lookup(FileTree::ROOT, "d").unwrap();
        let found = children(&tree, folder.id, step);
        assert_eq!(found.len(), expected.len());
        assert_eq!(found.into_iter().collect::<BTreeMap<_, _>>(), expected);
        assert_eq!(tree.known_nodes(), 1);
        tree.forget(folder.id, 1);
        assert_eq!(tree.known_nodes(), 0);
    }
}

#[test]
fn a_folder_can_be_the_root() {
    let store = Store::open("memory:", Options::default()).unwrap();
    store.put("in/deep/x", b"1", &PutOptions::default()).unwrap();
    store.put("out", b"2", &PutOptions::default()).unwrap();
    let store = Arc::new(store);
    let tree = FileTree::new(Arc::clone(&store) as Arc<dyn Reads>, "in/", told().1).unwrap();
    assert_eq!(children(&tree, FileTree::ROOT, 10), [("deep".to_owned(), true)]);
    assert_eq!(FileTree::new(store, "in/deep/x", told().1).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn contents_are_read_by_ranges() {
    let mut names = Names::default();
    names.sizes.insert("big".to_owned(), 3 << 30);
    let most = Arc::clone(&names.most);
    let tree = tree(names);
    let node = tree.lookup(FileTree::ROOT, "big").unwrap();
    assert_eq!((node.size, node.mtime_ms), (3 << 30, 1_700_000_000_000));
    let handle = tree.open(node.id).unwrap();
    assert_eq!(tree.read(handle, 1 << 30, 131_072).unwrap(), vec![0; 131_072]);
    assert_eq!(tree.read(handle, (3 << 30) - 5, 131_072).unwrap().len(), 5);
    assert!(tree.read(handle, 4 << 30, 131_072).unwrap().is_empty());
    assert!(most.load(Ordering::Relaxed) <= 131_072);
    tree.close(handle);
    assert!(tree.read(handle, 0, 1).is_err());
    assert!(tree.open(FileTree::ROOT).is_err() && tree.open_folder(node.id).is_err());
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

#[test]
fn homes_give_what_was_put() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for location in [path("pack.db"), format!("{}/", path("files")), "memory:".to_owned()] {
        let store = Store::open(&location, Options::default()).unwrap();
        let put = |name: &str, data: &[u8]| store.put(name, data, &PutOptions::default()).unwrap();
        let big = bytes(9_000_001);
        put("d/big", &big);
        put("d/empty", b"");
        let store = Arc::new(store);
        let tree = FileTree::new(Arc::clone(&store) as Arc<dyn Reads>, "", told().1).unwrap();
        let folder = tree.lookup(FileTree::ROOT, "d").unwrap();
        assert_eq!(children(&tree, folder.id, 1).len(), 2, "{location}");
        let node = tree.lookup(folder.id, "big").unwrap();
        assert_eq!(node.size, big.len() as u64);
        let handle = tree.open(node.id).unwrap();
        for start in [0, 8_999_000, 4_194_000, 1_048_575, 3] {
            let end = (start + 131_072).min(big.len());
            assert_eq!(tree.read(handle, start as u64, 131_072).unwrap(), &big[start..end], "{location} at {start}");
        }
        let empty = tree.lookup(folder.id, "empty").unwrap();
        let handle = tree.open(empty.id).unwrap();
        assert!(tree.read(handle, 0, 4_096).unwrap().is_empty());
        store.remove("d/empty").unwrap();
        assert_eq!(tree.node(empty.id).unwrap_err().kind(), ErrorKind::NotFound);
    }
}

#[test]
fn directories_that_cannot_be_mounted_on_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["files", "files/below", "full", "full/below"] {
        std::fs::create_dir(path(name)).unwrap();
    }
    std::fs::write(path("file"), b"").unwrap();
    let store = Store::open(&format!("dir:{}", path("files").display()), Options::default()).unwrap();
    let store = Arc::new(store);
    for (name, kind, problem) in [
        ("absent", ErrorKind::NotFound, "create the directory first"),
        ("file", ErrorKind::Invalid, "not a directory"),
        ("full", ErrorKind::Invalid, "not empty"),
        ("files/below", ErrorKind::Invalid, "inside of the store"),
    ] {
        let options = MountOptions::default();
        let error = Mount::new(Arc::clone(&store), &path(name), &options, told().1).unwrap_err();
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(error.to_string().contains(problem), "{error}");
    }
}

#[test]
fn a_mount_shows_the_files_or_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("pack.db").to_str().unwrap(), Options::default()).unwrap();
    let big = bytes(5_000_000);
    store.put("d/big", &big, &PutOptions::default()).unwrap();
    for i in 0..2_500 {
        store.put(&format!("many/{i:04}"), format!("{i}").as_bytes(), &PutOptions::default()).unwrap();
    }
    let directory = folder.path().join("mounted");
    std::fs::create_dir(&directory).unwrap();
    let mounted = Mount::new(Arc::new(store), &directory, &MountOptions::default(), told().1);
    let has_device = OpenOptions::new().read(true).write(true).open("/dev/fuse").is_ok();
    let mounted = match mounted {
        Ok(mounted) => mounted,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.to_string().contains("export"), "{error}");
            // Root with the device is refused only where it may not mount anything.
            assert!(!has_device || error.to_string().contains("refuses the mount"), "{error}");
            return;
        }
    };
    assert!(has_device && !mounted.is_ended());
    assert_eq!(std::fs::read(directory.join("d/big")).unwrap(), big);
    assert_eq!(std::fs::read_dir(directory.join("many")).unwrap().count(), 2_500);
    for i in (0..2_500).step_by(97) {
        assert_eq!(std::fs::read(directory.join(format!("many/{i:04}"))).unwrap(), format!("{i}").as_bytes());
    }
    assert_eq!(std::fs::metadata(directory.join("d/big")).unwrap().len(), big.len() as u64);
    assert_eq!(std::fs::read(directory.join("gone")).unwrap_err().kind(), std::io::ErrorKind::NotFound);
    std::fs::write(directory.join("new"), b"").unwrap_err();
    // It goes although a file of it is open.
    let open = std::fs::File::open(directory.join("d/big")).unwrap();
    mounted.unmount().unwrap();
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 0);
    drop(open);
}
