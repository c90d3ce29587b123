//! Verification that a target has the rows that were sent, by reading it back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use arrow::record_batch::RecordBatch;
use lakerace_database::OnRejected;
use lakerace_format::{Batches, Narrowing, Written};
use lakerace_io::option::{ALLOW_NARROWING, DEAD_LETTER};
use lakerace_io::wait::lock;
use lakerace_io::{Error, ErrorKind, Job, Result};

use crate::WriteMode;
use crate::checksum::{Checksum, checksum, of_batch, row_hashes};
use crate::column_item::ColumnItem;
use crate::database::shown;
use crate::keys::KeyProjection;
use crate::load::samples::ColumnSamples;
use crate::options::{CopyOptions, ReadOptions};
use crate::scan::Scan;
use crate::target::CopyTarget;

/// Takes the place of a row's hash where the target has that row. No hash of 128 bits is expected to be this one.
const FOUND: u128 = u128::MAX;

/// The sum of a load's rows, and the target's at the end.
pub(super) struct LoadProof {
    target: String,
    read: ReadOptions,
    /// The names of the key's columns.
    key: Vec<String>,
    /// The target's sum before. Rows that are found by their key need none, and a target that the load makes has none.
    before: Checksum,
    mode: WriteMode,
    /// An earlier run may have rejected rows, which only its dead-letter file lists.
    may_lack_rejected: bool,
    noted: Arc<Mutex<NotedRows>>,
}

/// The sum of the rows that were sent, as the target keeps it.
struct NotedRows {
    sent: SentRows,
    narrowing: Option<Narrowing>,
}

impl NotedRows {
    /// A batch as the target keeps it.
    fn narrowed(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.narrowing.as_ref().map_or_else(|| Ok(batch.clone()), |narrowing| narrowing(batch))
    }
}

/// The rows that were sent.
enum SentRows {
    /// Rows that are there next to those from before: their checksum, and that of the rejected ones.
    Added { sent: Checksum, rejected: Checksum },
    /// Rows by the hash of their key: the last one of each counts. About 70 bytes a row.
    ByKey { key: KeyProjection, rows: HashMap<u128, u128> },
    /// The number of times that a row was sent, by its hash. Any of them may have existed before. About 70 bytes a row.
    Resent { rows: HashMap<u128, u64>, sent: Checksum },
}

impl SentRows {
    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Added { sent, .. } => *sent = sent.and(of_batch(batch)?),
            Self::ByKey { key, rows } => rows.extend(key.hashes(batch)?.into_iter().zip(row_hashes(batch)?)),
            Self::Resent { rows, sent } => {
                *sent = sent.and(of_batch(batch)?);
                for hash in row_hashes(batch)? {
                    *rows.entry(hash).or_default() += 1;
                }
            }
        }
        Ok(())
    }

    /// Notes a rejected row: the target's row of that key is not known.
    fn reject(&mut self, one: &RecordBatch) -> Result<()> {
        match self {
            Self::Added { rejected, .. } => *rejected = rejected.and(of_batch(one)?),
            Self::ByKey { key, rows } => {
                for hash in key.hashes(one)? {
                    rows.remove(&hash);
                }
            }
            Self::Resent { rows, sent } => {
                *sent = sent.without(of_batch(one)?);
                for hash in row_hashes(one)? {
                    if let Some(times) = rows.get_mut(&hash) {
                        *times = times.saturating_sub(1);
                    }
                }
            }
        }
        Ok(())
    }
}

