//! The types of columns that no one declared: from all of their values.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use lakerace_format::schema_text::print_type;
use lakerace_io::option::SCHEMA;
use lakerace_io::{Error, Job, Result};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::catalog::{SqliteTable, TableColumn};
use super::decode::decimal;
use super::error::failed;
use super::kind::{StorageClass, TypeAffinity};
use super::location::quoted;
use super::times::{parse_date, parse_timestamp};
use crate::options::SourceOptions;

/// A column of a source.
#[derive(Debug, Clone)]
pub(super) struct TypedColumn {
    pub field: Field,
    /// The user named the type.
    pub is_given: bool,
    /// The affinity of the declared type.
    pub affinity: TypeAffinity,
    /// The column as SQL compares its texts by their bytes. An index serves a plain name alone.
    pub compared: String,
    /// How far SQLite compares its values as those of the type are compared.
    pub order: ComparisonOrder,
}

/// How far SQLite compares values as those of a type are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ComparisonOrder {
    /// Not at all.
    None,
    /// A condition that values are above another one keeps all that are, and may keep values of other kinds.
    LowerBounds,
    /// With the same outcome.
    All,
}

impl ComparisonOrder {
    /// That of a column whose values may be of any kind.
    fn of_any_values(table: &SqliteTable, column: &TableColumn, data_type: &DataType) -> Self {
        let is_ordered = match StorageClass::for_type(data_type) {
            Ok(StorageClass::Text | StorageClass::Date | StorageClass::Timestamp { .. }) => table.is_utf8,
            // A column of a view may have another affinity than it declares.
            Ok(_) => !table.is_view || column.affinity != TypeAffinity::None,
            Err(_) => false,
        };
        if is_ordered && !table.is_virtual { Self::LowerBounds } else { Self::None }
    }

    /// That of a column whose values are all of its type.
    fn of_strict(table: &SqliteTable, column: &TableColumn, data_type: &DataType) -> Self {
        match StorageClass::for_type(data_type) {
            Ok(StorageClass::Text) if !table.is_utf8 => Self::None,
            Ok(StorageClass::Integer | StorageClass::Real | StorageClass::Text | StorageClass::Boolean) => Self::All,
            _ => Self::of_any_values(table, column, data_type),
        }
    }
}

impl TypedColumn {
    fn new(column: &TableColumn, field: Field, is_given: bool, order: ComparisonOrder) -> Self {
        let collation = if column.is_binary { "" } else { " COLLATE BINARY" };
        let compared = format!("{}{collation}", quoted(&column.name));
        Self { field, is_given, affinity: column.affinity, compared, order }
    }

    /// A column whose values may be of any kind.
    fn of_any_values(table: &SqliteTable, column: &TableColumn, field: Field, is_given: bool) -> Self {
        let order = ComparisonOrder::of_any_values(table, column, field.data_type());
        Self::new(column, field, is_given, order)
    }
}

/// The schema of the columns that are read.
pub(super) fn schema(columns: &[TypedColumn]) -> SchemaRef {
    Arc::new(Schema::new(columns.iter().map(|column| column.field.clone()).collect::<Vec<_>>()))
}

/// The results of a statement next to the columns: the name of a row, and the first value's position.
pub(super) struct ResultLayout<'a> {
    pub connection: &'a Connection,
    pub sql: &'a str,
    /// The first value is the row's number.
    pub has_rowid: bool,
}

/// The types of a table's columns: those that the user gives, those that lakerace kept, those that a STRICT table
/// declares, or those that all values have in common.
pub(super) fn typed(
    table: &SqliteTable,
    options: &SourceOptions,
    rows: &ResultLayout<'_>,
    job: &Job,
) -> Result<Vec<TypedColumn>> {
    let (given, found) = (options.schema.as_deref(), options.known.as_deref());
    let of = |column: &TableColumn| Ok(declared(table, column, given)?.or_else(|| found_before(table, column, found)));
    let mut known: Vec<Option<TypedColumn>> = table.columns.iter().map(of).collect::<Result<_>>()?;
    if let Some(given) = given {
        let names = table.columns.iter().map(|column| column.name.as_str());
        for field in given.fields() {
            if !names.clone().any(|name| name == field.name()) {
                return Err(lakerace_format::suggestions::column_not_found(field.name(), names));
            }
        }
    }
    if known.iter().any(Option::is_none) {
        let seen = look(&table.columns, &known, rows, job)?;
        for ((known, column), seen) in known.iter_mut().zip(&table.columns).zip(&seen) {
            if known.is_none() {
                let data_type = seen.data_type(column, rows.has_rowid)?;
                let field = Field::new(&column.name, data_type, is_nullable(table, column));
                *known = Some(TypedColumn::of_any_values(table, column, field, false));
            }
        }
    }
    Ok(known.into_iter().flatten().collect())
}

fn is_nullable(table: &SqliteTable, column: &TableColumn) -> bool {
    column.is_nullable && table.rowid_column() != Some(column.name.as_str())
}

