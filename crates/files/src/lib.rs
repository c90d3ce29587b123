//! Many small files in one place.
//!
//! A [`Store`] keeps named contents in SQLite, in memory, in a directory, or in packs on an object store. Each of
//! these is a [`Home`]. All homes have the same operations and the same checks of names.
//!
//! ```
//! use lakerace_files::{Options, PutOptions, Store};
//! let folder = tempfile::tempdir()?;
//! let store = Store::open(folder.path().join("pack.db").to_str().unwrap_or_default(), Options::default())?;
//! store.put("a/b.txt", b"hello", &PutOptions::default())?;
//! assert_eq!(store.get("a/b.txt")?, b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod archive;
mod content_copy;
mod directory;
mod encode;
mod export;
mod file_metadata;
mod fork;
mod home;
mod import;
mod index;
mod memory;
mod mount;
mod name;
mod options;
mod own;
mod packs;
mod random;
mod sqlite;
mod sqlite_error;
mod store;
mod stream;
mod tree;

pub use archive::{Archive, ArchiveKind, check_archive};
pub use encode::{SecretKey, Transform};
pub use export::local_file;
pub use home::{
    CompactOutcome, ContentSink, Damage, Each, FileVersion, Home, IfExists, PendingAppend, Progress, PutOptions,
    RandomAccessFile, Reads, Stat, VerifyOutcome, Write, WriteBatch,
};
pub use index::{EachName, Index, IndexChange, IndexEntry, IndexVersion, Segment};
pub use mount::{FileTree, FolderEntry, Mount, MountOptions, Node, NodeKind, Tell};
pub use name::{Glob, check_name};
pub use options::{Codec, Compression, Durability, Options};
pub use store::{Child, Store};
