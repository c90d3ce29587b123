//! Lists, maps and structs.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::filter;
use arrow::datatypes::DataType;

use crate::encode::codec::Compressor;
use crate::proto::{EncodingKind, StreamKind};
use crate::write::column::Column;
use crate::write::integers::RunStream;
use crate::write::stream::{Shape, Stream};
use crate::write::values::{Digest, Encoding, Values};
use crate::{Error, Result};

/// Lists, and maps as lists of keys and of values.
pub(crate) struct Lists {
    runs: RunStream,
    lengths: [Stream; 1],
    children: Vec<Column>,
}

impl Lists {
    pub(crate) fn new(children: Vec<Column>, block_size: usize) -> Self {
        let lengths = [Stream::new(StreamKind::Length, Shape::Runs, block_size)];
        Self { runs: RunStream::new(false), lengths, children }
    }

    /// Takes in the lengths and gives back the items of lists that are not null.
    fn items(
        &mut self,
        items: &ArrayRef,
        lists: usize,
        nulls: Option<&NullBuffer>,
        range: impl Fn(usize) -> (usize, usize),
    ) -> Result<ArrayRef> {
        let waiting = &mut self.runs.waiting;
        let (first, last) = if lists == 0 { (0, 0) } else { (range(0).0, range(lists - 1).1) };
        let mut hidden = false;
        for list in 0..lists {
            let (start, end) = range(list);
            match nulls.is_none_or(|nulls| nulls.is_valid(list)) {
                true => waiting.push((end - start) as i64),
                false => hidden |= end > start,
            }
        }
        let items = items.slice(first, last - first);
        if !hidden {
            return Ok(items);
        }
        let mut kept = vec![false; items.len()];
        for list in (0..lists).filter(|&list| nulls.is_none_or(|nulls| nulls.is_valid(list))) {
            let (start, end) = range(list);
            kept[start - first..end - first].fill(true);
        }
        Ok(filter(&items, &BooleanArray::new(BooleanBuffer::from(kept), None))?)
    }
}

impl Values for Lists {
    fn append(
        &mut self,
        array: &dyn Array,
        nulls: Option<&NullBuffer>,
        digest: &mut Digest<'_>,
        compressor: &mut Compressor,
    ) -> Result<()> {
        let before = self.runs.waiting.len();
        let rows = array.len();
        let children: Vec<ArrayRef> = match array.data_type() {
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                let ends = list.value_offsets();
                vec![self.items(list.values(), rows, nulls, |n| (ends[n] as usize, ends[n + 1] as usize))?]
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                let ends = list.value_offsets();
                vec![self.items(list.values(), rows, nulls, |n| (ends[n] as usize, ends[n + 1] as usize))?]
            }
            DataType::FixedSizeList(_, size) => {
                let size = usize::try_from(*size).map_err(|_| Error::invalid("lists of a negative size"))?;
                vec![self.items(array.as_fixed_size_list().values(), rows, nulls, |n| (n * size, (n + 1) * size))?]
            }
            DataType::Map(..) => {
                let map = array.as_map();
                let ends = map.value_offsets();
                let entries: ArrayRef = std::sync::Arc::new(map.entries().clone());
                let kept = self.items(&entries, rows, nulls, |n| (ends[n] as usize, ends[n + 1] as usize))?;
                kept.as_struct().columns().to_vec()
            }
            other => return Err(Error::internal(format!("{other} is not a list"))),
        };
        digest.statistics.add_lengths(&self.runs.waiting[before..]);
        self.runs.relieve(&mut self.lengths[0], compressor)?;
        self.children.iter_mut().zip(&children).try_for_each(|(child, array)| child.append(array, compressor))
    }

    fn end_group(&mut self, compressor: &mut Compressor) -> Result<()> {
        self.runs.end_group(&mut self.lengths[0], compressor)
    }

    fn streams(&self) -> &[Stream] {
        &self.lengths
    }

    fn streams_mut(&mut self) -> &mut [Stream] {
        &mut self.lengths
    }

    fn children(&self) -> &[Column] {
        &self.children
    }

    fn children_mut(&mut self) -> &mut [Column] {
        &mut self.children
    }

    fn waiting_bytes(&self) -> usize {
        self.runs.waiting_bytes()
    }

    fn memory_bytes(&self) -> usize {
        self.runs.memory_bytes()
    }
}

/// Structs.
pub(crate) struct Structs {
    children: Vec<Column>,
}

impl Structs {
    pub(crate) fn new(children: Vec<Column>) -> Self {
        Self { children }
    }
}

impl Values for Structs {
    fn append(
        &mut self,
        array: &dyn Array,
        nulls: Option<&NullBuffer>,
        _: &mut Digest<'_>,
        compressor: &mut Compressor,
    ) -> Result<()> {
        let array = array.as_struct_opt().ok_or_else(|| Error::internal("not an array of structs"))?;
        // A field has a value only where its struct has one.
        let valid = nulls.map(|nulls| BooleanArray::new(nulls.inner().clone(), None));
        for (child, column) in self.children.iter_mut().zip(array.columns()) {
            match &valid {
                Some(valid) => child.append(&filter(column, valid)?, compressor)?,
                None => child.append(column, compressor)?,
            }
        }
        Ok(())
    }

    fn end_group(&mut self, _: &mut Compressor) -> Result<()> {
        Ok(())
    }

    fn close(&mut self, _: &mut Compressor) -> Result<Encoding> {
        Ok(Encoding { kind: EncodingKind::Direct, dictionary_size: None })
    }

    fn streams(&self) -> &[Stream] {
        &[]
    }

    fn streams_mut(&mut self) -> &mut [Stream] {
        &mut []
    }

    fn children(&self) -> &[Column] {
        &self.children
    }

    fn children_mut(&mut self) -> &mut [Column] {
        &mut self.children
    }

    fn waiting_bytes(&self) -> usize {
        0
    }

    fn memory_bytes(&self) -> usize {
        0
    }
}
