//! Rows as the lines of a bulk request.

mod cells;
mod limits;

use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use lakerace_format::json::write_text;
use lakerace_format::schema_text::print_type;
use lakerace_io::option::KEY;
use lakerace_io::{Error, Result};
use serde_json::{Map, Value};

use super::mapping::{ID, ROUTING, find, is_in_document, is_numeric, kind_of};
use cells::CellColumn;
use limits::FieldLimits;

/// The longest `_id` that a server takes, in bytes: a longer one refuses its whole request.
const LONGEST_ID: usize = 512;

/// Why a row can't be sent. It holds no value.
pub(super) type Refusal = String;

/// An operation on a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DocumentAction {
    /// It is put there, over one of the same `_id`.
    Index,
    /// It is put there; one of the same `_id` rejects it.
    Create,
    /// The one of this `_id` is removed.
    Delete,
}

/// The source of a document's `_id`.
#[derive(Debug, Clone)]
enum IdSource {
    /// These columns, each as text.
    Key(Vec<usize>),
    /// The load's own name, and the number of the row in it.
    Row(String),
}

/// Writes rows of one schema as lines.
#[derive(Debug, Clone)]
pub(super) struct LineEncoder {
    action: DocumentAction,
    id: IdSource,
    routing: Option<usize>,
    columns: Vec<EncodedColumn>,
}

#[derive(Debug, Clone)]
struct EncodedColumn {
    index: usize,
    /// `"name":`
    name: Vec<u8>,
    /// True if its field takes numbers, so that decimals and large integers are none of its texts.
    is_numeric: bool,
    /// The values that its field can't search exactly.
    limits: FieldLimits,
}

impl LineEncoder {
    /// Rows of `schema` for an index with these fields. Without a key, the `_id` is `load`, a hyphen and the row's number.
    pub fn new(
        schema: &Schema,
        key: &[String],
        action: DocumentAction,
        fields: &Map<String, Value>,
        load: &str,
    ) -> Result<Self> {
        let index_of = |name: &str| schema.index_of(name).ok();
        let id = if let Some(index) = index_of(ID) {
            if !key.is_empty() && key != [ID] {
                return Err(Error::usage("the column _id is the document's id, but another key is given as well")
                    .advice(format!("omit {KEY}, or the column")));
            }
            IdSource::Key(vec![index])
        } else if key.is_empty() {
            IdSource::Row(load.to_owned())
        } else {
            let named = key.iter().map(|name| {
                index_of(name).ok_or_else(|| {
                    Error::not_found(format!("the key names a column {name:?}, which the rows do not have"))
                })
            });
            IdSource::Key(named.collect::<Result<_>>()?)
        };
        if let IdSource::Key(columns) = &id {
            columns.iter().try_for_each(|&column| check_key(schema.field(column)))?;
        }
        let columns = schema.fields().iter().enumerate().filter(|(_, field)| is_in_document(field));
        let columns = columns
            .map(|(index, field)| {
                let mut name = Vec::new();
                write_text(&mut name, field.name().as_bytes());
                name.push(b':');
                let mapped = find(fields, field.name());
                let is_numeric = mapped.is_some_and(|mapped| is_numeric(kind_of(mapped)));
                let limits = FieldLimits::new(field.name(), field.data_type(), mapped);
                EncodedColumn { index, name, is_numeric, limits }
            })
            .collect();
        let action = if matches!(id, IdSource::Row(_)) && action == DocumentAction::Delete {
            return Err(
                Error::usage("rows are deleted by their key, and no key is given").advice(format!("set it with {KEY}"))
            );
        } else {
            action
        };
        Ok(Self { action, id, routing: index_of(ROUTING), columns })
    }

    /// Lets these fields search by fewer digits than their documents have.
    pub fn allow_narrowing(mut self, is_allowed: impl Fn(&str) -> bool) -> Self {
        for column in &mut self.columns {
            let limits = std::mem::replace(&mut column.limits, FieldLimits::None);
            column.limits = limits.allow_narrowing(&is_allowed);
        }
        self
    }

    /// Returns true if two rows may have one `_id`.
    pub fn has_key(&self) -> bool {
        matches!(self.id, IdSource::Key(_))
    }

