//! Two sides by their keys, which ascend: rows that both have, and those of one.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicBool};

use arrow::array::{Array, ArrayRef, DynComparator, RecordBatch, make_comparator};
use arrow::compute::kernels::cmp::{eq, lt};
use arrow::compute::{SortOptions, cast};
use arrow::datatypes::DataType;
use lakerace_exec::{OrderedPool, PoolOptions};
use lakerace_io::{Error, Job, Result};

use crate::diff::diff_side::DiffSide;

/// Batches of a side that are prepared, besides one of each thread.
const BATCHES_AHEAD: usize = 1;
/// Rows whose keys are compared together: few after two that differ, and more the longer they are the same.
const FIRST_STEP_ROWS: usize = 16;
const MAX_STEP_ROWS: usize = 16 << 10;

/// Rows of a batch, in order.
pub(super) type RowRanges = Vec<Range<usize>>;

/// Rows of a batch of each side, or of one side and an empty one.
pub(super) struct MergedRows {
    pub batches: [RecordBatch; 2],
    /// The rows whose keys both sides have: as many on both, and in the same order.
    pub common: [RowRanges; 2],
    /// The rows whose keys only this side has.
    pub own: [RowRanges; 2],
}

/// The pass over both sides.
pub(super) struct KeyMerge {
    sides: [OrderedSide; 2],
    is_unordered: Arc<AtomicBool>,
}

/// The types in which the keys of both sides have an order; `None`: there is none. Keys that are equal in it have equal
/// hashes, and others do not: a float is not among them, because it has zeros of two signs.
pub(super) fn common_order(sides: [&Arc<DiffSide>; 2]) -> Option<Vec<DataType>> {
    let [first, second] = sides.map(|side| side.key.schema.fields());
    let pairs = first.iter().zip(second);
    pairs.map(|(one, two)| ordered_type(one.data_type(), two.data_type())).collect()
}

fn ordered_type(first: &DataType, second: &DataType) -> Option<DataType> {
    let both = |is: fn(&DataType) -> bool| is(first) && is(second);
    let is_small = |data_type: &DataType| data_type.is_integer() && *data_type != DataType::UInt64;
    if both(is_small) {
        return Some(DataType::Int64);
    }
    if both(DataType::is_string) {
        return Some(DataType::Utf8View);
    }
    let is_time = matches!(first, DataType::Date32 | DataType::Timestamp(..));
    let is_ordered = is_time || first.is_integer() || first.is_decimal() || first.is_binary();
    (is_ordered && first == second).then(|| first.clone())
}

impl KeyMerge {
    /// Starts to read both sides. Where a key is not above the one before it, the merge ends early, and says so.
    pub fn start(
        sides: [&Arc<DiffSide>; 2],
        types: &[DataType],
        is_unordered: &Arc<AtomicBool>,
        job: &Job,
    ) -> Result<Self> {
        let [first, second] = sides.map(|side| OrderedSide::start(side, types, job));
        Ok(Self { sides: [first?, second?], is_unordered: Arc::clone(is_unordered) })
    }

    fn next_rows(&mut self) -> Result<Option<MergedRows>> {
        if self.is_unordered.load(atomic::Ordering::Relaxed) {
            return Ok(None);
        }
        let [first, second] = &mut self.sides;
        match (first.next()?, second.next()?) {
            (NextRows::Unordered, _) | (_, NextRows::Unordered) => {
                self.is_unordered.store(true, atomic::Ordering::Relaxed);
                Ok(None)
            }
            (NextRows::Ended, NextRows::Ended) => Ok(None),
            (NextRows::Ended, NextRows::Some(rows)) => {
                let (batch, own) = rows.rest();
                let other = RecordBatch::new_empty(batch.schema());
                Ok(Some(MergedRows { batches: [other, batch], common: Default::default(), own: [Vec::new(), own] }))
            }
            (NextRows::Some(rows), NextRows::Ended) => {
                let (batch, own) = rows.rest();
                let other = RecordBatch::new_empty(batch.schema());
                Ok(Some(MergedRows { batches: [batch, other], common: Default::default(), own: [own, Vec::new()] }))
            }
            (NextRows::Some(one), NextRows::Some(two)) => merged(one, two).map(Some),
        }
    }
}

impl Iterator for KeyMerge {
    type Item = Result<MergedRows>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_rows().transpose()
    }
}

/// Merges two batches up to the end of one.
fn merged(first: &mut AscendingRows, second: &mut AscendingRows) -> Result<MergedRows> {
    let order = KeyOrder::new(&first.keys, &second.keys)?;
    let (mut common, mut own): ([RowRanges; 2], [RowRanges; 2]) = Default::default();
    while first.left() > 0 && second.left() > 0 {
        match order.compare(first.at, second.at) {
            Ordering::Less => add_rows(&mut own[0], first.take(1)),
            Ordering::Greater => add_rows(&mut own[1], second.take(1)),
            Ordering::Equal => {
                let rows = equal_keys(first, second)?;
                add_rows(&mut common[0], first.take(rows));
                add_rows(&mut common[1], second.take(rows));
            }
        }
    }
    Ok(MergedRows { batches: [first.batch.clone(), second.batch.clone()], common, own })
}

