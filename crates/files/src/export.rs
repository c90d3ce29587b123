//! Local files and archives that are written whole.

use std::io::{BufWriter, Write as _};
use std::path::Path;

use bytes::Bytes;
use lakerace_io::{Error, Job, Location, Output, PipeWriter, Result, StorageOptions};

use crate::archive::ArchiveKind;
use crate::home::{IfExists, Progress, Write};
use crate::store::{Store, folder_prefix};

/// Bytes that are gathered before they are written.
const BUFFER_BYTES: usize = 64 << 10;

/// Creates a local file. It appears when it is complete, and atomically replaces a file of the same name. A symbolic
/// link is followed: its target is replaced, not the link. Pipes and devices are written to as the bytes come, for any
/// `if_exists`.
pub fn local_file(path: &Path, if_exists: IfExists, job: &Job) -> Result<Box<dyn Write>> {
    output(path, if_exists, job).map(|out| Box::new(ExportedFile(out)) as _)
}

fn output(path: &Path, if_exists: IfExists, job: &Job) -> Result<Output> {
    let absolute = std::path::absolute(path).map_err(|e| Error::from(e).at(path.display()))?;
    let place =
        absolute.to_str().ok_or_else(|| Error::unsupported("the path is not valid UTF-8").at(path.display()))?;
    if place.ends_with('/') && !absolute.is_dir() {
        return Err(Error::usage("the path is a folder").at(path.display()).advice("name a file"));
    }
    if let Some(pipe) = PipeWriter::open(place, job)? {
        return Ok(Output::stream(Box::new(pipe), place, job));
    }
    let (store, path) = Location::parse(place)?.open(&StorageOptions::default(), job)?;
    let if_exists = match if_exists {
        IfExists::Replace => lakerace_io::IfExists::Replace,
        IfExists::Error => lakerace_io::IfExists::Error,
        IfExists::ReplaceVersion(_) => {
            return Err(Error::usage("a local file has no store version").at(path));
        }
    };
    Output::create(&store, &path, if_exists)
}

struct ExportedFile(Output);

impl Write for ExportedFile {
    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.write(Bytes::copy_from_slice(bytes))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.0.finish()
    }
}

impl std::io::Write for ExportedFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Write::write(self, bytes).map(|()| bytes.len()).map_err(std::io::Error::other)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Store {
    /// Writes the files of `folder` to a local archive, which appears when it is complete; says how many files and bytes these are. Where
    /// the archive is in the store's own directory, it is skipped.
    pub fn export_file(
        &self,
        folder: &str,
        (path, kind): (&Path, ArchiveKind),
        if_exists: IfExists,
        job: &Job,
        progress: Progress<'_>,
    ) -> Result<(u64, u64)> {
        let prefix = folder_prefix(folder);
        self.check_folder(&prefix)?;
        self.refuse_own(path)?;
        let own = self.own().name_of(path);
        let skip = |name: &str| own.as_deref().is_some_and(|own| is_archive(name, own));
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, ExportedFile(output(path, if_exists, job)?));
        let done = self.write_archive(&prefix, &skip, &mut out, kind, progress);
        let done = done.and_then(|done| out.flush().map(|()| done).map_err(Error::from));
        // The buffered bytes of a failed archive are not written, and the file does not appear.
        let (file, _) = out.into_parts();
        let done = done?;
        Box::new(file).finish()?;
        Ok(done)
    }
}

/// Returns true if a name of a directory is that of an archive that goes to it, or a hidden one of a file that is being written next to it.
fn is_archive(name: &str, archive: &str) -> bool {
    let split = |name: &'_ str| name.rsplit_once('/').map_or((0, 0), |(folder, _)| (folder.len(), folder.len() + 1));
    let ((folder, last), (own_folder, _)) = (split(name), split(archive));
    let part = &name[last..];
    let is_hidden = part.starts_with('.') && part.contains(".lakerace-") && part.ends_with(".tmp");
    name == archive || (is_hidden && name[..folder] == archive[..own_folder])
}
