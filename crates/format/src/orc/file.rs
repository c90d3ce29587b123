//! Opened files, and the metadata of their stripes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use arrow::datatypes::{DataType, FieldRef, Metadata, SchemaRef, TimeUnit};
use bytes::{Bytes, BytesMut};
use lakerace_io::wait::lock;
use lakerace_io::{Error, Object, Result};
use lakerace_orc::read::{FileTail, Projection, ReaderClock, Stripe, TailStep};
use lakerace_orc::schema::{OrcKind, OrcType};

use super::error::{from_orc, named};
use super::row_groups::StripeRowGroups;
use crate::duplicates::refuse_duplicates;
use crate::files::{FileOpening, OpenFile};
use crate::input::{Constants, InputFile};
use crate::projection::key_and_value;

/// The unit where nothing says otherwise: the digits that ORC has.
pub(crate) const FINEST: TimeUnit = TimeUnit::Nanosecond;

/// Footer and metadata above this are refused: their decoded form takes several times as much memory.
const TAIL_BYTES_AT_MOST: u64 = 512 << 20;

/// An opened file.
#[derive(Debug)]
pub(crate) struct OrcFile {
    /// The object; its size and tag are known.
    pub object: Object,
    /// Its name for people.
    pub url: String,
    /// Its size.
    pub size_bytes: u64,
    /// Footer and metadata.
    pub tail: Arc<FileTail>,
    /// The schema of its batches; [`settle`](super::timestamps::settle) sets the unit of its timestamps.
    pub schema: SchemaRef,
    /// The positions of the file's columns, by their names.
    roots: HashMap<String, usize>,
    /// Columns whose values its place gives.
    pub constants: Option<Arc<Constants>>,
    /// Its stripes, of all columns, once their footers were read.
    stripes: Vec<OnceLock<Stripe>>,
    /// The row groups that the last filter left of stripes, by their number.
    groups: Mutex<HashMap<usize, Arc<StripeRowGroups>>>,
}

impl OpenFile for OrcFile {
    fn object(&self) -> &Object {
        &self.object
    }

    fn url(&self) -> &str {
        &self.url
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rename(&mut self, schema: SchemaRef) {
        self.roots = roots_by_name(&schema);
        self.schema = schema;
    }

    fn constants(&self) -> Option<&Arc<Constants>> {
        self.constants.as_ref()
    }

    fn rows(&self) -> u64 {
        self.tail.rows()
    }

    fn unit_count(&self) -> usize {
        self.tail.stripes().len()
    }
}

/// Opens a file, whose timestamps are instants by the clock, if there is one; its errors name it.
pub(crate) fn open(file: InputFile, opening: &FileOpening, clock: Option<&ReaderClock>) -> Result<OrcFile> {
    let url = file.object.url();
    file.object.store.job.check()?;
    open_named(file, &url, opening, clock).map_err(|error| named(error, &url))
}

fn open_named(file: InputFile, url: &str, opening: &FileOpening, clock: Option<&ReaderClock>) -> Result<OrcFile> {
    file.refuse_hidden("ORC")?;
    let InputFile { mut object, constants, .. } = file;
    let mut last = opening.read_tail(&mut object)?;
    let size_bytes = object.size_bytes.unwrap_or(last.len() as u64);
    if size_bytes == 0 {
        return Err(Error::corrupt("the file is empty, so it is not an ORC file"));
    }
    let tail: Arc<FileTail> = loop {
        match FileTail::parse(&last, size_bytes).map_err(from_orc)? {
            TailStep::Done(tail) => match clock {
                Some(clock) => break Arc::new(tail.with_clock(clock)),
                None => break Arc::from(tail),
            },
            TailStep::Need(needed) => last = longer_tail(&object, &last, size_bytes, needed)?,
        }
    };
    let first = tail.stripes().iter().map(|stripe| stripe.footer_range()).map(|(at, length)| at + length).max();
    opening.learn_tail(size_bytes - first.unwrap_or(0).min(size_bytes));
    let stripes = tail.stripes().iter().map(|_| OnceLock::new()).collect();
    let text = |note: &[u8]| String::from_utf8(note.to_vec()).ok();
    let notes: Metadata = tail.user_metadata().filter_map(|(key, note)| Some((key, text(note)?))).collect();
    let schema = Arc::new(tail.root().to_arrow_schema(FINEST).as_ref().clone().with_metadata(notes));
    refuse_duplicates(&schema)?;
    let url = url.to_owned();
    let roots = roots_by_name(&schema);
    let file = OrcFile { object, url, size_bytes, schema, roots, constants, stripes, groups: Mutex::default(), tail };
    file.note_footers(size_bytes - last.len() as u64, &last);
    Ok(file)
}

fn roots_by_name(schema: &SchemaRef) -> HashMap<String, usize> {
    let mut roots = HashMap::with_capacity(schema.fields().len());
    for (root, field) in schema.fields().iter().enumerate() {
        roots.entry(field.name().clone()).or_insert(root);
    }
    roots
}

/// The last `needed` bytes, of which `last` are known.
fn longer_tail(object: &Object, last: &Bytes, size_bytes: u64, needed: u64) -> Result<Bytes> {
    let known = last.len() as u64;
    if needed <= known || needed > size_bytes {
        return Err(Error::internal(format!("the tail needs {needed} bytes of {size_bytes}, but {known} are known")));
    }
    if needed > TAIL_BYTES_AT_MOST {
        let message = format!("footer and metadata have {needed} bytes, more than {TAIL_BYTES_AT_MOST}");
        return Err(Error::unsupported(message));
    }
    let front = object.read_range(size_bytes - needed..size_bytes - known)?;
    let mut whole = BytesMut::with_capacity(front.len() + last.len());
    whole.extend_from_slice(&front);
    whole.extend_from_slice(last);
    Ok(whole.freeze())
}

impl OrcFile {
    /// The column id of a root column of [`Self::schema`].
    pub fn column_id(&self, root: usize) -> Option<u32> {
        match &self.tail.root().kind {
            OrcKind::Struct(fields) => fields.get(root).map(|(_, column)| column.id),
            _ => (root == 0).then_some(self.tail.root().id),
        }
    }

