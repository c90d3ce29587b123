//! Lists, maps, structs and unions.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, MapArray, StructArray, UnionArray, new_null_array};
use arrow::buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::concat;
use arrow::datatypes::{DataType, Fields};

use super::super::MAX_BATCH_ITEMS;
use super::super::ints::IntReader;
use super::super::rle_byte::ByteRuns;
use super::{STEP, SubtreeReader, in_stream, spread};
use crate::error::{Error, Result};
use crate::proto::StreamKind;

pub(super) struct ListReader {
    pub(super) id: u32,
    pub(super) lengths: IntReader,
    pub(super) item: SubtreeReader,
    pub(super) data_type: DataType,
}

impl ListReader {
    pub(super) fn read(&mut self, there: usize, validity: Option<NullBuffer>) -> Result<ArrayRef> {
        let offsets = offsets(self.id, &mut self.lengths, there, validity.as_ref())?;
        let items = self.item.read(children(&offsets), None)?;
        let DataType::List(field) = &self.data_type else {
            return Err(Error::internal("a list column has another type"));
        };
        Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, items, validity)?))
    }
}

pub(super) struct MapReader {
    pub(super) id: u32,
    pub(super) lengths: IntReader,
    pub(super) key: SubtreeReader,
    pub(super) value: SubtreeReader,
    pub(super) data_type: DataType,
}

impl MapReader {
    pub(super) fn read(&mut self, there: usize, validity: Option<NullBuffer>) -> Result<ArrayRef> {
        let offsets = offsets(self.id, &mut self.lengths, there, validity.as_ref())?;
        let pairs = children(&offsets);
        let (keys, values) = (self.key.read(pairs, None)?, self.value.read(pairs, None)?);
        if keys.null_count() > 0 {
            let message = "a map has a null key, which Arrow's maps can't have";
            return Err(Error::unsupported(message).at(format!("column {}", self.id)));
        }
        let DataType::Map(field, ordered) = &self.data_type else {
            return Err(Error::internal("a map column has another type"));
        };
        let DataType::Struct(fields) = field.data_type() else {
            return Err(Error::internal("a map column has no entries"));
        };
        let entries = StructArray::try_new(fields.clone(), vec![keys, values], None)?;
        Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, validity, *ordered)?))
    }
}

/// The offsets of lists from their lengths.
fn offsets(id: u32, lengths: &mut IntReader, there: usize, validity: Option<&NullBuffer>) -> Result<OffsetBuffer<i32>> {
    let length = in_stream(id, StreamKind::Length);
    let lengths: Vec<i64> = spread(lengths.take(there).map_err(&length)?, validity);
    let mut offsets = Vec::with_capacity(lengths.len() + 1);
    let mut sum = 0i32;
    offsets.push(sum);
    for &count in &lengths {
        let next = i32::try_from(count).ok().filter(|count| *count >= 0).and_then(|count| sum.checked_add(count));
        sum = next.filter(|next| *next as usize <= MAX_BATCH_ITEMS).ok_or_else(|| {
            let most = MAX_BATCH_ITEMS;
            length(Error::unsupported(format!(
                "lists of {sum} and {count} items in a batch, more than {most}: read fewer rows in a batch"
            )))
        })?;
        offsets.push(sum);
    }
    Ok(OffsetBuffer::new(ScalarBuffer::from(offsets)))
}

fn children(offsets: &OffsetBuffer<i32>) -> usize {
    offsets.last() as usize
}

pub(super) struct StructReader {
    pub(super) fields: Fields,
    pub(super) columns: Vec<SubtreeReader>,
}

impl StructReader {
    pub(super) fn read(&mut self, rows: usize, validity: Option<NullBuffer>) -> Result<ArrayRef> {
        let columns = self.read_fields(rows, validity.as_ref())?;
        if columns.is_empty() {
            return Ok(Arc::new(StructArray::new_empty_fields(rows, validity)));
        }
        Ok(Arc::new(StructArray::try_new(self.fields.clone(), columns, validity)?))
    }

    pub(super) fn read_fields(&mut self, rows: usize, validity: Option<&NullBuffer>) -> Result<Vec<ArrayRef>> {
        self.columns.iter_mut().map(|column| column.read(rows, validity)).collect()
    }
}

pub(super) struct UnionReader {
    pub(super) id: u32,
    pub(super) tags: ByteRuns,
    pub(super) members: Vec<SubtreeReader>,
    pub(super) data_type: DataType,
}

impl UnionReader {
    pub(super) fn read(&mut self, rows: usize, there: usize, validity: Option<NullBuffer>) -> Result<ArrayRef> {
        let data = in_stream(self.id, StreamKind::Data);
        let mut tags: Vec<u8> = Vec::with_capacity(there.min(STEP));
        while tags.len() < there {
            let at = tags.len();
            tags.resize(at + (there - at).min(STEP), 0);
            self.tags.read(&mut tags[at..]).map_err(&data)?;
        }
        let mut counts = vec![0i32; self.members.len()];
        let mut offsets = Vec::with_capacity(there);
        for &tag in &tags {
            let Some(count) = counts.get_mut(usize::from(tag)) else {
                return Err(data(Error::corrupt(format!(
                    "a union's value refers to member {tag} of {}",
                    self.members.len()
                ))));
            };
            offsets.push(*count);
            *count += 1;
        }
        let mut members: Vec<ArrayRef> = Vec::with_capacity(self.members.len());
        for (member, count) in self.members.iter_mut().zip(&counts) {
            members.push(member.read(*count as usize, None)?);
        }
        // Arrow's unions have no nulls of their own: these rows point to a null of the first member.
        if let Some(validity) = validity.as_ref().filter(|validity| validity.null_count() > 0) {
            let Some(first) = members.first_mut() else {
                return Err(Error::unsupported("a union without members has rows").at(format!("column {}", self.id)));
            };
            let null = first.len() as i32;
            *first = concat(&[first.as_ref(), new_null_array(first.data_type(), 1).as_ref()])?;
            tags = spread(tags, Some(validity));
            offsets = spread(offsets, Some(validity));
            let nulls = (0..rows).filter(|row| validity.is_null(*row));
            nulls.for_each(|row| offsets[row] = null);
        }
        let DataType::Union(fields, _) = &self.data_type else {
            return Err(Error::internal("a union column has another type"));
        };
        let tags: Vec<i8> = tags.into_iter().map(|tag| tag as i8).collect();
        Ok(Arc::new(UnionArray::try_new(fields.clone(), tags.into(), Some(offsets.into()), members)?))
    }
}
