//! Commands of writes, made row by row in a byte buffer.

use arrow::datatypes::Schema;
use arrow::record_batch::RecordBatch;
use bson::{Document, RawDocumentBuf, doc};
use lakerace_io::{Error, Result};

use super::columns::{self, BsonEncoding, BsonMisfit, DocumentColumn};
use super::elements as kind;

/// The statement of a command, which applies to all of its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteStatement {
    Insert,
    Upsert,
    Delete,
}

/// The origin of the `_id` of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum IdPlan {
    /// 7 bytes of the load and 5 of the row's number, as an ObjectId.
    Row([u8; 7]),
    /// A column called `_id`.
    Column(usize),
    /// The key's columns: the value of one, or a document of several.
    Key(Vec<usize>),
    /// The server's: documents are found by their key's fields.
    Server(Vec<usize>),
}

/// The columns of a batch, ready to be written as documents.
pub(super) struct DocumentRows<'a> {
    columns: Vec<DocumentColumn>,
    id: &'a IdPlan,
}

impl<'a> DocumentRows<'a> {
    pub(super) fn new(batch: &RecordBatch, schema: &Schema, id: &'a IdPlan, encoding: BsonEncoding) -> Result<Self> {
        let columns = schema.fields().iter().zip(batch.columns());
        let columns =
            columns.map(|(field, array)| DocumentColumn::new(field, array, encoding).map_err(|e| e.at(field.name())));
        Ok(Self { columns: columns.collect::<Result<_>>()?, id })
    }

    /// Writes the element of an array for a row.
    #[inline]
    fn write(&self, out: &mut Vec<u8>, statement: WriteStatement, row: usize, number: u64) -> Result<(), BsonMisfit> {
        if statement == WriteStatement::Insert {
            return self.document(out, row, number);
        }
        columns::document(out, |out| {
            out.extend_from_slice(&[kind::DOCUMENT, b'q', 0]);
            self.query(out, row, number)?;
            if statement == WriteStatement::Delete {
                // A key that the server does not know to be unique may have several documents.
                let limit = i32::from(!matches!(self.id, IdPlan::Server(_)));
                out.push(kind::INT32);
                out.extend_from_slice(b"limit\0");
                out.extend_from_slice(&limit.to_le_bytes());
                return Ok(());
            }
            out.extend_from_slice(&[kind::DOCUMENT, b'u', 0]);
            self.document(out, row, number)?;
            out.push(kind::BOOLEAN);
            out.extend_from_slice(b"upsert\0\x01");
            Ok(())
        })
    }

    #[inline]
    fn document(&self, out: &mut Vec<u8>, row: usize, number: u64) -> Result<(), BsonMisfit> {
        columns::document(out, |out| {
            self.id(out, row, number)?;
            let skipped = if let IdPlan::Column(index) = self.id { *index } else { usize::MAX };
            for (index, column) in self.columns.iter().enumerate() {
                if index != skipped {
                    column.write(out, row)?;
                }
            }
            Ok(())
        })
    }

    fn query(&self, out: &mut Vec<u8>, row: usize, number: u64) -> Result<(), BsonMisfit> {
        columns::document(out, |out| match self.id {
            IdPlan::Server(key) => key.iter().try_for_each(|index| self.key_part(out, *index, None, row)),
            _ => self.id(out, row, number),
        })
    }

    #[inline]
    fn id(&self, out: &mut Vec<u8>, row: usize, number: u64) -> Result<(), BsonMisfit> {
        const NAME: &[u8] = b"_id\0";
        match self.id {
            IdPlan::Row(token) => {
                out.push(kind::OBJECT_ID);
                out.extend_from_slice(NAME);
                out.extend_from_slice(token);
                out.extend_from_slice(&number.to_be_bytes()[3..]);
                Ok(())
            }
            IdPlan::Column(index) => self.key_part(out, *index, Some(NAME), row),
            IdPlan::Key(key) if key.len() == 1 => self.key_part(out, key[0], Some(NAME), row),
            IdPlan::Key(key) => {
                out.push(kind::DOCUMENT);
                out.extend_from_slice(NAME);
                columns::document(out, |out| key.iter().try_for_each(|index| self.key_part(out, *index, None, row)))
            }
            IdPlan::Server(_) => Ok(()),
        }
    }

    fn key_part(&self, out: &mut Vec<u8>, index: usize, name: Option<&[u8]>, row: usize) -> Result<(), BsonMisfit> {
        let column = &self.columns[index];
        if column.is_null(row) {
            let field = String::from_utf8_lossy(column.name()).into_owned();
            return Err(BsonMisfit { field, reason: "the key is null" });
        }
        let own = [column.name(), &[0]].concat();
        column.write_named(out, name.unwrap_or(&own), row)
    }
}

