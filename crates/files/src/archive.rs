//! Archives, into a store and out of it, as streams.

use std::io::{Read, Write};
use std::str::FromStr;

use lakerace_io::{Error, Result};

use crate::store::folder_prefix;
use crate::tree::{ContentReader, Import, flushed, go_on};
use crate::{Progress, PutOptions, Store};

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
    pub fn of(name: &str) -> Option<Self> {
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
}

impl FromStr for ArchiveKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::of(&format!(".{text}")).ok_or_else(|| {
            Error::usage(format!("unknown kind of archive {text:?}")).advice("known are tar, tar.gz, tar.zst and zip")
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

impl Store {
    /// Puts the files of an archive under `folder`; says how many files and bytes these are. A name that is none of a store's, as
    /// `../x`, is an error of kind `Invalid`.
    pub fn import_archive(
        &self,
        archive: Archive<'_>,
        kind: ArchiveKind,
        folder: &str,
        options: &PutOptions,
        progress: Progress<'_>,
    ) -> Result<(u64, u64)> {
        let mut import = Import::new(self, folder_prefix(folder), options, progress);
        match (archive, kind) {
            (Archive::File(file), ArchiveKind::Zip) => read_zip(file, &mut import)?,
            (Archive::Stream(_), ArchiveKind::Zip) => {
                return Err(Error::unsupported("a zip archive can't be read from a stream: its names are at its end")
                    .advice("write it to a file first"));
            }
            (Archive::Stream(stream), kind) => read_tar(stream, kind, &mut import)?,
            (Archive::File(file), kind) => read_tar(&mut std::io::BufReader::new(file), kind, &mut import)?,
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
        match kind {
            ArchiveKind::Tar => self.write_tar(folder, out, progress),
            ArchiveKind::TarGzip => {
                let mut out = flate2::write::GzEncoder::new(out, flate2::Compression::default());
                let done = self.write_tar(folder, &mut out, progress)?;
                out.finish().map_err(Error::from)?.flush().map_err(Error::from)?;
                Ok(done)
            }
            ArchiveKind::TarZstd => {
                let mut out = zstd::Encoder::new(out, 3).map_err(Error::from)?;
                let done = self.write_tar(folder, &mut out, progress)?;
                out.finish().map_err(Error::from)?.flush().map_err(Error::from)?;
                Ok(done)
            }
            ArchiveKind::Zip => self.write_zip(folder, out, progress),
        }
    }

    fn write_tar(&self, folder: &str, out: &mut dyn Write, progress: Progress<'_>) -> Result<(u64, u64)> {
        let prefix = folder_prefix(folder);
        let (mut files, mut bytes) = (0, 0);
        let mut tar = tar::Builder::new(&mut *out);
        self.each(&prefix, &mut |stat| {
            let mut header = tar::Header::new_gnu();
            header.set_size(stat.size);
            header.set_mode(0o644);
            header.set_mtime(stat.mtime_ms.max(0) as u64 / 1000);
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

    fn write_zip(&self, folder: &str, out: &mut dyn Write, progress: Progress<'_>) -> Result<(u64, u64)> {
        let prefix = folder_prefix(folder);
        let (mut files, mut bytes) = (0, 0);
        let mut zip = zip::ZipWriter::new_stream(&mut *out);
        self.each(&prefix, &mut |stat| {
            let options = zip::write::SimpleFileOptions::default()
                .compression_method(zip::CompressionMethod::Deflated)
                .large_file(stat.size > u64::from(u32::MAX));
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

fn read_tar(stream: &mut dyn Read, kind: ArchiveKind, import: &mut Import<'_>) -> Result<()> {
    let decoded: Box<dyn Read + '_> = match kind {
        ArchiveKind::Tar | ArchiveKind::Zip => Box::new(stream),
        ArchiveKind::TarGzip => Box::new(flate2::read::MultiGzDecoder::new(stream)),
        ArchiveKind::TarZstd => Box::new(zstd::Decoder::new(stream).map_err(Error::from)?),
    };
    let mut tar = tar::Archive::new(decoded);
    for entry in tar.entries().map_err(Error::from)? {
        let mut entry = entry.map_err(|e| Error::corrupt(format!("no tar archive: {e}")))?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = String::from_utf8(entry.path_bytes().into_owned())
            .map_err(|_| Error::invalid("a name of the archive is not UTF-8, as a store takes them"))?;
        // Many programs write names so.
        let name = name.strip_prefix("./").unwrap_or(&name).to_owned();
        let mtime = entry.header().mtime().ok().and_then(|seconds| i64::try_from(seconds).ok());
        let size = entry.size();
        import.content(&name, size, mtime.map(|seconds| seconds * 1000), &mut entry)?;
    }
    Ok(())
}

fn read_zip(file: std::fs::File, import: &mut Import<'_>) -> Result<()> {
    let mut zip = zip::ZipArchive::new(std::io::BufReader::new(file)).map_err(from_zip)?;
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(from_zip)?;
        if !entry.is_file() {
            continue;
        }
        let name = entry.name().map_err(from_zip)?.into_owned();
        // What the archive says may be wrong: it only decides how memory is used.
        let size = entry.size();
        import.content(&name, size, None, &mut entry)?;
    }
    Ok(())
}
