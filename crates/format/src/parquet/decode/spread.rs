//! Values among rows without one.

use std::ops::Range;

use super::validity::ValidBits;

/// Rows that are processed together.
const WORD_ROWS: usize = 64;

/// Up to this number of nulls in a word, values are moved run by run, otherwise row by row.
const FEW_NULLS: usize = 8;

/// Moves the first `dense` slots to the valid ones, from the end on; the others become zero.
pub(crate) fn spread<T: Copy + Default>(slots: &mut [T], mut dense: usize, valid: ValidBits<'_>) {
    let mut end = slots.len();
    // The values before the first null are in place already.
    while dense < end {
        let start = (end - 1) / WORD_ROWS * WORD_ROWS;
        let rows = end - start;
        let word = valid.word(start) & (u64::MAX >> (WORD_ROWS - rows));
        let values = word.count_ones() as usize;
        if values == 0 || dense == 0 {
            slots[start..end].fill(T::default());
        } else if rows - values <= FEW_NULLS && dense >= values {
            dense = move_runs(slots, start..end, word, dense);
        } else {
            for row in (0..rows).rev() {
                let has_value = word >> row & 1 == 1 && dense > 0;
                // Read in any case: whether a row has a value can't be predicted.
                let value = slots[dense.saturating_sub(1)];
                slots[start + row] = if has_value { value } else { T::default() };
                dense -= usize::from(has_value);
            }
        }
        end = start;
    }
}

/// Moves the values before slot `dense` to the rows of a word that have one, a run between two nulls at a time. Returns
/// the number of slots that are left.
fn move_runs<T: Copy + Default>(slots: &mut [T], rows: Range<usize>, word: u64, mut dense: usize) -> usize {
    let mut nulls = !word & (u64::MAX >> (WORD_ROWS - rows.len()));
    let mut end = rows.end;
    while nulls != 0 {
        let null = rows.start + nulls.ilog2() as usize;
        let run = end - null - 1;
        slots.copy_within(dense - run..dense, null + 1);
        slots[null] = T::default();
        (dense, end) = (dense - run, null);
        nulls ^= 1 << nulls.ilog2();
    }
    let run = end - rows.start;
    slots.copy_within(dense - run..dense, rows.start);
    dense - run
}

#[cfg(test)]
mod tests;
