//! The keys of an upsert's rows.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::{CastOptions, cast_with_options, concat, take};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::row::{Row, RowConverter, Rows, SortField};
use hashbrown::HashTable;
use lakerace_format::names::column_not_found;
use lakerace_format::predicate::{ColumnRef, ColumnStatistics, Value};
use lakerace_io::{Error, Result};
use xxhash_rust::xxh3::xxh3_64;

use crate::Snapshot;
use crate::files::TableFile;
use crate::probe::Probe;
use crate::statistics::FileStatistics;

/// What to do about rows of the source that have the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDuplicate {
    /// The last one wins.
    #[default]
    Last,
    /// An error that names the key.
    Error,
}

/// The keys of all rows of a source, by which rows of the table are found.
pub(crate) struct Keys {
    names: Vec<String>,
    types: Vec<DataType>,
    rows: Rows,
    /// The rows that win, by their keys.
    table: HashTable<u32>,
    /// The rows that win, in the order of their keys.
    order: Vec<u32>,
    /// The first key column in that order: what files are held against.
    first: ArrayRef,
}

impl Keys {
    /// The keys of these batches. Null keys, and types that have no equality to rely on, are refused.
    pub fn of(batches: &[RecordBatch], names: &[String], schema: &SchemaRef, duplicate: OnDuplicate) -> Result<Self> {
        let types = names.iter().map(|name| key_type(schema, name)).collect::<Result<Vec<_>>>()?;
        let converter = converter(&types)?;
        let mut rows = converter.empty_rows(0, 0);
        let mut firsts: Vec<ArrayRef> = Vec::with_capacity(batches.len());
        for batch in batches {
            let columns = columns(batch, names, &types)?;
            check_nulls(&columns, names, rows.num_rows())?;
            converter.append(&mut rows, &columns).map_err(internal)?;
            firsts.extend(columns.into_iter().next());
        }
        if u32::try_from(rows.num_rows()).is_err() {
            return Err(Error::unsupported("more than 4 billion rows in one upsert").advice("upsert in several parts"));
        }
        let mut keys = Self {
            names: names.to_vec(),
            first: arrow::array::new_empty_array(types.first().unwrap_or(&DataType::Null)),
            types,
            rows,
            table: HashTable::new(),
            order: Vec::new(),
        };
        keys.enter(duplicate)?;
        if !firsts.is_empty() {
            let parts: Vec<&dyn Array> = firsts.iter().map(AsRef::as_ref).collect();
            let all = concat(&parts).map_err(internal)?;
            keys.first = take(&all, &UInt32Array::from(keys.order.clone()), None).map_err(internal)?;
        }
        Ok(keys)
    }

    /// The rows that win, in the order of their keys.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    fn enter(&mut self, duplicate: OnDuplicate) -> Result<()> {
        let rows = &self.rows;
        let hash = |row: u32| xxh3_64(rows.row(row as usize).as_ref());
        self.table.reserve(rows.num_rows(), |row| hash(*row));
        for number in 0..rows.num_rows() as u32 {
            let key = rows.row(number as usize);
            match self.table.find_mut(xxh3_64(key.as_ref()), |row| rows.row(*row as usize) == key) {
                Some(_) if duplicate == OnDuplicate::Error => {
                    return Err(Error::invalid(format!("row {} has a key that came before it", number + 1))
                        .advice("let the last one win, or take the others out"));
                }
                Some(known) => *known = number,
                None => {
                    self.table.insert_unique(hash(number), number, |row| hash(*row));
                }
            }
        }
        self.order = self.table.iter().copied().collect();
        self.order.sort_unstable_by(|a, b| rows.row(*a as usize).cmp(&rows.row(*b as usize)));
        Ok(())
    }

    fn contains(&self, key: Row<'_>) -> bool {
        self.table.find(xxh3_64(key.as_ref()), |row| self.rows.row(*row as usize).as_ref() == key.as_ref()).is_some()
    }

    /// Whether a first key column of these bounds can have one of the keys.
    fn any_between(&self, min: Option<&Value>, max: Option<&Value>) -> bool {
        let at = |number: usize| Value::from_array(&self.first, number);
        let (mut low, mut high) = (0, self.first.len());
        if let Some(min) = min {
            while low < high {
                let middle = (low + high) / 2;
                match at(middle).map(|value| value.compare(min)) {
                    Some(Some(Ordering::Less)) => low = middle + 1,
                    Some(Some(_)) => high = middle,
                    // What can't be compared excludes nothing.
                    _ => return true,
                }
            }
        }
        if low == self.first.len() {
            return false;
        }
        match (at(low), max) {
            (Some(value), Some(max)) => !matches!(value.compare(max), Some(Ordering::Greater)),
            _ => true,
        }
    }
}

