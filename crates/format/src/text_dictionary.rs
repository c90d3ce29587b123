//! Texts as keys of a dictionary.

use arrow::array::{Array, ArrayRef, DictionaryArray, Int32Array, StringViewArray};
use arrow::buffer::{NullBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type};
use lakerace_io::{Error, Result};

/// Rows between two looks at the number of values.
const LOOK_ROWS: usize = 1024;
/// A dictionary has at most one value for so many rows.
pub(crate) const ROWS_PER_VALUE: usize = 4;
/// The number of slots of a table without values.
const SLOTS: usize = 4096;

/// The type of texts as keys of a dictionary: `Dictionary(Int32, Utf8)`.
pub fn text_key_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// Converts texts to a dictionary with 32-bit keys, of [`text_key_type`].
///
/// Texts are compared by their views alone, which is one comparison of 16 bytes. A long text at two places in memory is
/// therefore two values of the dictionary. If more than about a quarter of the texts differ, each row has a separate value.
///
/// # Errors
/// `Internal` if there are more than `i32::MAX` rows.
pub fn text_dictionary(texts: &StringViewArray) -> Result<DictionaryArray<Int32Type>> {
    let (keys, values) = match shared_values(texts) {
        Some((keys, views)) => (
            keys.into(),
            StringViewArray::try_new(views.into(), texts.data_buffers().clone(), None).map_err(Error::unexpected)?,
        ),
        None => {
            let rows = i32::try_from(texts.len()).map_err(|_| Error::internal("a batch has more rows than keys"))?;
            (ScalarBuffer::from_iter(0..rows), texts.clone())
        }
    };
    let values: ArrayRef = cast(&values, &DataType::Utf8).map_err(Error::unexpected)?;
    let keys = Int32Array::new(keys, texts.nulls().cloned());
    DictionaryArray::try_new(keys, values).map_err(Error::unexpected)
}

/// The texts of some rows without repetition, and the position of each row's text among them. Null is one of them if a row is null.
/// `None` if more than about a quarter of the texts differ, which the first rows tell.
///
/// Texts are compared as in [`text_dictionary`]: a few may occur twice.
///
/// # Errors
/// `Internal` if the views are not those of texts.
pub(crate) fn distinct_texts(texts: &StringViewArray) -> Result<Option<(Vec<i32>, StringViewArray)>> {
    let Some((mut keys, mut views)) = shared_values(texts) else { return Ok(None) };
    let nulls = texts.nulls().filter(|nulls| nulls.null_count() > 0);
    let null_key = views.len();
    if let Some(nulls) = nulls {
        for row in (!nulls.inner()).set_indices() {
            keys[row] = null_key as i32;
        }
        views.push(0);
    }
    let valid = nulls.map(|_| NullBuffer::from_iter((0..views.len()).map(|key| key != null_key)));
    let values = StringViewArray::try_new(views.into(), texts.data_buffers().clone(), valid);
    values.map(|values| Some((keys, values))).map_err(Error::unexpected)
}

/// The key of each row, and the views of the values; `None` if the rows share too few of them.
fn shared_values(texts: &StringViewArray) -> Option<(Vec<i32>, Vec<u128>)> {
    let mut table = ViewTable::new();
    let mut keys = Vec::with_capacity(texts.len());
    for (number, views) in texts.views().chunks(LOOK_ROWS).enumerate() {
        match texts.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => keys.extend(views.iter().map(|view| table.key(*view))),
            // The view of a null may be anything.
            Some(nulls) => keys.extend(
                views
                    .iter()
                    .enumerate()
                    .map(|(row, view)| if nulls.is_null(number * LOOK_ROWS + row) { 0 } else { table.key(*view) }),
            ),
        }
        if table.values.len() * ROWS_PER_VALUE > keys.len() + LOOK_ROWS {
            return None;
        }
    }
    // Readers look up the keys of nulls, too.
    if table.values.is_empty() && !keys.is_empty() {
        table.values.push(0);
    }
    Some((keys, table.values))
}

/// Views and their keys, by open addressing. At most a quarter of the slots are used.
struct ViewTable {
    slots: Vec<ViewSlot>,
    values: Vec<u128>,
}

#[derive(Clone, Copy)]
struct ViewSlot {
    view: u128,
    /// The key plus one; 0 for a free slot.
    key: u32,
}

const FREE_SLOT: ViewSlot = ViewSlot { view: 0, key: 0 };

impl ViewTable {
    fn new() -> Self {
        Self { slots: vec![FREE_SLOT; SLOTS], values: Vec::new() }
    }

    #[inline(always)]
    fn key(&mut self, view: u128) -> i32 {
        let slot = self.slots[self.first_slot(view)];
        if slot.view == view && slot.key != 0 { slot.key as i32 - 1 } else { self.search(view) }
    }

    #[cold]
    fn search(&mut self, view: u128) -> i32 {
        let mut at = self.first_slot(view);
        while self.slots[at].key != 0 {
            if self.slots[at].view == view {
                return self.slots[at].key as i32 - 1;
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.values.push(view);
        let key = self.values.len() as u32;
        self.slots[at] = ViewSlot { view, key };
        if self.values.len() * 4 > self.slots.len() {
            self.grow();
        }
        key as i32 - 1
    }

    #[inline(always)]
    fn first_slot(&self, view: u128) -> usize {
        let mixed = (view as u64 ^ ((view >> 64) as u64).rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        // The high bits depend on all bits of the view.
        (mixed >> (u64::BITS - self.slots.len().trailing_zeros())) as usize & (self.slots.len() - 1)
    }

    fn grow(&mut self) {
        self.slots = vec![FREE_SLOT; self.slots.len() * 4];
        for (key, view) in self.values.iter().enumerate() {
            let mut at = self.first_slot(*view);
            while self.slots[at].key != 0 {
                at = (at + 1) & (self.slots.len() - 1);
            }
            self.slots[at] = ViewSlot { view: *view, key: key as u32 + 1 };
        }
    }
}

#[cfg(test)]
mod tests;
