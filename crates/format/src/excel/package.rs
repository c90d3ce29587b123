//! The zip archive of a workbook, whose parts are checked before they are unpacked into memory.

use std::io::{BufReader, Cursor, Read, Write};

use bytes::Bytes;
use lakerace_io::{Error, Job, Result};
use quick_xml::events::Event;
use zip::read::ZipFile;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::odd_numbers::{PLAIN_BYTES, has_odd_numbers, may_be_odd, mend};
use super::part_encoding::{PartEncoding, START_BYTES, decoded};
use super::xml_parts::{broken_part, xml_reader};

/// The first bytes of workbooks of Excel 2003, and of encrypted ones.
pub(super) const COMPOUND_FILE_MAGIC: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";

/// Advice for files that another program stores in a form that is read.
const SAVE_AS: &str = "open it in Excel or LibreOffice, and save it as .xlsx";

/// Bytes that are unpacked between two looks at the job.
const STEP_BYTES: usize = 256 << 10;

/// The least bytes of a text in the part of shared texts: `<si/>`.
const MIN_TEXT_BYTES: u64 = 5;

/// The limits of a workbook, which bound the memory of a read.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackageLimits {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Unpacked bytes of a sheet, or of a part of unknown use.
    pub sheet_bytes: u64,
    /// Unpacked bytes of the texts that sheets share: a text takes several times as many.
    pub text_bytes: u64,
    /// Unpacked bytes of styles and lists of parts.
    pub list_bytes: u64,
    /// Unpacked bytes of all parts.
    pub total_bytes: u64,
    /// Bytes of cell styles in memory.
    pub style_bytes: u64,
}

impl Default for PackageLimits {
    fn default() -> Self {
        Self {
            file_bytes: 1 << 30,
            sheet_bytes: 1 << 30,
            text_bytes: 256 << 20,
            list_bytes: 16 << 20,
            total_bytes: 4 << 30,
            style_bytes: 512 << 20,
        }
    }
}

impl PackageLimits {
    /// The limit of a part, by its name.
    fn of_part(&self, name: &str) -> u64 {
        let name = name.to_ascii_lowercase();
        let is_list = [".rels", "workbook.xml", "styles.xml"].iter().any(|ending| name.ends_with(ending));
        if name.ends_with("sharedstrings.xml") {
            self.text_bytes
        } else if is_list || name.contains("theme") {
            self.list_bytes
        } else {
            self.sheet_bytes
        }
    }
}

/// Bytes before a step that are looked at again, as they may have a cut number.
const CARRIED_BYTES: usize = PLAIN_BYTES + 8;

/// A workbook whose parts can be read.
#[derive(Debug)]
pub(super) struct CheckedPackage {
    /// The archive: that of the file, or one whose parts are written in the form that calamine reads.
    pub bytes: Bytes,
    /// A part may have formulas.
    pub has_formulas: bool,
}

/// Checks that the bytes are a workbook whose parts can be unpacked within the limits.
///
/// # Errors
/// `Unsupported` for other formats, for encryption, for unknown encodings and beyond the limits; `Corrupt` for damage.
pub(super) fn check_package(bytes: &Bytes, limits: &PackageLimits, job: &Job) -> Result<CheckedPackage> {
    if bytes.starts_with(COMPOUND_FILE_MAGIC) {
        return Err(compound_file(bytes));
    }
    if bytes.is_empty() {
        return Err(Error::invalid("the file is empty"));
    }
    if !bytes.starts_with(b"PK") {
        return Err(Error::invalid("it is not an Excel workbook, which is a zip archive")
            .advice(format!("check its format; if Excel knows it, {SAVE_AS}")));
    }
    let (mut archive, mut parts) = check_parts(bytes, limits, job)?;
    let mut bytes = bytes.clone();
    if parts.iter().any(|part| part.encoding.is_some()) {
        bytes = decode_parts(&mut archive, &parts)?;
        // Nothing was looked for in the encoded texts.
        (archive, parts) = check_parts(&bytes, limits, job)?;
    }
    for index in 0..archive.len() {
        check_lists(&mut archive, index, limits)?;
    }
    for (index, part) in parts.iter_mut().enumerate().filter(|(_, part)| part.has_odd_numbers) {
        let xml = archive.by_index(index).map_err(|error| damaged(&error))?;
        part.has_odd_numbers = has_odd_numbers(BufReader::new(xml), job)?;
    }
    if parts.iter().any(|part| part.has_odd_numbers) {
        let is_odd = |index: usize| parts.get(index).is_some_and(|part| part.has_odd_numbers);
        let mend_part =
            |name: &str, part: PackagePart<'_>, out: &mut PackageWriter| mend(name, BufReader::new(part), out, job);
        bytes = rewritten(&mut archive, is_odd, mend_part)?;
    }
    Ok(CheckedPackage { bytes, has_formulas: parts.iter().any(|part| part.has_formulas) })
}

