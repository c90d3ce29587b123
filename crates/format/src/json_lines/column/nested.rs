//! Columns of lists, objects and maps.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, FixedSizeListArray, GenericListArray, MapArray, NullBufferBuilder, OffsetSizeTrait, StringBuilder,
    StructArray,
};
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, FieldRef, Fields};
use lakerace_io::option::{COLUMNS, INFER_ROWS, SCHEMA};
use lakerace_io::{Error, Result};

use super::{AbsentFields, Append, ColumnOrigin, ColumnPath, ColumnSlot, JsonColumn, LineFault, MissingValue};
use crate::json::{Json, JsonKind};
use crate::schema_text::print_type;

/// The column of a nested type; `None` for other types.
pub(super) fn column(place: &ColumnPath) -> Result<Option<Box<dyn JsonColumn>>> {
    let items = |field: &FieldRef| ColumnSlot::new(field, format!("{}[]", place.path), place.origin);
    Ok(Some(match &place.data_type {
        DataType::List(field) => Box::new(List::<i32>::new(field, items(field)?)),
        DataType::LargeList(field) => Box::new(List::<i64>::new(field, items(field)?)),
        DataType::FixedSizeList(field, size) => Box::new(FixedSizeList {
            field: Arc::clone(field),
            size: usize::try_from(*size).unwrap_or(0),
            items: items(field)?,
            nulls: NullBufferBuilder::new(0),
        }),
        DataType::Struct(fields) => {
            let origins = vec![place.origin; fields.len()];
            let object = ObjectColumns::new(fields, &origins, &place.path, ExtraFields::Refused)?;
            Box::new(StructColumn { fields: fields.clone(), object, nulls: NullBufferBuilder::new(0) })
        }
        DataType::Map(entries, false) => Box::new(MapColumn::new(entries, place)?),
        _ => return Ok(None),
    }))
}

fn failed(error: arrow::error::ArrowError) -> Error {
    Error::unexpected(error)
}

/// The first rows' validity.
fn cut(nulls: &mut NullBufferBuilder, rows: usize) -> Option<NullBuffer> {
    nulls.finish().map(|nulls| nulls.slice(0, rows))
}

struct List<O: OffsetSizeTrait> {
    field: FieldRef,
    items: ColumnSlot,
    ends: Vec<O>,
    nulls: NullBufferBuilder,
    /// Items so far.
    len: usize,
}

impl<O: OffsetSizeTrait> List<O> {
    fn new(field: &FieldRef, items: ColumnSlot) -> Self {
        Self { field: Arc::clone(field), items, ends: vec![O::zero()], nulls: NullBufferBuilder::new(0), len: 0 }
    }
}

/// The fault of more items than the offsets of a block's list can count.
#[cold]
fn too_many(at: usize) -> LineFault {
    LineFault::value(at, "the lists have more items than their type can count".to_owned(), "use large_list".to_owned())
}

impl<O: OffsetSizeTrait> JsonColumn for List<O> {
    fn append(&mut self, json: &mut Json<'_>, kind: JsonKind, place: &ColumnPath) -> Append {
        if kind != JsonKind::Array {
            return Err(place.misfit(json));
        }
        json.open_array()?;
        let mut is_first = true;
        while json.next(&mut is_first)? {
            self.items.append(json)?;
            self.len += 1;
        }
        self.ends.push(O::from_usize(self.len).ok_or_else(|| too_many(json.position()))?);
        self.nulls.append_non_null();
        Ok(())
    }

    fn append_null(&mut self) {
        self.ends.extend(self.ends.last().copied());
        self.nulls.append_null();
    }

    fn finish(&mut self, rows: usize) -> Result<ArrayRef> {
        let mut ends = std::mem::replace(&mut self.ends, vec![O::zero()]);
        ends.truncate(rows + 1);
        self.len = 0;
        let items = self.items.finish(ends.last().map_or(0, |end| end.as_usize()))?;
        let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
        let nulls = cut(&mut self.nulls, rows);
        let array = GenericListArray::<O>::try_new(Arc::clone(&self.field), offsets, items, nulls);
        Ok(Arc::new(array.map_err(failed)?))
    }
}

struct FixedSizeList {
    field: FieldRef,
    size: usize,
    items: ColumnSlot,
    nulls: NullBufferBuilder,
}

