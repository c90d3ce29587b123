//! The replacement of `uring.rs` on systems without io_uring.

use std::fs::File;
use std::io;
use std::path::Path;

use bytes::Bytes;

use crate::error::Result;
use crate::file_io::{FileIo, refused};
use crate::job::Job;

/// There is none.
#[derive(Debug)]
pub(super) enum Ring {}

pub(super) fn probe(_file: &File, _wanted: FileIo) -> (FileIo, Option<String>) {
    (FileIo::Sync, Some(refused(&io::ErrorKind::Unsupported.into())))
}

impl Ring {
    pub(super) fn begin(
        _file: &File,
        _target: &Path,
        _position: u64,
        _is_direct: bool,
        _job: &Job,
    ) -> Result<Option<Self>> {
        Ok(None)
    }

    pub(super) fn write(&mut self, _bytes: Bytes) -> Result<()> {
        match *self {}
    }

    pub(super) fn finish(self) -> Result<u64> {
        match self {}
    }
}