/// The archive, and the findings of its parts in its order.
fn check_parts(bytes: &Bytes, limits: &PackageLimits, job: &Job) -> Result<(Archive, Vec<PartContent>)> {
    let mut archive = ZipArchive::new(Cursor::new(bytes.clone())).map_err(|error| damaged(&error))?;
    refuse_others(&archive)?;
    refuse_large(&mut archive, limits)?;
    let mut step = vec![0; STEP_BYTES];
    let parts =
        (0..archive.len()).map(|index| check_part(&mut archive, index, &mut step, job)).collect::<Result<_>>()?;
    Ok((archive, parts))
}

type PackagePart<'a> = ZipFile<'a, Cursor<Bytes>>;
type PackageWriter = ZipWriter<Cursor<Vec<u8>>>;

/// The archive with other contents of some parts, which `write` gives.
fn rewritten(
    archive: &mut Archive,
    is_changed: impl Fn(usize) -> bool,
    write: impl Fn(&str, PackagePart<'_>, &mut PackageWriter) -> Result<()>,
) -> Result<Bytes> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options =
        SimpleFileOptions::default().compression_method(CompressionMethod::Deflated).compression_level(Some(1));
    for index in 0..archive.len() {
        if is_changed(index) {
            let part = archive.by_index(index).map_err(|error| damaged(&error))?;
            let name = String::from_utf8_lossy(part.name_raw()).into_owned();
            writer.start_file(name.as_str(), options).map_err(|error| damaged(&error))?;
            write(&name, part, &mut writer)?;
        } else {
            let part = archive.by_index_raw(index).map_err(|error| damaged(&error))?;
            writer.raw_copy_file(part).map_err(|error| damaged(&error))?;
        }
    }
    Ok(Bytes::from(writer.finish().map_err(|error| damaged(&error))?.into_inner()))
}

/// The archive with all parts in UTF-8.
fn decode_parts(archive: &mut Archive, parts: &[PartContent]) -> Result<Bytes> {
    let encoding_of = |index: usize| parts.get(index).and_then(|part| part.encoding.as_ref());
    let decode = |name: &str, mut part: PackagePart<'_>, out: &mut PackageWriter| {
        let broken = |error: std::io::Error| broken_part(name, &error.to_string());
        let mut bytes = Vec::new();
        // Its size was compared with the stated one.
        part.read_to_end(&mut bytes).map_err(broken)?;
        let encoding = match PartEncoding::of_start(&bytes[..bytes.len().min(START_BYTES)]) {
            Some(PartEncoding::Known(encoding)) => encoding,
            Some(PartEncoding::Unknown(encoding)) => {
                return Err(
                    Error::unsupported(format!("its part {name:?} has the encoding {encoding:?}")).advice(SAVE_AS)
                );
            }
            None => encoding_rs::UTF_8,
        };
        let text = decoded(&bytes, encoding)
            .ok_or_else(|| broken_part(name, &format!("it is not in its encoding {}", encoding.name())))?;
        out.write_all(text.as_bytes()).map_err(broken)
    };
    rewritten(archive, |index| encoding_of(index).is_some(), decode)
}

