//! Opened files, and the footers of their stripes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use arrow::datatypes::{FieldRef, SchemaRef};
use bytes::{Bytes, BytesMut};
use lakerace_io::{Error, Fetcher, Job, Object, Result, Wanted, plan_requests};
use lakerace_orc::read::{FileTail, Projection, Stripe, TailStep};
use lakerace_orc::schema::OrcKind;

use super::error::{from_orc, named};
use super::timestamps::FINEST;
use crate::columns::roots;
use crate::files::{OpenFile, learn_tail, profile};
use crate::{Constants, InputFile};

/// Footer and metadata above this are refused: their decoded form takes several times as much memory.
const TAIL_BYTES_AT_MOST: u64 = 512 << 20;
/// The same of a stripe's footer, of which many may be in memory.
const STRIPE_FOOTER_BYTES_AT_MOST: u64 = 64 << 20;

/// One opened file.
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
    /// Columns whose values its place gives.
    pub constants: Option<Arc<Constants>>,
    /// Its stripes, of all columns, once their footers were read.
    stripes: Vec<OnceLock<Stripe>>,
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

    fn constants(&self) -> Option<&Arc<Constants>> {
        self.constants.as_ref()
    }
}

/// Opens a file; its errors name it.
pub(crate) fn open(file: InputFile, tail_bytes: &AtomicU64) -> Result<OrcFile> {
    let url = file.object.url();
    file.object.store.job.check()?;
    open_named(file, &url, tail_bytes).map_err(|error| named(error, &url))
}

fn open_named(file: InputFile, url: &str, tail_bytes: &AtomicU64) -> Result<OrcFile> {
    file.refuse_hidden("ORC")?;
    let InputFile { mut object, constants, .. } = file;
    let read = object.read_tail(tail_bytes.load(Ordering::Relaxed))?;
    let size_bytes = read.size_bytes;
    object.size_bytes = Some(size_bytes);
    object.e_tag = read.e_tag;
    if size_bytes == 0 {
        return Err(Error::corrupt("the file is empty, so it is not an ORC file"));
    }
    let mut last = read.bytes;
    let tail: Arc<FileTail> = loop {
        match FileTail::parse(&last, size_bytes).map_err(from_orc)? {
            TailStep::Done(tail) => break Arc::from(tail),
            TailStep::Need(needed) => last = longer_tail(&object, &last, size_bytes, needed)?,
        }
    };
    let first = tail.stripes().iter().map(|stripe| stripe.footer_range()).map(|(at, length)| at + length).max();
    learn_tail(tail_bytes, size_bytes - first.unwrap_or(0).min(size_bytes));
    let stripes = tail.stripes().iter().map(|_| OnceLock::new()).collect();
    let schema = tail.root().to_arrow_schema(FINEST);
    let url = url.to_owned();
    let file = OrcFile { object, url, size_bytes, schema, constants, stripes, tail };
    file.note_footers(size_bytes - last.len() as u64, &last);
    Ok(file)
}