/// A command that is being filled.
pub(super) struct CommandBuffer {
    bytes: Vec<u8>,
    array_at: usize,
    statement: WriteStatement,
    /// For each row: the start of its document, its batch, and its row in the batch.
    rows: Vec<RowAt>,
    batches: Vec<RecordBatch>,
    name: Vec<u8>,
    header: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct RowAt {
    start: usize,
    batch: u32,
    row: u32,
}

/// The outcome of adding a row.
pub(super) enum AddedRow {
    /// The row was added.
    Yes,
    /// The command must be sent first.
    Full,
    /// The row fits no command.
    Rejected(String),
}

/// The most bytes of a document, and of a command around one.
pub(super) const DOCUMENT_BYTES: usize = 16 << 20;
const COMMAND_BYTES: usize = DOCUMENT_BYTES + (12 << 10);
/// Rows of a command at most.
const COMMAND_ROWS: usize = 100_000;

impl CommandBuffer {
    /// An empty command on a collection.
    pub(super) fn new(collection: &str, statement: WriteStatement, write_concern: &Document) -> Result<Self> {
        let (command, array) = match statement {
            WriteStatement::Insert => ("insert", "documents"),
            WriteStatement::Upsert => ("update", "updates"),
            WriteStatement::Delete => ("delete", "deletes"),
        };
        let head = doc! { command: collection, "ordered": false, "writeConcern": write_concern.clone() };
        let mut header = RawDocumentBuf::try_from(head).map_err(Error::unexpected)?.into_bytes();
        header.pop();
        header.push(kind::ARRAY);
        header.extend_from_slice(array.as_bytes());
        header.push(0);
        let mut made = Self {
            bytes: Vec::new(),
            array_at: header.len(),
            statement,
            rows: Vec::new(),
            batches: Vec::new(),
            name: Vec::new(),
            header,
        };
        made.begin();
        Ok(made)
    }

    fn begin(&mut self) {
        self.bytes.extend_from_slice(&self.header);
        self.bytes.extend_from_slice(&[0; 4]);
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a row of a batch.
    #[inline]
    pub(super) fn add(&mut self, rows: &DocumentRows<'_>, batch: &RecordBatch, row: usize, number: u64) -> AddedRow {
        if self.rows.len() == COMMAND_ROWS {
            return AddedRow::Full;
        }
        let start = self.bytes.len();
        columns::index_name(&mut self.name, self.rows.len());
        self.bytes.push(kind::DOCUMENT);
        self.bytes.extend_from_slice(&self.name);
        let document = self.bytes.len();
        if let Err(misfit) = rows.write(&mut self.bytes, self.statement, row, number) {
            self.bytes.truncate(start);
            return AddedRow::Rejected(format!("{}: {}", misfit.field, misfit.reason));
        }
        let length = self.bytes.len() - document;
        let extra = if self.statement == WriteStatement::Insert { 0 } else { 4 << 10 };
        if length > DOCUMENT_BYTES + extra {
            self.bytes.truncate(start);
            return AddedRow::Rejected(format!(
                "its document has {length} bytes, but a server accepts at most {DOCUMENT_BYTES}"
            ));
        }
        if self.bytes.len() + 2 > COMMAND_BYTES && !self.rows.is_empty() {
            self.bytes.truncate(start);
            return AddedRow::Full;
        }
        if self.batches.is_empty() {
            self.batches.push(batch.clone());
        }
        self.rows.push(RowAt { start: document, batch: self.batches.len() as u32 - 1, row: row as u32 });
        AddedRow::Yes
    }

    /// Starts a batch: the next rows belong to it.
    pub(super) fn start_batch(&mut self, batch: &RecordBatch) {
        self.batches.push(batch.clone());
    }

    /// Takes the command, and starts the next one.
    pub(super) fn take(&mut self) -> WriteCommand {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.push(0);
        let length = (bytes.len() - self.array_at) as u32;
        bytes[self.array_at..self.array_at + 4].copy_from_slice(&length.to_le_bytes());
        bytes.push(0);
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        self.bytes.reserve(bytes.len() + bytes.len() / 8);
        self.begin();
        WriteCommand {
            bytes,
            statement: self.statement,
            rows: std::mem::take(&mut self.rows),
            batches: std::mem::take(&mut self.batches),
        }
    }
}

/// A command that is complete.
pub(super) struct WriteCommand {
    pub bytes: Vec<u8>,
    pub statement: WriteStatement,
    rows: Vec<RowAt>,
    batches: Vec<RecordBatch>,
}

impl WriteCommand {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The batch of a row, and its number in it.
    pub(super) fn row(&self, index: usize) -> Option<(&RecordBatch, usize)> {
        let at = self.rows.get(index)?;
        Some((self.batches.get(at.batch as usize)?, at.row as usize))
    }

    /// The document of a row.
    pub(super) fn document(&self, index: usize) -> Option<&[u8]> {
        let start = self.rows.get(index)?.start;
        let bytes = self.bytes.get(start..)?;
        let length = i32::from_le_bytes(bytes.get(..4)?.try_into().ok()?);
        bytes.get(..usize::try_from(length).ok()?)
    }

    /// The bytes of all documents.
    pub(super) fn payload(&self) -> u64 {
        self.bytes.len() as u64
    }
}