    /// The rows of a batch, ready to be written.
    pub fn rows<'a>(&'a self, batch: &RecordBatch) -> Result<EncodedRows<'a>> {
        let cells = |index: usize| CellColumn::new(batch.column(index), false);
        let key = match &self.id {
            IdSource::Key(columns) => columns.iter().map(|&index| cells(index)).collect::<Result<_>>()?,
            IdSource::Row(_) => Vec::new(),
        };
        let columns = match self.action {
            DocumentAction::Delete => Vec::new(),
            _ => self
                .columns
                .iter()
                .map(|column| Ok((column, CellColumn::new(batch.column(column.index), column.is_numeric)?)))
                .collect::<Result<_>>()?,
        };
        let routing = self.routing.map(cells).transpose()?;
        Ok(EncodedRows { encoder: self, key, routing, columns })
    }
}

impl EncodedColumn {
    fn write(&self, cells: &CellColumn, row: usize, out: &mut Vec<u8>) -> std::result::Result<(), Refusal> {
        let done = match self.limits.passed(cells, row) {
            Some(limit) => Err(limit.reason()),
            None => cells.write(row, out),
        };
        done.map_err(|reason| {
            let name = String::from_utf8_lossy(self.name.strip_suffix(b":").unwrap_or(&self.name));
            format!("column {name}: {reason}")
        })
    }
}

/// Types whose values have one text each.
fn check_key(field: &Field) -> Result<()> {
    let data_type = field.data_type();
    let data_type = if let DataType::Dictionary(_, values) = data_type { values } else { data_type };
    if data_type.is_nested() || data_type.is_floating() || data_type.is_null() {
        return Err(Error::unsupported(format!(
            "column {:?} of type {} can't be a key",
            field.name(),
            print_type(data_type)
        ))
        .advice(format!("set {KEY} to columns of integers, texts, dates or decimals")));
    }
    Ok(())
}

/// The rows of one batch.
pub(super) struct EncodedRows<'a> {
    encoder: &'a LineEncoder,
    key: Vec<CellColumn>,
    routing: Option<CellColumn>,
    columns: Vec<(&'a EncodedColumn, CellColumn)>,
}

impl EncodedRows<'_> {
    /// Appends the lines of row `row`, whose number in the load is `number`, and gives the length of the first line.
    ///
    /// # Errors
    /// Why no server would take the row. What was appended by then is to be cut off.
    pub fn write(&self, row: usize, number: u64, out: &mut Vec<u8>) -> std::result::Result<usize, Refusal> {
        let start = out.len();
        out.extend_from_slice(match self.encoder.action {
            DocumentAction::Index => b"{\"index\":{\"_id\":",
            DocumentAction::Create => b"{\"create\":{\"_id\":",
            DocumentAction::Delete => b"{\"delete\":{\"_id\":",
        });
        self.write_id(row, number, out)?;
        if let Some(routing) = self.routing.as_ref().filter(|routing| routing.is_valid(row)) {
            out.extend_from_slice(b",\"routing\":");
            let mut text = Vec::new();
            routing.plain(row, &mut text)?;
            write_text(out, &text);
        }
        out.extend_from_slice(b"}}\n");
        let first_line = out.len() - start;
        if self.encoder.action == DocumentAction::Delete {
            return Ok(first_line);
        }
        out.push(b'{');
        for (index, (column, cells)) in self.columns.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&column.name);
            column.write(cells, row, out)?;
        }
        out.extend_from_slice(b"}\n");
        Ok(first_line)
    }

    fn write_id(&self, row: usize, number: u64, out: &mut Vec<u8>) -> std::result::Result<(), Refusal> {
        if let IdSource::Row(load) = &self.encoder.id {
            out.push(b'"');
            out.extend_from_slice(load.as_bytes());
            out.push(b'-');
            out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
            out.push(b'"');
            return Ok(());
        }
        let mut id = Vec::new();
        for (index, cells) in self.key.iter().enumerate() {
            if !cells.is_valid(row) {
                return Err("the key is null".to_owned());
            }
            if self.key.len() == 1 {
                cells.plain(row, &mut id)?;
                break;
            }
            // The separator is escaped, so that different parts of a key never give the same `_id`.
            let mut part = Vec::new();
            cells.plain(row, &mut part)?;
            if index > 0 {
                id.push(b'|');
            }
            for byte in part {
                if byte == b'|' || byte == b'\\' {
                    id.push(b'\\');
                }
                id.push(byte);
            }
        }
        if id.is_empty() {
            return Err("the key is empty".to_owned());
        }
        if id.len() > LONGEST_ID {
            return Err(format!("the key has {} bytes, and an _id has at most {LONGEST_ID}", id.len()));
        }
        write_text(out, &id);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
