//! Generated tables by the names that users give them.

mod apply;
mod generate;
mod streams;

use std::borrow::Cow;

use lakerace_format::Format;
use lakerace_io::{Error, Job, Result};
use lakerace_tpch::{SCHEME, Spec, TpchSource};

pub use self::apply::{AppliedStream, AppliedTable, ApplyOptions, StreamOutcome, apply};
pub use self::generate::{GeneratedTable, Generation, TableProgress, TpchFormat, TpchOptions, TpchTarget};
use crate::ReadOptions;

/// The generated table that a name stands for; `None` where it stands for something else.
pub(crate) fn open(location: &str, options: &ReadOptions, job: &Job) -> Result<Option<TpchSource>> {
    if !is_named(location) {
        return Ok(None);
    }
    let spec: Spec = location.parse()?;
    if options.at.is_some() {
        return Err(Error::unsupported("a version is asked for, and a generated table has no versions").at(location));
    }
    if options.format.is_some() {
        return Err(Error::usage("a format is given, and a generated table has none").at(location));
    }
    Ok(Some(TpchSource::new(spec, job)))
}

/// Fails where a target is the name of a generated table.
pub(crate) fn refuse_target(target: &str) -> Result<()> {
    if !is_named(target) {
        return Ok(());
    }
    Err(Error::usage("generated tables can't be written to")
        .at(target)
        .advice("name a file, a folder or a Delta table"))
}

/// The name of a source whose rows go to files of a format: TBL files of `lineitem` have whole quantities, as dbgen writes
/// them, unless the name says otherwise.
pub(crate) fn for_files(source: &str, format: Option<Format>) -> Cow<'_, str> {
    match source.parse::<Spec>() {
        Ok(spec) if format == Some(Format::Tbl) && !source.contains("quantity=") => {
            Cow::Owned(Spec { whole_quantities: true, ..spec }.to_string())
        }
        _ => Cow::Borrowed(source),
    }
}

fn is_named(location: &str) -> bool {
    location.get(..SCHEME.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME))
}