impl LoadProof {
    pub fn begin(target: &CopyTarget, batches: &Batches, options: &CopyOptions, job: &Job) -> Result<Self> {
        let (mode, schema) = (options.mode, Arc::clone(batches.schema()));
        let sent = match mode {
            WriteMode::Upsert | WriteMode::Delete => {
                SentRows::ByKey { key: KeyProjection::new(&schema, &options.load.key)?, rows: HashMap::new() }
            }
            // Rows after the last checkpoint are sent again, and those that had arrived are not added twice.
            WriteMode::Append if options.load.resume && target.shows_rows_at_once() => {
                SentRows::Resent { rows: HashMap::new(), sent: Checksum::default() }
            }
            _ => SentRows::Added { sent: Checksum::default(), rejected: Checksum::default() },
        };
        let mut read = target.read_back(&schema, options);
        if mode == WriteMode::Delete {
            // Only the keys of deleted rows are looked up.
            read.columns = Some(ColumnItem::named(options.load.key.clone()));
        }
        let noted = Arc::new(Mutex::new(NotedRows { sent, narrowing: None }));
        let target = target.location();
        let key = options.load.key.clone();
        let may_lack_rejected = options.load.resume && options.load.dead_letter.is_some();
        let mut proof = Self { target, read, key, before: Checksum::default(), mode, may_lack_rejected, noted };
        if mode == WriteMode::Append {
            proof.before = match proof.scan(job)?.map(|scan| scan.checksum()) {
                Some(sum) => sum?,
                None => Checksum::default(),
            };
        }
        Ok(proof)
    }