fn declared(table: &SqliteTable, column: &TableColumn, given: Option<&Schema>) -> Result<Option<TypedColumn>> {
    let is_rowid = table.rowid_column() == Some(column.name.as_str());
    let nullable = is_nullable(table, column);
    if let Some(field) = given.and_then(|given| given.field_with_name(&column.name).ok()) {
        StorageClass::for_type(field.data_type()).map_err(|error| error.at(field.name()))?;
        let field = field.clone().with_nullable(field.is_nullable() && nullable);
        return Ok(Some(TypedColumn::of_any_values(table, column, field, true)));
    }
    let kept = table.kept.as_ref().and_then(|kept| kept.field_with_name(&column.name).ok());
    if let Some(field) = kept
        && let Ok(kind) = StorageClass::for_type(field.data_type())
        && table.is_strict
        && kind.declared() == column.declared
    {
        let order = ComparisonOrder::of_strict(table, column, field.data_type());
        let field = field.clone().with_nullable(nullable);
        return Ok(Some(TypedColumn::new(column, field, false, order)));
    }
    let data_type = match column.declared.to_ascii_uppercase().as_str() {
        _ if is_rowid => DataType::Int64,
        _ if !table.is_strict => return Ok(None),
        "INTEGER" | "INT" => DataType::Int64,
        "REAL" => DataType::Float64,
        "TEXT" => DataType::Utf8,
        "BLOB" => DataType::Binary,
        _ => return Ok(None),
    };
    let order = ComparisonOrder::of_strict(table, column, &data_type);
    let field = Field::new(&column.name, data_type, nullable);
    Ok(Some(TypedColumn::new(column, field, false, order)))
}

/// The type that an earlier read has found in the values of a column.
fn found_before(table: &SqliteTable, column: &TableColumn, found: Option<&Schema>) -> Option<TypedColumn> {
    let field = found?.field_with_name(&column.name).ok()?;
    StorageClass::for_type(field.data_type()).ok()?;
    let field = field.clone().with_nullable(is_nullable(table, column));
    Some(TypedColumn::of_any_values(table, column, field, false))
}

/// The observed values of a column.
#[derive(Debug, Clone)]
struct SeenValues {
    /// The first rows of an integer, a float, a text and bytes.
    first: [Option<i64>; 4],
    is_boolean: bool,
    is_exact_in_float: bool,
    is_date: bool,
    /// The coarsest unit that holds all texts as timestamps.
    timestamp: Option<TimeUnit>,
    offsets: [bool; 2],
    /// The precision and scale that the column declares, while all values have them.
    decimal: Option<(u8, i8)>,
}

const INTEGER: usize = 0;
const REAL: usize = 1;
const TEXT: usize = 2;
const BLOB: usize = 3;
/// How messages name them.
const NAMES: [&str; 4] = ["integers", "floats", "texts", "bytes"];
/// Rows between two looks at the job's cancel flag.
const CHECK_ROWS: i64 = 1 << 14;

fn look(
    columns: &[TableColumn],
    known: &[Option<TypedColumn>],
    rows: &ResultLayout<'_>,
    job: &Job,
) -> Result<Vec<SeenValues>> {
    let mut seen: Vec<SeenValues> = columns.iter().map(SeenValues::new).collect();
    let first = usize::from(rows.has_rowid);
    let mut statement = rows.connection.prepare(rows.sql).map_err(failed)?;
    let mut stream = statement.raw_query();
    let mut number = 0i64;
    while let Some(row) = stream.next().map_err(failed)? {
        number += 1;
        if number % CHECK_ROWS == 0 {
            job.check()?;
        }
        let name = if rows.has_rowid { row.get(0).map_err(failed)? } else { number };
        for (column, (seen, known)) in seen.iter_mut().zip(known).enumerate() {
            if known.is_none() {
                seen.take(name, row.get_ref(first + column).map_err(failed)?);
            }
        }
    }
    Ok(seen)
}

impl SeenValues {
    fn new(column: &TableColumn) -> Self {
        let declared = column.declared.to_ascii_uppercase();
        let is_time = is_time(&declared);
        Self {
            first: [None; 4],
            is_boolean: declared.contains("BOOL"),
            is_exact_in_float: true,
            is_date: declared.contains("DATE") && !is_time,
            timestamp: is_time.then_some(TimeUnit::Second),
            offsets: [false; 2],
            decimal: (column.affinity == TypeAffinity::Numeric).then(|| decimal_arguments(&declared)).flatten(),
        }
    }

    fn take(&mut self, row: i64, value: ValueRef<'_>) {
        let class = match value {
            ValueRef::Null => return,
            ValueRef::Integer(value) => {
                self.is_boolean &= matches!(value, 0 | 1);
                self.is_exact_in_float &= value.unsigned_abs() <= 1 << 53;
                INTEGER
            }
            ValueRef::Real(_) => REAL,
            ValueRef::Text(bytes) => {
                self.take_text(bytes);
                TEXT
            }
            ValueRef::Blob(_) => BLOB,
        };
        if let Some((precision, scale)) = self.decimal
            && decimal(value, precision, scale).is_err()
        {
            self.decimal = None;
        }
        self.first[class].get_or_insert(row);
    }

