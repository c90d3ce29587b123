//! Arrays of cells, and the cells that do not fit them.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::builder::{BooleanBuilder, PrimitiveBuilder, StringViewBuilder};
use arrow::array::{ArrayRef, ArrowPrimitiveType};
use arrow::buffer::Buffer;
use arrow::datatypes::DataType;
use lakerace_io::{Error, Result};

use super::cells::CellValue;
use super::texts::{SheetTexts, TextId};
use crate::options::OnBadRow;

/// The reason for a bad row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum CellFault {
    /// The value is none of the column's type, or none at all.
    Value(CellValue),
    /// It is null, and the column is not nullable.
    Null,
}

/// A bad cell among the rows of a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BadValue {
    /// The row, from the first one of the batch.
    pub row: usize,
    /// The column, among those that are read.
    pub column: usize,
    /// The reason.
    pub fault: CellFault,
}

/// The bad cells of a batch.
#[derive(Debug, Default)]
pub(super) struct BadValues {
    pub found: Vec<BadValue>,
    /// The column whose values are converted.
    pub column: usize,
    pub is_nullable: bool,
    /// A bad value becomes null.
    sets_null: bool,
}

impl BadValues {
    /// No bad cells yet.
    pub fn new(on_bad_row: OnBadRow) -> Self {
        Self { sets_null: on_bad_row == OnBadRow::Null, ..Self::default() }
    }

    /// Notes a value that does not fit.
    pub fn value(&mut self, row: usize, value: CellValue) {
        self.found.push(BadValue { row, column: self.column, fault: CellFault::Value(value) });
        // The null in its place may be refused.
        if self.sets_null {
            self.null(row);
        }
    }

    /// Notes an empty cell, which is bad if the column is not nullable.
    pub fn null(&mut self, row: usize) {
        if !self.is_nullable {
            self.found.push(BadValue { row, column: self.column, fault: CellFault::Null });
        }
    }
}

/// The array of values that `parse` gives.
pub(super) fn primitives<T: ArrowPrimitiveType>(
    data_type: &DataType,
    cells: impl Iterator<Item = Option<CellValue>>,
    bad: &mut BadValues,
    mut parse: impl FnMut(&CellValue) -> Option<T::Native>,
) -> ArrayRef {
    let mut builder = PrimitiveBuilder::<T>::with_capacity(cells.size_hint().0).with_data_type(data_type.clone());
    for (row, cell) in cells.enumerate() {
        builder.append_option(parsed(row, cell, bad, &mut parse));
    }
    Arc::new(builder.finish())
}

/// The array of truth values that `parse` gives.
pub(super) fn booleans(
    cells: impl Iterator<Item = Option<CellValue>>,
    bad: &mut BadValues,
    mut parse: impl FnMut(&CellValue) -> Option<bool>,
) -> ArrayRef {
    let mut builder = BooleanBuilder::with_capacity(cells.size_hint().0);
    for (row, cell) in cells.enumerate() {
        builder.append_option(parsed(row, cell, bad, &mut parse));
    }
    Arc::new(builder.finish())
}

fn parsed<N>(
    row: usize,
    cell: Option<CellValue>,
    bad: &mut BadValues,
    parse: &mut impl FnMut(&CellValue) -> Option<N>,
) -> Option<N> {
    let Some(value) = cell else {
        bad.null(row);
        return None;
    };
    let native = parse(&value);
    if native.is_none() {
        bad.value(row, value);
    }
    native
}

/// The array of the values' texts. A text of the sheet that occurs often takes memory once.
pub(super) fn text_views(
    cells: impl Iterator<Item = Option<CellValue>>,
    texts: &SheetTexts,
    bad: &mut BadValues,
) -> Result<ArrayRef> {
    /// Views have up to this many bytes in themselves.
    const IN_VIEW_BYTES: usize = 12;
    let cells: Vec<Option<CellValue>> = cells.collect();
    let mut places: HashMap<TextId, (u32, u32)> = HashMap::new();
    let mut bytes = Vec::new();
    for cell in cells.iter().flatten() {
        let CellValue::Text(id) = cell else { continue };
        let text = texts.get(*id);
        if text.len() > IN_VIEW_BYTES && !places.contains_key(id) {
            // The texts of a sheet have fewer bytes: see the limits of a package.
            places.insert(*id, (bytes.len() as u32, text.len() as u32));
            bytes.extend_from_slice(text.as_bytes());
        }
    }
    let mut builder = StringViewBuilder::with_capacity(cells.len());
    let block = (!bytes.is_empty()).then(|| builder.append_block(Buffer::from(bytes)));
    let mut text = String::new();
    for (row, cell) in cells.into_iter().enumerate() {
        match cell {
            None => {
                bad.null(row);
                builder.append_null();
            }
            Some(value @ CellValue::Bad(_)) => {
                bad.value(row, value);
                builder.append_null();
            }
            Some(value) => {
                let place = if let CellValue::Text(id) = value { places.get(&id) } else { None };
                if let (Some((offset, length)), Some(block)) = (place, block) {
                    builder.try_append_view(block, *offset, *length).map_err(Error::unexpected)?;
                } else {
                    text.clear();
                    value.write_text(texts, &mut text);
                    builder.append_value(&text);
                }
            }
        }
    }
    Ok(Arc::new(builder.finish()))
}
