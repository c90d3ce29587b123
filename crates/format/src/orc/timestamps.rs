//! The unit that timestamps are read in: see [`TimestampUnit`].

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema, TimeUnit};
use lakerace_io::option::TIMESTAMP_UNIT;
use lakerace_io::{Error, ErrorKind, Result};
use lakerace_orc::read::{Bounds, ReadOptions};
use lakerace_orc::schema::{OrcKind, OrcType};

use super::file::{FINEST, OrcFile};
use crate::TimestampUnit;

/// Gives the timestamps of each root column one unit in all files.
pub(crate) fn settle(files: &mut [Arc<OrcFile>], option: TimestampUnit) -> Result<()> {
    let mut far = HashSet::new();
    let given = match option {
        TimestampUnit::Auto => {
            files.iter().for_each(|file| note_far_columns(file, &mut far));
            FINEST
        }
        TimestampUnit::Second => TimeUnit::Second,
        TimestampUnit::Millisecond => TimeUnit::Millisecond,
        TimestampUnit::Microsecond => TimeUnit::Microsecond,
        TimestampUnit::Nanosecond => TimeUnit::Nanosecond,
    };
    if given == FINEST && far.is_empty() {
        return Ok(());
    }
    for file in files {
        let settled = |root: usize, field: &FieldRef| -> FieldRef {
            let unit = if far.contains(field.name()) { TimeUnit::Microsecond } else { given };
            match column(file, root).filter(|_| unit_of(field.data_type()).is_some_and(|known| known != unit)) {
                Some(node) => Arc::new(Field::new(field.name(), node.to_arrow(unit), true)),
                None => Arc::clone(field),
            }
        };
        let fields: Vec<FieldRef> = file.schema.fields().iter().enumerate().map(|(at, f)| settled(at, f)).collect();
        let file = Arc::get_mut(file).ok_or_else(|| Error::internal("a file is shared before its schema is known"))?;
        file.schema = Arc::new(Schema::new_with_metadata(fields, file.schema.metadata().clone()));
    }
    Ok(())
}

/// Adds the root columns of which some timestamp is too far from 1970 for nanoseconds.
fn note_far_columns(file: &OrcFile, far: &mut HashSet<String>) {
    for (root, field) in file.schema.fields().iter().enumerate() {
        if unit_of(field.data_type()).is_some() && column(file, root).is_some_and(|node| is_far(file, node)) {
            far.insert(field.name().clone());
        }
    }
}

fn is_far(file: &OrcFile, node: &OrcType) -> bool {
    let fits = |nanoseconds: i128| i64::try_from(nanoseconds).is_ok();
    match node.kind {
        OrcKind::Timestamp | OrcKind::TimestampInstant | OrcKind::ClockInstant | OrcKind::Micros => {
            match file.tail.statistics(node.id).map(|s| s.bounds) {
                Some(Bounds::Timestamp(min, max)) => !fits(min) || !fits(max),
                _ => false,
            }
        }
        _ => node.children().any(|child| is_far(file, child)),
    }
}

fn column(file: &OrcFile, root: usize) -> Option<&OrcType> {
    file.tail.root().find(file.column_id(root)?)
}

/// The unit of the timestamps in a type; `None` where it has none.
pub(crate) fn unit_of(data_type: &DataType) -> Option<TimeUnit> {
    match data_type {
        DataType::Timestamp(unit, _) => Some(*unit),
        DataType::List(item) | DataType::Map(item, _) => unit_of(item.data_type()),
        DataType::Struct(fields) => fields.iter().find_map(|field| unit_of(field.data_type())),
        DataType::Union(members, _) => members.iter().find_map(|(_, field)| unit_of(field.data_type())),
        _ => None,
    }
}

/// How a column of this type is decoded.
pub(crate) fn read_options(data_type: &DataType, batch_rows: usize, option: TimestampUnit) -> ReadOptions {
    let timestamp_unit = unit_of(data_type).unwrap_or(FINEST);
    ReadOptions { batch_rows, timestamp_unit, exact_timestamps: option == TimestampUnit::Auto }
}

/// Says what reads a time that does not fit: nothing else that a column decodes to is invalid.
pub(crate) fn advise(error: Error, unit: TimeUnit) -> Error {
    if error.kind() != ErrorKind::Invalid {
        return error;
    }
    let wider = match unit {
        TimeUnit::Nanosecond => "us",
        // Its digits were too many, or its year too far.
        TimeUnit::Microsecond => "us to round down, or ns, ms or s",
        TimeUnit::Millisecond | TimeUnit::Second => "s",
    };
    error.advice(format!("choose the unit of timestamps: {TIMESTAMP_UNIT} {wider}"))
}
