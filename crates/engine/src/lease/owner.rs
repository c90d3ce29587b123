//! The run that has a lease, as others see it.

use std::fmt;
use std::fs;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use arrow::temporal_conversions::timestamp_s_to_datetime;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A run, and the process that it is a part of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LeaseOwner {
    /// A random token, unique to the run.
    pub token: String,
    /// The name of its machine, for messages.
    host: String,
    pid: u32,
    /// The machine since its start, and its process namespace; empty where the system does not provide them.
    #[serde(default)]
    machine: String,
    /// When the process started, in ticks since the machine's start: another process may get its number.
    #[serde(default)]
    began: u64,
    /// When the run started, for messages.
    since: String,
    /// Counts its signs of life.
    beat: u64,
}

impl fmt::Display for LeaseOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}, since {}", self.pid, self.host, self.since)
    }
}

impl LeaseOwner {
    /// A run of this process.
    pub fn new() -> Self {
        let pid = std::process::id();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seconds = i64::try_from(now.as_secs()).ok().and_then(timestamp_s_to_datetime);
        let since = seconds.map(|time| time.format("%Y-%m-%dT%H:%M:%SZ").to_string()).unwrap_or_default();
        Self {
            token: token(),
            host: host(),
            pid,
            machine: machine().to_owned(),
            began: process(pid).map_or(0, |process| process.began),
            since,
            beat: 0,
        }
    }

    /// The owner that a state names.
    pub fn from_value(value: &Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }

    /// Its process, where it can be seen from here; `Some(None)`: it can't be there any more.
    fn process(&self) -> Option<Option<OwnerProcess>> {
        if machine().is_empty() || self.machine != machine() {
            return None;
        }
        Some(process(self.pid).filter(|process| process.began == self.began && !matches!(process.state, 'Z' | 'X')))
    }

    /// True if its process has ended, as far as this machine can see.
    pub fn is_gone(&self) -> bool {
        self.process() == Some(None)
    }

    /// True where its process runs, and can be seen from here.
    pub fn is_running(&self) -> bool {
        matches!(self.process(), Some(Some(process)) if !matches!(process.state, 'T' | 't'))
    }
}

#[derive(Debug, PartialEq, Eq)]
struct OwnerProcess {
    state: char,
    began: u64,
}

/// The system's record of a process.
fn process(pid: u32) -> Option<OwnerProcess> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program may have spaces and parentheses.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    Some(OwnerProcess { state, began: fields.nth(18)?.parse().ok()? })
}

fn machine() -> &'static str {
    static MACHINE: OnceLock<String> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let pids = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        match boot.trim() {
            "" => String::new(),
            boot => format!("{boot} {}", pids.display()),
        }
    })
}

fn host() -> String {
    let told = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let told = told.map(|name| name.trim().to_owned()).or_else(|| std::env::var("HOSTNAME").ok());
    told.filter(|name| !name.is_empty()).unwrap_or_else(|| "an unnamed machine".to_owned())
}

fn token() -> String {
    use std::hash::{BuildHasher, RandomState};
    // Each `RandomState` has different random keys.
    let word = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", word(), word())
}
