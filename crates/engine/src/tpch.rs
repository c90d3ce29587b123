//! Generated tables by the names that users write.

mod apply;
mod generate;
mod streams;

use std::borrow::Cow;

use lakerace_format::FileFormat;
use lakerace_io::{Error, Job, Result};
use lakerace_tpch::{Spec, TpchSource};

pub use self::apply::{AppliedStream, AppliedTable, ApplyOptions, StreamOutcome, apply};
pub use self::generate::{GeneratedTable, Generation, TableProgress, TpchFormat, TpchOptions, TpchTarget};
use crate::options::ReadOptions;

/// Opens the generated table of this name.
pub(crate) fn open(location: &str, options: &ReadOptions, job: &Job) -> Result<TpchSource> {
    let spec: Spec = location.parse()?;
    options.refuse_version(location, "a generated table has none")?;
    if options.format.is_some() {
        return Err(Error::usage("a format is given, but a generated table has none").at(location));
    }
    Ok(TpchSource::new(spec, job))
}

/// Why a generated table is no target.
pub(crate) fn refused_target(target: &str) -> Error {
    Error::usage("generated tables can't be written to").at(target).advice("name a file, a folder or a Delta table")
}

/// The name of a source whose rows are written to files of a format: TBL files of `lineitem` have whole quantities, as
/// written by dbgen, unless the name says otherwise.
pub(crate) fn for_files<'a>(source: &'a str, format: Option<&FileFormat>) -> Cow<'a, str> {
    match source.parse::<Spec>() {
        Ok(spec) if format.is_some_and(|format| format.is_dbgen) && !source.contains("quantity=") => {
            Cow::Owned(Spec { whole_quantities: true, ..spec }.to_string())
        }
        _ => Cow::Borrowed(source),
    }
}
