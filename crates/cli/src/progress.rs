//! A progress line on stderr, fed by the job's meter.

use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use lakerace::Job;

use crate::human;

/// How often the line is drawn anew.
const TICK: Duration = Duration::from_millis(100);

/// A line that moves until this is dropped, and is gone then.
pub(crate) struct Progress {
    stop: Option<Sender<()>>,
    drawer: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts drawing where stderr is a terminal and `is_wanted`. `total_bytes`: what the job will read, where known.
    pub(crate) fn start(job: &Job, is_wanted: bool, total_bytes: Option<u64>) -> Self {
        if !is_wanted || !std::io::stderr().is_terminal() {
            return Self { stop: None, drawer: None };
        }
        let (stop, stopped) = channel();
        let job = job.clone();
        let drawer = std::thread::spawn(move || draw(&job, total_bytes.filter(|n| *n > 0), &stopped));
        Self { stop: Some(stop), drawer: Some(drawer) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(drawer) = self.drawer.take() {
            // A drawer that panicked drew nothing more; the job is not concerned.
            let _ = drawer.join();
        }
    }
}

fn draw(job: &Job, total_bytes: Option<u64>, stopped: &Receiver<()>) {
    let started = Instant::now();
    let before = job.meter().counts();
    let bar = total_bytes.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    let template = if total_bytes.is_some() { "{spinner} {bar:24} {percent:>3} %  {msg}" } else { "{spinner} {msg}" };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        let counts = job.meter().counts();
        let seconds = started.elapsed().as_secs_f64();
        let read = counts.bytes_read - before.bytes_read;
        let rate = read.max(counts.bytes_written - before.bytes_written) as f64 / seconds / 1e6;
        let rows = counts.rows_read.max(counts.rows_written);
        let rows = human::plural(rows, "row");
        bar.set_position(read.min(total_bytes.unwrap_or(u64::MAX)));
        let read = human::bytes(counts.bytes_read);
        let written = match counts.bytes_written {
            0 => String::new(),
            n => format!("  {} written", human::bytes(n)),
        };
        bar.set_message(format!("{rows}  {read} read{written}  {rate:.0} MB/s  {seconds:.0} s"));
        bar.tick();
    }
    bar.finish_and_clear();
}
