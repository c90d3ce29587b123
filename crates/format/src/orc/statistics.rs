//! Column statistics of files, stripes and row groups, in the form that filters need.

use arrow::datatypes::{DataType, TimeUnit, i256};
use lakerace_io::Result;
use lakerace_orc::read::{Bounds as OrcBounds, ColumnStats, Stripe};
use lakerace_orc::schema::{OrcKind, OrcType};

use super::error::{from_orc, named};
use super::file::OrcFile;
use super::unit::StripeUnit;
use crate::predicate::{Bounds, ColumnRef, ColumnStatistics, Predicate, Value};

/// Why no row of a file can match; `None` where some may.
pub(crate) fn excludes_file(file: &OrcFile, predicate: &Predicate) -> Option<String> {
    let find = |column: u32| file.tail.statistics(column);
    let statistics = UnitStatistics { file, rows: file.tail.rows(), label: "file statistics", find: &find };
    predicate.can_match(&statistics).err()
}

/// Why no row of a stripe can match; `None` where some may.
pub(crate) fn excludes_stripe(unit: &StripeUnit, predicate: &Predicate) -> Result<Option<String>> {
    let all = unit.file.tail.stripe_statistics(unit.stripe).map_err(|e| named(from_orc(e), &unit.file.url))?;
    let find = |column: u32| all.as_ref().and_then(|all| all.get(column as usize)).cloned();
    let statistics = UnitStatistics { file: &unit.file, rows: unit.rows(), label: "stripe statistics", find: &find };
    Ok(predicate.can_match(&statistics).err())
}

/// Why no row of a row group can match; `None` where some may. Its row index was set.
pub(crate) fn excludes_group(
    unit: &StripeUnit,
    stripe: &Stripe,
    group: usize,
    predicate: &Predicate,
) -> Option<String> {
    let find = |column: u32| stripe.group_statistics(column, group);
    let (_, rows) = stripe.row_group(group);
    predicate.can_match(&UnitStatistics { file: &unit.file, rows, label: "row group statistics", find: &find }).err()
}

/// The node that a path of names leads to, through structs.
pub(crate) fn column_of<'a>(file: &'a OrcFile, path: &[String]) -> Option<&'a OrcType> {
    let (name, below) = path.split_first()?;
    let mut node = file.column(name)?;
    for name in below {
        let OrcKind::Struct(fields) = &node.kind else { return None };
        node = fields.iter().find(|(field, _)| field == name).map(|(_, child)| child)?;
    }
    Some(node)
}

struct UnitStatistics<'a> {
    file: &'a OrcFile,
    rows: u64,
    label: &'static str,
    find: &'a dyn Fn(u32) -> Option<ColumnStats>,
}

impl ColumnStatistics for UnitStatistics<'_> {
    fn row_count(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn bounds(&self, column: &ColumnRef) -> Bounds {
        let Some(name) = column.path.first() else { return Bounds::default() };
        if self.file.column(name).is_none() {
            if let Some(constants) = &self.file.constants
                && constants.get(name).is_some()
            {
                return constants.bounds_of(column, Some(self.rows)).unwrap_or_default();
            }
            // The file does not have the column: it is null in all rows.
            return Bounds { null_count: Some(self.rows), ..Bounds::default() };
        }
        let Some(node) = column_of(self.file, &column.path) else { return Bounds::default() };
        let known = (self.find)(node.id);
        known.map_or_else(Bounds::default, |known| bounds(&known, &node.kind, &column.data_type, self.rows))
    }

    fn label(&self) -> &str {
        self.label
    }
}

fn bounds(statistics: &ColumnStats, kind: &OrcKind, data_type: &DataType, rows: u64) -> Bounds {
    let integer = |value: i128| Some(Value::Integer(i256::from_i128(value)));
    let (min, max) = match (&statistics.bounds, kind) {
        (OrcBounds::Integer(min, max), _) => (integer((*min).into()), integer((*max).into())),
        (OrcBounds::Double(min, max), _) => (Some(Value::Float(*min)), Some(Value::Float(*max))),
        // Writers differ in the padding of char texts.
        (OrcBounds::Text(..), OrcKind::Char(_)) | (OrcBounds::Unknown, _) => (None, None),
        (OrcBounds::Text(min, max), _) => (Some(Value::Bytes(min.clone())), max.clone().map(Value::Bytes)),
        (OrcBounds::Decimal(min, max), _) => (integer(*min), integer(*max)),
        // Values are rounded down to the unit as well.
        (OrcBounds::Timestamp(min, max), _) => {
            let nanos = nanoseconds(data_type);
            (integer(min.div_euclid(nanos)), integer(max.div_euclid(nanos)))
        }
        (OrcBounds::Date(min, max), _) => (integer((*min).into()), integer((*max).into())),
        (OrcBounds::True(count), _) => match statistics.values {
            Some(values) if *count <= values => {
                (Some(Value::Boolean(*count == values)), Some(Value::Boolean(*count > 0)))
            }
            _ => (None, None),
        },
    };
    let null_count = match (statistics.values, statistics.has_null) {
        // Contradictory counts are ignored.
        (Some(values), has_null) => rows.checked_sub(values).filter(|nulls| has_null || *nulls == 0),
        (None, true) => None,
        (None, false) => Some(0),
    };
    // Bounds of no values may be anything.
    let none = statistics.values == Some(0);
    Bounds { min: min.filter(|_| !none), max: max.filter(|_| !none), null_count }
}

/// The nanoseconds of a unit of a timestamp.
fn nanoseconds(data_type: &DataType) -> i128 {
    match data_type {
        DataType::Timestamp(TimeUnit::Second, _) => 1_000_000_000,
        DataType::Timestamp(TimeUnit::Millisecond, _) => 1_000_000,
        DataType::Timestamp(TimeUnit::Microsecond, _) => 1_000,
        _ => 1,
    }
}