    fn take_text(&mut self, bytes: &[u8]) {
        if !self.is_date && self.timestamp.is_none() {
            return;
        }
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        self.is_date &= parse_date(text).is_some();
        if let Some(unit) = self.timestamp {
            let units = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];
            let finer = units.into_iter().filter(|finer| *finer >= unit);
            let parsed = finer.into_iter().find_map(|unit| Some((unit, parse_timestamp(text, unit)?.1)));
            if let Some((_, has_offset)) = parsed {
                self.offsets[usize::from(has_offset)] = true;
            }
            self.timestamp = parsed.map(|(unit, _)| unit);
        }
    }

    fn data_type(&self, column: &TableColumn, has_rowid: bool) -> Result<DataType> {
        let has = self.first.map(|first| first.is_some());
        Ok(match has {
            [false, false, false, false] => of_nothing(column),
            [_, _, false, false] if self.decimal.is_some() => {
                let (precision, scale) = self.decimal.unwrap_or((38, 0));
                DataType::Decimal128(precision, scale)
            }
            [true, false, false, false] if self.is_boolean => DataType::Boolean,
            [true, false, false, false] => DataType::Int64,
            [false, true, false, false] => DataType::Float64,
            [true, true, false, false] if self.is_exact_in_float => DataType::Float64,
            [false, false, true, false] if self.is_date => DataType::Date32,
            [false, false, true, false] => match (self.timestamp, self.offsets) {
                (Some(unit), [true, false]) => DataType::Timestamp(unit, None),
                (Some(unit), [false, true]) => DataType::Timestamp(unit, Some("UTC".into())),
                _ => DataType::Utf8,
            },
            [false, false, false, true] => DataType::Binary,
            _ => return Err(self.mixed(column, has_rowid)),
        })
    }

    fn mixed(&self, column: &TableColumn, has_rowid: bool) -> Error {
        let row = if has_rowid { "rowid" } else { "row" };
        let parts = self.first.iter().zip(NAMES);
        let parts = parts.filter_map(|(first, name)| first.map(|first| format!("{name} (first at {row} {first})")));
        let parts: Vec<String> = parts.collect();
        let text = print_type(if self.first[BLOB].is_some() { &DataType::Binary } else { &DataType::Utf8 });
        Error::invalid(format!("it has values of several types: {}", parts.join(", ")))
            .at(format!("column {:?}", column.name))
            .advice(format!("set its type with {SCHEMA}, such as \"{} {text}\"", column.name))
    }
}

/// The type of a column without values: the one that its values would have by the declaration.
fn of_nothing(column: &TableColumn) -> DataType {
    let declared = column.declared.to_ascii_uppercase();
    let decimal = decimal_arguments(&declared).filter(|_| column.affinity == TypeAffinity::Numeric);
    match column.affinity {
        _ if declared.contains("BOOL") => DataType::Boolean,
        _ if is_time(&declared) => {
            DataType::Timestamp(TimeUnit::Microsecond, has_zone(&declared).then(|| "UTC".into()))
        }
        _ if declared.contains("DATE") => DataType::Date32,
        _ if decimal.is_some() => {
            decimal.map_or(DataType::Null, |(precision, scale)| DataType::Decimal128(precision, scale))
        }
        // SQLite takes it for an integer because of its first letters.
        TypeAffinity::Integer if declared.starts_with("INTERVAL") => DataType::Utf8,
        TypeAffinity::Integer => DataType::Int64,
        TypeAffinity::Real => DataType::Float64,
        TypeAffinity::Numeric if is_number(&declared) => DataType::Float64,
        // Every name that SQLite does not know has this affinity: TIME, JSON, UUID, STRING.
        TypeAffinity::Numeric | TypeAffinity::Text => DataType::Utf8,
        TypeAffinity::None if declared.contains("BLOB") => DataType::Binary,
        TypeAffinity::None => DataType::Null,
    }
}

/// True of a declared type that is a number by its name.
fn is_number(declared: &str) -> bool {
    ["NUM", "DEC", "MONEY", "CURRENCY"].iter().any(|part| declared.contains(part))
}

/// True of a declared time that counts from UTC.
fn has_zone(declared: &str) -> bool {
    declared.contains("TIMESTAMPTZ") || declared.contains("WITH TIME ZONE")
}

/// True of a declared type that is a date with a time.
pub(super) fn is_time(declared: &str) -> bool {
    declared.contains("DATETIME") || declared.contains("TIMESTAMP")
}

/// Precision and scale of `DECIMAL(10, 2)` or `NUMERIC(10)`.
fn decimal_arguments(declared: &str) -> Option<(u8, i8)> {
    let (name, rest) = declared.split_once('(')?;
    if !matches!(name.trim(), "DECIMAL" | "NUMERIC" | "DEC") {
        return None;
    }
    let arguments = rest.trim_end().strip_suffix(')')?;
    let (precision, scale) = arguments.split_once(',').unwrap_or((arguments, "0"));
    let (precision, scale): (u8, i8) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
    ((1..=38).contains(&precision) && (0..=precision as i8).contains(&scale)).then_some((precision, scale))
}
