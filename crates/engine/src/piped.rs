//! Standard input, named pipes and devices as sources and targets.

use std::sync::Arc;

use lakerace_format::suggestions::listed;
use lakerace_format::{CSV, DetectedContent, FileFormat, PACKED_FRONT_BYTES, is_zip};
use lakerace_io::option::OUTPUT_FORMAT;
use lakerace_io::{Error, Job, Output, Pipe, PipeWriter, Result};

use crate::files::FileSource;
use crate::options::ReadOptions;

/// Bytes at the start that identify a format.
const FRONT_BYTES: usize = 512;

/// The pipe at a location, as a file; `None` where the location is something else. Text and Arrow IPC are read as they
/// arrive, unless they are read several times. Those, and files whose index is at the end, are first copied to a temporary
/// file.
pub(crate) fn find(location: &str, options: &ReadOptions, job: &Job) -> Result<Option<FileSource>> {
    let Some(pipe) = Pipe::open(location, job)? else { return Ok(None) };
    let format = match options.format.or_else(|| FileFormat::of_file_name(location)) {
        Some(format) => format,
        None => format_of_content(&pipe, options, job)?,
    };
    let object = if is_zip(&pipe.peek(FRONT_BYTES, job)?.0) {
        pipe.spooled_object("zip archives are read from their end", job)?
    } else if format.is_streamed && !options.is_read_again {
        pipe.object(job)
    } else if format.is_streamed {
        pipe.spooled_object("it is read more than once", job)?
    } else {
        pipe.spooled_object(&format!("{} files are read from their end", format.name), job)?
    };
    Ok(Some(FileSource::single(format, object)))
}

/// The names of formats: first of those that a terminal shows, then of those that a reader takes from a pipe.
fn names_for_pipes() -> String {
    let mut formats: Vec<_> = FileFormat::all().filter(|format| !format.is_read_only).collect();
    formats.sort_by_key(|format| (!format.is_text(), !format.is_streamed));
    listed(formats.iter().map(|format| format.name.to_owned()), "or")
}

/// The format of a pipe's first bytes. Text that is no JSON is a table: with tabs between its fields, or CSV.
fn format_of_content(pipe: &Arc<Pipe>, options: &ReadOptions, job: &Job) -> Result<&'static FileFormat> {
    let (front, is_whole) = pipe.peek(FRONT_BYTES, job)?;
    let mut content = DetectedContent::detect(&front);
    if content == DetectedContent::Unclear && !is_whole {
        content = DetectedContent::detect(&pipe.peek(PACKED_FRONT_BYTES, job)?.0);
    }
    if content == DetectedContent::Text {
        let (front, is_whole) = pipe.peek(PACKED_FRONT_BYTES, job)?;
        return Ok(DetectedContent::table_of_text(&front, is_whole, &options.csv));
    }
    content.format(None).map_err(|error| error.at(pipe.name()))
}

/// A pipe as a target.
pub(crate) struct StreamTarget {
    writer: PipeWriter,
    name: String,
    format: Option<&'static FileFormat>,
}

impl StreamTarget {
    /// The pipe that a target names; `None` where it names something else.
    pub(crate) fn resolve(target: &str, format: Option<&'static FileFormat>, job: &Job) -> Result<Option<Self>> {
        let Some(writer) = PipeWriter::open(target, job)? else { return Ok(None) };
        let format = FileFormat::of_target(target, format, &OUTPUT_FORMAT).map_err(|error| error.at(target))?;
        Ok(Some(Self { writer, name: target.to_owned(), format }))
    }

    /// The name, as the user wrote it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The format, once it is known.
    pub(crate) fn format(&self) -> Option<&'static FileFormat> {
        self.format
    }

    /// Takes the format of the source, unless one was set.
    pub(crate) fn take_format(&mut self, format: Option<&'static FileFormat>) -> Result<()> {
        self.format = self.format.or(format);
        match self.format {
            None => Err(Error::usage("the format is not given")
                .at(&self.name)
                .advice(format!("set it with {OUTPUT_FORMAT}: {}", names_for_pipes()))),
            Some(format) if format.is_read_only => Err(format.read_only_error().at(&self.name)),
            Some(format) if !format.is_text() && self.writer.is_terminal() => {
                Err(Error::usage("a terminal can't show this format")
                    .at(&self.name)
                    .advice(format!("choose {}, or name a file", OUTPUT_FORMAT.to(CSV.name))))
            }
            Some(_) => Ok(()),
        }
    }

    /// The bytes on their way.
    pub(crate) fn output(self, job: &Job) -> Output {
        Output::stream(Box::new(self.writer), &self.name, job)
    }
}