    /// The root column of this name.
    pub fn column(&self, name: &str) -> Option<&OrcType> {
        self.tail.root().find(self.column_id(*self.roots.get(name)?)?)
    }

    /// The ids of the columns that hold a decoded column, or the part of it that is decoded; none where the file does not
    /// have it.
    pub fn columns(&self, field: &FieldRef) -> Vec<u32> {
        let mut columns = Vec::new();
        if let Some(node) = self.column(field.name()) {
            note_parts(node, field.data_type(), &mut columns);
        }
        columns
    }

    /// A stripe whose footer was read.
    pub fn stripe(&self, stripe: usize) -> Option<&Stripe> {
        self.stripes.get(stripe).and_then(OnceLock::get)
    }

    /// A stripe for some columns with all nested ones. Its footer must have been read.
    pub fn columns_of_stripe(&self, stripe: usize, columns: &[u32]) -> Result<Stripe> {
        let whole = self.stripe(stripe);
        let whole = whole.ok_or_else(|| Error::internal(format!("the footer of stripe {stripe} was not read")))?;
        Ok(whole.project(&self.projection(columns)?))
    }

    /// Some columns with all nested ones.
    pub fn projection(&self, columns: &[u32]) -> Result<Projection> {
        Projection::ids(self.tail.root(), columns).map_err(from_orc)
    }

    /// The row groups that the last filter left of a stripe, if it was some of them.
    pub fn known_groups(&self, stripe: usize) -> Option<Arc<StripeRowGroups>> {
        lock(&self.groups).get(&stripe).cloned()
    }

    /// Notes the part of a stripe that a filter has left: a read usually follows the planning.
    pub fn keep_groups(&self, stripe: usize, groups: &Arc<StripeRowGroups>) {
        lock(&self.groups).insert(stripe, Arc::clone(groups));
    }

    /// Takes the footers of stripes that lie within these bytes. A damaged one is read again when its stripe is needed,
    /// and only then is an error.
    fn note_footers(&self, start: u64, bytes: &Bytes) {
        for (stripe, info) in self.tail.stripes().iter().enumerate() {
            let (at, length) = info.footer_range();
            let Some(from) = at.checked_sub(start) else { continue };
            if let Some(footer) = bytes.get(from as usize..(from + length) as usize) {
                let _ = self.note_footer(stripe, footer);
            }
        }
    }

    /// Takes the footer of a stripe.
    pub fn note_footer(&self, stripe: usize, footer: &[u8]) -> Result<()> {
        let all = Projection::all(self.tail.root());
        let parsed = Stripe::new(&self.tail, stripe, &all, footer).map_err(from_orc)?;
        // Another thread may have been faster; it has the same.
        let _ = self.stripes[stripe].set(parsed);
        Ok(())
    }
}

/// Adds the ids of a node's parts that a type has.
fn note_parts(node: &OrcType, part: &DataType, columns: &mut Vec<u32>) {
    match (&node.kind, part) {
        (OrcKind::Struct(own), DataType::Struct(fields))
            if fields.len() < own.len() || fields.iter().any(|field| field.data_type().is_nested()) =>
        {
            let before = columns.len();
            for (name, child) in own {
                if let Some(field) = fields.iter().find(|field| field.name() == name) {
                    note_parts(child, field.data_type(), columns);
                }
            }
            if columns.len() == before {
                // The struct's own column holds its null flags.
                columns.push(node.id);
            }
        }
        (OrcKind::List(item), DataType::List(part) | DataType::LargeList(part)) if part.data_type().is_nested() => {
            note_parts(item, part.data_type(), columns);
        }
        (OrcKind::Map(_, value), DataType::Map(part, _)) => match key_and_value(part.data_type()) {
            // The keys come with the values.
            Some([_, part]) if part.data_type().is_nested() => note_parts(value, part.data_type(), columns),
            _ => columns.push(node.id),
        },
        _ => columns.push(node.id),
    }
}
