//! Files that are read from front to back. Nothing in them can be found without reading the bytes before it, so a plan has
//! one unit for each file.

use std::collections::HashMap;

use arrow::datatypes::Schema;
use lakerace_io::{Error, Object, Result, Wanted};

use crate::field_positions::FieldPositions;
use crate::plan::{FilePlan, ReadPlan, ReadRequest, UnitPlan};
use crate::source::SourceInfo;
use crate::suggestions::column_not_found;

/// A file of a plan.
#[derive(Debug)]
pub(crate) struct SequentialFile {
    /// Its position among the files of the source.
    pub position: usize,
    /// The object, with its size and its entity tag when the plan was made.
    pub object: Object,
    /// False for a file that the plan excludes.
    pub is_read: bool,
}

/// Learns the size and the entity tag of an object by one request, if its size is unknown.
pub(crate) fn learn_size(object: &mut Object) -> Result<()> {
    if object.size_bytes.is_none() {
        let tail = object.read_tail(1)?;
        (object.size_bytes, object.e_tag) = (Some(tail.size_bytes), object.e_tag.take().or(tail.e_tag));
    }
    Ok(())
}

/// The information on files of one format, of which each is one unit.
pub(crate) fn sequential_info<'a>(format: &str, objects: impl ExactSizeIterator<Item = &'a Object>) -> SourceInfo {
    let files = objects.len() as u64;
    let bytes = objects.filter_map(|object| object.size_bytes).sum();
    SourceInfo { format: format.to_owned(), rows: None, files, bytes, units: Some(files) }
}

/// The positions of the requested columns in the schema of a source whose first file is `first`.
///
/// # Errors
/// `NotFound` for a column that does not exist, with the nearest name.
pub(crate) fn selected_columns(request: &ReadRequest, schema: &Schema, first: &Object) -> Result<Vec<usize>> {
    let Some(names) = &request.columns else { return Ok((0..schema.fields().len()).collect()) };
    let positions = FieldPositions::new(schema.fields());
    let known = || schema.fields().iter().map(|field| field.name().as_str());
    let not_found = |name: &String| column_not_found(name, known()).at(first.url());
    names.iter().map(|name| positions.of_name(name).ok_or_else(|| not_found(name))).collect()
}

/// The plan of a file that is read whole.
pub(crate) fn sequential_plan(object: &Object) -> FilePlan {
    let size_bytes = object.size_bytes.unwrap_or(0);
    let unit = UnitPlan { wanted_bytes: size_bytes, ..UnitPlan::default() };
    FilePlan { url: object.url(), size_bytes, e_tag: object.e_tag.clone(), units: vec![unit] }
}

/// Finds the files of a plan among those of a source.
///
/// # Errors
/// `Usage` for a plan of another source.
pub(crate) fn planned_files<'a>(
    plan: &ReadPlan,
    objects: impl Iterator<Item = &'a Object>,
) -> Result<Vec<SequentialFile>> {
    let known: HashMap<String, (usize, &Object)> =
        objects.enumerate().map(|(position, object)| (object.url(), (position, object))).collect();
    let planned = plan.files.iter().map(|file| {
        let Some((position, object)) = known.get(&file.url) else {
            return Err(Error::usage("the plan names a file that does not belong to this source")
                .at(&file.url)
                .advice("plan the scan again"));
        };
        let (size_bytes, e_tag) = (Some(file.size_bytes), file.e_tag.clone());
        let is_read = file.units.iter().any(|unit| unit.pruned.is_none());
        Ok(SequentialFile { position: *position, object: Object { size_bytes, e_tag, ..(*object).clone() }, is_read })
    });
    planned.collect()
}

/// The bytes of the files that are read, in the order of a plan. A file is its object, the first wanted byte, and false
/// if it is excluded.
pub(crate) fn wanted_bytes<'a>(files: impl Iterator<Item = (&'a Object, u64, bool)>) -> Vec<Wanted> {
    let read = files.enumerate().filter(|(_, (_, _, is_read))| *is_read);
    let wanted = read.map(|(number, (object, start, _))| Wanted {
        file: number as u32,
        range: start..object.size_bytes.unwrap_or(0),
    });
    wanted.filter(|wanted| !wanted.range.is_empty()).collect()
}

#[cfg(test)]
mod tests;
