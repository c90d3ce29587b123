//! Running steps: all columns of a unit step by the same rows; threads take the earliest step that is ready.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{FieldRef, Schema, SchemaRef};
use lakerace_exec::{WorkerThreads, caught, lock, wait_briefly};
use lakerace_io::{Error, Job, Result};

use super::batch_plan::{BatchPlan, ReadStep};
use super::row_mask::RowMask;
use super::{ColumnReader, DecodeUnits};
use crate::columns::ReadColumns;
use crate::projection::narrow;

/// The path of a read.
pub(crate) struct ScanTask<U> {
    /// The columns.
    pub columns: ReadColumns,
    /// The fields of the decoded columns.
    pub fields: Vec<FieldRef>,
    /// The source of the columns' readers.
    pub units: U,
    /// The steps through the units.
    pub steps: BatchPlan,
    /// Steps that may be under way or waiting for the consumer.
    pub steps_ahead: usize,
    /// The job.
    pub job: Job,
}

/// The batches of a scan, one per step, in order. Steps whose rows were all filtered out are left out.
pub(crate) struct StepBatches<U: DecodeUnits> {
    shared: Arc<ScheduleCore<U>>,
    /// True if the consumer decodes itself: one thread needs no hand-over.
    inline: bool,
}

struct ScheduleCore<U: DecodeUnits> {
    scan: ScanTask<U>,
    filter_schema: SchemaRef,
    /// For each unit its lanes, one per decoded column, once the unit is started.
    lanes: Vec<OnceLock<UnitLanes<U::ColumnReader>>>,
    state: Mutex<ScheduleState>,
    /// Signals threads that a task became ready.
    work: Condvar,
    /// Signals the consumer that its step is done.
    done: Condvar,
}

/// The lanes of a unit, each from its first step to its last.
type UnitLanes<L> = Vec<Mutex<Option<L>>>;

/// Step and column; the smallest is first.
type Task = (usize, usize);

struct ScheduleState {
    ready: BinaryHeap<Reverse<Task>>,
    /// The steps from `taken` on.
    slots: VecDeque<UnitSlot>,
    /// Steps that the consumer took.
    taken: usize,
    /// Units whose first tasks are in `ready`.
    begun_units: usize,
    /// The earliest step that failed.
    failed: Option<(usize, Error)>,
    stop: bool,
}

struct UnitSlot {
    arrays: Vec<Option<ArrayRef>>,
    /// Columns that are not decoded yet, and how many of them the filter needs.
    missing: usize,
    missing_filter: usize,
    selection: Option<Arc<RowMask>>,
    /// Columns that wait for the selection.
    waiting: Vec<usize>,
    batch: Option<RecordBatch>,
}

impl<U: DecodeUnits> StepBatches<U> {
    /// Starts the threads.
    pub fn start(scan: ScanTask<U>) -> Self {
        let threads = scan.job.options().threads.max(1);
        let is_alone = threads == 1 || scan.fields.is_empty();
        let lanes = (0..scan.units.count()).map(|_| OnceLock::new()).collect();
        let filter_fields: Vec<FieldRef> = scan.fields[..scan.columns.filtered].to_vec();
        let filter_schema = Arc::new(Schema::new(filter_fields));
        let state = ScheduleState {
            ready: BinaryHeap::new(),
            slots: VecDeque::new(),
            taken: 0,
            begun_units: 0,
            failed: None,
            stop: false,
        };
        let (work, done) = (Condvar::new(), Condvar::new());
        let shared = Arc::new(ScheduleCore { scan, filter_schema, lanes, state: Mutex::new(state), work, done });
        shared.begin_units(&mut shared.lock());
        let own = Arc::clone(&shared);
        // Not joined: a thread that waits for the network ends when its request does.
        let threads = WorkerThreads::start("lakerace-decode", if is_alone { 0 } else { threads }, move || own.work());
        Self { shared, inline: threads.is_empty() }
    }
}

impl<U: DecodeUnits> Iterator for StepBatches<U> {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.shared.next_step(self.inline) {
                Ok(Some(batch)) if batch.num_rows() == 0 => {}
                other => return other.transpose(),
            }
        }
    }
}

impl<U: DecodeUnits> Drop for StepBatches<U> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.stop = true;
        state.slots.clear();
        state.ready.clear();
        drop(state);
        self.shared.scan.units.close();
        self.shared.work.notify_all();
    }
}