/// The error of an encrypted workbook, or of one of Excel 2003.
fn compound_file(bytes: &[u8]) -> Error {
    let encrypted: Vec<u8> = "EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes).collect();
    if memchr::memmem::find(bytes, &encrypted).is_some() {
        return Error::unsupported("the workbook is encrypted by a password")
            .advice("open it in Excel, and save it without a password");
    }
    Error::unsupported("it is a document of Excel 2003 or older (.xls), which is not supported").advice(SAVE_AS)
}

type Archive = ZipArchive<Cursor<Bytes>>;

/// Refuses archives that are no workbook, and forms of workbooks that are not read.
fn refuse_others(archive: &Archive) -> Result<()> {
    let names: Vec<String> = archive.file_names().flatten().map(|name| name.to_ascii_lowercase()).collect();
    let ends = |ending: &str| names.iter().any(|name| name.ends_with(ending));
    if ends("workbook.xml") {
        return Ok(());
    }
    if ends("workbook.bin") {
        return Err(Error::unsupported("it is a binary workbook (.xlsb), which is not supported").advice(SAVE_AS));
    }
    if names.iter().any(|name| name == "mimetype") && ends("content.xml") {
        return Err(Error::unsupported("it is an OpenDocument file (.ods), which is not supported").advice(SAVE_AS));
    }
    Err(Error::invalid("it is a zip archive, but no Excel workbook: it has no xl/workbook.xml")
        .advice("check the file, and the name of its format"))
}

/// Refuses parts that state sizes beyond the limits. Nothing is unpacked.
fn refuse_large(archive: &mut Archive, limits: &PackageLimits) -> Result<()> {
    let mut total_bytes = 0u64;
    for index in 0..archive.len() {
        let part = archive.by_index_raw(index).map_err(|error| damaged(&error))?;
        let name = String::from_utf8_lossy(part.name_raw());
        if part.encrypted() {
            return Err(
                Error::unsupported(format!("its part {name:?} is encrypted")).advice("save it without a password")
            );
        }
        let limit = limits.of_part(&name);
        if part.size() > limit {
            return Err(too_large(&format!("its part {name:?}"), limit));
        }
        total_bytes = total_bytes.saturating_add(part.size());
    }
    if total_bytes > limits.total_bytes {
        return Err(too_large("the workbook", limits.total_bytes));
    }
    Ok(())
}

/// The error of a workbook, or of a part of one, that memory is not spent on.
pub(super) fn too_large(what: &str, limit: u64) -> Error {
    let limit = if limit >> 20 > 0 { format!("{} MiB", limit >> 20) } else { format!("{limit} bytes") };
    Error::unsupported(format!("{what} has more than {limit} when unpacked, and a workbook is read in memory"))
        .advice("save the sheet as CSV, or divide it into several workbooks")
}

/// Findings of the check of a part.
#[derive(Debug)]
struct PartContent {
    /// It may have formulas.
    has_formulas: bool,
    /// It may have numbers in other forms than usual.
    has_odd_numbers: bool,
    /// Its encoding, if it is not UTF-8.
    encoding: Option<PartEncoding>,
}

