//! The permissions of files and folders that are replaced.

use std::fs::{File, Metadata, Permissions};
use std::io::Result;
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;

/// The mode and the owner of a file or folder that another one replaces.
#[derive(Debug, Clone, Copy)]
pub struct KeptPermissions {
    mode: u32,
    uid: u32,
    gid: u32,
}

impl KeptPermissions {
    /// The permissions of the file at a path; `None` if there is none.
    pub fn read(target: &Path) -> Option<Self> {
        std::fs::metadata(target).ok().map(|metadata| Self::from(&metadata))
    }

    /// Gives them to a file or folder. The owner stays unchanged if this user may not change it. If the group stays
    /// unchanged, that group gets only the rights of all others.
    pub fn give_to(self, file: &File) -> Result<()> {
        let now = file.metadata()?;
        if (now.uid(), now.gid()) != (self.uid, self.gid) && fchown(file, Some(self.uid), Some(self.gid)).is_err() {
            // A user may give a file to those groups that he is in.
            let _ = fchown(file, None, Some(self.gid));
        }
        let now = file.metadata()?;
        let keeps_group = now.gid() == self.gid;
        let everybody = (self.mode & 0o7) << 3;
        let mode = if keeps_group { self.mode } else { self.mode & (!0o070 | everybody) };
        // Some file systems have one mode for all files, and refuse to be asked.
        if now.mode() & 0o7777 == mode { Ok(()) } else { file.set_permissions(Permissions::from_mode(mode)) }
    }
}

impl From<&Metadata> for KeptPermissions {
    fn from(metadata: &Metadata) -> Self {
        // New contents have no more rights than their reader: no bits that change the user.
        Self { mode: metadata.mode() & 0o777, uid: metadata.uid(), gid: metadata.gid() }
    }
}
