//! The right to write to a target that follows a source, which one run at a time holds.
//!
//! The target's state names its owner. Each write of the state is conditional on the text that the run has read or
//! written last, so that a run which another one has taken over can't write it any more. An owner gives signs of life.
//! If it gives none for [`SILENCE`], or its process has ended, another run takes the target over. Clocks of two
//! machines are never compared.
//!
//! An owner that was only suspended may continue later, and requests in flight then reach the target. It notices before
//! its next request, ends, and records in the state that its rows may be late. Until then the state names it as
//! overtaken. The next run repairs the target ([`TargetLease::doubts`]).

mod fenced;
mod owner;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use lakerace_database::TargetState;
use lakerace_io::wait::lock;
use lakerace_io::{Error, ErrorKind, Job, Result};
use serde::Serialize;
use serde_json::{Map, Value, json};

pub(crate) use self::fenced::LeaseGuard;
use self::owner::LeaseOwner;

/// An owner without a sign of life for this long is taken over.
const SILENCE: Duration = Duration::from_secs(10);
/// Time between two signs of life.
const BEAT: Duration = Duration::from_secs(2);
/// An owner that has not had a sign of life confirmed for this long asks first whether it still is the owner.
const DOUBT: Duration = Duration::from_secs(5);
/// Time between two reads of another owner's state.
const POLL: Duration = Duration::from_millis(200);
/// The time that a run which ends by an error waits for its last state to arrive.
const GRACE: Duration = Duration::from_secs(5);
/// Owners that were overtaken and not heard of since, at most.
const OVERTAKEN: usize = 8;

/// Keys of the state that are not the job's.
const OWN: [&str; 4] = ["owner", "overtaken", "late", "runs"];

/// The outcome of asking for a lease.
pub(crate) enum LeaseClaim {
    /// The run holds the lease.
    Held(TargetLease),
    /// The state has changed since it was read, and must be read again.
    Changed,
}

/// A lease of a target.
pub(crate) struct TargetLease {
    shared: Arc<LeaseCore>,
    doubts: Vec<EarlierRunDoubt>,
}

/// An earlier run whose rows may have arrived late.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EarlierRunDoubt {
    token: String,
    /// The state of the job when that run had the lease.
    pub state: Value,
    /// It was overtaken by this very run.
    pub is_new: bool,
    /// It has confessed.
    is_late: bool,
}

struct LeaseCore {
    target: Arc<dyn TargetState>,
    name: String,
    token: String,
    place: String,
    /// Rows and state are in one transaction, so that no row can be late. Signs of life would wait for the transaction.
    has_transactions: bool,
    held: Mutex<HeldState>,
    changed: Condvar,
    is_lost: AtomicBool,
    is_writing: AtomicBool,
    has_sent: AtomicBool,
}

/// The state of the target, in the run's knowledge.
struct HeldState {
    text: String,
    value: Map<String, Value>,
    confirmed: Instant,
    is_ended: bool,
}

/// A state that is kept, as an object; an empty one where it can't be read.
fn object(text: Option<&str>) -> Map<String, Value> {
    let value = text.and_then(|text| serde_json::from_str(text).ok());
    if let Some(Value::Object(object)) = value { object } else { Map::new() }
}

/// The entries of a list of the state.
fn list<'a>(value: &'a Map<String, Value>, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn token_of(entry: &Value) -> &str {
    entry["owner"]["token"].as_str().unwrap_or_default()
}