/// The last `needed` bytes, of which `last` are known.
fn longer_tail(object: &Object, last: &Bytes, size_bytes: u64, needed: u64) -> Result<Bytes> {
    let known = last.len() as u64;
    if needed <= known || needed > size_bytes {
        return Err(Error::internal(format!("the tail needs {needed} bytes of {size_bytes}, {known} are known")));
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
    /// Rows of the file.
    pub fn rows(&self) -> u64 {
        self.tail.rows()
    }

    /// The column id of a root column of [`Self::schema`].
    pub fn column_id(&self, root: usize) -> Option<u32> {
        match &self.tail.root().kind {
            OrcKind::Struct(fields) => fields.get(root).map(|(_, column)| column.id),
            _ => (root == 0).then_some(self.tail.root().id),
        }
    }

    /// A stripe for one column with all that lies below it. Its footer must have been read.
    pub fn column_of_stripe(&self, stripe: usize, column: u32) -> Result<Stripe> {
        let whole = self.stripes.get(stripe).and_then(OnceLock::get);
        let whole = whole.ok_or_else(|| Error::internal(format!("the footer of stripe {stripe} was not read")))?;
        Ok(whole.project(&Projection::ids(self.tail.root(), &[column]).map_err(from_orc)?))
    }

    /// Takes the footers of stripes that lie within these bytes. A damaged one is read again when its stripe is wanted:
    /// only then it is an error.
    fn note_footers(&self, start: u64, bytes: &Bytes) {
        for (stripe, info) in self.tail.stripes().iter().enumerate() {
            let (at, length) = info.footer_range();
            let Some(from) = at.checked_sub(start) else { continue };
            if let Some(footer) = bytes.get(from as usize..(from + length) as usize) {
                let _ = self.note_footer(stripe, footer);
            }
        }
    }

    fn note_footer(&self, stripe: usize, footer: &[u8]) -> Result<()> {
        let all = Projection::all(self.tail.root());
        let parsed = Stripe::new(&self.tail, stripe, &all, footer).map_err(from_orc)?;
        // Another thread may have been faster; it has the same.
        let _ = self.stripes[stripe].set(parsed);
        Ok(())
    }
}

/// A stripe that a read goes through.
#[derive(Debug, Clone)]
pub(crate) struct Unit {
    /// The file.
    pub file: Arc<OrcFile>,
    /// Its number in the plan.
    pub file_number: u32,
    /// The stripe.
    pub stripe: usize,
}

impl Unit {
    /// Rows of the stripe.
    pub fn rows(&self) -> u64 {
        self.file.tail.stripes()[self.stripe].rows
    }

    /// The byte ranges that these columns need, in their order.
    pub fn want(&self, fields: &[FieldRef], wanted: &mut Vec<Wanted>) -> Result<u64> {
        let mut bytes = 0;
        for root in roots(&self.file.schema, fields).into_iter().flatten() {
            let Some(column) = self.file.column_id(root) else { continue };
            let read = self.file.column_of_stripe(self.stripe, column)?.read_all().map_err(from_orc);
            for range in read.map_err(|e| named(e, &self.file.url))?.ranges() {
                bytes += range.length;
                wanted.push(Wanted { file: self.file_number, range: range.offset..range.offset + range.length });
            }
        }
        Ok(bytes)
    }
}

/// Reads the footers of stripes that are not known yet, by planned requests. Files without any of `fields` are left out:
/// nothing of them is read.
pub(crate) fn read_stripe_footers(units: &[Unit], fields: &[FieldRef], job: &Job) -> Result<()> {
    let mut files: Vec<Arc<OrcFile>> = Vec::new();
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let (mut wanted, mut missing) = (Vec::new(), Vec::new());
    for unit in units {
        if unit.file.stripes[unit.stripe].get().is_some() {
            continue;
        }
        let number = *numbers.entry(unit.file.url.as_str()).or_insert_with(|| {
            files.push(Arc::clone(&unit.file));
            files.len() as u32 - 1
        });
        let (at, length) = unit.file.tail.stripes()[unit.stripe].footer_range();
        if length > STRIPE_FOOTER_BYTES_AT_MOST {
            let message = format!("the footer of stripe {} has {length} bytes", unit.stripe);
            return Err(Error::corrupt(message).at(&unit.file.url));
        }
        if roots(&unit.file.schema, fields).iter().all(Option::is_none) {
            continue;
        }
        wanted.push(Wanted { file: number, range: at..at + length });
        missing.push((unit, number, at..at + length));
    }
    if missing.is_empty() {
        return Ok(());
    }
    let requests = plan_requests(&wanted, &job.options().ranges, &profile(&files));
    let fetcher = Fetcher::start(files.iter().map(|file| file.object.clone()).collect(), &requests, job)?;
    for (unit, number, range) in missing {
        job.check()?;
        let place = |e: Error| named(e, &unit.file.url);
        let footer = fetcher.bytes(number, range.clone()).map_err(place)?;
        unit.file.note_footer(unit.stripe, &footer).map_err(place)?;
        fetcher.release(number, range);
    }
    Ok(())
}
