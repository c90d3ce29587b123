//! The rows of an upsert, and how often they can be read.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::datatypes::SchemaRef;
use lakerace_format::Batches;
use lakerace_io::{Error, Result};

/// The rows of a source.
pub struct SourceRows {
    schema: SchemaRef,
    kind: SourceKind,
    /// The source of the rows, for errors.
    place: Option<String>,
}

enum SourceKind {
    /// A stream.
    Once(Batches),
    Again(RereadableRows),
}

/// Rows that can be read again, or some of their columns, in the same order.
pub(crate) struct RereadableRows {
    /// The number of rows.
    pub rows: u64,
    /// The approximate bytes of reading all columns.
    pub bytes: u64,
    read: Box<Read>,
}

/// Reads these columns, or all.
type Read = dyn Fn(Option<&[String]>) -> Result<Batches> + Send;

impl From<Batches> for SourceRows {
    /// Rows that can be read once.
    fn from(batches: Batches) -> Self {
        Self { schema: batches.schema().clone(), kind: SourceKind::Once(batches), place: None }
    }
}

impl fmt::Debug for SourceRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.again().map(|again| again.rows);
        f.debug_struct("SourceRows").field("schema", &self.schema).field("rows", &rows).finish()
    }
}

impl SourceRows {
    /// Rows of a columnar source, of which some columns can be read first at low cost. `read` returns these columns, or
    /// all of `schema`: with the same rows in the same order each time, or an error. `bytes` is the approximate size of
    /// all columns when read.
    pub fn read_again(
        schema: SchemaRef,
        rows: u64,
        bytes: u64,
        read: impl Fn(Option<&[String]>) -> Result<Batches> + Send + 'static,
    ) -> Self {
        Self { schema, kind: SourceKind::Again(RereadableRows { rows, bytes, read: Box::new(read) }), place: None }
    }

    /// Names the source of the rows in errors: a file, folder or URL.
    #[must_use]
    pub fn named(self, place: impl Into<String>) -> Self {
        Self { place: Some(place.into()), ..self }
    }

    /// The number of rows, if they can be read again.
    pub fn known_rows(&self) -> Option<u64> {
        self.again().map(|again| again.rows)
    }

    /// The source of the rows, if that is known.
    pub(crate) fn location(&self) -> Option<&str> {
        self.place.as_deref()
    }

    /// The schema of all columns.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The means to read them more than once, if that is possible.
    pub(crate) fn again(&self) -> Option<&RereadableRows> {
        match &self.kind {
            SourceKind::Once(_) => None,
            SourceKind::Again(again) => Some(again),
        }
    }

    /// Restricts the rows to these columns, where reading fewer costs less and all of them exist.
    pub(crate) fn only(self, names: &[String]) -> Self {
        let numbers = names.iter().map(|name| self.schema.index_of(name));
        let schema = numbers.collect::<Result<Vec<_>, _>>().and_then(|numbers| self.schema.project(&numbers));
        match (self.kind, schema) {
            (SourceKind::Again(RereadableRows { rows, bytes, read }), Ok(schema)) => {
                let names = names.to_vec();
                let read = move |columns: Option<&[String]>| read(Some(columns.unwrap_or(&names)));
                Self { place: self.place, ..Self::read_again(Arc::new(schema), rows, bytes, read) }
            }
            (kind, _) => Self { schema: self.schema, kind, place: self.place },
        }
    }

    /// All rows and columns.
    pub fn batches(self) -> Result<Batches> {
        match self.kind {
            SourceKind::Once(batches) => Ok(batches),
            SourceKind::Again(again) => (again.read)(None),
        }
    }
}

impl RereadableRows {
    /// The rows with only these columns.
    pub fn columns(&self, names: &[String]) -> Result<Batches> {
        (self.read)(Some(names))
    }
}

/// Counts the rows of batches while they are read.
pub(crate) fn counted(batches: Batches) -> (Batches, Arc<AtomicU64>) {
    let rows = Arc::new(AtomicU64::new(0));
    let (schema, count) = (batches.schema().clone(), Arc::clone(&rows));
    let batches = batches.inspect(move |batch| {
        if let Ok(batch) = batch {
            count.fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
        }
    });
    (Batches::new(schema, batches), rows)
}

/// The error of a source that has changed since its keys were read.
pub(crate) fn changed() -> Error {
    Error::conflict("the rows of the source changed after its keys were read")
        .advice("run it again when the source is complete")
}
