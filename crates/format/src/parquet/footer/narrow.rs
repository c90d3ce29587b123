//! Footers of wide files, reduced to the columns that are read.
//!
//! Decoding a footer takes far longer than scanning it: a column has a type, a path, and in each row group a chunk with
//! statistics, each in a separate allocation. So the columns that a read does not need are removed before decoding. The
//! reduced footer is valid, with the same rows and the same offsets.
//!
//! Source: parquet-format, `parquet.thrift`.

use std::collections::HashSet;
use std::ops::Range;

use arrow::datatypes::{Field, Metadata, Schema};
use arrow::ipc::root_as_message;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, encode_arrow_schema};

use super::mend::{FooterMender, wire};

/// A file of fewer root columns is decoded as a whole.
pub(super) const WIDE_COLUMNS: usize = 100;
/// A file must have at least this many times the kept root columns: otherwise the reduction costs more than it saves.
const LEAST_SHARE: usize = 4;

/// Root columns by name, for a request.
#[derive(Debug)]
pub(crate) struct RootNames<'a> {
    /// For each column of the request the names that its root may have, the whole name first.
    requested: Vec<Vec<&'a str>>,
    all: HashSet<&'a [u8]>,
}

impl<'a> RootNames<'a> {
    /// The roots of columns that are named by a request. A name with dots is that of a column, or leads to a field of a
    /// struct.
    pub fn of_request(names: impl IntoIterator<Item = &'a String>) -> Self {
        let candidates = |name: &'a String| -> Vec<&'a str> {
            let parents = name.match_indices('.').map(|(dot, _)| &name[..dot]);
            std::iter::once(name.as_str()).chain(parents).collect()
        };
        let requested: Vec<Vec<&str>> = names.into_iter().map(candidates).collect();
        let all = requested.iter().flatten().map(|name| name.as_bytes()).collect();
        Self { requested, all }
    }

    fn are_found_in(&self, kept: &HashSet<&[u8]>) -> bool {
        self.requested.iter().all(|names| names.iter().any(|name| kept.contains(name.as_bytes())))
    }
}

/// The footer with only these root columns. `None` if it is not wide, lacks one of them, can't be parsed, or is
/// encrypted or signed.
pub(crate) fn narrowed(footer: &[u8], wanted: &RootNames<'_>) -> Option<Vec<u8>> {
    let mut reader = FooterMender::new(footer);
    let (mut out, mut last, mut last_kept) = (NarrowWriter(Vec::new()), 0, 0);
    let mut columns: Option<KeptColumns> = None;
    while let Some((id, found)) = reader.next_field(last)? {
        last = id;
        let begin = reader.at;
        match (id, found) {
            (file::SCHEMA, wire::LIST) => {
                out.field(id, &mut last_kept, found);
                columns = Some(schema(&mut reader, wanted, &mut out)?);
            }
            (file::ROW_GROUPS, wire::LIST) => {
                out.field(id, &mut last_kept, found);
                let kept = columns.as_ref()?;
                out.structs(&mut reader, |reader, out| row_group(reader, kept, out))?;
            }
            (file::KEY_VALUES, wire::LIST) => {
                out.field(id, &mut last_kept, found);
                let kept = columns.as_ref()?;
                out.structs(&mut reader, |reader, out| key_value(reader, kept, out))?;
            }
            (file::COLUMN_ORDERS, wire::LIST) => {
                out.field(id, &mut last_kept, found);
                columns.as_ref()?.elements(&mut reader, &mut out)?;
            }
            (file::VERSION | file::ROWS | file::CREATED_BY, _) => {
                out.field(id, &mut last_kept, found);
                reader.skip(found, 0)?;
                out.0.extend_from_slice(reader.input.get(begin..reader.at)?);
            }
            _ => return None,
        }
    }
    // A signature follows the end.
    (reader.at == footer.len()).then_some(())?;
    out.0.push(wire::STOP);
    columns.map(|_| out.0)
}

/// The fields of a file's metadata.
mod file {
    pub(super) const VERSION: i16 = 1;
    pub(super) const SCHEMA: i16 = 2;
    pub(super) const ROWS: i16 = 3;
    pub(super) const ROW_GROUPS: i16 = 4;
    pub(super) const KEY_VALUES: i16 = 5;
    pub(super) const CREATED_BY: i16 = 6;
    pub(super) const COLUMN_ORDERS: i16 = 7;
}

/// The columns that are kept.
struct KeptColumns {
    /// Root columns of the file.
    roots: usize,
    /// The kept ones, by number.
    kept_roots: Vec<usize>,
    leaves: usize,
    /// Runs of leaf columns that are kept.
    kept_leaves: Vec<Range<usize>>,
}

