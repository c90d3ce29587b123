//! Rows on their way into a target: checkpoints, resumption, pace and proof.

mod proof;
mod samples;

use std::fmt::Display;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lakerace_database::{BatchRows, OnRejected};
use lakerace_format::{Batches, Sink, Written};
use lakerace_io::freed_memory::ReturnedSoon;
use lakerace_io::option::{
    ALLOW_NARROWING, BATCH_ROWS, Choice, DEAD_LETTER, KEY, MODE, PARTITION_BY, RESUME, TABLE_PROPERTY, VERIFY,
};
use lakerace_io::wait::CANCEL_POLL;
use lakerace_io::{Error, Job, Result};
use serde_json::json;
use xxhash_rust::xxh3::xxh3_128;

use self::proof::LoadProof;
use crate::WriteMode;
use crate::options::{CopyOptions, LoadOptions};
use crate::read_ahead::read_ahead;
use crate::resolve::without_connection;
use crate::scan::Scan;
use crate::target::{CopyTarget, TargetKind};

impl LoadOptions {
    /// Fails where an option is given that the place can't follow.
    pub(crate) fn check(&self, place: TargetKind, mode: WriteMode) -> Result<()> {
        let refuse = |option: &dyn Display, why: &str, advice: &str| {
            Err(Error::usage(format!("{option}: {why}")).advice(advice.to_owned()))
        };
        let is_database = place == TargetKind::Database;
        let has_commits = matches!(place, TargetKind::Database | TargetKind::Delta);
        if matches!(mode, WriteMode::Upsert | WriteMode::Delete) {
            let (option, key) = (MODE.to(mode.choice_name()), format!("name its columns with {}", KEY.to("A,B")));
            match place {
                TargetKind::Database if self.key.is_empty() => return refuse(&option, "it finds rows by a key", &key),
                TargetKind::Database => {}
                TargetKind::Delta => {
                    return refuse(
                        &option,
                        "a Delta table has a command for it",
                        "use `lakerace upsert` or `lakerace delete`",
                    );
                }
                TargetKind::Files | TargetKind::Stream => {
                    let advice =
                        "choose overwrite or append; for a Delta table, use `lakerace upsert` or `lakerace delete`";
                    return refuse(&option, "rows of files can't be replaced one by one", advice);
                }
            }
        }
        if self.batch_rows != BatchRows::All && !has_commits {
            return refuse(&BATCH_ROWS, "files are written whole, without checkpoints", "omit it, or say all");
        }
        if self.resume && !has_commits {
            return refuse(&RESUME, "files are written whole, so there is nothing to resume from", "omit it");
        }
        let database = "only databases support it";
        if !self.key.is_empty() && !is_database {
            let advice =
                format!("the key of a Delta table is set with {}", TABLE_PROPERTY.to("lakerace.primaryKey=A,B"));
            return refuse(&KEY, database, &advice);
        }
        if self.dead_letter.is_some() && !is_database {
            return refuse(&DEAD_LETTER, database, "omit it");
        }
        if self.allow_narrowing && !is_database {
            return refuse(&ALLOW_NARROWING, database, "omit it");
        }
        if self.verify && place == TargetKind::Stream {
            return refuse(&VERIFY, "a pipe can't be read back", "omit it, or name a file");
        }
        Ok(())
    }
}

/// The name of the load of a scan's rows: source, columns, filter, limit, order and nesting, then `@`, and the version of
/// the source.
pub(crate) fn load_name(source: &str, scan: &Scan) -> String {
    let plan = scan.plan();
    let (request, source) = (&plan.request, without_connection(source));
    let read = match scan.order_text() {
        None => json!([source, request.columns, request.filter, request.limit]),
        Some(order) => {
            let columns = scan.schema().fields().len();
            json!([source, request.columns, request.filter, scan.limit(), order, columns])
        }
    };
    // The same columns of the source, computed otherwise, are another load.
    let read = match scan.computed_items() {
        None => read,
        Some(items) => json!([read, items]),
    };
    let read = match scan.nested() {
        None => read,
        Some(nested) => json!([read, nested.nesting()]),
    };
    let version = match request.version {
        Some(version) => version.to_string(),
        None => {
            let files: Vec<_> = plan.files.iter().map(|file| json!([file.url, file.size_bytes, file.e_tag])).collect();
            digest(&json!(files).to_string())
        }
    };
    format!("{}@{version}", digest(&read.to_string()))
}

pub(crate) fn digest(text: &str) -> String {
    format!("{:016x}", xxh3_128(text.as_bytes()) >> 64)
}

/// The most bytes of batches that wait for the sink: enough to keep both sides busy. A batch of texts counts with all
/// of its buffers.
const QUEUE_BYTES: u64 = 8 << 20;

/// Fails where options of a load contradict its source or its target.
pub(crate) fn check(target: &CopyTarget, load_name: Option<&str>, options: &CopyOptions) -> Result<()> {
    let load = &options.load;
    if load.resume && load_name.is_none() && options.mode != WriteMode::Upsert {
        return Err(Error::usage(format!("{RESUME}: the source does not return its rows in a reproducible order"))
            .advice(format!("load with {} and a {KEY}, from the start", MODE.to("upsert"))));
    }
    if load.verify && target.kind() == TargetKind::Files && !options.partition_by.is_empty() {
        let message = format!("{VERIFY}: folder names made by {PARTITION_BY} do not give the types of their values");
        return Err(Error::unsupported(message)
            .at(target.location())
            .advice("omit one of them, or put delta: before the folder of a new table"));
    }
    Ok(())
}

