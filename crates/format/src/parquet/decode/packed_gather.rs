//! Packed dictionary indexes to values in one pass.
//!
//! A word holds eight or four indexes. They are checked together, and looked up from there: no index is written to memory.

/// The widest indexes for this way: four of them fit into a word at any bit of its first byte.
const WIDTH_AT_MOST: usize = 14;

/// Values that are written together: so many indexes start and end at the same bit of a byte.
const GROUP: usize = 8;

/// A run of packed indexes.
pub(crate) struct PackedRun<'a> {
    /// The bytes in which they lie.
    pub bytes: &'a [u8],
    /// The position of the first index's first bit.
    pub bit: usize,
    /// The bits of an index.
    pub width: u32,
    /// The number of indexes.
    pub count: usize,
}

impl PackedRun<'_> {
    /// Leaves out the first `count` indexes.
    pub fn advance(&mut self, count: usize) {
        self.bit += count * self.width as usize;
        self.count -= count;
    }
}

/// The values of a dictionary, and slots up to a power of two, so that any index of that many bits has one.
pub(crate) struct PaddedDictionary<T> {
    slots: Vec<T>,
    len: usize,
}

impl<T: Copy + Default> PaddedDictionary<T> {
    /// A dictionary of `len` values, which are zero.
    pub fn new(len: usize) -> Self {
        let slots = if len <= 1 << WIDTH_AT_MOST { len.next_power_of_two().max(2) } else { len };
        Self { slots: vec![T::default(); slots], len }
    }

    /// The values.
    pub fn values(&self) -> &[T] {
        self.slots.get(..self.len).unwrap_or(&[])
    }

    /// The values, to be set.
    pub fn values_mut(&mut self) -> &mut [T] {
        self.slots.get_mut(..self.len).unwrap_or(&mut [])
    }

    /// Writes the values of the first indexes of a run to the front of `target`, and returns their number, which may be less than
    /// all. It is 0 where an index has no value.
    pub fn gather(&self, run: &PackedRun<'_>, target: &mut [T]) -> usize {
        macro_rules! widths {
            ($($w:literal)*) => {
                match run.width {
                    $($w => self.gather_width::<$w>(run, target),)*
                    _ => 0,
                }
            };
        }
        widths!(1 2 3 4 5 6 7 8 9 10 11 12 13 14)
    }

    fn gather_width<const WIDTH: usize>(&self, run: &PackedRun<'_>, target: &mut [T]) -> usize {
        let in_word = if WIDTH <= 8 { GROUP } else { GROUP / 2 };
        let first = run.bit % 8;
        let (Some(table), Some(stored)) = (self.slots.get(..1 << WIDTH), run.bytes.get(run.bit / 8..)) else {
            return 0;
        };
        if first + in_word * WIDTH > 64 {
            return 0;
        }
        let mask = (1 << WIDTH) - 1;
        let (fields, carries) = (every_second(WIDTH, in_word, mask), every_second(WIDTH, in_word, 1 << WIDTH));
        // An index without a value and this number have a sum of more bits than an index has.
        let room = every_second(WIDTH, in_word, (1u64 << WIDTH).saturating_sub(self.len as u64));
        let (mut sums, mut groups) = (0, 0);
        for (slots, stored) in target.chunks_exact_mut(GROUP).zip(stored.windows(WIDTH + 8).step_by(WIDTH)) {
            for (half, slots) in slots.chunks_exact_mut(in_word).enumerate() {
                let bit = first + half * in_word * WIDTH;
                let mut word = [0; 8];
                word.copy_from_slice(&stored[bit / 8..bit / 8 + 8]);
                let word = u64::from_le_bytes(word) >> (bit % 8);
                sums |= ((word & fields) + room) | ((word >> WIDTH & fields) + room);
                for (number, slot) in slots.iter_mut().enumerate() {
                    let value = &table[(word >> (number * WIDTH) & mask) as usize];
                    // SAFETY: the slot and the value are of different arrays. The copy is of whole vectors, which a move of 16 bytes
                    // is not.
                    unsafe { std::ptr::copy_nonoverlapping(value, slot, 1) };
                }
            }
            groups += 1;
        }
        if sums & carries == 0 { groups * GROUP } else { 0 }
    }
}

/// A word with `bits` at every second one of `count` fields of `width` bits.
const fn every_second(width: usize, count: usize, bits: u64) -> u64 {
    let (mut word, mut field) = (0, 0);
    while field < count {
        word |= bits << (field * width);
        field += 2;
    }
    word
}

#[cfg(test)]
mod tests;
