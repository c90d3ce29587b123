//! Zip archives of one file, found by the archive's directory and read from its front.

use std::io::{BufRead, Read, Seek, SeekFrom};
use std::ops::Range;

use bytes::Bytes;
use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use lakerace_io::option::INPUT_FORMAT;
use lakerace_io::{Error, Object, Result};
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use crate::file_format::FileFormat;

/// Bytes of a request for the directory of an archive.
const STEP_BYTES: u64 = 64 << 10;

/// Names of files that an error shows.
const SHOWN_NAMES: usize = 5;

/// The single file of an archive: the range of its packed bytes, and the properties of its text.
#[derive(Debug, Clone)]
pub(crate) struct ZipMember {
    /// The range of the packed bytes in the archive.
    pub packed: Range<u64>,
    method: CompressionMethod,
    size_bytes: u64,
    crc32: u32,
}

impl ZipMember {
    /// Reads the directory of an archive, which is in its last bytes, and the file's own header. Folders, and the
    /// entries that macOS adds for a file, are ignored. `format` is the name of the format that the file is read as.
    ///
    /// # Errors
    /// `Corrupt` for a damaged or incomplete archive; `Unsupported` for an archive of no file or of several, and for a
    /// file that is encrypted or compressed by another method than deflate; `Invalid` for a file whose name says another
    /// format than the archive's name.
    pub fn find(object: &Object, format: &str) -> Result<Self> {
        let url = object.url();
        let size_bytes = object.size_bytes.unwrap_or(0);
        let reader = ObjectReader { object: object.clone(), size_bytes, at: 0, chunk: 0..0, bytes: Bytes::new() };
        let mut archive = ZipArchive::new(reader).map_err(|error| damaged(&error).at(&url))?;
        let mut files = Vec::new();
        for index in 0..archive.len() {
            let file = archive.by_index_raw(index).map_err(|error| damaged(&error).at(&url))?;
            let name = String::from_utf8_lossy(file.name_raw()).into_owned();
            let base = name.rsplit('/').next().unwrap_or(&name);
            if !file.is_dir() && !name.starts_with("__MACOSX/") && base != ".DS_Store" {
                files.push((index, name));
            }
        }
        let [(index, name)] = files.as_slice() else {
            return Err(not_one(&files).at(&url));
        };
        let place = format!("{url}, {name:?} in it");
        refuse_other_format(object, format, name).map_err(|error| error.at(&place))?;
        let file = archive.by_index_raw(*index).map_err(|error| damaged(&error).at(&place))?;
        if file.encrypted() {
            let error = Error::unsupported("the file in the zip archive is encrypted");
            return Err(error.at(place).advice("extract it first, for example with: unzip"));
        }
        let method = file.compression();
        if !matches!(method, CompressionMethod::Stored | CompressionMethod::Deflated) {
            return Err(Error::unsupported(format!("the file in the zip archive is compressed with {method}"))
                .at(place)
                .advice("extract it first, for example with: unzip -p"));
        }
        let start =
            file.data_start().ok_or_else(|| Error::corrupt("the zip archive has no data for its file").at(&url))?;
        let (packed_bytes, size_bytes, crc32) = (file.compressed_size(), file.size(), file.crc32());
        Ok(Self { packed: start..start + packed_bytes, method, size_bytes, crc32 })
    }

    /// The text of the file, from its packed bytes. It ends with an error if it does not match the archive's directory.
    pub fn decompress(&self, packed: impl BufRead + Send + 'static) -> Box<dyn Read + Send> {
        let (left_bytes, crc32) = (self.size_bytes, self.crc32);
        match self.method {
            CompressionMethod::Stored => Box::new(CheckedMember { reader: packed, crc: Crc::new(), left_bytes, crc32 }),
            _ => {
                let reader = DeflateDecoder::new(packed);
                Box::new(CheckedMember { reader, crc: Crc::new(), left_bytes, crc32 })
            }
        }
    }
}

/// Fails if the archive's name says the format that is read, and the name of its file says another one.
fn refuse_other_format(object: &Object, format: &str, member: &str) -> Result<()> {
    let said = |name: &str| FileFormat::of_file_name(name);
    let archive = object.path.as_ref();
    let (Some(of_archive), Some(of_member)) = (said(archive), said(member)) else { return Ok(()) };
    // A format that was chosen by an option applies to an archive of any name.
    if of_archive.name != format || of_member.name == format {
        return Ok(());
    }
    let message =
        format!("the archive's name says {}, and that of the file in it {}", of_archive.title, of_member.title);
    Err(Error::invalid(message).advice(format!(
        "read it by {}, or give the archive an ending such as .{}.zip",
        INPUT_FORMAT.to(of_member.name),
        of_member.endings.first().unwrap_or(&of_member.name)
    )))
}

fn not_one(files: &[(usize, String)]) -> Error {
    if files.is_empty() {
        return Error::unsupported("the zip archive has no file").advice("put one file into it");
    }
    let mut names: Vec<&str> = files.iter().take(SHOWN_NAMES).map(|(_, name)| name.as_str()).collect();
    let more = files.len().saturating_sub(SHOWN_NAMES);
    let rest = format!("{more} more");
    if more > 0 {
        names.push(&rest);
    }
    Error::unsupported(format!("the zip archive has {} files: {}", files.len(), names.join(", ")))
        .advice("extract it into a folder and read that, or put each file into a separate archive")
}

fn damaged(error: &ZipError) -> Error {
    let cause = match error {
        ZipError::Io(io) => io.get_ref(),
        _ => None,
    };
    match cause.and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(inner) => inner.clone(),
        None => Error::corrupt(format!("the zip archive is truncated or damaged: {error}"))
            .advice("download or create the file again"),
    }
}

/// A file's text, whose size and checksum are checked when it ends.
struct CheckedMember<R> {
    reader: R,
    crc: Crc,
    left_bytes: u64,
    crc32: u32,
}

impl<R: Read> Read for CheckedMember<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let read = self.reader.read(buffer)?;
        self.crc.update(&buffer[..read]);
        let Some(left_bytes) = self.left_bytes.checked_sub(read as u64) else {
            return Err(std::io::Error::other("it is longer than the archive states"));
        };
        self.left_bytes = left_bytes;
        match read {
            0 if left_bytes > 0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
            0 if self.crc.sum() != self.crc32 => Err(std::io::Error::other("its checksum is wrong")),
            _ => Ok(read),
        }
    }
}

/// The bytes of a stored file, at any position.
struct ObjectReader {
    object: Object,
    size_bytes: u64,
    at: u64,
    /// The range of the last bytes that were read.
    chunk: Range<u64>,
    bytes: Bytes,
}

impl Read for ObjectReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at >= self.size_bytes {
            return Ok(0);
        }
        if !self.chunk.contains(&self.at) {
            // The directory is searched for from the end, and then read in order.
            let start = self.at / STEP_BYTES * STEP_BYTES;
            self.chunk = start..self.size_bytes.min(start + STEP_BYTES);
            self.bytes = self.object.read_range(self.chunk.clone()).map_err(std::io::Error::other)?;
        }
        let ready = &self.bytes[(self.at - self.chunk.start) as usize..];
        let read = ready.len().min(buffer.len());
        buffer[..read].copy_from_slice(&ready[..read]);
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for ObjectReader {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        let wanted = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.size_bytes.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = wanted.ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}
