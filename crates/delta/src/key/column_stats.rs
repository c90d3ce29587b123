//! The values of key columns, column by column: the order of keys is only that of the first column.

use std::ops::Range;

use hashbrown::HashTable;

use super::columns::KeyColumns;
use super::{ByteKeys, Key, KeyList, Keys, with_keys};

/// The values that a column has in some keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyColumnValues {
    /// These, in order.
    Few(Keys),
    /// The least and the largest of many.
    Between(Keys, Keys),
    /// It would cost too much to know.
    Unknown,
}

/// Values of a column that are kept one by one, at most: a column by which files are divided has fewer.
const FEW: usize = 1024;
/// Keys that are split into columns at a time.
const CHUNK: usize = 65_536;

impl KeyColumnValues {
    /// The values of each key column but the first.
    pub fn from_keys(columns: &KeyColumns, keys: &Keys) -> Vec<Self> {
        let mut all: Vec<Self> = columns.others().iter().map(|column| Self::Few(column.no_keys())).collect();
        for start in (0..keys.len()).step_by(CHUNK) {
            let range = start..(start + CHUNK).min(keys.len());
            let Some(parts) = columns.take_apart(keys, range) else { return vec![Self::Unknown; all.len()] };
            all.iter_mut().zip(parts).for_each(|(values, part)| values.add(part));
            // Keys of bytes are expensive to take apart.
            if matches!(keys, Keys::Bytes(_)) && !all.iter().any(|values| matches!(values, Self::Few(_))) {
                return vec![Self::Unknown; all.len()];
            }
        }
        all
    }

    fn add(&mut self, part: Keys) {
        match self {
            Self::Few(few) => {
                let Some(rows) = with_keys!(&part, keys => distinct(keys)) else {
                    few.append(part);
                    if let Some((least, largest)) = few.ends() {
                        *self = Self::Between(least, largest);
                    }
                    return;
                };
                few.append(part.take(&rows));
                let (sorted, _) = std::mem::replace(few, Keys::Narrow(Vec::new())).sorted(1);
                let rows = with_keys!(&sorted, keys => distinct(keys));
                *self = match (rows, sorted.ends()) {
                    (None, Some((least, largest))) => Self::Between(least, largest),
                    (rows, _) => Self::Few(sorted.take(&rows.unwrap_or_default())),
                };
            }
            Self::Between(least, largest) => {
                if let Some((low, high)) = part.ends() {
                    *least = std::mem::replace(least, Keys::Narrow(Vec::new())).smaller(low);
                    if largest.rows_below(&high) > 0 {
                        *largest = high;
                    }
                }
            }
            Self::Unknown => {}
        }
    }

    /// Returns true if one of them may be in a range, whose ends are lists of one value; `None`: it has no upper end.
    pub fn any_between(&self, low: &Keys, high: Option<&Keys>) -> bool {
        match self {
            Self::Few(few) => few.count_between(low, high) > 0,
            Self::Between(least, largest) => {
                largest.rows_below(low) == 0 && high.is_none_or(|high| least.rows_up_to(high) > 0)
            }
            Self::Unknown => true,
        }
    }
}

impl Keys {
    /// The number of these sorted keys in a range, whose ends are lists of one key; `None`: it has no upper end.
    pub fn count_between(&self, low: &Self, high: Option<&Self>) -> usize {
        high.map_or(self.len(), |high| self.rows_up_to(high)).saturating_sub(self.rows_below(low))
    }

    /// The least and the largest key, each as a list of one.
    fn ends(&self) -> Option<(Self, Self)> {
        let (least, largest) = with_keys!(self, keys => ends(keys))?;
        Some((self.take(&[least]), self.take(&[largest])))
    }

    /// Some of the keys.
    pub(super) fn slice(&self, range: Range<usize>) -> Self {
        match self {
            Self::Narrow(keys) => Self::Narrow(keys[range].to_vec()),
            Self::Wide(keys) => Self::Wide(keys[range].to_vec()),
            Self::Bytes(keys) => Self::Bytes(range.map(|row| keys.key(row)).collect::<ByteKeys>()),
        }
    }
}

fn ends(keys: &impl KeyList) -> Option<(u32, u32)> {
    let rows = 0..keys.len();
    let least = rows.clone().min_by_key(|row| keys.key(*row))?;
    Some((least as u32, rows.max_by_key(|row| keys.key(*row))? as u32))
}

/// The first position of each different key; `None`: there are too many.
fn distinct(keys: &impl KeyList) -> Option<Vec<u32>> {
    let seed = rand::random();
    let (mut known, mut rows) = (HashTable::new(), Vec::new());
    for row in 0..keys.len() as u32 {
        let key = keys.key(row as usize);
        if row > 0 && keys.key(row as usize - 1) == key {
            continue;
        }
        let hash = key.hash(seed);
        if known.find(hash, |other: &u32| keys.key(*other as usize) == key).is_none() {
            if rows.len() == FEW {
                return None;
            }
            known.insert_unique(hash, row, |row| keys.key(*row as usize).hash(seed));
            rows.push(row);
        }
    }
    Some(rows)
}
