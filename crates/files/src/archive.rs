//! Archives, into a store and out of it, as streams.

mod gzip;
mod tar_files;
mod zip_time;

use std::fs::File;
use std::io::{BufReader, Read, Seek, Write};
use std::str::FromStr;

use lakerace_io::{Error, Result};

use crate::home::{Progress, PutOptions};
use crate::import::{ContentLength, FileImport};
use crate::store::{Store, folder_prefix};
use crate::stream::{ContentReader, flushed, go_on};

/// A kind of archive, by the ending of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveKind {
    /// `.tar`.
    Tar,
    /// `.tar.gz`, `.tgz`.
    TarGzip,
    /// `.tar.zst`, `.tzst`.
    TarZstd,
    /// `.zip`.
    Zip,
}

impl ArchiveKind {
    /// The kind that a file's name ends in; `None` for others.
    pub fn from_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        Some(match () {
            () if ends(&[".tar"]) => Self::Tar,
            () if ends(&[".tar.gz", ".tgz"]) => Self::TarGzip,
            () if ends(&[".tar.zst", ".tzst"]) => Self::TarZstd,
            () if ends(&[".zip"]) => Self::Zip,
            () => return None,
        })
    }

    /// The kind of archive that is written to a file or folder; `None` for a folder.
    ///
    /// # Errors
    /// `Unsupported` for a name with the ending of another kind of archive. With a `/` at its end it is that of a folder.
    pub fn of_target(name: &str) -> Result<Option<Self>> {
        let lower = name.to_ascii_lowercase();
        match (Self::from_name(name), OTHER_ARCHIVES.iter().find(|ending| lower.ends_with(*ending))) {
            (None, Some(ending)) => Err(Error::unsupported(format!("{ending} archives are not written"))
                .advice("choose .tar, .tar.gz, .tar.zst or .zip; the name of a folder may end in /")),
            (kind, _) => Ok(kind),
        }
    }
}

/// Endings of archives that are neither read nor written.
const OTHER_ARCHIVES: [&str; 9] = [".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.lz4", ".7z", ".rar", ".cpio", ".jar"];

impl FromStr for ArchiveKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::from_name(&format!(".{text}")).ok_or_else(|| {
            Error::usage(format!("unknown archive format {text:?}")).advice("choose tar, tar.gz, tar.zst or zip")
        })
    }
}

/// An archive to read from. A zip file has its names at its end.
pub enum Archive<'a> {
    /// A stream that is read once, from the front: not for zip.
    Stream(&'a mut dyn Read),
    /// A file.
    File(std::fs::File),
}

/// Which names are left out of an archive.
type Skip<'a> = &'a dyn Fn(&str) -> bool;

impl Store {
    /// Puts the files of an archive under `folder`; says how many files and bytes these are. A name that is none of a store's, as
    /// `../x`, is an error of kind `Invalid`. A hard link gets the content of its file. Symbolic links, pipes and devices are skipped.
    /// A file of a damaged archive is put whole or not at all; those before it may have been put.
    pub fn import_archive(
        &self,
        archive: Archive<'_>,
        kind: ArchiveKind,
        folder: &str,
        options: &PutOptions,
        progress: Progress<'_>,
    ) -> Result<(u64, u64)> {
        let mut import = FileImport::new(self, folder_prefix(folder), options, progress);
        match (archive, kind) {
            (Archive::File(file), ArchiveKind::Zip) => read_zip(file, &mut import)?,
            (Archive::Stream(_), ArchiveKind::Zip) => {
                return Err(Error::unsupported(
                    "a zip archive can't be read from a stream, because its index is at its end",
                )
                .advice("write it to a file first"));
            }
            (Archive::Stream(stream), kind) => tar_files::read_tar(stream, kind, &mut import)?,
            (Archive::File(file), kind) => tar_files::read_tar(&mut BufReader::new(file), kind, &mut import)?,
        }
        import.end()
    }

    /// Writes the files of `folder` as an archive; says how many files and bytes these are.
    pub fn export_archive(
        &self,
        folder: &str,
        out: &mut dyn Write,
        kind: ArchiveKind,
        progress: Progress<'_>,
    ) -> Result<(u64, u64)> {
        let prefix = folder_prefix(folder);
        self.check_folder(&prefix)?;
        self.write_archive(&prefix, &|_| false, out, kind, progress)
    }

    /// Writes the files whose names begin with `prefix`, without those that are to be skipped.
    pub(crate) fn write_archive(
        &self,
        prefix: &str,
        skip: Skip<'_>,
        out: &mut dyn Write,
        kind: ArchiveKind,
        progress: Progress<'_>,
    ) -> Result<(u64, u64)> {
        match kind {
            ArchiveKind::Tar => self.write_tar(prefix, skip, out, progress),
            ArchiveKind::TarGzip => {
                let mut out = flate2::write::GzEncoder::new(out, flate2::Compression::default());
                let done = self.write_tar(prefix, skip, &mut out, progress)?;
                out.finish().map_err(Error::from)?.flush().map_err(Error::from)?;
                Ok(done)
            }
            ArchiveKind::TarZstd => {
                let mut out = zstd::Encoder::new(out, 3).map_err(Error::from)?;
                out.include_checksum(true).map_err(Error::from)?;
                let done = self.write_tar(prefix, skip, &mut out, progress)?;
                out.finish().map_err(Error::from)?.flush().map_err(Error::from)?;
                Ok(done)
            }
            ArchiveKind::Zip => self.write_zip(prefix, skip, out, progress),
        }
    }