/// The part of the state that is the job's own.
fn of_job(value: &Map<String, Value>) -> Value {
    value
        .iter()
        .filter(|(key, _)| !OWN.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// True for a state that only has runs, of which none has stored a state of its job.
pub(crate) fn has_no_job_state(text: &str) -> bool {
    let value = object(Some(text));
    value.contains_key("runs") && value.keys().all(|key| OWN.contains(&key.as_str()))
}

/// The doubts of a state: earlier runs whose rows may be incomplete or late, and that can send no more rows.
fn doubts(value: &Map<String, Value>, new: Option<&str>) -> Vec<EarlierRunDoubt> {
    let is_over = |entry: &&Value| LeaseOwner::from_value(&entry["owner"]).is_none_or(|owner| owner.is_gone());
    let doubt = |entry: &Value, is_late: bool| {
        let token = token_of(entry).to_owned();
        EarlierRunDoubt { is_new: new == Some(token.as_str()), state: entry["state"].clone(), token, is_late }
    };
    let overtaken = list(value, "overtaken").iter();
    // Rows of an owner that is only silent were sent before it was overtaken, too.
    let overtaken = overtaken.filter(|entry| is_over(entry) || new == Some(token_of(entry)));
    let late = list(value, "late").iter().map(|entry| doubt(entry, true));
    late.chain(overtaken.map(|entry| doubt(entry, false))).collect()
}

/// The earlier runs that a run should check.
pub(crate) fn doubts_of(text: Option<&str>) -> Vec<EarlierRunDoubt> {
    doubts(&object(text), None)
}

/// True where a state has doubts that a run should check.
pub(crate) fn has_doubts(text: Option<&str>) -> bool {
    !doubts_of(text).is_empty()
}

impl TargetLease {
    /// Claims the lease of a target whose state was read as `before`. Waits for another owner until `patience` ends.
    ///
    /// # Errors
    /// `Conflict` where another run holds it and gives signs of life.
    pub fn claim(
        target: &Arc<dyn TargetState>,
        name: &str,
        before: Option<&str>,
        (place, has_transactions): (&str, bool),
        patience: Instant,
        job: &Job,
    ) -> Result<LeaseClaim> {
        let mut value = object(before);
        let other = value.get("owner").and_then(LeaseOwner::from_value);
        if let Some(other) = &other {
            let waiting = WaitingRun { target, name, place, before, other, has_transactions };
            if !other.is_gone() && waiting.wait(patience, job)? == WaiterView::Changed {
                return Ok(LeaseClaim::Changed);
            }
            let mut overtaken = list(&value, "overtaken").to_vec();
            overtaken.push(json!({ "owner": other, "state": of_job(&value) }));
            let first = overtaken.len().saturating_sub(OVERTAKEN);
            value.insert("overtaken".to_owned(), overtaken.split_off(first).into());
        }
        let owner = LeaseOwner::new();
        let runs = value.get("runs").and_then(Value::as_u64).unwrap_or(0) + 1;
        value.insert("owner".to_owned(), json!(owner));
        value.insert("runs".to_owned(), json!(runs));
        let (text, confirmed) = (Value::Object(value.clone()).to_string(), Instant::now());
        if !target.replace(name, before, &text)? {
            return Ok(LeaseClaim::Changed);
        }
        let doubts = doubts(&value, other.as_ref().map(|other| other.token.as_str()));
        let shared = Arc::new(LeaseCore {
            target: Arc::clone(target),
            name: name.to_owned(),
            token: owner.token,
            place: place.to_owned(),
            has_transactions,
            held: Mutex::new(HeldState { text, value, confirmed, is_ended: false }),
            changed: Condvar::new(),
            is_lost: AtomicBool::new(false),
            is_writing: AtomicBool::new(false),
            has_sent: AtomicBool::new(false),
        });
        let beating = Arc::clone(&shared);
        let started = std::thread::Builder::new().name("lakerace-lease".to_owned()).spawn(move || beating.beat());
        started.map_err(|error| lakerace_io::threads::not_started(&error))?;
        Ok(LeaseClaim::Held(Self { shared, doubts }))
    }

    /// Runs whose rows may have arrived late, or may have been replaced by older ones.
    pub fn doubts(&self) -> &[EarlierRunDoubt] {
        &self.doubts
    }

    /// True while no other run is known to have taken it over.
    pub fn is_held(&self) -> bool {
        !self.shared.is_lost.load(Ordering::Acquire)
    }

    /// A guard for the rows of this run.
    pub fn guard(&self) -> LeaseGuard {
        LeaseGuard::new(&self.shared)
    }

    /// Stores the job's state.
    pub fn write(&self, state: &impl Serialize) -> Result<()> {
        let state = fields(state)?;
        self.shared.update(|value| value.extend(state.clone()))
    }

    /// Stores the job's last state, and releases the lease. The doubts that the job has resolved are removed.
    pub fn end(self, state: &impl Serialize, is_right: impl Fn(&EarlierRunDoubt) -> bool) -> Result<()> {
        let state = fields(state)?;
        let right = self.doubts.iter().filter(|doubt| is_right(doubt));
        let right: BTreeSet<(&str, bool)> = right.map(|doubt| (doubt.token.as_str(), doubt.is_late)).collect();
        self.shared.update(|value| {
            value.extend(state.clone());
            value.remove("owner");
            for (key, is_late) in [("late", true), ("overtaken", false)] {
                let may_come = |entry: &Value| {
                    !is_late && LeaseOwner::from_value(&entry["owner"]).is_some_and(|owner| !owner.is_gone())
                };
                let left = list(value, key).iter();
                let left = left.filter(|entry| !right.contains(&(token_of(entry), is_late)) || may_come(entry));
                let left: Vec<Value> = left.cloned().collect();
                if left.is_empty() {
                    value.remove(key)
                } else {
                    value.insert(key.to_owned(), left.into())
                };
            }
        })?;
        self.shared.finish();
        Ok(())
    }
}

fn fields(state: &impl Serialize) -> Result<Map<String, Value>> {
    match serde_json::to_value(state) {
        Ok(Value::Object(fields)) => Ok(fields),
        _ => Err(Error::internal("a state that is not an object")),
    }
}

impl Drop for TargetLease {
    /// A run that has failed releases the lease, or records that it was taken over. Its job may be cancelled, and its
    /// target unreachable: it waits for a short time.
    fn drop(&mut self) {
        if !self.shared.finish() {
            return;
        }
        let shared = Arc::clone(&self.shared);
        let (sender, receiver) = sync_channel(1);
        let spawned = std::thread::Builder::new().name("lakerace-lease".to_owned()).spawn(move || {
            shared.leave();
            let _ = sender.send(());
        });
        if spawned.is_ok() {
            let _ = receiver.recv_timeout(GRACE);
        }
    }
}

impl LeaseCore {
    fn held(&self) -> MutexGuard<'_, HeldState> {
        lock(&self.held)
    }

    /// Ends the signs of life. False: they had ended.
    fn finish(&self) -> bool {
        let was_ended = std::mem::replace(&mut self.held().is_ended, true);
        self.changed.notify_all();
        !was_ended
    }

    /// Gives signs of life until the lease ends.
    fn beat(&self) {
        loop {
            let held = self.held();
            let Ok((held, _)) = self.changed.wait_timeout_while(held, BEAT, |held| !held.is_ended) else { return };
            if held.is_ended || self.is_lost.load(Ordering::Acquire) {
                return;
            }
            drop(held);
            if !(self.has_transactions && self.is_writing.load(Ordering::Acquire)) {
                // A target that does not answer now may answer the next one.
                let _ = self.update(|_| ());
            }
        }
    }

    /// An error where another run has taken the target over.
    fn check(&self) -> Result<()> {
        if self.is_lost.load(Ordering::Acquire) {
            return Err(self.lost());
        }
        // Inside a transaction, the target itself checks the owner.
        if self.has_transactions || self.held().confirmed.elapsed() < DOUBT {
            return Ok(());
        }
        self.update(|_| ())
    }

    fn lost(&self) -> Error {
        Error::conflict("another run has taken over the target, because this one gave no sign of life")
            .at(&self.place)
            .advice("wait for the other run to end, then run this one again")
    }

    /// Changes the state, in which other runs only change what they record as late.
    fn update(&self, change: impl Fn(&mut Map<String, Value>)) -> Result<()> {
        let mut held = self.held();
        if self.is_lost.load(Ordering::Acquire) {
            return Err(self.lost());
        }
        loop {
            let mut value = held.value.clone();
            let beat = value.get("owner").and_then(|owner| owner["beat"].as_u64()).unwrap_or(0);
            if let Some(owner) = value.get_mut("owner") {
                owner["beat"] = json!(beat + 1);
            }
            change(&mut value);
            let (text, asked) = (Value::Object(value.clone()).to_string(), Instant::now());
            if self.target.replace(&self.name, Some(&held.text), &text)? {
                (held.text, held.value, held.confirmed) = (text, value, asked);
                return Ok(());
            }
            let Some(now) = self.target.read(&self.name)? else { return Err(self.lose()) };
            let found = object(Some(&now));
            if found.get("owner").map(|owner| &owner["token"]) != Some(&Value::String(self.token.clone())) {
                return Err(self.lose());
            }
            (held.text, held.value) = (now, found);
        }
    }

    fn lose(&self) -> Error {
        self.is_lost.store(true, Ordering::Release);
        self.lost()
    }

    /// The last word of a run that has failed.
    fn leave(&self) {
        match self.update(|value| drop(value.remove("owner"))) {
            Err(_) if self.is_lost.load(Ordering::Acquire) => self.confess(),
            // The target is out of reach: the next run finds an owner that is gone, or silent.
            _ => {}
        }
    }

    /// Tells that this run is over, and whether rows of it may be late.
    fn confess(&self) {
        for _ in 0..32 {
            let Ok(Some(text)) = self.target.read(&self.name) else { return };
            let mut value = object(Some(&text));
            let (mine, others): (Vec<Value>, Vec<Value>) =
                list(&value, "overtaken").iter().cloned().partition(|entry| token_of(entry) == self.token);
            value.insert("overtaken".to_owned(), others.into());
            if self.has_sent.load(Ordering::Acquire) {
                let unknown = || json!({ "owner": { "token": self.token }, "state": null });
                let mut late = list(&value, "late").to_vec();
                late.push(mine.into_iter().next().unwrap_or_else(unknown));
                value.insert("late".to_owned(), late.into());
            }
            match self.target.replace(&self.name, Some(&text), &Value::Object(value).to_string()) {
                Ok(false) => {}
                Ok(true) | Err(_) => return,
            }
        }
    }
}

/// The view of a run that waits.
#[derive(Debug, PartialEq, Eq)]
enum WaiterView {
    /// The other owner gives no sign of life.
    Silence,
    /// Something has changed.
    Changed,
}

/// A run that waits for another one.
struct WaitingRun<'a> {
    target: &'a Arc<dyn TargetState>,
    name: &'a str,
    place: &'a str,
    before: Option<&'a str>,
    other: &'a LeaseOwner,
    has_transactions: bool,
}