impl<U: DecodeUnits> ScheduleCore<U> {
    fn lock(&self) -> MutexGuard<'_, ScheduleState> {
        lock(&self.state)
    }

    /// Waits for, or decodes, the next step.
    fn next_step(&self, inline: bool) -> Result<Option<RecordBatch>> {
        let mut state = self.lock();
        loop {
            self.scan.job.check()?;
            let taken = state.taken;
            if taken == self.scan.steps.len() {
                return Ok(None);
            }
            if let Some((step, error)) = &state.failed
                && *step == taken
            {
                return Err(error.clone());
            }
            if let Some(batch) = state.slots.front_mut().and_then(|slot| slot.batch.take()) {
                state.slots.pop_front();
                state.taken += 1;
                self.begin_units(&mut state);
                drop(state);
                self.work.notify_all();
                return Ok(Some(batch));
            }
            if self.scan.fields.is_empty() {
                state.taken += 1;
                drop(state);
                let visible = self.visible(taken);
                let whole = self.step(taken)?.rows;
                let rows = visible.map_or(whole, |visible| visible.true_count());
                return self.empty_batch(rows).map(Some);
            }
            if inline {
                let task = state.take_task(taken + 1);
                drop(state);
                self.run(task.ok_or_else(|| Error::internal("a step has no work left, but is not done"))?);
                state = self.lock();
            } else {
                state = wait_briefly(&self.done, state);
            }
        }
    }

    fn step(&self, step: usize) -> Result<ReadStep> {
        self.scan.steps.get(step).ok_or_else(|| Error::internal(format!("step {step} does not exist")))
    }

    /// A batch without columns.
    fn empty_batch(&self, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.scan.columns.schema), Vec::new(), &options)
            .map_err(Error::unexpected)
    }

    /// A thread's life.
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if state.stop || state.taken == self.scan.steps.len() {
                return;
            }
            let horizon = state.taken + self.scan.steps_ahead;
            if let Some(task) = state.take_task(horizon) {
                drop(state);
                self.run(task);
                state = self.lock();
                continue;
            }
            if self.scan.job.is_cancelled() {
                return;
            }
            state = wait_briefly(&self.work, state);
        }
    }

    /// Makes the first tasks of the units that are near.
    fn begin_units(&self, state: &mut ScheduleState) {
        let columns = self.scan.fields.len();
        let horizon = state.taken + self.scan.steps_ahead;
        while state.begun_units < self.scan.units.count() && columns > 0 {
            let unit = state.begun_units;
            let first = self.scan.steps.first_of(unit);
            if first >= horizon || self.scan.steps.get(first).is_none_or(|step| step.unit != unit) {
                break;
            }
            state.begun_units += 1;
            for column in 0..columns {
                self.make_ready(state, (first, column));
            }
        }
    }

    /// Makes a task ready, or lets it wait for its step's selection.
    fn make_ready(&self, state: &mut ScheduleState, task: Task) {
        let (step, column) = task;
        let columns = &self.scan.columns;
        if columns.predicate.is_some() && column >= columns.filtered {
            let slot = self.slot(state, step);
            if slot.selection.is_none() {
                slot.waiting.push(column);
                return;
            }
        }
        state.ready.push(Reverse(task));
    }

    fn slot<'a>(&self, state: &'a mut ScheduleState, step: usize) -> &'a mut UnitSlot {
        let at = step - state.taken;
        let columns = self.scan.fields.len();
        while state.slots.len() <= at {
            state.slots.push_back(UnitSlot {
                arrays: vec![None; columns],
                missing: columns,
                missing_filter: self.scan.columns.filtered,
                selection: None,
                waiting: Vec::new(),
                batch: None,
            });
        }
        &mut state.slots[at]
    }

    /// Runs one task and the tasks that it completes.
    fn run(&self, task: Task) {
        let outcome = caught(|| self.decode(task).and_then(|array| self.complete(task, array)));
        let Err(error) = outcome else { return };
        let mut state = self.lock();
        if state.failed.as_ref().is_none_or(|(step, _)| *step > task.0) {
            state.failed = Some((task.0, error));
        }
        drop(state);
        self.done.notify_all();
    }

    /// Decodes one column of one step; `None` where the filter has left no row.
    fn decode(&self, (step, column): Task) -> Result<Option<ArrayRef>> {
        self.scan.job.check()?;
        let ReadStep { unit, gap, rows, .. } = self.step(step)?;
        let selection = self.selection(step)?;
        let unit_lanes = self.lanes[unit].get_or_init(|| self.scan.fields.iter().map(|_| Mutex::new(None)).collect());
        let mut lane = lock(&unit_lanes[column]);
        let lane_ref = match lane.as_mut() {
            Some(open) => open,
            None => lane.insert(self.scan.units.open(unit, column)?),
        };
        let selection = selection.as_deref().filter(|_| column >= self.scan.columns.filtered);
        let array = match selection {
            Some(selection) if selection.count() == 0 => lane_ref.skip(gap, rows).map(|()| None),
            Some(selection) if selection.count() == selection.len() => lane_ref.next(gap, rows, None).map(Some),
            selection => lane_ref.next(gap, rows, selection).map(Some),
        }?;
        if self.scan.steps.get(step + 1).is_none_or(|next| next.unit != unit) {
            *lane = None;
        }
        Ok(array)
    }

    /// The selected rows of a step, if they are known: after its filter, or without a filter.
    fn selection(&self, step: usize) -> Result<Option<Arc<RowMask>>> {
        let known = |state: &mut ScheduleState| match state.stop {
            true => Err(Error::cancelled()),
            false => Ok(self.slot(state, step).selection.clone()),
        };
        let selection = known(&mut self.lock())?;
        if selection.is_some() || self.scan.columns.predicate.is_some() || !self.scan.units.hides_rows() {
            return Ok(selection);
        }
        let Some(visible) = self.visible(step) else { return Ok(None) };
        let made = Arc::new(RowMask::new(&visible));
        let mut state = self.lock();
        // Another column of the step may have been faster; both say the same.
        match known(&mut state)? {
            Some(selection) => Ok(Some(selection)),
            None => Ok(self.slot(&mut state, step).selection.insert(made).clone().into()),
        }
    }

    /// The visible rows of a step; `None`: all.
    fn visible(&self, step: usize) -> Option<BooleanArray> {
        let step = self.scan.steps.get(step)?;
        self.scan.units.visible(step.unit, step.range())
    }

    /// Notes a decoded column: its next step becomes ready; the last filter column makes the selection, the last
    /// column the batch.
    fn complete(&self, task: Task, array: Option<ArrayRef>) -> Result<()> {
        let (step, column) = task;
        let columns = &self.scan.columns;
        let mut state = self.lock();
        if state.stop {
            return Ok(());
        }
        let ReadStep { unit, rows, .. } = self.step(step)?;
        if self.scan.steps.get(step + 1).is_some_and(|next| next.unit == unit) {
            self.make_ready(&mut state, (step + 1, column));
        }
        let slot = self.slot(&mut state, step);
        slot.arrays[column] = array;
        slot.missing -= 1;
        if column < columns.filtered {
            slot.missing_filter -= 1;
            if slot.missing_filter == 0 {
                let arrays = slot.arrays[..columns.filtered].iter().flatten().cloned().collect();
                drop(state);
                let selection = Arc::new(self.select(step, arrays)?);
                state = self.lock();
                if state.stop {
                    return Ok(());
                }
                let slot = self.slot(&mut state, step);
                slot.selection = Some(selection);
                for waiting in std::mem::take(&mut slot.waiting) {
                    state.ready.push(Reverse((step, waiting)));
                }
            }
        }
        let slot = self.slot(&mut state, step);
        let selected = columns.predicate.is_none() || slot.selection.is_some();
        if slot.missing > 0 || !selected {
            drop(state);
            self.work.notify_all();
            return Ok(());
        }
        let arrays = std::mem::take(&mut slot.arrays);
        let selection = slot.selection.clone();
        drop(state);
        self.work.notify_all();
        let batch = self.assemble(&arrays, selection.as_deref(), rows)?;
        let mut state = self.lock();
        if !state.stop {
            self.slot(&mut state, step).batch = Some(batch);
        }
        drop(state);
        self.done.notify_all();
        Ok(())
    }

    /// The rows of a step that the filter keeps.
    fn select(&self, step: usize, arrays: Vec<ArrayRef>) -> Result<RowMask> {
        let predicate = self.scan.columns.predicate.as_ref();
        let predicate = predicate.ok_or_else(|| Error::internal("there are filter columns, but no filter"))?;
        let batch = RecordBatch::try_new(Arc::clone(&self.filter_schema), arrays).map_err(Error::unexpected)?;
        let named = |error: Error| match self.scan.steps.get(step) {
            Some(step) => error.at(self.scan.units.unit_place(step.unit)),
            None => error,
        };
        match self.visible(step) {
            None => Ok(RowMask::new(&predicate.evaluate(&batch).map_err(named)?)),
            Some(visible) => {
                let rows = predicate.true_among(&batch, visible.values()).map_err(named)?;
                Ok(RowMask::new(&BooleanArray::new(rows, None)))
            }
        }
    }

    /// The batch of a step. Columns beyond the filter's have only the selected rows already.
    fn assemble(&self, arrays: &[Option<ArrayRef>], selection: Option<&RowMask>, rows: usize) -> Result<RecordBatch> {
        let columns = &self.scan.columns;
        let rows = selection.map_or(rows, RowMask::count);
        if rows == 0 {
            return Ok(RecordBatch::new_empty(Arc::clone(&columns.schema)));
        }
        let take = |(position, field): (&usize, &FieldRef)| {
            let array = arrays.get(*position).and_then(Option::as_ref);
            let array = array.ok_or_else(|| Error::internal("a column of a step is missing"))?;
            // The filter may need more fields of a struct than the request.
            let array = narrow(array, field.data_type())?;
            match selection {
                Some(selection) if *position < columns.filtered && selection.count() < selection.len() => {
                    selection.filter(&array)
                }
                _ => Ok(array),
            }
        };
        let output = columns.output.iter().zip(columns.schema.fields()).map(take).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&columns.schema), output, &options)
            .map_err(|e| Error::corrupt("the columns do not form a batch").because(e))
    }
}

impl ScheduleState {
    /// The earliest ready task before step `horizon`, unless an earlier step has failed.
    fn take_task(&mut self, horizon: usize) -> Option<Task> {
        let Reverse((step, _)) = *self.ready.peek()?;
        if step >= horizon || self.failed.as_ref().is_some_and(|(failed, _)| *failed < step) {
            return None;
        }
        self.ready.pop().map(|Reverse(task)| task)
    }
}

#[cfg(test)]
mod tests;
