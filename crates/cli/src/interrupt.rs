//! Ctrl-C, SIGTERM and SIGHUP: the first signal cancels the job, which then removes its unfinished output; the second
//! one kills the process. A cancelled job that does not end in time is ended with the process.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use lakerace::{ErrorKind, Job};

use crate::{stderr, stdout};

/// The job to cancel; `None` until one runs and after it was cancelled.
static RUNNING: Mutex<Option<Job>> = Mutex::new(None);

/// Makes Ctrl-C, SIGTERM and SIGHUP cancel `job` from now on.
pub(crate) fn cancels(job: &Job) {
    if let Ok(mut running) = RUNNING.lock() {
        *running = Some(job.clone());
    }
    let ignores_hangups = ignores_hangups();
    let set = ctrlc::set_handler(|| {
        let job = RUNNING.lock().ok().and_then(|mut running| running.take());
        match job {
            Some(job) => {
                job.cancel();
                // If the system starts no thread, the next signal ends the process.
                let _ = std::thread::Builder::new().spawn(end_for_certain);
                stderr::line("interrupted: cleaning up (press Ctrl-C again to kill)");
            }
            None => std::process::exit(ErrorKind::Cancelled.exit_code().into()),
        }
    });
    // Another error is that a handler is set already, and that is ours from an earlier call.
    if let Err(ctrlc::Error::System(_)) = set {
        // No thread waits for signals: they end the process, rather than being lost.
        [libc::SIGINT, libc::SIGTERM, libc::SIGHUP]
            .into_iter()
            .for_each(|signal| set_disposition(signal, libc::SIG_DFL));
    }
    if ignores_hangups {
        set_disposition(libc::SIGHUP, libc::SIG_IGN);
    }
}

/// The time in which a cancelled job may clean up: longer than its parts wait for a store that does not answer.
const CLEANING_UP: Duration = Duration::from_secs(30);

/// The time that a write to standard output may take after the job was cancelled: there may be no reader.
const LAST_WRITE: Duration = Duration::from_millis(500);

/// Ends the process where the cancelled job does not: it waits for a reader of standard output, or for a disk or store
/// that does not answer.
fn end_for_certain() {
    let (began, mut writing_since) = (Instant::now(), None);
    while began.elapsed() < CLEANING_UP {
        writing_since = if stdout::is_writing() { writing_since.or_else(|| Some(Instant::now())) } else { None };
        if writing_since.is_some_and(|since: Instant| since.elapsed() > LAST_WRITE) {
            break;
        }
        std::thread::sleep(LAST_WRITE / 10);
    }
    std::process::exit(ErrorKind::Cancelled.exit_code().into());
}

/// Returns true if a hangup is ignored: `nohup` arranges that, and wants it to stay so.
fn ignores_hangups() -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action, sigaction only fills the struct that it is given; zeroes are valid for it as well.
    let action = unsafe {
        libc::sigaction(libc::SIGHUP, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}

fn set_disposition(signal: libc::c_int, how: libc::sighandler_t) {
    // SAFETY: no code of ours runs on the signal.
    unsafe { libc::signal(signal, how) };
}
