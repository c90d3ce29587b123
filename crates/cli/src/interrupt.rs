//! Ctrl-C: the first one cancels the job, which then leaves nothing behind; the second one kills.

use std::sync::Mutex;

use lakerace::{ErrorKind, Job};

/// The job to cancel; `None` until one runs and after it was cancelled.
static RUNNING: Mutex<Option<Job>> = Mutex::new(None);

/// Makes Ctrl-C cancel `job` from now on.
pub(crate) fn cancels(job: &Job) {
    if let Ok(mut running) = RUNNING.lock() {
        *running = Some(job.clone());
    }
    // Fails where a handler is set already, and that is ours from an earlier call.
    let _ = ctrlc::set_handler(|| {
        let job = RUNNING.lock().ok().and_then(|mut running| running.take());
        match job {
            Some(job) => {
                job.cancel();
                eprintln!("interrupted: cleaning up (Ctrl-C again kills)");
            }
            None => std::process::exit(ErrorKind::Cancelled.exit_code().into()),
        }
    });
}
