//! The files of a tar archive.

use std::collections::{HashMap, HashSet};
use std::io::{BufReader, Read};

use lakerace_io::{Error, Result};
use tar::{Entry, EntryType};
use xxhash_rust::xxh3::xxh3_64;

use super::gzip::GzipReader;
use super::{ArchiveKind, DecodedArchive};
use crate::import::{ContentLength, FileImport};
use crate::name::shown;

/// Reads the files of a tar archive, and the archive to its end, where its compression has a checksum.
pub(super) fn read_tar(stream: &mut dyn Read, kind: ArchiveKind, import: &mut FileImport<'_>) -> Result<()> {
    let mut tar = tar::Archive::new(decoded(stream, kind)?);
    let mut seen = SeenNames::default();
    for entry in tar.entries().map_err(Error::from)? {
        seen.entry(&mut entry.map_err(damaged)?, import)?;
    }
    if matches!(kind, ArchiveKind::TarGzip | ArchiveKind::TarZstd) {
        drain(&mut tar.into_inner(), import)?;
    }
    Ok(())
}

/// Returns an error where a stream does not start like a tar archive.
pub(super) fn check_tar(stream: &mut dyn Read, kind: ArchiveKind) -> Result<()> {
    let mut tar = tar::Archive::new(decoded(stream, kind)?);
    let first = tar.entries().map_err(Error::from)?.next();
    first.transpose().map(drop).map_err(damaged)
}

fn decoded<'a>(stream: &'a mut dyn Read, kind: ArchiveKind) -> Result<DecodedArchive<Box<dyn Read + 'a>>> {
    Ok(DecodedArchive(match kind {
        ArchiveKind::Tar | ArchiveKind::Zip => Box::new(stream),
        ArchiveKind::TarGzip => Box::new(GzipReader::new(BufReader::new(stream))),
        ArchiveKind::TarZstd => Box::new(zstd::Decoder::new(stream).map_err(Error::from)?),
    }))
}

fn damaged(error: std::io::Error) -> Error {
    match error.get_ref().is_some_and(|inner| inner.is::<Error>()) {
        true => Error::from(error),
        false => Error::corrupt("the file is not a tar archive, or is damaged").because(error),
    }
}

fn drain(rest: &mut dyn Read, import: &mut FileImport<'_>) -> Result<()> {
    let mut buffer = vec![0; 64 << 10];
    while rest.read(&mut buffer).map_err(Error::from)? > 0 {
        import.go_on()?;
    }
    Ok(())
}

/// The names of an archive so far, by their hashes: hard links lead to them.
#[derive(Default)]
struct SeenNames {
    /// Files, and how many transactions of the import were ended before each.
    files: HashMap<u64, u64>,
    /// Entries that are no files, and are skipped.
    others: HashSet<u64>,
}

impl SeenNames {
    fn entry<R: Read>(&mut self, entry: &mut Entry<'_, R>, import: &mut FileImport<'_>) -> Result<()> {
        let kind = entry.header().entry_type();
        if is_no_file(kind) {
            self.others.insert(xxh3_64(below(&entry.path_bytes())));
            return Ok(());
        }
        let name = text(&entry.path_bytes())?;
        // Old archives have folders of this form.
        if kind.is_file() && name.ends_with('/') {
            return Ok(());
        }
        let mtime_ms = mtime_ms(entry)?;
        if kind.is_hard_link() {
            return self.link(&name, entry, mtime_ms, import);
        }
        if !kind.is_file() && !kind.is_contiguous() && !kind.is_gnu_sparse() {
            let byte = char::from(kind.as_byte());
            return Err(Error::unsupported(format!("an entry of the unknown type {byte:?}")).at(shown(&name)));
        }
        let (batches, length) = (import.batches(), ContentLength::Exact(entry.size()));
        import.content(&name, length, mtime_ms, entry)?;
        self.files.insert(xxh3_64(name.as_bytes()), batches);
        Ok(())
    }

    /// A second name of a file of this archive: the content comes again.
    fn link<R: Read>(
        &mut self,
        name: &str,
        entry: &Entry<'_, R>,
        mtime_ms: Option<i64>,
        import: &mut FileImport<'_>,
    ) -> Result<()> {
        let of = text(&entry.link_name_bytes().unwrap_or_default())?;
        let (hash, of_hash) = (xxh3_64(name.as_bytes()), xxh3_64(of.as_bytes()));
        if self.others.contains(&of_hash) {
            self.others.insert(hash);
            return Ok(());
        }
        let Some(batches) = self.files.get(&of_hash).copied() else {
            let message = format!("a hard link to {}, which does not precede it in the archive", shown(&of));
            return Err(Error::invalid(message).at(shown(name)).advice("put both into one archive"));
        };
        // A file that was added twice is a link to itself.
        if hash != of_hash {
            let now = import.again(name, &of, batches, mtime_ms)?;
            self.files.insert(hash, now);
        }
        Ok(())
    }
}

/// Returns true if an entry is skipped, as an import of a directory does: folders, links, devices, pipes and entries
/// that describe the archive.
fn is_no_file(kind: EntryType) -> bool {
    /// A folder with the names in it, a solaris header, and the name of a volume.
    const DESCRIBING: [u8; 3] = *b"DXV";
    kind.is_dir()
        || kind.is_symlink()
        || kind.is_fifo()
        || kind.is_character_special()
        || kind.is_block_special()
        || kind.is_pax_global_extensions()
        || DESCRIBING.contains(&kind.as_byte())
}

/// A name without the `./` that many programs write in front.
fn below(mut name: &[u8]) -> &[u8] {
    while let Some(rest) = name.strip_prefix(b"./") {
        name = rest;
    }
    name
}

fn text(name: &[u8]) -> Result<String> {
    String::from_utf8(below(name).to_vec())
        .map_err(|_| Error::invalid("a name in the archive is not valid UTF-8, which a store requires"))
}

/// The time of an entry, from its PAX record where it has one. Sparse files of PAX have a map in front of the content.
fn mtime_ms<R: Read>(entry: &mut Entry<'_, R>) -> Result<Option<i64>> {
    let name = shown(&String::from_utf8_lossy(&entry.path_bytes()));
    let seconds = entry.header().mtime().ok().map(u64::cast_signed);
    let mut found = seconds.and_then(|seconds| seconds.checked_mul(1000));
    for record in entry.pax_extensions().map_err(Error::from)?.into_iter().flatten().flatten() {
        if record.key_bytes().starts_with(b"GNU.sparse.") {
            return Err(Error::unsupported("a sparse file of the PAX format, which is not supported")
                .at(name)
                .advice("create the archive with tar --format=gnu, or without --sparse"));
        }
        if record.key_bytes() == b"mtime" {
            found = record.value().ok().and_then(decimal_ms).or(found);
        }
    }
    Ok(found)
}

/// Seconds as a decimal number, in milliseconds.
fn decimal_ms(text: &str) -> Option<i64> {
    let (digits, is_negative) = text.strip_prefix('-').map_or((text, false), |digits| (digits, true));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let millis = fraction
        .bytes()
        .chain(*b"000")
        .take(3)
        .try_fold(0_i64, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))?;
    let ms = whole.parse::<u64>().ok().and_then(|whole| i64::try_from(whole).ok())?;
    let ms = ms.checked_mul(1000)?.checked_add(millis)?;
    Some(if is_negative { -ms } else { ms })
}
