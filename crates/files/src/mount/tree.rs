//! Files and folders by numbers, as kernels want them.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use lakerace_io::wait::lock;
use lakerace_io::{Error, Result};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::file_metadata::now_ms;
use crate::home::{RandomAccessFile, Reads, Stat};
use crate::name::shown;
use crate::store::{Child, children_page, folder_prefix};

/// A callback for messages that a file system can't return.
pub type Tell = Box<dyn Fn(&str) + Send + Sync>;

/// The longest part of a name that a Linux kernel takes from a file system in user space, in bytes.
pub(super) const MAX_PART_BYTES: usize = 1_024;

/// The most messages that are reported: a damaged store may have millions.
const MAX_TOLD: usize = 100;

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A file.
    File,
    /// A folder.
    Folder,
}

/// A file or folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// Its number.
    pub id: u64,
    /// The kind of the node.
    pub kind: NodeKind,
    /// The content's length in bytes; 0 for a folder.
    pub size: u64,
    /// When the content was put, in milliseconds since 1970-01-01 UTC. For a folder, when the tree was made.
    pub mtime_ms: i64,
}

/// An entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// The number of the node.
    pub id: u64,
    /// The kind of the entry.
    pub kind: NodeKind,
    /// Its name in the folder.
    pub name: String,
    /// The position at which a look at the folder continues after it.
    pub next: u64,
}

/// A store, or a snapshot of one, as a tree of files and folders.
///
/// A folder exists while files are in it. Where a name is both a file and a folder, the folder is shown. A name with a
/// part that is empty, `.`, `..`, has a NUL or more than 1,024 bytes is left out. Both cases are reported. Numbers are
/// derived from names, so a node that was forgotten gets the same one again. Memory is used for nodes that were looked
/// up and not yet forgotten, and for open handles: a page of names for a folder, a piece of the content for a file.
pub struct FileTree {
    reads: Arc<dyn Reads>,
    root: String,
    made_ms: i64,
    tell: Tell,
    told: Mutex<HashSet<String>>,
    nodes: Mutex<HashMap<u64, KnownNode>>,
    files: Mutex<HandleTable<Box<dyn RandomAccessFile>>>,
    folders: Mutex<HandleTable<OpenFolder>>,
}

impl std::fmt::Debug for FileTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileTree").field("root", &self.root).finish_non_exhaustive()
    }
}

/// A node that someone has looked up.
struct KnownNode {
    name: Arc<str>,
    kind: NodeKind,
    lookups: u64,
}

/// The open things, by numbers.
struct HandleTable<T> {
    last: u64,
    open: HashMap<u64, Arc<Mutex<T>>>,
}

impl<T> Default for HandleTable<T> {
    fn default() -> Self {
        Self { last: 0, open: HashMap::new() }
    }
}

impl<T> HandleTable<T> {
    fn add(&mut self, value: T) -> u64 {
        self.last += 1;
        self.open.insert(self.last, Arc::new(Mutex::new(value)));
        self.last
    }

    fn get(&self, handle: u64) -> Result<Arc<Mutex<T>>> {
        self.open.get(&handle).cloned().ok_or_else(|| Error::internal("the handle is not open"))
    }
}

/// A folder that is being looked through.
struct OpenFolder {
    id: u64,
    prefix: String,
    page: Vec<(String, NodeKind)>,
    /// How many names are before the page.
    before: u64,
    /// The start of the next page; `None` after the last one.
    next: Option<String>,
}

/// A page of a folder.
struct FolderPage {
    names: Vec<(String, NodeKind)>,
    /// The start of the next look; `None` after the last one.
    next: Option<String>,
}

impl FileTree {
    /// The number of the tree's root.
    pub const ROOT: u64 = 1;

    /// The tree of a folder; of all of the store where it is empty. An error of kind `NotFound` where no files are in a folder that is named.
    pub fn new(reads: Arc<dyn Reads>, folder: &str, tell: Tell) -> Result<Self> {
        let root = folder_prefix(folder);
        if !root.is_empty() && reads.list(&root, "", 1)?.is_empty() {
            return Err(Error::not_found("the folder does not exist").at(shown(folder)));
        }
        let root = root.trim_end_matches('/').to_owned();
        Ok(Self {
            reads,
            root,
            made_ms: now_ms(),
            tell,
            told: Mutex::default(),
            nodes: Mutex::default(),
            files: Mutex::default(),
            folders: Mutex::default(),
        })
    }

