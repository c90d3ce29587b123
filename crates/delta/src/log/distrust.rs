//! Damaged files of a log that are left out when it is read.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard};

use lakerace_io::object_store::path::Path;
use lakerace_io::option::{REPAIR, VERIFY_TABLE};
use lakerace_io::wait::lock;
use lakerace_io::{Error, ErrorKind};

/// The file that names the last checkpoint.
pub(super) const HINT: &str = "_delta_log/_last_checkpoint";

/// The next step of a user whose log is damaged; `place` is the location of the table.
pub(crate) fn damaged_advice(place: &str) -> String {
    let verify = VERIFY_TABLE.on(place);
    format!(
        "{verify} shows all damage, and {REPAIR} repairs what can be proven; otherwise restore the file from a backup"
    )
}

/// The files of a log that are left out.
#[derive(Debug, Default)]
pub(crate) struct DamagedLogFiles(Mutex<LeftOut>);

#[derive(Debug, Default, Clone)]
pub(super) struct LeftOut {
    /// `_last_checkpoint`.
    pub hint: bool,
    /// Versions of checkpoints.
    pub checkpoints: HashSet<u64>,
    /// True if a checkpoint, or a part of one, could not be read.
    saw_damage: bool,
}

impl DamagedLogFiles {
    pub(super) fn lock(&self) -> MutexGuard<'_, LeftOut> {
        lock(&self.0)
    }

    /// Returns true if a file, by its path in the table's folder, is left out.
    pub fn hides(&self, path: &Path) -> bool {
        let left_out = self.lock();
        (left_out.hint && is_hint(path)) || checkpoint_version(path).is_some_and(|v| left_out.checkpoints.contains(&v))
    }

    /// Leaves out `_last_checkpoint` and the checkpoints of these versions.
    pub fn leave_out(&self, checkpoints: &[u64]) {
        let mut left_out = self.lock();
        left_out.hint = true;
        left_out.checkpoints.extend(checkpoints);
    }

    /// Notes that a checkpoint or a part of one can't be read.
    pub fn note_damage(&self) {
        self.lock().saw_damage = true;
    }

    /// Returns true if a checkpoint, or a part of one, could not be read since this was asked.
    pub fn take_damage(&self) -> bool {
        std::mem::take(&mut self.lock().saw_damage)
    }
}

/// Returns true if this is `_last_checkpoint`.
pub(crate) fn is_hint(path: &Path) -> bool {
    path.as_ref() == HINT
}

/// Returns true if a file in the folder of the log has this name.
pub(crate) fn is_hint_name(name: &str) -> bool {
    HINT.rsplit_once('/').is_some_and(|(_, hint)| hint == name)
}

/// The version of a checkpoint, or of a part of one, by its path in the table's folder.
pub(super) fn checkpoint_version(path: &Path) -> Option<u64> {
    let (digits, _) = path.as_ref().strip_prefix("_delta_log/")?.split_once(".checkpoint.")?;
    digits.parse().ok()
}

/// Returns true if an error may be one of `_last_checkpoint` or a checkpoint.
pub(crate) fn may_be_damage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::NotFound | ErrorKind::Invalid | ErrorKind::Internal)
}