impl Probe for Keys {
    fn columns(&self) -> Vec<String> {
        self.names.clone()
    }

    fn may_match(&self, file: &TableFile, snapshot: &Snapshot) -> bool {
        if self.order.is_empty() || file.rows == Some(0) {
            return false;
        }
        let (Some(name), Some(data_type)) = (self.names.first(), self.types.first()) else { return true };
        let column = ColumnRef { root: 0, path: vec![name.clone()], data_type: data_type.clone() };
        let bounds = FileStatistics { file, columns: snapshot.columns() }.bounds(&column);
        self.any_between(bounds.min.as_ref(), bounds.max.as_ref())
    }

    fn matches(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        let columns = columns(batch, &self.names, &self.types)?;
        let rows = converter(&self.types)?.convert_columns(&columns).map_err(internal)?;
        Ok(rows.iter().map(|row| Some(self.contains(row))).collect())
    }
}

/// The key columns of a batch.
fn columns(batch: &RecordBatch, names: &[String], types: &[DataType]) -> Result<Vec<ArrayRef>> {
    let column = |(name, data_type): (&String, &DataType)| {
        let found = batch.column_by_name(name);
        let found = found.ok_or_else(|| Error::invalid(format!("the rows have no key column {name:?}")))?;
        if found.data_type() == data_type {
            return Ok(ArrayRef::clone(found));
        }
        let options = CastOptions { safe: false, ..CastOptions::default() };
        cast_with_options(found, data_type, &options)
            .map_err(|e| Error::invalid(format!("the key column {name:?} does not fit the table's {data_type}: {e}")))
    };
    names.iter().zip(types).map(column).collect()
}

fn check_nulls(columns: &[ArrayRef], names: &[String], rows_before: usize) -> Result<()> {
    for (column, name) in columns.iter().zip(names) {
        if let Some(row) =
            (column.null_count() > 0).then(|| (0..column.len()).find(|row| column.is_null(*row))).flatten()
        {
            return Err(Error::invalid(format!("row {} has no key: {name:?} is null", rows_before + row + 1))
                .advice("give it a key, or leave the row out"));
        }
    }
    Ok(())
}

/// The type that keys are compared in.
fn key_type(schema: &SchemaRef, name: &str) -> Result<DataType> {
    let Ok(field) = schema.field_with_name(name) else {
        return Err(column_not_found(name, schema.fields().iter().map(|field| field.name().as_str())));
    };
    let data_type = field.data_type();
    if data_type.is_nested() || data_type.is_floating() {
        return Err(Error::unsupported(format!("a key of type {data_type}"))
            .at(format!("column {name:?}"))
            .advice("take a column of whole numbers, text, dates, times, decimals or bytes"));
    }
    Ok(data_type.clone())
}

fn converter(types: &[DataType]) -> Result<RowConverter> {
    RowConverter::new(types.iter().map(|data_type| SortField::new(data_type.clone())).collect()).map_err(internal)
}

fn internal(error: impl std::fmt::Display) -> Error {
    Error::internal(error.to_string())
}