    /// Finds a folder's child. Each time, the node is looked up once more, until [`Self::forget`] takes it back.
    pub fn lookup(&self, parent: u64, part: &str) -> Result<Node> {
        let (folder, kind) = self.known(parent)?;
        if kind != NodeKind::Folder || !is_showable(part) {
            return Err(Error::not_found("the file does not exist").at(shown(part)));
        }
        let name = format!("{}{part}", folder_prefix(&folder));
        let node = match self.has_files(&name)? {
            true => self.folder(0),
            false => match self.reads.stat(&name)? {
                Some(stat) => file(0, &stat),
                None => return Err(Error::not_found("the file does not exist").at(shown(&name))),
            },
        };
        let mut nodes = lock(&self.nodes);
        let mut id = id_of(&name, node.kind);
        loop {
            match nodes.entry(id) {
                Entry::Vacant(free) => {
                    free.insert(KnownNode { name: name.into(), kind: node.kind, lookups: 1 });
                    break;
                }
                Entry::Occupied(mut known) if *known.get().name == *name && known.get().kind == node.kind => {
                    known.get_mut().lookups += 1;
                    break;
                }
                // Another name has the number.
                Entry::Occupied(_) => id = next_id(id),
            }
        }
        Ok(Node { id, ..node })
    }

    /// Takes lookups back; without any, the node is forgotten.
    pub fn forget(&self, id: u64, lookups: u64) {
        let mut nodes = lock(&self.nodes);
        if let Some(known) = nodes.get_mut(&id) {
            known.lookups = known.lookups.saturating_sub(lookups);
            if known.lookups == 0 {
                nodes.remove(&id);
            }
        }
    }

    /// How many nodes are known.
    pub fn known_nodes(&self) -> usize {
        lock(&self.nodes).len()
    }

    /// The current state of a node.
    pub fn node(&self, id: u64) -> Result<Node> {
        match self.known(id)? {
            (_, NodeKind::Folder) => Ok(self.folder(id)),
            (name, NodeKind::File) => {
                let stat = self.reads.stat(&name)?;
                stat.map(|stat| file(id, &stat))
                    .ok_or_else(|| Error::not_found("the file does not exist").at(shown(&name)))
            }
        }
    }

    /// Opens a file; gives its handle.
    pub fn open(&self, id: u64) -> Result<u64> {
        let (name, kind) = self.known(id)?;
        if kind == NodeKind::Folder {
            return Err(Error::usage("a folder has no content").at(shown(&name)));
        }
        let content = self.reads.open(&name)?;
        Ok(lock(&self.files).add(content))
    }

    /// Reads `len` bytes at `offset`; fewer only at the content's end.
    pub fn read(&self, handle: u64, offset: u64, len: usize) -> Result<Vec<u8>> {
        let content = lock(&self.files).get(handle)?;
        let mut content = lock(&content);
        let rest = usize::try_from(content.size().saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; len.min(rest)];
        let mut done = 0;
        while done < bytes.len() {
            match content.read_at(offset + done as u64, &mut bytes[done..])? {
                0 => break,
                read => done += read,
            }
        }
        bytes.truncate(done);
        Ok(bytes)
    }

    /// Closes a file.
    pub fn close(&self, handle: u64) {
        lock(&self.files).open.remove(&handle);
    }

    /// Opens a folder; gives its handle.
    pub fn open_folder(&self, id: u64) -> Result<u64> {
        let (name, kind) = self.known(id)?;
        if kind != NodeKind::Folder {
            return Err(Error::usage("a file is not a folder").at(shown(&name)));
        }
        let prefix = folder_prefix(&name);
        let folder = OpenFolder { id, prefix, page: Vec::new(), before: 0, next: Some(String::new()) };
        Ok(lock(&self.folders).add(folder))
    }

    /// Gives a folder's entries from `offset` on to `each`, until that is false: `.`, `..`, then its children in the order of stored names.
    /// An offset is 0 or of an entry's [`FolderEntry::next`].
    pub fn entries(&self, handle: u64, offset: u64, each: &mut dyn FnMut(&FolderEntry) -> bool) -> Result<()> {
        let folder = lock(&self.folders).get(handle)?;
        let mut folder = lock(&folder);
        for (at, name) in (0_u64..).zip([".", ".."]).skip(offset.min(2) as usize) {
            let entry = FolderEntry { id: folder.id, kind: NodeKind::Folder, name: name.to_owned(), next: at + 1 };
            if !each(&entry) {
                return Ok(());
            }
        }
        let mut at = offset.max(2) - 2;
        if at < folder.before {
            (folder.page, folder.before, folder.next) = (Vec::new(), 0, Some(String::new()));
        }
        loop {
            let seen = usize::try_from(at - folder.before).unwrap_or(usize::MAX);
            for (name, kind) in folder.page.iter().skip(seen) {
                at += 1;
                let id = id_of(&format!("{}{name}", folder.prefix), *kind);
                if !each(&FolderEntry { id, kind: *kind, name: name.clone(), next: at + 2 }) {
                    return Ok(());
                }
            }
            let Some(from) = folder.next.take() else { return Ok(()) };
            match self.page(&folder.prefix, &from) {
                Ok(page) => {
                    folder.before += folder.page.len() as u64;
                    (folder.page, folder.next) = (page.names, page.next);
                }
                Err(e) => {
                    folder.next = Some(from);
                    return Err(e);
                }
            }
        }
    }