impl JsonColumn for FixedSizeList {
    fn append(&mut self, json: &mut Json<'_>, kind: JsonKind, place: &ColumnPath) -> Append {
        if kind != JsonKind::Array {
            return Err(place.misfit(json));
        }
        let before = json.clone();
        json.open_array()?;
        let (mut is_first, mut len) = (true, 0);
        while json.next(&mut is_first)? {
            self.items.append(json)?;
            len += 1;
        }
        if len != self.size {
            return Err(place.misfit(&before));
        }
        self.nulls.append_non_null();
        Ok(())
    }

    fn append_null(&mut self) {
        (0..self.size).for_each(|_| self.items.column.append_null());
        self.nulls.append_null();
    }

    fn finish(&mut self, rows: usize) -> Result<ArrayRef> {
        let (field, size) = (Arc::clone(&self.field), i32::try_from(self.size).unwrap_or(0));
        let (items, nulls) = (self.items.finish(rows * self.size)?, cut(&mut self.nulls, rows));
        let array = FixedSizeListArray::try_new_with_length(field, size, items, nulls, rows);
        Ok(Arc::new(array.map_err(failed)?))
    }
}

/// The treatment of fields that have no column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum ExtraFields {
    /// They are errors.
    Refused,
    /// They are skipped.
    PassedOver,
}

/// The columns of an object's fields.
pub(in super::super) struct ObjectColumns {
    slots: Vec<ColumnSlot>,
    names: Vec<String>,
    by_name: HashMap<String, usize>,
    /// Fields that are known, and skipped.
    unread: HashSet<String>,
    /// The last object that had the field, by its number from 1.
    seen: Vec<u64>,
    number: u64,
    others: ExtraFields,
    /// The types that an unknown field is missing from, as messages name them.
    lacks: &'static str,
}

impl ObjectColumns {
    pub fn new(fields: &Fields, origins: &[ColumnOrigin], path: &str, others: ExtraFields) -> Result<Self> {
        let dot = if path.is_empty() { "" } else { "." };
        let slot = |(field, origin): (&FieldRef, &ColumnOrigin)| {
            ColumnSlot::new(field, format!("{path}{dot}{}", field.name()), *origin)
        };
        let slots = fields.iter().zip(origins).map(slot).collect::<Result<Vec<_>>>()?;
        let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        let by_name = names.iter().cloned().enumerate().map(|(at, name)| (name, at)).collect();
        let lacks = match () {
            () if origins.contains(&ColumnOrigin::Given) => "the given columns lack",
            () if origins.contains(&ColumnOrigin::Inferred) => "the first rows lack",
            () => "the table's type lacks",
        };
        let (seen, unread) = (vec![0; slots.len()], HashSet::new());
        Ok(Self { slots, names, by_name, unread, seen, number: 0, others, lacks })
    }

    /// Fields that are known, and skipped.
    pub fn with_unread(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.unread.extend(names);
        self
    }

    /// The values of columns for objects that lack them.
    pub fn with_missing(mut self, fields: &Arc<impl AbsentFields + 'static>) -> Self {
        for (at, slot) in self.slots.iter_mut().enumerate().filter(|(at, _)| fields.has_value(*at)) {
            slot.missing = MissingValue::Asked(Arc::clone(fields) as _, at);
        }
        self
    }