/// Unpacks a part, and compares its size and checksum with those that the archive states.
fn check_part(archive: &mut Archive, index: usize, step: &mut [u8], job: &Job) -> Result<PartContent> {
    let mut part = archive.by_index(index).map_err(|error| damaged(&error))?;
    let name = String::from_utf8_lossy(part.name_raw()).into_owned();
    let stated_bytes = part.size();
    let (mut seen_bytes, mut carried, mut start) = (0u64, 0, Vec::new());
    let (mut has_formulas, mut has_odd_numbers) = (false, false);
    loop {
        job.check()?;
        let read = part.read(&mut step[carried..]).map_err(|error| broken_part(&name, &error.to_string()))?;
        if read == 0 {
            break;
        }
        seen_bytes += read as u64;
        if seen_bytes > stated_bytes {
            return Err(broken_part(&name, "it is longer than the archive states"));
        }
        let filled = carried + read;
        if start.len() < START_BYTES {
            start.extend(step[carried..filled].iter().take(START_BYTES - start.len()));
        }
        has_formulas = has_formulas || has_formula(&step[..filled]);
        has_odd_numbers = has_odd_numbers || may_be_odd(&step[..filled]);
        // A tag or a number may be cut.
        carried = filled.min(CARRIED_BYTES);
        step.copy_within(filled - carried..filled, 0);
    }
    if seen_bytes < stated_bytes {
        return Err(broken_part(&name, "it is shorter than the archive states"));
    }
    let lower = name.to_ascii_lowercase();
    let is_xml = lower.ends_with(".xml") || lower.ends_with(".rels");
    // Others' data has any encoding, and is not read.
    let encoding = PartEncoding::of_start(&start).filter(|_| is_xml && !lower.starts_with("customxml/"));
    Ok(PartContent { has_formulas, has_odd_numbers: has_odd_numbers && is_xml, encoding })
}

/// Returns true if a text may have the start of an element `f`, with a prefix or without one.
fn has_formula(xml: &[u8]) -> bool {
    memchr::memmem::find(xml, b"<f").is_some() || memchr::memmem::find(xml, b":f").is_some()
}

/// Refuses counts that would reserve memory for values that are not there, and styles that would be copied too often.
fn check_lists(archive: &mut Archive, index: usize, limits: &PackageLimits) -> Result<()> {
    let part = archive.by_index(index).map_err(|error| damaged(&error))?;
    let name = String::from_utf8_lossy(part.name_raw()).into_owned();
    let bytes = part.size();
    let lower = name.to_ascii_lowercase();
    if lower.ends_with("sharedstrings.xml") {
        let texts = stated_texts(BufReader::new(part));
        if texts.is_some_and(|texts| texts > bytes / MIN_TEXT_BYTES + 1) {
            return Err(broken_part(&name, "it states more texts than it can have"));
        }
    } else if lower.ends_with("styles.xml") && style_bytes(BufReader::new(part)) > limits.style_bytes {
        return Err(Error::unsupported(format!("its part {name:?} has too many styles of cells, or too long names"))
            .advice("copy the values of the sheet into a new workbook"));
    }
    Ok(())
}

/// The number of texts that the part of shared texts states, by which memory is reserved.
fn stated_texts(xml: impl std::io::BufRead) -> Option<u64> {
    let mut reader = xml_reader(xml);
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer).ok()? {
            Event::Start(element) if element.local_name().as_ref() == "sst" => {
                let count = element.try_get_attribute("uniqueCount").ok()??;
                let digits: String = count.value.chars().filter(char::is_ascii_digit).collect();
                // More digits than a number has are too many texts, too.
                return Some(if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u64::MAX) });
            }
            Event::Eof => return None,
            _ => {}
        }
    }
}

/// Approximate bytes of cell styles in memory: each has a copy of its font and its format.
fn style_bytes(xml: impl std::io::BufRead) -> u64 {
    /// Bytes of a style without its texts.
    const STYLE_BYTES: u64 = 1024;
    let mut reader = xml_reader(xml);
    let mut buffer = Vec::new();
    let (mut styles, mut longest) = (0u64, 0u64);
    loop {
        buffer.clear();
        match reader.read_event_into(&mut buffer) {
            Ok(Event::Start(element)) => {
                longest = longest.max(element.attributes_raw().len() as u64);
                styles += u64::from(element.local_name().as_ref() == "xf");
            }
            // The reader of the workbook reports the error.
            Ok(Event::Eof) | Err(_) => return styles.saturating_mul(STYLE_BYTES + longest),
            Ok(_) => {}
        }
    }
}

fn damaged(error: &ZipError) -> Error {
    Error::corrupt(format!("the workbook is truncated or damaged: {error}")).advice("download or create the file again")
}

#[cfg(test)]
mod tests;