    /// The target; `None` where there is none.
    fn scan(&self, job: &Job) -> Result<Option<Scan>> {
        match Scan::open(&self.target, &self.read, job) {
            Ok(scan) => Ok(Some(scan)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns true if rows of earlier runs count, too: a target that the load creates has no others.
    pub fn is_of_whole_source(&self) -> bool {
        matches!(self.mode, WriteMode::Error | WriteMode::Overwrite)
    }

    /// The target narrows values: they are compared in their narrowed form.
    pub fn narrow(&self, narrowing: Option<Narrowing>) {
        lock(&self.noted).narrowing = narrowing;
    }

    /// The batches, noted on their way.
    pub fn note(&self, batches: Batches) -> Batches {
        let (schema, noted) = (Arc::clone(batches.schema()), Arc::clone(&self.noted));
        let batches = batches.map(move |batch| {
            let batch = batch?;
            let mut noted = lock(&noted);
            let narrowed = noted.narrowed(&batch)?;
            noted.sent.add(&narrowed)?;
            Ok(batch)
        });
        Batches::new(schema, batches)
    }

    /// The receiver of rejected rows.
    pub fn listener(&self) -> OnRejected {
        let noted = Arc::clone(&self.noted);
        OnRejected::new(move |one| {
            let mut noted = lock(&noted);
            let narrowed = noted.narrowed(one)?;
            noted.sent.reject(&narrowed)
        })
    }

    /// The checksum of the rows that the target has taken.
    pub fn end(mut self, written: &Written, job: &Job) -> Result<String> {
        if let Some(version) = written.version {
            self.read.at = Some(version.to_string());
        }
        let nothing = SentRows::Added { sent: Checksum::default(), rejected: Checksum::default() };
        let sent = std::mem::replace(&mut lock(&self.noted).sent, nothing);
        match sent {
            SentRows::Added { sent, rejected } => self.end_added(sent.without(rejected), job),
            SentRows::ByKey { rows, .. } => self.end_by_key(rows, job),
            SentRows::Resent { rows, sent } => self.end_resent(rows, sent, job),
        }
    }

    fn end_added(&self, taken: Checksum, job: &Job) -> Result<String> {
        let expected = self.before.and(taken);
        let scan = Scan::open(&self.target, &self.read, job)?;
        let samples = Arc::new(ColumnSamples::new(&scan.schema()));
        let found = match scan.is_columnar() {
            true => checksum(Arc::clone(&samples).note(scan.batches()?), job)?,
            false => scan.checksum()?,
        };
        if found == expected {
            self.check_filters(&samples, &scan)?;
            return Ok(taken.to_string());
        }
        let how = format!(
            "the target has {} rows with checksum {found}, but {} with {expected} were expected",
            found.rows, expected.rows
        );
        if self.may_lack_rejected && self.is_of_whole_source() && found.rows < expected.rows {
            return Err(Error::unsupported(format!("the rows that were sent can't be verified: {how}"))
                .at(shown(&self.target))
                .advice(format!(
                    "an earlier run may have put rows aside: compare the difference with its {DEAD_LETTER} file"
                )));
        }
        Err(self.differs(&how))
    }

    /// Looks for the rows that were sent: each as often as it was sent, and no more rows than were there and were sent.
    fn end_resent(&self, mut missing: HashMap<u128, u64>, sent: Checksum, job: &Job) -> Result<String> {
        let mut found = Checksum::default();
        let scan = Scan::open(&self.target, &self.read, job)?;
        let samples = ColumnSamples::new(&scan.schema());
        for batch in scan.batches()? {
            job.check()?;
            let batch = batch?;
            samples.add(&batch)?;
            found = found.and(of_batch(&batch)?);
            for hash in row_hashes(&batch)? {
                if let Some(times) = missing.get_mut(&hash) {
                    *times = times.saturating_sub(1);
                }
            }
        }
        if found == self.before.and(sent) {
            self.check_filters(&samples, &scan)?;
            return Ok(sent.to_string());
        }
        let missing: u64 = missing.values().sum();
        let (before, most) = (self.before.rows, self.before.rows + sent.rows);
        if missing == 0 && (before..=most).contains(&found.rows) {
            self.check_filters(&samples, &scan)?;
            return Ok(sent.to_string());
        }
        Err(self.differs(&format!(
            "of {} rows that were sent, {missing} are missing; the target has {} rows, but {before} to {most} were \
             expected",
            sent.rows, found.rows
        )))
    }

    /// Looks for the keys that were sent: each has one row.
    fn end_by_key(&self, mut expected: HashMap<u128, u128>, job: &Job) -> Result<String> {
        let sum = expected.values().fold(0u128, |sum, row| sum.wrapping_add(*row));
        let total = Checksum { rows: expected.len() as u64, sum };
        let (mut still_there, mut missing, mut others, mut repeated) = (0u64, total.rows, 0u64, 0u64);
        if let Some(scan) = self.scan(job)?.filter(|_| !expected.is_empty()) {
            let key = KeyProjection::new(&scan.schema(), &self.key)?;
            for batch in scan.batches()? {
                job.check()?;
                let batch = batch?;
                let rows = if self.mode == WriteMode::Delete { Vec::new() } else { row_hashes(&batch)? };
                for (at, hash) in key.hashes(&batch)?.into_iter().enumerate() {
                    if self.mode == WriteMode::Delete {
                        still_there += u64::from(expected.contains_key(&hash));
                    } else if let Some(row) = expected.get_mut(&hash) {
                        match std::mem::replace(row, FOUND) {
                            FOUND => repeated += 1,
                            row => {
                                missing -= 1;
                                others += u64::from(rows.get(at) != Some(&row));
                            }
                        }
                    }
                }
            }
        }
        if self.mode == WriteMode::Delete {
            return match still_there {
                0 => Ok(total.to_string()),
                rows => Err(self.differs(&format!("{rows} rows still exist, but should have been deleted"))),
            };
        }
        if (missing, others, repeated) == (0, 0, 0) {
            return Ok(total.to_string());
        }
        let mut how =
            format!("of {} rows, compared by key, {missing} are missing and {others} have other values", total.rows);
        if repeated > 0 {
            how.push_str(&format!("; {repeated} more rows have a key that another row has"));
        }
        Err(self.differs(&how))
    }

    /// Reads samples of the target again, by filters: statistics must not exclude them.
    fn check_filters(&self, samples: &ColumnSamples, scan: &Scan) -> Result<()> {
        // Filters of samples would also find rows that the load does not replace.
        if !scan.is_columnar() || self.read.filter.is_some() {
            return Ok(());
        }
        samples.check(scan).map_err(|error| error.at(shown(&self.target)))
    }

    /// Makes the error of a target that differs.
    fn differs(&self, how: &str) -> Error {
        let advice = match lock(&self.noted).narrowing {
            None => "another program may have written to it in the meantime; otherwise load again".to_owned(),
            Some(_) => {
                format!(
                    "the types that the target declares may have changed values, which {ALLOW_NARROWING} \
                 allows: load without it to see which; or another program has written to it in the meantime"
                )
            }
        };
        Error::corrupt(format!("the target does not have the rows that were sent: {how}"))
            .at(shown(&self.target))
            .advice(advice)
    }
}