/// Names the load, where its target counts its rows.
pub(crate) fn name(target: &mut CopyTarget, load_name: Option<String>, on_rejected: OnRejected, options: &CopyOptions) {
    // One commit that adds or replaces all rows either exists or does not, and needs no count. A count marks a new
    // table as the load's own.
    let is_counted = target.kind() != TargetKind::Delta
        || options.load.batch_rows != BatchRows::All
        || options.load.resume
        || options.mode == WriteMode::Error;
    target.name_load(load_name.filter(|_| is_counted), on_rejected);
}

/// Writes all rows to a target. `load_name` is the result of [`load_name`], if the source returns its rows in the same
/// order each time.
pub(crate) fn run(
    batches: Batches,
    mut target: CopyTarget,
    load_name: Option<String>,
    options: &CopyOptions,
    job: &Job,
) -> Result<Written> {
    let load = &options.load;
    let keeps_memory = matches!(target.kind(), TargetKind::Files | TargetKind::Stream);
    let _returned = (!keeps_memory).then(ReturnedSoon::new);
    check(&target, load_name.as_deref(), options)?;
    let proof = load.verify.then(|| LoadProof::begin(&target, &batches, options, job)).transpose()?;
    let on_rejected = proof.as_ref().map(LoadProof::listener).unwrap_or_default();
    name(&mut target, load_name, on_rejected, options);
    let mut sink = target.create(Arc::clone(batches.schema()), options, job)?;
    if let Some(proof) = &proof {
        proof.narrow(sink.narrowing());
    }
    let skipped = sink.acknowledged_rows();
    let batches = match &proof {
        Some(proof) if proof.is_of_whole_source() => skip_rows(proof.note(batches), skipped),
        Some(proof) => proof.note(skip_rows(batches, skipped)),
        None => skip_rows(batches, skipped),
    };
    let sent = pour(read_ahead(batches, QUEUE_BYTES, job), sink.as_mut(), load, job)?;
    let mut written = sink.finish()?;
    written.skipped = skipped;
    if written.rows + written.rejected != sent {
        let (rows, rejected) = (written.rows, written.rejected);
        return Err(Error::corrupt(format!(
            "{sent} rows were sent, but the target has confirmed {rows} and rejected {rejected}"
        ))
        .advice(format!("load again, with {VERIFY}")));
    }
    if let Some(proof) = proof {
        written.checksum = Some(proof.end(&written, job)?);
    }
    Ok(written)
}

/// Writes all batches, cut at checkpoints, and returns the number of rows.
fn pour(batches: Batches, sink: &mut dyn Sink, load: &LoadOptions, job: &Job) -> Result<u64> {
    let checkpoint_rows = match load.batch_rows {
        BatchRows::All => u64::MAX,
        BatchRows::Rows(rows) => rows.get(),
    };
    let mut pace = load.max_rows_per_second.map(RowPace::new);
    let (mut sent, mut since_checkpoint) = (0u64, 0u64);
    for batch in batches {
        let batch = batch?;
        let (mut at, rows) = (0, batch.num_rows());
        while at < rows {
            job.check()?;
            let room = (checkpoint_rows - since_checkpoint).min(pace.as_ref().map_or(u64::MAX, RowPace::rows_at_once));
            let take = usize::try_from(room).unwrap_or(usize::MAX).min(rows - at);
            if let Some(pace) = &mut pace {
                pace.wait(take as u64, job)?;
            }
            sink.write(batch.slice(at, take))?;
            at += take;
            sent += take as u64;
            since_checkpoint += take as u64;
            if since_checkpoint == checkpoint_rows {
                sink.checkpoint()?;
                since_checkpoint = 0;
            }
        }
    }
    job.check()?;
    Ok(sent)
}

/// The batches without the first `rows` rows. Fewer rows than that are an error: the source has changed.
fn skip_rows(batches: Batches, rows: u64) -> Batches {
    if rows == 0 {
        return batches;
    }
    let schema = Arc::clone(batches.schema());
    let (mut left, mut batches) = (rows, batches);
    let next = move || {
        loop {
            let Some(next) = batches.next() else {
                let missing = std::mem::take(&mut left);
                return (missing > 0).then(|| {
                    Err(Error::conflict(format!(
                        "{rows} rows of an earlier load were acknowledged, but the source now has {missing} fewer"
                    ))
                    .advice(format!("load all rows again, without {RESUME}")))
                });
            };
            let Ok(batch) = next else { return Some(next) };
            let skip = usize::try_from(left).unwrap_or(usize::MAX).min(batch.num_rows());
            left -= skip as u64;
            if skip < batch.num_rows() {
                return Some(Ok(batch.slice(skip, batch.num_rows() - skip)));
            }
        }
    };
    Batches::new(schema, std::iter::from_fn(next))
}

/// Keeps rows below a rate.
struct RowPace {
    rows_per_second: NonZeroU64,
    started: Instant,
    rows: u64,
}

impl RowPace {
    fn new(rows_per_second: NonZeroU64) -> Self {
        Self { rows_per_second, started: Instant::now(), rows: 0 }
    }

    /// A tenth of a second's rows.
    fn rows_at_once(&self) -> u64 {
        self.rows_per_second.get().div_ceil(10)
    }

    /// Waits until all rows before these have had their time.
    fn wait(&mut self, rows: u64, job: &Job) -> Result<()> {
        let due = Duration::from_secs_f64(self.rows as f64 / self.rows_per_second.get() as f64);
        while let Some(left) = due.checked_sub(self.started.elapsed()).filter(|left| !left.is_zero()) {
            job.check()?;
            std::thread::sleep(left.min(CANCEL_POLL));
        }
        self.rows += rows;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