impl KeptColumns {
    /// Copies those elements of a list with one for each leaf column that are kept.
    fn elements(&self, reader: &mut FooterMender<'_>, out: &mut NarrowWriter) -> Option<()> {
        let (inner, count) = reader.list_header()?;
        if inner != wire::STRUCT || count != self.leaves as u64 {
            return None;
        }
        out.list(self.kept_leaves.iter().map(ExactSizeIterator::len).sum());
        let mut next = 0;
        for run in &self.kept_leaves {
            (next..run.start).try_for_each(|_| reader.skip(wire::STRUCT, 0))?;
            let begin = reader.at;
            run.clone().try_for_each(|_| reader.skip(wire::STRUCT, 0))?;
            out.0.extend_from_slice(reader.input.get(begin..reader.at)?);
            next = run.end;
        }
        (next..self.leaves).try_for_each(|_| reader.skip(wire::STRUCT, 0))
    }
}

/// An element of a schema.
struct SchemaElement<'a> {
    bytes: Range<usize>,
    name: &'a [u8],
    children: u64,
}

/// The fields of an element of the schema.
mod element {
    pub(super) const TYPE: i16 = 1;
    pub(super) const NAME: i16 = 4;
    pub(super) const CHILDREN: i16 = 5;
}

fn next_element<'a>(reader: &mut FooterMender<'a>) -> Option<SchemaElement<'a>> {
    let (begin, mut last) = (reader.at, 0);
    let (mut name, mut children, mut has_type): (&[u8], u64, bool) = (&[], 0, false);
    while let Some((id, found)) = reader.next_field(last)? {
        last = id;
        match (id, found) {
            (element::NAME, wire::BINARY) => {
                let length = usize::try_from(reader.varint()?).ok()?;
                let end = reader.at.checked_add(length)?;
                name = reader.input.get(reader.at..end)?;
                reader.at = end;
            }
            (element::CHILDREN, wire::I32) => {
                children = u64::try_from(super::mend::zigzag(reader.varint()?)).ok()?;
            }
            _ => {
                has_type |= id == element::TYPE;
                reader.skip(found, 0)?;
            }
        }
    }
    // Groups without fields are left to others.
    (has_type == (children == 0)).then_some(SchemaElement { bytes: begin..reader.at, name, children })
}

/// Copies the root of a schema and the columns that are wanted.
fn schema(reader: &mut FooterMender<'_>, wanted: &RootNames<'_>, out: &mut NarrowWriter) -> Option<KeptColumns> {
    let (inner, count) = reader.list_header()?;
    let root = next_element(reader)?;
    let roots = usize::try_from(root.children).ok()?;
    if inner != wire::STRUCT || roots < WIDE_COLUMNS || count <= root.children {
        return None;
    }
    let (mut kept_roots, mut kept_leaves) = (Vec::new(), Vec::<Range<usize>>::new());
    let (mut kept_names, mut kept_bytes) = (HashSet::new(), Vec::new());
    let (mut leaves, mut elements, mut kept_elements) = (0, 1, 1);
    for number in 0..roots {
        let (first_leaf, first_element) = (leaves, elements);
        let head = next_element(reader)?;
        let mut open = 1;
        let mut found = Some((head.children, head.bytes.end));
        let mut end = head.bytes.end;
        while open > 0 {
            let (children, found_end) = match found.take() {
                Some(found) => found,
                None => next_element(reader).map(|element| (element.children, element.bytes.end))?,
            };
            end = found_end;
            open = u64::checked_add(open - 1, children)?;
            elements += 1;
            leaves += usize::from(children == 0);
            if elements > count {
                return None;
            }
        }
        if !wanted.all.contains(head.name) {
            continue;
        }
        kept_roots.push(number);
        kept_names.insert(head.name);
        kept_elements += elements - first_element;
        kept_bytes.extend_from_slice(reader.input.get(head.bytes.start..end)?);
        match kept_leaves.last_mut() {
            Some(run) if run.end == first_leaf => run.end = leaves,
            _ => kept_leaves.push(first_leaf..leaves),
        }
    }
    let is_worth_it = !kept_roots.is_empty() && kept_roots.len() * LEAST_SHARE <= roots;
    if elements != count || !is_worth_it || !wanted.are_found_in(&kept_names) {
        return None;
    }
    out.list(usize::try_from(kept_elements).ok()?);
    root_element(reader.input.get(root.bytes)?, kept_roots.len(), out)?;
    out.0.extend_from_slice(&kept_bytes);
    Some(KeptColumns { roots, kept_roots, leaves, kept_leaves })
}

/// Copies the root of a schema with another number of children.
fn root_element(bytes: &[u8], children: usize, out: &mut NarrowWriter) -> Option<()> {
    let mut reader = FooterMender::new(bytes);
    let (mut last, mut last_kept) = (0, 0);
    while let Some((id, found)) = reader.next_field(last)? {
        last = id;
        out.field(id, &mut last_kept, found);
        let begin = reader.at;
        reader.skip(found, 0)?;
        match id {
            element::CHILDREN => out.varint((children as u64) << 1),
            _ => out.0.extend_from_slice(bytes.get(begin..reader.at)?),
        }
    }
    out.0.push(wire::STOP);
    Some(())
}