/// Adds rows after those that are there.
fn add_rows(ranges: &mut RowRanges, rows: Range<usize>) {
    match ranges.last_mut() {
        Some(last) if last.end == rows.start => last.end = rows.end,
        _ => ranges.push(rows),
    }
}

/// The number of next rows that have the same keys, of which there is one at least.
fn equal_keys(first: &AscendingRows, second: &AscendingRows) -> Result<usize> {
    let most = first.left().min(second.left());
    let (mut equal, mut step) = (1, FIRST_STEP_ROWS);
    while equal < most {
        let length = step.min(most - equal);
        let mut same = length;
        for (one, two) in first.keys.iter().zip(&second.keys) {
            let (one, two) = (one.slice(first.at + equal, same), two.slice(second.at + equal, same));
            let mask = eq(&one, &two).map_err(Error::unexpected)?;
            if mask.true_count() < same {
                same = mask.values().iter().take_while(|is_equal| *is_equal).count();
            }
        }
        equal += same;
        if same < length {
            break;
        }
        step = (step * 4).min(MAX_STEP_ROWS);
    }
    Ok(equal)
}

/// The order of two batches' keys.
struct KeyOrder(Vec<DynComparator>);

impl KeyOrder {
    fn new(first: &[ArrayRef], second: &[ArrayRef]) -> Result<Self> {
        let comparator =
            |(one, two): (&ArrayRef, &ArrayRef)| make_comparator(one.as_ref(), two.as_ref(), SortOptions::default());
        let comparators = first.iter().zip(second).map(comparator).collect::<std::result::Result<_, _>>();
        comparators.map(Self).map_err(Error::unexpected)
    }

    fn compare(&self, first: usize, second: usize) -> Ordering {
        let mut orders = self.0.iter().map(|compare| compare(first, second));
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

/// The rows of a batch in the order of their keys, and how many of them are merged.
struct AscendingRows {
    batch: RecordBatch,
    keys: Vec<ArrayRef>,
    at: usize,
}

impl AscendingRows {
    fn left(&self) -> usize {
        self.batch.num_rows() - self.at
    }

    fn take(&mut self, rows: usize) -> Range<usize> {
        self.at += rows;
        self.at - rows..self.at
    }

    /// All rows that are left.
    fn rest(&mut self) -> (RecordBatch, RowRanges) {
        let rows = self.take(self.left());
        (self.batch.clone(), vec![rows])
    }
}

/// The rows of a side that are next.
enum NextRows<'a> {
    Some(&'a mut AscendingRows),
    Ended,
    /// A key is not above the one before it.
    Unordered,
}

/// A side that is read in order.
struct OrderedSide {
    /// The rows of each batch; `None` where their keys do not ascend.
    batches: OrderedPool<RecordBatch, Option<AscendingRows>, Error>,
    current: Option<AscendingRows>,
    /// The last key of the batch before the current one.
    before: Vec<ArrayRef>,
}

impl OrderedSide {
    fn start(side: &Arc<DiffSide>, types: &[DataType], job: &Job) -> Result<Self> {
        let threads = job.options().threads.max(1);
        let options =
            PoolOptions { thread_name: "lakerace-diff", threads, window: threads + BATCHES_AHEAD, joins: false };
        let (side, types, batches) = (Arc::clone(side), types.to_vec(), side.scan.batches()?);
        let batches = OrderedPool::start(options, job, batches, move |batch| ascending_rows(&side, &types, &batch));
        Ok(Self { batches, current: None, before: Vec::new() })
    }

    fn next(&mut self) -> Result<NextRows<'_>> {
        while self.current.as_ref().is_none_or(|rows| rows.left() == 0) {
            self.current = None;
            let Some(rows) = self.batches.take()? else { return Ok(NextRows::Ended) };
            let Some(rows) = rows else { return Ok(NextRows::Unordered) };
            let Some(last) = rows.batch.num_rows().checked_sub(1) else { continue };
            if !self.before.is_empty() && KeyOrder::new(&self.before, &rows.keys)?.compare(0, 0).is_ge() {
                return Ok(NextRows::Unordered);
            }
            self.before = rows.keys.iter().map(|key| key.slice(last, 1)).collect();
            self.current = Some(rows);
        }
        Ok(self.current.as_mut().map_or(NextRows::Ended, NextRows::Some))
    }
}

/// The rows of a batch; `None` where their keys do not ascend.
fn ascending_rows(side: &DiffSide, types: &[DataType], batch: &RecordBatch) -> Result<Option<AscendingRows>> {
    let batch = side.project(batch)?;
    let keys = side.key.project(&batch)?;
    let typed = |(key, data_type): (&ArrayRef, &DataType)| cast(key, data_type).map_err(Error::unexpected);
    let keys = keys.columns().iter().zip(types).map(typed).collect::<Result<Vec<_>>>()?;
    Ok(is_ascending(&keys, batch.num_rows())?.then_some(AscendingRows { batch, keys, at: 0 }))
}

fn is_ascending(keys: &[ArrayRef], rows: usize) -> Result<bool> {
    if let ([key], Some(pairs)) = (keys, rows.checked_sub(1)) {
        let is_less = lt(&key.slice(0, pairs), &key.slice(1, pairs)).map_err(Error::unexpected)?;
        return Ok(is_less.true_count() == pairs);
    }
    let order = KeyOrder::new(keys, keys)?;
    Ok((1..rows).all(|row| order.compare(row - 1, row).is_lt()))
}
