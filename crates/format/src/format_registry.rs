//! The file formats that there are: those of this crate, and those that a program adds.

use std::str::FromStr;
use std::sync::{PoisonError, RwLock};

use lakerace_io::option::OptionDefinition;
use lakerace_io::{Error, Result};

use crate::arrow_ipc::ARROW_IPC;
use crate::avro::AVRO;
use crate::csv::{CSV, TBL, TSV};
use crate::excel::EXCEL;
use crate::file_format::FileFormat;
use crate::json_lines::{JSON, JSON_LINES};
use crate::options::{Codec, WriteOptions};
use crate::orc::ORC;
use crate::parquet::PARQUET;
use crate::text::FileCompression;

/// The formats of this crate.
const BUILT_IN: [&FileFormat; 10] = [&PARQUET, &ORC, &CSV, &TSV, &TBL, &ARROW_IPC, &AVRO, &JSON_LINES, &JSON, &EXCEL];

static ADDED: RwLock<Vec<&FileFormat>> = RwLock::new(Vec::new());

/// Endings of compressed text that is written, with the codecs that they stand for.
const PACKED_ENDINGS: [(Codec, &str); 2] = [(Codec::Gzip, "gz"), (Codec::Zstd, "zst")];

impl FileFormat {
    /// Every format: those of this crate, then those that were added, in their order.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        let added = ADDED.read().unwrap_or_else(PoisonError::into_inner).clone();
        BUILT_IN.into_iter().chain(added)
    }

    /// Registers a format for all jobs of the process: its names, its file endings and the marks of its files.
    ///
    /// # Errors
    /// `Usage` for a name, an ending or a mark that another format has, and for an ending that no file name can have.
    pub fn register(format: &'static Self) -> Result<()> {
        let is_odd = |ending: &&&str| ending.contains(|c: char| c == '.' || c.is_uppercase());
        if let Some(ending) = format.endings.iter().find(is_odd) {
            return Err(Error::usage(format!("{ending:?} can't be the ending of a file name"))
                .at(format.name)
                .advice("give endings in lowercase and without a dot"));
        }
        let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
        for known in BUILT_IN.iter().chain(added.iter()) {
            if known.name == format.name {
                return Err(Error::usage(format!("there is already a file format {:?}", format.name))
                    .advice("register each format once, with its own name"));
            }
            if let Some(ending) = format.endings.iter().find(|ending| known.endings.contains(ending)) {
                return Err(Error::usage(format!("the ending .{ending} belongs to the file format {}", known.name))
                    .at(format.name)
                    .advice("give the format its own endings"));
            }
            if format.marks.iter().any(|mark| known.has_mark(mark) || known.marks.iter().any(|m| m.starts_with(mark))) {
                return Err(Error::usage(format!("files of the file format {} start with the same bytes", known.name))
                    .at(format.name)
                    .advice("give the format its own marks, or none"));
            }
        }
        added.push(format);
        Ok(())
    }

    /// The format of this name, in small letters.
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::all().find(|format| format.name == name)
    }

    /// The format that the name of a file says.
    pub fn of_file_name(name: &str) -> Option<&'static Self> {
        let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
        let (mut stem, mut ending) = name.rsplit_once('.')?;
        let is_packed = FileCompression::of_ending(ending).is_some();
        if is_packed {
            (stem, ending) = stem.rsplit_once('.')?;
        }
        // A name that consists only of an ending is that of a hidden file.
        let is_named = |format: &&Self| !stem.is_empty() && format.endings.contains(&ending);
        Self::all().find(is_named).filter(|format| format.is_text() || !is_packed)
    }

    /// The format of a file that is written under a name: the given one, or the one that the name says.
    ///
    /// # Errors
    /// `Usage` for a name that says another format than the given one: readers believe names.
    pub fn of_target(
        name: &str,
        given: Option<&'static Self>,
        option: &'static OptionDefinition,
    ) -> Result<Option<&'static Self>> {
        match (given, Self::of_file_name(name)) {
            (Some(given), Some(named)) if !named.reads_files_of(given) => {
                let ending = given.endings.first().unwrap_or(&given.name);
                let message =
                    format!("the name has an ending of {}, but {} is given", named.title, option.to(given.name));
                Err(Error::usage(message).advice(format!("omit {option}, or choose a name that ends in .{ending}")))
            }
            (given, named) => Ok(given.or(named)),
        }
    }

    /// Returns true if a reader of this format also reads files of the other one: that of JSON takes JSON lines.
    fn reads_files_of(&self, other: &Self) -> bool {
        *self == *other || *self == JSON && *other == JSON_LINES
    }

    /// The format of a file, by its first bytes; for text, these follow a byte order mark and blanks.
    pub(crate) fn of_front(front: &[u8], is_text: bool) -> Option<&'static Self> {
        Self::all().find(|format| format.is_text() == is_text && format.has_mark(front))
    }

    /// The ending of new files of a folder, without its first dot.
    pub fn ending(&self, options: &WriteOptions) -> String {
        let ending = self.endings.first().unwrap_or(&self.name);
        let codec = options.compression.map(|compression| compression.codec).filter(|_| self.is_text());
        match PACKED_ENDINGS.iter().find(|(packed, _)| Some(*packed) == codec) {
            Some((_, packed)) => format!("{ending}.{packed}"),
            None => (*ending).to_owned(),
        }
    }
}

impl FromStr for &'static FileFormat {
    type Err = Error;

    /// A format by its name, in small or capital letters.
    fn from_str(text: &str) -> Result<Self> {
        FileFormat::all().find(|format| text.eq_ignore_ascii_case(format.name)).ok_or_else(|| {
            let names: Vec<&str> = FileFormat::all().map(|format| format.name).collect();
            Error::usage(format!("unknown format {text:?}")).advice(format!("choose one of {}", names.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests;
