//! A progress line on stderr, fed by the job's meter.

use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use lakerace::{Job, TableProgress};

use crate::human;

/// The interval at which the line is drawn.
const TICK: Duration = Duration::from_millis(100);

/// Positions of the bar: one a percent, as a share of 99.9 % would be shown rounded, as 100 %.
const STEPS: u64 = 100;

/// A line that moves until this is dropped, and is gone then.
pub(crate) struct Progress {
    stop: Option<Sender<()>>,
    drawer: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts drawing where stderr is a terminal and `is_wanted`.
    pub(crate) fn start(job: &Job, is_wanted: bool) -> Self {
        let job = job.clone();
        Self::start_with(is_wanted, move |stopped| draw(&job, stopped))
    }

    fn start_with(is_wanted: bool, draw: impl FnOnce(&Receiver<()>) + Send + 'static) -> Self {
        if !is_wanted || !std::io::stderr().is_terminal() {
            return Self { stop: None, drawer: None };
        }
        let (stop, stopped) = channel();
        // If the system starts no thread, nothing is drawn.
        let drawer = std::thread::Builder::new().spawn(move || draw(&stopped)).ok();
        Self { stop: Some(stop), drawer }
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

/// A line for each table that is generated, until this is dropped.
pub(crate) struct TableLines(#[expect(dead_code, reason = "it is there to be dropped")] Progress);

impl TableLines {
    /// Starts drawing where stderr is a terminal and `is_wanted`.
    pub(crate) fn start(tables: Arc<[TableProgress]>, is_wanted: bool) -> Self {
        Self(Progress::start_with(is_wanted, move |stopped| draw_tables(&tables, stopped)))
    }
}

/// Lines on the terminal.
#[derive(Clone)]
enum DrawnLines {
    One(ProgressBar),
    Many(MultiProgress),
}

/// The lines that are drawn now.
static DRAWN: Mutex<Option<DrawnLines>> = Mutex::new(None);

/// Prints to stderr above the lines that are drawn.
pub(crate) fn above(print: impl FnOnce()) {
    let drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match drawn {
        Some(DrawnLines::One(line)) => line.suspend(print),
        Some(DrawnLines::Many(lines)) => lines.suspend(print),
        None => print(),
    }
}

fn set_drawn(lines: Option<DrawnLines>) {
    *DRAWN.lock().unwrap_or_else(PoisonError::into_inner) = lines;
}

fn draw_tables(tables: &[TableProgress], stopped: &Receiver<()>) {
    let all = MultiProgress::new();
    set_drawn(Some(DrawnLines::Many(all.clone())));
    let lines: Vec<ProgressBar> = tables.iter().map(|_| all.add(ProgressBar::new(STEPS))).collect();
    for (line, table) in lines.iter().zip(tables) {
        let template =
            if table.total_rows.is_some() { "{prefix:9} {bar:24} {percent:>3} %  {msg}" } else { "{prefix:9} {msg}" };
        set_template(line, template);
        line.set_prefix(table.name);
    }
    while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        for (line, table) in lines.iter().zip(tables) {
            let rows = table.rows();
            let (bytes, seconds) = table.bytes_and_seconds();
            if let Some(total) = table.total_rows {
                line.set_position((rows * STEPS / total.max(1)).min(STEPS - 1));
            }
            let (text, encoded) = (human::plural(rows, "row"), human::bytes(bytes));
            let message = match seconds {
                0.0 => String::new(),
                _ => {
                    let (row_rate, byte_rate) = (rows as f64 / seconds, bytes as f64 / seconds / 1e6);
                    format!("{text}  {}/s  {encoded}  {byte_rate:.0} MB/s", human::count(row_rate as u64))
                }
            };
            line.set_message(message);
        }
    }
    // An event between the two is printed above the lines that are drawn.
    let _ = all.clear();
    set_drawn(None);
}

fn draw(job: &Job, stopped: &Receiver<()>) {
    let started = Instant::now();
    let before = job.meter().counts();
    let bar = ProgressBar::new_spinner();
    set_drawn(Some(DrawnLines::One(bar.clone())));
    set_template(&bar, "{spinner} {msg}");
    let mut has_percentage = false;
    while stopped.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
        let counts = job.meter().counts();
        let seconds = started.elapsed().as_secs_f64();
        let read = counts.bytes_read - before.bytes_read;
        let rate = read.max(counts.bytes_written - before.bytes_written) as f64 / seconds / 1e6;
        let rows = human::plural(job.meter().rows_done(), "row");
        if let Some(share) = job.meter().progress() {
            // The plan is made while the line moves already.
            if !std::mem::replace(&mut has_percentage, true) {
                bar.set_length(STEPS);
                set_template(&bar, "{spinner} {bar:24} {percent:>3} %  {msg}");
            }
            // The end of the job is not that of its rows: they have to become visible.
            bar.set_position(((share * STEPS as f64) as u64).min(STEPS - 1));
        }
        let read = human::bytes(counts.bytes_read);
        let written = match counts.bytes_written {
            0 => String::new(),
            n => format!("  {} written", human::bytes(n)),
        };
        bar.set_message(format!("{rows}  {read} read{written}  {rate:.0} MB/s  {seconds:.0} s"));
        bar.tick();
    }
    bar.finish_and_clear();
    set_drawn(None);
}

fn set_template(bar: &ProgressBar, template: &str) {
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
}