    /// Closes a folder.
    pub fn close_folder(&self, handle: u64) {
        lock(&self.folders).open.remove(&handle);
    }

    /// Reports a message, once.
    pub fn tell(&self, message: &str) {
        let mut told = lock(&self.told);
        if told.len() < MAX_TOLD && told.insert(message.to_owned()) {
            (self.tell)(message);
            if told.len() == MAX_TOLD {
                (self.tell)("further warnings are not shown");
            }
        }
    }

    /// Looks at a folder from a stored name on.
    fn page(&self, prefix: &str, from: &str) -> Result<FolderPage> {
        let (found, next) = children_page(&*self.reads, prefix, from)?;
        let folders: HashSet<&str> = found.iter().filter(|one| !is_file(one)).map(Child::name).collect();
        let files: HashSet<&str> = found.iter().filter(|one| is_file(one)).map(Child::name).collect();
        let last = found.last().map(|one| if is_file(one) { one.name().to_owned() } else { folder_prefix(one.name()) });
        let mut page = Vec::with_capacity(found.len());
        for child in &found {
            let name = child.name();
            let part = &name[prefix.len()..];
            if !is_showable(part) {
                self.tell(&format!("{}: skipped, because no path can hold this name", shown(name)));
                continue;
            }
            let kind = match child {
                Child::File(_) => {
                    let is_folder = folders.contains(name)
                        // After the page's end, a folder of the name may follow.
                        || next.is_some() && last.as_deref() < Some(&folder_prefix(name)) && self.has_files(name)?;
                    if is_folder {
                        self.tell(&format!(
                            "{}: both a file and a folder have this name; the folder is shown",
                            shown(name)
                        ));
                    }
                    if is_folder { NodeKind::Folder } else { NodeKind::File }
                }
                // The file of the name came before, as this folder.
                Child::Folder(_) if files.contains(name) => continue,
                Child::Folder(_) => {
                    let may_be_before = !from.is_empty() && name <= found[0].name();
                    if may_be_before && self.reads.stat(name)?.is_some() {
                        continue;
                    }
                    NodeKind::Folder
                }
            };
            page.push((part.to_owned(), kind));
        }
        Ok(FolderPage { names: page, next })
    }

    fn has_files(&self, folder: &str) -> Result<bool> {
        Ok(!self.reads.list(&folder_prefix(folder), "", 1)?.is_empty())
    }

    fn known(&self, id: u64) -> Result<(Arc<str>, NodeKind)> {
        if id == Self::ROOT {
            return Ok((self.root.as_str().into(), NodeKind::Folder));
        }
        let nodes = lock(&self.nodes);
        let known = nodes.get(&id).ok_or_else(|| Error::not_found("the node does not exist"))?;
        Ok((Arc::clone(&known.name), known.kind))
    }

    fn folder(&self, id: u64) -> Node {
        Node { id, kind: NodeKind::Folder, size: 0, mtime_ms: self.made_ms }
    }
}

fn is_file(child: &Child) -> bool {
    matches!(child, Child::File(_))
}

fn file(id: u64, stat: &Stat) -> Node {
    Node { id, kind: NodeKind::File, size: stat.size, mtime_ms: stat.mtime_ms }
}

/// Returns true if a path can hold a part of a name.
fn is_showable(part: &str) -> bool {
    !matches!(part, "" | "." | "..") && part.len() <= MAX_PART_BYTES && !part.contains(['/', '\0'])
}

/// The number of a name, above the root's. Few names share one.
fn id_of(name: &str, kind: NodeKind) -> u64 {
    let seed = match kind {
        NodeKind::File => 0,
        NodeKind::Folder => 1,
    };
    xxh3_64_with_seed(name.as_bytes(), seed).max(FileTree::ROOT + 1)
}

fn next_id(id: u64) -> u64 {
    id.wrapping_add(1).max(FileTree::ROOT + 1)
}