    fn write_tar(
        &self,
        prefix: &str,
        skip: Skip<'_>,
        out: &mut dyn Write,
        progress: Progress<'_>,
    ) -> Result<(u64, u64)> {
        let (mut files, mut bytes) = (0, 0);
        let mut tar = tar::Builder::new(&mut *out);
        self.each(prefix, &mut |stat| {
            if skip(&stat.name) {
                return Ok(true);
            }
            let mut header = tar::Header::new_gnu();
            header.set_size(stat.size);
            header.set_mode(0o644);
            header.set_mtime(stat.mtime_ms.max(0) as u64 / 1000);
            if stat.mtime_ms < 0 {
                // The header has no sign.
                let ms = stat.mtime_ms.unsigned_abs();
                let seconds = format!("-{}.{:03}", ms / 1000, ms % 1000);
                tar.append_pax_extensions([("mtime", seconds.as_bytes())]).map_err(Error::from)?;
            }
            let content = ContentReader::new(self.open_read(&stat.name)?);
            tar.append_data(&mut header, &stat.name[prefix.len()..], content).map_err(Error::from)?;
            files += 1;
            bytes += stat.size;
            go_on(progress(files, bytes)).map(|()| true)
        })?;
        tar.finish().map_err(Error::from)?;
        drop(tar);
        flushed(out)?;
        Ok((files, bytes))
    }

    fn write_zip(
        &self,
        prefix: &str,
        skip: Skip<'_>,
        out: &mut dyn Write,
        progress: Progress<'_>,
    ) -> Result<(u64, u64)> {
        let (mut files, mut bytes) = (0, 0);
        let mut zip = zip::ZipWriter::new_stream(&mut *out);
        self.each(prefix, &mut |stat| {
            if skip(&stat.name) {
                return Ok(true);
            }
            let options = zip::write::FullFileOptions::default()
                .compression_method(zip::CompressionMethod::Deflated)
                .large_file(stat.size > u64::from(u32::MAX));
            let options = zip_time::with_time(options, stat.mtime_ms)?;
            zip.start_file(&stat.name[prefix.len()..], options).map_err(from_zip)?;
            std::io::copy(&mut ContentReader::new(self.open_read(&stat.name)?), &mut zip).map_err(Error::from)?;
            files += 1;
            bytes += stat.size;
            go_on(progress(files, bytes)).map(|()| true)
        })?;
        zip.finish().map_err(from_zip)?;
        flushed(out)?;
        Ok((files, bytes))
    }
}

fn from_zip(error: zip::result::ZipError) -> Error {
    match error {
        zip::result::ZipError::Io(e) => Error::from(e),
        zip::result::ZipError::UnsupportedArchive(what) => Error::unsupported(format!("zip: {what}")),
        other => Error::corrupt(format!("zip: {other}")),
    }
}

/// Returns an error where a file does not start or end like an archive of its kind. Only regular files are checked.
pub fn check_archive(mut file: &File, kind: ArchiveKind) -> Result<()> {
    if !file.metadata().map_err(Error::from)?.is_file() {
        return Ok(());
    }
    match kind {
        ArchiveKind::Zip => zip::ZipArchive::new(BufReader::new(file)).map(drop).map_err(from_zip)?,
        kind => tar_files::check_tar(&mut BufReader::new(file), kind)?,
    }
    file.rewind().map_err(Error::from)
}

fn read_zip(file: File, import: &mut FileImport<'_>) -> Result<()> {
    let mut zip = zip::ZipArchive::new(BufReader::new(file)).map_err(from_zip)?;
    for index in 0..zip.len() {
        let entry = zip.by_index(index).map_err(from_zip)?;
        if !entry.is_file() {
            continue;
        }
        let mut name = entry.name().map_err(from_zip)?.into_owned();
        // Some programs write names so.
        while let Some(rest) = name.strip_prefix("./") {
            name = rest.to_owned();
        }
        let mtime_ms = zip_time::time_of(entry.extra_data_fields(), entry.last_modified());
        let length = ContentLength::Exact(entry.size());
        import.content(&name, length, mtime_ms, &mut DecodedArchive(entry))?;
    }
    Ok(())
}

/// The decoded bytes of an archive. An error of the decoder is damage of the archive.
struct DecodedArchive<R>(R);

impl<R: Read> Read for DecodedArchive<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(out).map_err(|error| {
            let is_own = error.get_ref().is_some_and(|inner| inner.is::<Error>());
            match is_own || error.raw_os_error().is_some() || error.kind() == std::io::ErrorKind::Interrupted {
                true => error,
                false => std::io::Error::other(Error::corrupt("the archive is damaged").because(error)),
            }
        })
    }
}