impl WaitingRun<'_> {
    fn wait(&self, patience: Instant, job: &Job) -> Result<WaiterView> {
        let (mut seen, mut since) = (self.before.map(str::to_owned), Instant::now());
        loop {
            // In a transaction, a process gives no signs of life, and can be seen to run.
            let runs = self.has_transactions && self.other.is_running();
            if !runs && (since.elapsed() >= SILENCE || self.other.is_gone()) {
                return Ok(if seen.as_deref() == self.before { WaiterView::Silence } else { WaiterView::Changed });
            }
            if Instant::now() >= patience && (runs || seen.as_deref() != self.before) {
                return Err(self.is_held());
            }
            job.check()?;
            std::thread::sleep(POLL);
            let now = match self.target.read(self.name) {
                // A file that the other run has locked.
                Err(error) if error.kind() == ErrorKind::Unavailable && runs => continue,
                now => now?,
            };
            if now != seen {
                let owner = object(now.as_deref()).get("owner").and_then(LeaseOwner::from_value);
                if owner.is_none_or(|owner| owner.token != self.other.token) {
                    return Ok(WaiterView::Changed);
                }
                (seen, since) = (now, Instant::now());
            }
        }
    }

    fn is_held(&self) -> Error {
        let seconds = SILENCE.as_secs();
        Error::conflict(format!("another run writes to it: {}", self.other)).at(self.place).advice(format!(
            "wait for it to end, or stop it: {seconds} s after its last sign of life, the next run takes over the \
             target"
        ))
    }
}

/// The time at which a run that starts now stops waiting for others.
pub(crate) fn patience() -> Instant {
    Instant::now() + SILENCE
}

#[cfg(test)]
mod tests;
