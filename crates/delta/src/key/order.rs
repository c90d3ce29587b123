//! Sorting keys and finding those that are equal.

use std::cmp::Ordering;
use std::ops::Range;

use lakerace_io::threads::spawn_or_run;

use super::{ByteKeys, KeyList, Keys, NumberKey, with_keys};

impl Keys {
    /// The keys in order, and the rows in that order; rows of one key stay in their own order. `None` where all rows are
    /// in order already. Many numbers are sorted on so many threads.
    pub fn sorted(self, threads: usize) -> (Self, Option<Vec<u32>>) {
        if with_keys!(&self, keys => keys.is_sorted()) {
            return (self, None);
        }
        match self {
            Self::Narrow(keys) => {
                let (keys, rows) = by_key_and_row(keys, threads);
                (Self::Narrow(keys), Some(rows))
            }
            Self::Wide(keys) => {
                let (keys, rows) = by_key_and_row(keys, threads);
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

    /// Returns true if no key is smaller than the one before it, nor the first smaller than the last of `before`.
    pub fn follow(&self, before: &Self) -> bool {
        with_keys!(self, keys => keys.is_sorted()) && self.rows_below(&before.last()) == 0
    }

    /// The ends of the stretches of keys in order, if there are at most `most`; else none.
    pub fn stretch_ends(&self, most: usize) -> Vec<usize> {
        with_keys!(self, keys => stretch_ends(keys, most))
    }

    /// The keys of `rows`, in that order.
    pub fn take(&self, rows: &[u32]) -> Self {
        match self {
            Self::Narrow(keys) => Self::Narrow(rows.iter().map(|row| keys[*row as usize]).collect()),
            Self::Wide(keys) => Self::Wide(rows.iter().map(|row| keys[*row as usize]).collect()),
            Self::Bytes(keys) => Self::Bytes(rows.iter().map(|row| keys.key(*row as usize)).collect::<ByteKeys>()),
        }
    }

    /// The last key, as a list of one; empty if there are none.
    pub fn last(&self) -> Self {
        let rows = self.len() as u32;
        self.take(&(rows.saturating_sub(1)..rows).collect::<Vec<_>>())
    }

    /// Chooses the list with the smaller key among two lists of one key.
    pub fn smaller(self, other: Self) -> Self {
        if self.rows_up_to(&other) > 0 { self } else { other }
    }

    /// The number of these sorted keys that are not beyond the key in `bound`.
    pub fn rows_up_to(&self, bound: &Self) -> usize {
        self.count(bound, |ordering| ordering.is_le())
    }

    /// The number of these sorted keys that are before the key in `bound`.
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

/// Rows below which one thread is as good as more.
const ROWS_PER_THREAD: usize = 65_536;
/// Approximate number of rows of a part that is sorted independently: with their keys they fit into a core's own cache.
const PART_ROWS: usize = 4096;
/// Parts at most: spreading rows over more parts than a core's first-level cache has lines is slow.
const PARTS: usize = 2048;

/// Some of the rows, spread over parts by the leading bits of their keys; in each part in their own order.
#[derive(Default)]
pub(super) struct SpreadRows {
    pub rows: Vec<u32>,
    /// The ends of the parts.
    ends: Vec<usize>,
}

impl SpreadRows {
    /// The rows from `first_row` on that have these keys; `part` says which of the parts a key belongs to.
    pub fn over<T: NumberKey>(parts: usize, keys: &[T], first_row: usize, part: impl Fn(&T) -> usize) -> Self {
        let mut ends = vec![0usize; parts + 1];
        for key in keys {
            ends[part(key) + 1] += 1;
        }
        for part in 0..parts {
            ends[part + 1] += ends[part];
        }
        let mut rows = vec![0u32; keys.len()];
        for (key, row) in keys.iter().zip(first_row as u32..) {
            let next = &mut ends[part(key)];
            rows[*next] = row;
            *next += 1;
        }
        // The start of each part has moved to its end by now, which is the start of the next part.
        ends.truncate(parts);
        Self { rows, ends }
    }

    /// The rows of a part.
    fn part(&self, part: usize) -> &[u32] {
        let begin = if part == 0 { 0 } else { self.ends[part - 1] };
        &self.rows[begin..self.ends[part]]
    }
}

/// Spreads rows over parts, and sorts the parts. Keys so uneven that one part gets nearly all of them cost one pass
/// more than a single sort.
fn by_key_and_row<T: NumberKey>(keys: Vec<T>, threads: usize) -> (Vec<T>, Vec<u32>) {
    let threads = (keys.len() / ROWS_PER_THREAD).clamp(1, threads.max(1));
    let share = keys.len().div_ceil(threads).max(1);
    let Some((least, largest)) = bounds(&keys, share) else { return (keys, Vec::new()) };
    let parts = (keys.len() / PART_ROWS).next_power_of_two().min(PARTS);
    let shift = least.bits_to(largest).saturating_sub(parts.trailing_zeros());
    let spreads =
        by_shares(&keys, share, |some, first| SpreadRows::over(parts, some, first, |key| key.above(least, shift)));
    let (mut sorted, mut rows) = (vec![T::default(); keys.len()], vec![0u32; keys.len()]);
    sort_parts(&keys, &spreads, parts, (&mut sorted, &mut rows));
    (sorted, rows)
}

/// The least and the largest key.
fn bounds<T: NumberKey>(keys: &[T], share: usize) -> Option<(T, T)> {
    let found = by_shares(keys, share, |some, _| some.iter().copied().min().zip(some.iter().copied().max()));
    found.into_iter().flatten().reduce(|(least, largest), (low, high)| (least.min(low), largest.max(high)))
}

/// Applies `work` to each `share` of the keys, and the number of the first one; each of them on a thread.
fn by_shares<T: NumberKey, R: Default + Send>(
    keys: &[T],
    share: usize,
    work: impl Fn(&[T], usize) -> R + Sync,
) -> Vec<R> {
    let mut results: Vec<R> = keys.chunks(share).map(|_| R::default()).collect();
    let last = results.len().saturating_sub(1);
    std::thread::scope(|scope| {
        for ((result, some), nth) in results.iter_mut().zip(keys.chunks(share)).zip(0..) {
            let work = &work;
            let mut work = move || *result = work(some, nth * share);
            if nth < last { drop(spawn_or_run(scope, work)) } else { work() }
        }
    });
    results
}

/// Writes the keys and rows of all parts in order, on as many threads as rows were spread by.
fn sort_parts<T: NumberKey>(keys: &[T], spreads: &[SpreadRows], parts: usize, out: (&mut [T], &mut [u32])) {
    let (all, threads) = (keys.len(), spreads.len());
    let end_of = |part: usize| spreads.iter().map(|spread| spread.ends[part]).sum::<usize>();
    std::thread::scope(|scope| {
        let ((mut sorted, mut rows), mut begun, mut part) = (out, 0, 0);
        for thread in 1..=threads {
            let first = part;
            while part < parts && (thread == threads || end_of(part) * threads <= all * thread) {
                part += 1;
            }
            let end = if part == 0 { 0 } else { end_of(part - 1) };
            let (my_sorted, other_sorted) = std::mem::take(&mut sorted).split_at_mut(end - begun);
            let (my_rows, other_rows) = std::mem::take(&mut rows).split_at_mut(end - begun);
            let mine = first..part;
            let work = move || sort_each(keys, spreads, mine, my_sorted, my_rows);
            if thread < threads {
                drop(spawn_or_run(scope, work))
            } else {
                work()
            }
            (sorted, rows, begun) = (other_sorted, other_rows, end);
        }
    });
}

/// Sorts parts that follow each other.
fn sort_each<T: NumberKey>(
    keys: &[T],
    spreads: &[SpreadRows],
    parts: Range<usize>,
    mut sorted: &mut [T],
    mut rows: &mut [u32],
) {
    // In pairs with their rows, keys are compared without access to their origin.
    let mut pairs: Vec<(T, u32)> = Vec::new();
    for part in parts {
        pairs.clear();
        for spread in spreads {
            pairs.extend(spread.part(part).iter().map(|row| (keys[*row as usize], *row)));
        }
        pairs.sort_unstable();
        let (part_sorted, sorted_behind) = std::mem::take(&mut sorted).split_at_mut(pairs.len());
        let (part_rows, rows_behind) = std::mem::take(&mut rows).split_at_mut(pairs.len());
        for ((key, row), pair) in part_sorted.iter_mut().zip(part_rows).zip(&pairs) {
            (*key, *row) = *pair;
        }
        (rows, sorted) = (rows_behind, sorted_behind);
    }
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

fn stretch_ends(keys: &impl KeyList, most: usize) -> Vec<usize> {
    let falls = (1..keys.len()).filter(|at| keys.key(*at) < keys.key(at - 1));
    let ends: Vec<usize> = falls.take(most).chain([keys.len()]).collect();
    if ends.len() > most { Vec::new() } else { ends }
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
