//! Primary keys: the key columns of a row as one value that compares and sorts as they do.

mod bitset;
mod column_stats;
mod columns;
mod filter;
mod order;
mod radix_presort;
mod set;
mod sorted_lookup;
mod strings;

pub(crate) use columns::KeyColumns;
pub(crate) use set::KeySet;
pub(crate) use strings::ByteKeys;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The keys of some rows, in the rows' order.
///
/// Fixed-width key columns are packed together, most significant first, each mapped to an unsigned number of the same
/// order. Keys without a fixed width, or wider than 128 bits, become bytes that compare as the columns do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Keys {
    /// Key columns of at most 64 bits together.
    Narrow(Vec<u64>),
    /// Key columns of at most 128 bits together.
    Wide(Vec<u128>),
    /// All others.
    Bytes(ByteKeys),
}

/// Runs `$body` with `$keys` as the concrete list of the keys.
macro_rules! with_keys {
    ($all:expr, $keys:ident => $body:expr) => {
        match $all {
            Keys::Narrow($keys) => $body,
            Keys::Wide($keys) => $body,
            Keys::Bytes($keys) => $body,
        }
    };
}
use with_keys;

/// A key.
trait Key: Ord + Copy {
    /// A hash that differs for most other keys, and for other seeds.
    fn hash(self, seed: u64) -> u64;
}

impl Key for u64 {
    fn hash(self, seed: u64) -> u64 {
        // The halves of a product with an odd number: each bit of the key has a say in most bits of both.
        let product = u128::from(self ^ seed) * u128::from(0x9e37_79b9_7f4a_7c15_u64);
        product as u64 ^ (product >> 64) as u64
    }
}

impl Key for u128 {
    fn hash(self, seed: u64) -> u64 {
        (self as u64).hash(((self >> 64) as u64).hash(seed))
    }
}

impl Key for &[u8] {
    fn hash(self, seed: u64) -> u64 {
        xxh3_64_with_seed(self, seed)
    }
}

/// A key that is a number.
trait NumberKey: Copy + Ord + Default + Send + Sync {
    /// The distance above another number, without the lowest `shift` bits; the caller ensures that it is not below it.
    fn above(self, least: Self, shift: u32) -> usize;

    /// Bits of the difference to a larger one.
    fn bits_to(self, largest: Self) -> u32;
}

/// Implements [`NumberKey`] for an unsigned integer.
macro_rules! number {
    ($integer:ty) => {
        impl NumberKey for $integer {
            fn above(self, least: Self, shift: u32) -> usize {
                self.wrapping_sub(least).checked_shr(shift).unwrap_or(0) as usize
            }

            fn bits_to(self, largest: Self) -> u32 {
                Self::BITS - largest.wrapping_sub(self).leading_zeros()
            }
        }
    };
}
number!(u64);
number!(u128);

/// Keys that can be read one by one, independent of their representation.
trait KeyList {
    type Key<'a>: Key
    where
        Self: 'a;

    fn len(&self) -> usize;

    fn key(&self, index: usize) -> Self::Key<'_>;

    /// Returns true if no key is smaller than the one before it.
    fn is_sorted(&self) -> bool {
        (1..self.len()).all(|index| self.key(index - 1) <= self.key(index))
    }
}

impl<T: Key> KeyList for Vec<T> {
    type Key<'a>
        = T
    where
        T: 'a;

    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn key(&self, index: usize) -> T {
        self[index]
    }
}

impl Keys {
    /// The number of keys.
    pub fn len(&self) -> usize {
        with_keys!(self, keys => KeyList::len(keys))
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory they take, in bytes.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Narrow(keys) => keys.capacity() * size_of::<u64>(),
            Self::Wide(keys) => keys.capacity() * size_of::<u128>(),
            Self::Bytes(keys) => keys.memory_bytes(),
        }
    }

    /// Returns true if more would move them, and so touch new memory for all of them.
    pub fn is_at_capacity(&self) -> bool {
        match self {
            Self::Narrow(keys) => keys.len() == keys.capacity(),
            Self::Wide(keys) => keys.len() == keys.capacity(),
            Self::Bytes(_) => false,
        }
    }

    /// Reserves address space for so many more numbers, which costs nothing until they are added. If it is not
    /// available, they are moved later.
    pub fn reserve(&mut self, more: usize) {
        match self {
            Self::Narrow(keys) => drop(keys.try_reserve_exact(more)),
            Self::Wide(keys) => drop(keys.try_reserve_exact(more)),
            Self::Bytes(_) => {}
        }
    }

    /// Puts `more` of the same key columns after these.
    pub fn append(&mut self, more: Self) {
        match (self, more) {
            (Self::Narrow(keys), Self::Narrow(mut more)) => keys.append(&mut more),
            (Self::Wide(keys), Self::Wide(mut more)) => keys.append(&mut more),
            (Self::Bytes(keys), Self::Bytes(more)) => keys.append(&more),
            (keys, more) => debug_assert!(more.is_empty(), "keys of other columns than {keys:?}"),
        }
    }
}

#[cfg(test)]
mod tests;
