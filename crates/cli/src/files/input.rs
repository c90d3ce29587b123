//! Sources of `put` and `import`, checked before there is a store for them.

use std::fs::File;
use std::io::Read;

use lakerace::{Error, Result};
use lakerace_files::{ArchiveKind, check_archive, check_name};
use lakerace_io::STANDARD_STREAM;
use serde::de::IgnoredAny;

use super::WHOLE_BYTES;
use crate::args::{ImportArgs, PutArgs};

/// A content to put.
pub(super) struct PutSource {
    place: String,
    rest: Box<dyn Read>,
    /// Its first bytes, as many as are put together.
    pub(super) first: Vec<u8>,
}

impl PutSource {
    pub(super) fn open(args: &PutArgs) -> Result<Self> {
        check_name(&args.name)?;
        if let Some(Err(e)) = args.metadata.as_deref().map(serde_json::from_str::<IgnoredAny>) {
            return Err(Error::invalid("the metadata is not JSON").because(e));
        }
        let is_standard = args.source.as_os_str() == STANDARD_STREAM;
        let place = if is_standard { "standard input".to_owned() } else { args.source.display().to_string() };
        let rest: Box<dyn Read> = match is_standard {
            true => Box::new(std::io::stdin().lock()),
            false => opened(args).map_err(|e| Error::from(e).at(&place))?,
        };
        let mut source = Self { place, rest, first: Vec::new() };
        let read = source.rest.by_ref().take(WHOLE_BYTES as u64).read_to_end(&mut source.first);
        read.map_err(|e| Error::from(e).at(&source.place))?;
        Ok(source)
    }

    /// Reads the part after the first bytes.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        self.rest.read(buffer).map_err(|e| Error::from(e).at(&self.place))
    }
}

/// Opens a file at its current length, so that reading a growing file ends. A length of 0 is not trusted: some of the
/// kernel's files report it although they have contents.
fn opened(args: &PutArgs) -> std::io::Result<Box<dyn Read>> {
    let file = File::open(&args.source)?;
    let found = file.metadata()?;
    Ok(match found.is_file() && found.len() > 0 {
        true => Box::new(file.take(found.len())),
        false => Box::new(file),
    })
}

/// Files to import.
pub(super) enum ImportSource {
    Directory,
    Archive(File, ArchiveKind),
}

impl ImportSource {
    pub(super) fn open(args: &ImportArgs) -> Result<Self> {
        let (place, folder) = (args.source.display(), args.folder.trim_end_matches('/'));
        if !folder.is_empty() {
            check_name(folder)?;
        }
        let found = std::fs::metadata(&args.source).map_err(|e| Error::from(e).at(&place))?;
        if found.is_dir() {
            std::fs::read_dir(&args.source).map_err(|e| Error::from(e).at(&place))?;
            return Ok(Self::Directory);
        }
        let Some(kind) = args.source.to_str().and_then(ArchiveKind::from_name) else {
            return Err(Error::usage("the source is neither a directory nor an archive")
                .at(place)
                .advice("archives end in .tar, .tar.gz, .tar.zst or .zip; put a single file with `files put`"));
        };
        let file = File::open(&args.source).map_err(|e| Error::from(e).at(&place))?;
        check_archive(&file, kind).map_err(|e| e.at(place))?;
        Ok(Self::Archive(file, kind))
    }
}