/// Copies a row group: the chunks that are kept, without the order of rows, which identifies columns by number.
fn row_group(reader: &mut FooterMender<'_>, kept: &KeptColumns, out: &mut NarrowWriter) -> Option<()> {
    const CHUNKS: i16 = 1;
    const SORTING: i16 = 4;
    let (mut last, mut last_kept) = (0, 0);
    while let Some((id, found)) = reader.next_field(last)? {
        last = id;
        if id == SORTING {
            reader.skip(found, 0)?;
            continue;
        }
        out.field(id, &mut last_kept, found);
        if id == CHUNKS {
            kept.elements(reader, out)?;
            continue;
        }
        let begin = reader.at;
        reader.skip(found, 0)?;
        out.0.extend_from_slice(reader.input.get(begin..reader.at)?);
    }
    out.0.push(wire::STOP);
    Some(())
}

/// Copies a note of the file; that of its Arrow schema with the columns that are kept.
fn key_value(reader: &mut FooterMender<'_>, kept: &KeptColumns, out: &mut NarrowWriter) -> Option<()> {
    const KEY: i16 = 1;
    const VALUE: i16 = 2;
    let (mut last, mut last_kept, mut is_schema) = (0, 0, false);
    while let Some((id, found)) = reader.next_field(last)? {
        last = id;
        out.field(id, &mut last_kept, found);
        if found != wire::BINARY {
            return None;
        }
        let length = usize::try_from(reader.varint()?).ok()?;
        let end = reader.at.checked_add(length)?;
        let text = reader.input.get(reader.at..end)?;
        reader.at = end;
        is_schema |= id == KEY && text == ARROW_SCHEMA_META_KEY.as_bytes();
        if id == VALUE && is_schema {
            let hint = narrowed_hint(text, kept)?;
            out.binary(hint.as_bytes());
        } else {
            out.binary(text);
        }
    }
    out.0.push(wire::STOP);
    Some(())
}

/// An Arrow schema in base64 with the root columns that are kept.
fn narrowed_hint(hint: &[u8], kept: &KeptColumns) -> Option<String> {
    const MARK: [u8; 4] = [0xff; 4];
    let bytes = BASE64_STANDARD.decode(hint).ok()?;
    let message = if bytes.starts_with(&MARK) { bytes.get(8..)? } else { &bytes };
    let message = root_as_message(message).ok()?;
    let stored = message.header_as_schema()?;
    let fields = stored.fields()?;
    if fields.len() != kept.roots {
        return None;
    }
    // The crate panics on a field that it does not know.
    let field = |number: &usize| lakerace_io::panics::caught(|| Field::from(fields.get(*number))).ok();
    let fields = kept.kept_roots.iter().map(field).collect::<Option<Vec<Field>>>()?;
    let notes = stored.custom_metadata().into_iter().flatten();
    let notes = notes.filter_map(|pair| Some((pair.key()?.to_owned(), pair.value()?.to_owned())));
    Some(encode_arrow_schema(&Schema::new_with_metadata(fields, notes.collect::<Metadata>())))
}

/// Writes the compact protocol.
struct NarrowWriter(Vec<u8>);

impl NarrowWriter {
    fn field(&mut self, id: i16, last: &mut i16, found: u8) {
        match id.checked_sub(*last) {
            Some(step @ 1..=15) => self.0.push((step as u8) << 4 | found),
            _ => {
                self.0.push(found);
                let id = i64::from(id);
                self.varint(((id << 1) ^ (id >> 63)) as u64);
            }
        }
        *last = id;
    }

    fn varint(&mut self, value: u64) {
        let mut rest = value;
        while rest >= 0x80 {
            self.0.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.0.push(rest as u8);
    }

    fn binary(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    /// The header of a list of structs.
    fn list(&mut self, count: usize) {
        match count {
            0..15 => self.0.push((count as u8) << 4 | wire::STRUCT),
            _ => {
                self.0.push(0xf0 | wire::STRUCT);
                self.varint(count as u64);
            }
        }
    }

    /// Copies a list of structs, each by `copy`.
    fn structs<'a>(
        &mut self,
        reader: &mut FooterMender<'a>,
        copy: impl Fn(&mut FooterMender<'a>, &mut Self) -> Option<()>,
    ) -> Option<()> {
        let (inner, count) = reader.list_header()?;
        if inner != wire::STRUCT && count > 0 {
            return None;
        }
        self.list(usize::try_from(count).ok()?);
        (0..count).try_for_each(|_| copy(reader, self))
    }
}

#[cfg(test)]
mod tests;
