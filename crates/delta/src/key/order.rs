//! Sorting keys and finding those that are equal.

use std::cmp::Ordering;

use super::{ByteKeys, KeyList, Keys, with_keys};

impl Keys {
    /// The keys in order, and the rows in that order; rows of one key stay in their own order. `None` where all rows are
    /// in order already.
    pub fn sorted(self) -> (Self, Option<Vec<u32>>) {
        if with_keys!(&self, keys => keys.is_sorted()) {
            return (self, None);
        }
        match self {
            // Beside their rows, keys are compared without a jump to where they came from.
            Self::Narrow(keys) => {
                let (keys, rows) = by_key_and_row(keys);
                (Self::Narrow(keys), Some(rows))
            }
            Self::Wide(keys) => {
                let (keys, rows) = by_key_and_row(keys);
                (Self::Wide(keys), Some(rows))
            }
            Self::Bytes(keys) => {
                let mut rows: Vec<u32> = (0..KeyList::len(&keys) as u32).collect();
                rows.sort_unstable_by_key(|row| (keys.key(*row as usize), *row));
                let sorted = rows.iter().map(|row| keys.key(*row as usize)).collect();
                (Self::Bytes(sorted), Some(rows))
            }
        }
    }

    /// The keys of `rows`, in that order.
    pub fn take(&self, rows: &[u32]) -> Self {
        match self {
            Self::Narrow(keys) => Self::Narrow(rows.iter().map(|row| keys[*row as usize]).collect()),
            Self::Wide(keys) => Self::Wide(rows.iter().map(|row| keys[*row as usize]).collect()),
            Self::Bytes(keys) => Self::Bytes(rows.iter().map(|row| keys.key(*row as usize)).collect::<ByteKeys>()),
        }
    }

    /// The last key, alone; nothing of nothing.
    pub fn last(&self) -> Self {
        let rows = self.len() as u32;
        self.take(&(rows.saturating_sub(1)..rows).collect::<Vec<_>>())
    }

    /// Of two lists of one key, the one with the smaller.
    pub fn smaller(self, other: Self) -> Self {
        if self.rows_up_to(&other) > 0 { self } else { other }
    }

    /// How many of these sorted keys are not beyond the key that `bound` has.
    pub fn rows_up_to(&self, bound: &Self) -> usize {
        self.count(bound, |ordering| ordering.is_le())
    }

    /// How many of these sorted keys are before the key that `bound` has.
    pub fn rows_below(&self, bound: &Self) -> usize {
        self.count(bound, |ordering| ordering.is_lt())
    }

    fn count(&self, bound: &Self, is_counted: fn(Ordering) -> bool) -> usize {
        match (self, bound) {
            (Self::Narrow(keys), Self::Narrow(bound)) => count(keys, bound, is_counted),
            (Self::Wide(keys), Self::Wide(bound)) => count(keys, bound, is_counted),
            (Self::Bytes(keys), Self::Bytes(bound)) => count(keys, bound, is_counted),
            _ => 0,
        }
    }

    /// Ranges of equal keys that are longer than one, of sorted keys.
    pub fn repeated(&self) -> Vec<std::ops::Range<usize>> {
        with_keys!(self, keys => repeated(keys))
    }
}

fn by_key_and_row<T: Ord + Copy>(keys: Vec<T>) -> (Vec<T>, Vec<u32>) {
    let mut pairs: Vec<(T, u32)> = keys.into_iter().zip(0..).collect();
    pairs.sort_unstable();
    pairs.into_iter().unzip()
}

fn count<L: KeyList>(keys: &L, bound: &L, is_counted: fn(Ordering) -> bool) -> usize {
    if bound.len() == 0 {
        return 0;
    }
    let (mut low, mut high) = (0, keys.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if is_counted(keys.key(middle).cmp(&bound.key(0))) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

fn repeated(keys: &impl KeyList) -> Vec<std::ops::Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    for end in 1..=keys.len() {
        if end < keys.len() && keys.key(end) == keys.key(start) {
            continue;
        }
        if end - start > 1 {
            ranges.push(start..end);
        }
        start = end;
    }
    ranges
}
