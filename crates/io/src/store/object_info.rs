//! An object as a listing shows it.

use object_store::ObjectMeta;
use object_store::path::Path;

/// An object as a listing shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its path in the store.
    pub path: Path,
    /// Its size.
    pub size_bytes: u64,
    /// Its tag, where the store has tags.
    pub e_tag: Option<String>,
    /// The time of its last write, in milliseconds since 1970.
    pub modified: i64,
}

impl From<ObjectMeta> for ObjectInfo {
    fn from(meta: ObjectMeta) -> Self {
        let modified = meta.last_modified.timestamp_millis();
        Self { path: meta.location, size_bytes: meta.size, e_tag: meta.e_tag, modified }
    }
}
