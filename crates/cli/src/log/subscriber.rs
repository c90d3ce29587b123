//! The receiver of events. The first command of a process that logs installs it; without it, an event costs a comparison.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once, PoisonError, RwLock};

use lakerace_io::printable;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::filter::Targets;

use super::line::line;
use crate::args::LogFormat;
use crate::{progress, stderr};

/// The log of the running command.
static SINK: RwLock<Option<Arc<LogSink>>> = RwLock::new(None);

/// The levels, the format and the targets of a log.
pub(super) struct LogSink {
    levels: Targets,
    format: LogFormat,
    targets: Vec<LogTarget>,
    has_failed: AtomicBool,
}

/// A place that lines are written to.
pub(super) enum LogTarget {
    /// Standard error.
    Stderr,
    /// A file that is open for appending.
    File(File, PathBuf),
}

impl LogSink {
    pub(super) fn new(levels: Targets, format: LogFormat, targets: Vec<LogTarget>) -> Arc<Self> {
        Arc::new(Self { levels, format, targets, has_failed: AtomicBool::new(false) })
    }

    fn write(&self, line: &str) {
        for target in &self.targets {
            match target {
                LogTarget::Stderr => progress::above(|| stderr::text(line)),
                LogTarget::File(file, path) => {
                    // One write a line: lines of two processes do not mix.
                    let mut file: &File = file;
                    if let Err(error) = file.write_all(line.as_bytes())
                        && !self.has_failed.swap(true, Ordering::Relaxed)
                    {
                        let path = path.display();
                        let text = format!("warning: the log {path} has gaps (the command continues): {error}");
                        progress::above(|| stderr::line(&printable(&text)));
                    }
                }
            }
        }
    }
}

/// Sets the log, or ends it.
pub(super) fn set(sink: Option<Arc<LogSink>>) {
    static INSTALLED: Once = Once::new();
    let has_sink = sink.is_some();
    let before = std::mem::replace(&mut *SINK.write().unwrap_or_else(PoisonError::into_inner), sink);
    if has_sink {
        // A receiver that the process has set already stays.
        INSTALLED.call_once(|| drop(set_global_default(EventReceiver)));
    }
    if has_sink || before.is_some() {
        tracing::callsite::rebuild_interest_cache();
    }
}

fn sink() -> Option<Arc<LogSink>> {
    SINK.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Hands events to the log that is set.
struct EventReceiver;

impl Subscriber for EventReceiver {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        !metadata.is_span() && sink().is_some_and(|sink| sink.levels.would_enable(metadata.target(), metadata.level()))
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        sink().map_or(Some(LevelFilter::OFF), |sink| sink.levels.iter().map(|(_, level)| level).max())
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if let Some(sink) = sink() {
            sink.write(&line(event, sink.format));
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
