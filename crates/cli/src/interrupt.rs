//! Ctrl-C, SIGTERM and SIGHUP: the first one cancels the job, which then leaves nothing behind; the second one kills.

use std::sync::Mutex;

use lakerace::{ErrorKind, Job};

/// The job to cancel; `None` until one runs and after it was cancelled.
static RUNNING: Mutex<Option<Job>> = Mutex::new(None);

/// Makes Ctrl-C, SIGTERM and SIGHUP cancel `job` from now on.
pub(crate) fn cancels(job: &Job) {
    if let Ok(mut running) = RUNNING.lock() {
        *running = Some(job.clone());
    }
    let ignores_hangups = ignores_hangups();
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
    if ignores_hangups {
        ignore_hangups();
    }
}

/// Whether a hangup is ignored: `nohup` arranges that, and wants it to stay so.
fn ignores_hangups() -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: without a new action, sigaction only fills the struct that it is given; zeroes are valid for it as well.
    let action = unsafe {
        libc::sigaction(libc::SIGHUP, std::ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}

fn ignore_hangups() {
    // SAFETY: no code of ours runs on the signal.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
}
