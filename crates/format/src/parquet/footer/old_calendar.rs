//! Files in which Spark counted days and times like Java's old classes: by a calendar that changed in 1582, and with
//! zones that start in 1900.
//!
//! Source: Spark, `DataSourceUtils.scala` (which files these are) and `RebaseDateTime.scala` (their conversion in
//! Spark).

use arrow::datatypes::{DataType, Schema, TimeUnit};
use lakerace_orc::read::{FIRST_AGREED_SECOND, FIRST_GREGORIAN_DAY, JavaClock};
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescriptor;

use super::schema::leaf_types;
use crate::calendar::units_per_second;

/// The count of a leaf column by the old calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CalendarCount {
    /// Days.
    Days,
    /// Instants, with the number of units in a second.
    Instants(i64),
}

/// The columns of a file that count by the old calendar.
#[derive(Debug)]
pub(crate) struct OldCalendar {
    leaves: Vec<Option<CalendarCount>>,
    /// The writer's clock, or why it isn't known.
    clock: Result<JavaClock, String>,
}

/// Before this version Spark's days and times of 64 bits are of the old calendar, and before the next one its timestamps of 96 bits.
const FIRST_VERSION: &str = "3.0.0";
const FIRST_VERSION_INT96: &str = "3.1.0";

impl OldCalendar {
    /// Detects the calendar of a file with this Arrow schema; `None` if nothing is counted by the old calendar.
    pub fn detect(metadata: &ParquetMetaData, schema: &Schema) -> Option<Self> {
        let pairs = metadata.file_metadata().key_value_metadata()?;
        let value_of = |key: &str| pairs.iter().find(|pair| pair.key.strip_prefix("org.apache.spark.") == Some(key));
        let version = value_of("version")?.value.as_deref()?;
        // Spark compares versions as texts as well.
        let is_old = version < FIRST_VERSION || value_of("legacyDateTime").is_some();
        let is_old_int96 = version < FIRST_VERSION_INT96 || value_of("legacyINT96").is_some();
        if !is_old && !is_old_int96 {
            return None;
        }
        let stored = metadata.file_metadata().schema_descr();
        let types: Vec<DataType> = schema.fields().iter().flat_map(leaf_types).collect();
        let leaves =
            stored.columns().iter().zip(&types).map(|(column, data_type)| match (column.physical_type(), data_type) {
                (Physical::INT96, DataType::Timestamp(unit, _)) => is_old_int96.then(|| instants(*unit)),
                (Physical::INT32, DataType::Date32) => is_old.then_some(CalendarCount::Days),
                (Physical::INT64, DataType::Timestamp(unit, _)) if is_instant(column) => {
                    is_old.then(|| instants(*unit))
                }
                _ => None,
            });
        let leaves: Vec<Option<CalendarCount>> = leaves.collect();
        if leaves.iter().all(Option::is_none) {
            return None;
        }
        let clock = match value_of("timeZone").and_then(|pair| pair.value.as_deref()) {
            None => Err("the file does not name the time zone of its writer".to_owned()),
            Some(zone) => JavaClock::in_zone(zone).map_err(|error| error.to_string()),
        };
        Some(Self { leaves, clock })
    }

    /// The count of a leaf column.
    pub fn counted(&self, leaf: usize) -> Option<CalendarCount> {
        self.leaves.get(leaf).copied().flatten()
    }

    /// The writer's clock, or why it isn't known.
    pub fn clock(&self) -> &Result<JavaClock, String> {
        &self.clock
    }

    /// Returns true if some values of a column chunk may be others than those stored, by its statistics.
    pub fn may_move(&self, leaf: usize, chunk: &ColumnChunkMetaData) -> bool {
        match (self.counted(leaf), chunk.statistics()) {
            (None, _) => false,
            (Some(CalendarCount::Days), Some(Statistics::Int32(bounds))) => {
                bounds.min_opt().is_none_or(|day| i64::from(*day) < FIRST_GREGORIAN_DAY)
            }
            (Some(CalendarCount::Instants(units)), Some(Statistics::Int64(bounds))) => {
                bounds.min_opt().is_none_or(|instant| instant.div_euclid(units) < FIRST_AGREED_SECOND)
            }
            _ => true,
        }
    }
}

fn instants(unit: TimeUnit) -> CalendarCount {
    CalendarCount::Instants(units_per_second(unit))
}

/// Returns true if the timestamps of a column are instants: those without a zone are younger than Spark's old calendar.
fn is_instant(column: &ColumnDescriptor) -> bool {
    match column.logical_type_ref() {
        Some(LogicalType::Timestamp(stored)) => stored.is_adjusted_to_u_t_c,
        Some(_) => false,
        None => matches!(column.converted_type(), ConvertedType::TIMESTAMP_MILLIS | ConvertedType::TIMESTAMP_MICROS),
    }
}