    /// Appends the fields of the next object.
    pub fn append(&mut self, json: &mut Json<'_>) -> Append {
        json.open_object()?;
        self.number += 1;
        let (mut is_first, mut hint, mut found) = (true, 0, 0);
        loop {
            let before = json.position();
            let Some(name) = json.key(&mut is_first)? else { break };
            let is_hinted = self.names.get(hint).is_some_and(|known| *known == name);
            let at = if is_hinted { Some(hint) } else { self.by_name.get(name.as_ref()).copied() };
            let Some(at) = at else {
                if self.others == ExtraFields::Refused && !self.unread.contains(name.as_ref()) {
                    return Err(self.unknown(before, &name));
                }
                json.skip()?;
                continue;
            };
            if self.seen[at] == self.number {
                let message = format!("the object has two fields named {name:?}");
                return Err(LineFault::value(before, message, "fix the line".to_owned()));
            }
            self.seen[at] = self.number;
            hint = at + 1;
            found += 1;
            self.slots[at].append(json)?;
        }
        if found < self.slots.len() {
            for (slot, seen) in self.slots.iter_mut().zip(&self.seen) {
                if *seen != self.number {
                    slot.append_missing(json.position() - 1)?;
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn unknown(&self, at: usize, name: &str) -> LineFault {
        let message = format!("a field {name:?}, which {}", self.lacks);
        let advice = format!(
            "give its type with {SCHEMA}, infer types from more rows with {INFER_ROWS}, or select the columns to read \
             with {COLUMNS}"
        );
        LineFault::value(at, message, advice)
    }

    fn append_null(&mut self) {
        self.slots.iter_mut().for_each(|slot| slot.column.append_null());
    }

    /// The arrays of the first `rows` objects.
    pub fn finish(&mut self, rows: usize) -> Result<Vec<ArrayRef>> {
        self.slots.iter_mut().map(|slot| slot.finish(rows)).collect()
    }
}

struct StructColumn {
    fields: Fields,
    object: ObjectColumns,
    nulls: NullBufferBuilder,
}

impl JsonColumn for StructColumn {
    fn append(&mut self, json: &mut Json<'_>, kind: JsonKind, place: &ColumnPath) -> Append {
        if kind != JsonKind::Object {
            return Err(place.misfit(json));
        }
        self.object.append(json)?;
        self.nulls.append_non_null();
        Ok(())
    }

    fn append_null(&mut self) {
        self.object.append_null();
        self.nulls.append_null();
    }

    fn finish(&mut self, rows: usize) -> Result<ArrayRef> {
        let (arrays, nulls) = (self.object.finish(rows)?, cut(&mut self.nulls, rows));
        if self.fields.is_empty() {
            return Ok(Arc::new(StructArray::new_empty_fields(rows, nulls)));
        }
        Ok(Arc::new(StructArray::try_new(self.fields.clone(), arrays, nulls).map_err(failed)?))
    }
}

/// Objects whose fields are keys of a map.
struct MapColumn {
    entries: FieldRef,
    keys: StringBuilder,
    values: ColumnSlot,
    ends: Vec<i32>,
    nulls: NullBufferBuilder,
    len: usize,
    names: HashSet<String>,
}

impl MapColumn {
    fn new(entries: &FieldRef, place: &ColumnPath) -> Result<Self> {
        let DataType::Struct(pair) = entries.data_type() else {
            return Err(Error::internal("the entries of a map are not structs"));
        };
        let [key, value] = pair.as_ref() else { return Err(Error::internal("the entries of a map are not pairs")) };
        if !key.data_type().is_string() {
            let message = format!("column {:?} is a map whose keys are {}", place.path, print_type(key.data_type()));
            return Err(Error::unsupported(message).advice("names in JSON are text: declare the keys as utf8"));
        }
        let values = ColumnSlot::new(value, format!("{}[]", place.path), place.origin)?;
        let nulls = NullBufferBuilder::new(0);
        let (entries, keys) = (Arc::clone(entries), StringBuilder::new());
        Ok(Self { entries, keys, values, ends: vec![0], nulls, len: 0, names: HashSet::new() })
    }
}

impl JsonColumn for MapColumn {
    fn append(&mut self, json: &mut Json<'_>, kind: JsonKind, place: &ColumnPath) -> Append {
        if kind != JsonKind::Object {
            return Err(place.misfit(json));
        }
        json.open_object()?;
        self.names.clear();
        let mut is_first = true;
        loop {
            let before = json.position();
            let Some(name) = json.key(&mut is_first)? else { break };
            if !self.names.insert(name.clone().into_owned()) {
                let message = format!("the object has two fields named {name:?}");
                return Err(LineFault::value(before, message, "fix the line".to_owned()));
            }
            self.keys.append_value(&name);
            self.values.append(json)?;
            self.len += 1;
        }
        self.ends.push(i32::try_from(self.len).map_err(|_| too_many(json.position()))?);
        self.nulls.append_non_null();
        Ok(())
    }

    fn append_null(&mut self) {
        self.ends.extend(self.ends.last().copied());
        self.nulls.append_null();
    }

    fn finish(&mut self, rows: usize) -> Result<ArrayRef> {
        let DataType::Struct(pair) = self.entries.data_type() else {
            return Err(Error::internal("the entries of a map are not structs"));
        };
        let mut ends = std::mem::replace(&mut self.ends, vec![0]);
        ends.truncate(rows + 1);
        self.len = 0;
        let len = ends.last().and_then(|end| usize::try_from(*end).ok()).unwrap_or(0);
        let keys: ArrayRef = Arc::new(self.keys.finish().slice(0, len));
        let keys = cast(&keys, pair[0].data_type()).map_err(failed)?;
        let entries = StructArray::try_new(pair.clone(), vec![keys, self.values.finish(len)?], None).map_err(failed)?;
        let (offsets, nulls) = (OffsetBuffer::new(ScalarBuffer::from(ends)), cut(&mut self.nulls, rows));
        let map = MapArray::try_new(Arc::clone(&self.entries), offsets, entries, nulls, false);
        Ok(Arc::new(map.map_err(failed)?))
    }
}
