//! The unit that timestamps are read in: see [`TimestampUnit`].

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema, TimeUnit};
use lakerace_io::option::TIMESTAMP_UNIT;
use lakerace_io::{Error, ErrorKind, Result};
use lakerace_orc::read::{Bounds, ReadOptions};
use lakerace_orc::schema::{OrcKind, OrcType};

use super::file::{FINEST, OrcFile};
use crate::nested_types::inner_fields;
use crate::options::TimestampUnit;

/// Nanoseconds of a microsecond.
const NANOS_OF_MICRO: i128 = 1_000;

/// Sets the same unit for the timestamps of each root column in all files.
pub(crate) fn settle(files: &mut [Arc<OrcFile>], option: TimestampUnit) -> Result<()> {
    let mut far = HashMap::new();
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
            let unit = far.get(field.name()).copied().unwrap_or(given);
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

/// Adds the root columns with a timestamp that is too far from 1970 for nanoseconds, with the finest unit that all of
/// them fit.
fn note_far_columns(file: &OrcFile, far: &mut HashMap<String, TimeUnit>) {
    for (root, field) in file.schema.fields().iter().enumerate() {
        if unit_of(field.data_type()).is_none() {
            continue;
        }
        let unit = column(file, root).and_then(|node| far_unit(file, node));
        if let Some(unit) = coarser(unit, far.get(field.name()).copied()) {
            far.insert(field.name().clone(), unit);
        }
    }
}

/// The finest unit that all timestamps of a column fit, if it is coarser than nanoseconds.
fn far_unit(file: &OrcFile, node: &OrcType) -> Option<TimeUnit> {
    match node.kind {
        OrcKind::Timestamp | OrcKind::TimestampInstant | OrcKind::ClockInstant | OrcKind::Micros => {
            let Some(Bounds::Timestamp(min, max)) = file.tail.statistics(node.id).map(|s| s.bounds) else {
                return None;
            };
            let fits =
                |nanos: i128| i64::try_from(min.div_euclid(nanos)).and(i64::try_from(max.div_euclid(nanos))).is_ok();
            match (fits(1), fits(NANOS_OF_MICRO)) {
                (true, _) => None,
                (false, true) => Some(TimeUnit::Microsecond),
                (false, false) => Some(TimeUnit::Millisecond),
            }
        }
        _ => node.children().fold(None, |unit, child| coarser(unit, far_unit(file, child))),
    }
}

/// Chooses of two units that [`far_unit`] gives the one that reaches further.
fn coarser(one: Option<TimeUnit>, other: Option<TimeUnit>) -> Option<TimeUnit> {
    match (one, other) {
        (Some(TimeUnit::Millisecond), _) | (_, None) => one,
        _ => other,
    }
}

fn column(file: &OrcFile, root: usize) -> Option<&OrcType> {
    file.tail.root().find(file.column_id(root)?)
}

/// The unit of the timestamps in a type; `None` if it has none.
pub(crate) fn unit_of(data_type: &DataType) -> Option<TimeUnit> {
    match data_type {
        DataType::Timestamp(unit, _) => Some(*unit),
        DataType::Union(members, _) => members.iter().find_map(|(_, field)| unit_of(field.data_type())),
        other => inner_fields(other).into_iter().flatten().find_map(|field| unit_of(field.data_type())),
    }
}

/// The options for decoding a column of this type.
pub(crate) fn read_options(data_type: &DataType, batch_rows: usize, option: TimestampUnit) -> ReadOptions {
    let timestamp_unit = unit_of(data_type).unwrap_or(FINEST);
    ReadOptions { batch_rows, timestamp_unit, exact_timestamps: option == TimestampUnit::Auto }
}

/// Advises the option by which a time that does not fit can be read: no other decoded value is invalid.
pub(crate) fn advise(error: Error, unit: TimeUnit) -> Error {
    if error.kind() != ErrorKind::Invalid {
        return error;
    }
    let wider = match unit {
        TimeUnit::Nanosecond => "us",
        // Its digits were too many, or its year too far.
        TimeUnit::Microsecond => "us to round down, or ns, ms or s",
        TimeUnit::Millisecond => "ms to round down, or s",
        TimeUnit::Second => "s",
    };
    error.advice(format!("choose the unit of timestamps: {TIMESTAMP_UNIT} {wider}"))
}
