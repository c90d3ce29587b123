//! Files for data that does not fit into memory, which no other user can read.

use std::fs::{File, Permissions};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;

use crate::error::{Error, Result};
use crate::open_files::open_or_make_room;

/// Makes a new file in the system's folder for temporary files (`TMPDIR`), to be read and written. It has no name, so
/// no one else can open it, and it is deleted with its last handle, even if the process is killed. If the file system
/// does not support files without a name, the name is removed immediately. Its mode is 0600.
pub fn private_file() -> Result<File> {
    let private = |file: File| file.set_permissions(Permissions::from_mode(0o600)).map(|()| file);
    open_or_make_room(tempfile::tempfile)
        .and_then(private)
        .map_err(|error| Error::from(error).at(std::env::temp_dir().display()))
}

/// Returns the disk space of a part of a file. A file system that can't do that keeps it until the file is deleted.
pub fn release(file: &File, bytes: Range<u64>) {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let _ = fallocate(file, flags, bytes.start, bytes.end.saturating_sub(bytes.start));
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (file, bytes);
}

#[cfg(test)]
mod tests;
