//! Files in a table's folder that no version names.

use std::collections::HashSet;

use lakerace_io::Result;
use lakerace_io::object_store::path::Path;

use crate::maintain::vacuum::{found, of_version, tombstones};
use crate::snapshot::Snapshot;

/// The number and bytes of files that neither the entries, nor the checkpoint, nor the version name. Killed writers
/// leave such files, and running writers have some.
pub(super) fn count(snapshot: &Snapshot, named: &HashSet<Path>) -> Result<(u64, u64)> {
    let mut known = of_version(snapshot)?;
    known.extend(tombstones(snapshot, i64::MIN)?);
    let orphans =
        found(snapshot)?.into_iter().filter(|info| !named.contains(&info.path) && !known.contains(&info.path));
    Ok(orphans.fold((0, 0), |(count, bytes), info| (count + 1, bytes + info.size_bytes)))
}
