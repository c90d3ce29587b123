//! Reporting an error to the user, once, in words and in JSON.

use std::sync::Mutex;

use lakerace::Error;
use lakerace_io::ErrorText;
use lakerace_io::option::Door;
use serde_json::{Value, json};

use crate::{stderr, stdout};

const ISSUES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/issues");

/// The place and the message of the last panic.
static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Prints `error: …` on stderr, and with `--json` the error as an object on stdout; returns the exit code.
pub(crate) fn report(error: &Error, wants_json: bool) -> u8 {
    let code = error.kind().exit_code();
    stderr::line(&format!("error: {}", error.text(Door::CommandLine)));
    if wants_json {
        let object = json!({ "error": object(error) });
        // A failure of stdout is ignored, as there is no other place to report it.
        let _ = stdout::line(&object.to_string());
    }
    code
}

/// The error as JSON.
pub(crate) fn object(error: &Error) -> Value {
    let ErrorText { message, place, advice } = error.text(Door::CommandLine);
    json!({
        "kind": error.kind().name(),
        "message": message,
        "place": place,
        "advice": advice,
        "exit_code": error.kind().exit_code(),
    })
}

/// Keeps a panic's message for [`panicked`] instead of printing it; `RUST_BACKTRACE` brings the usual print back.
pub(crate) fn quiet_panics() {
    if std::env::var_os("RUST_BACKTRACE").is_some() {
        return;
    }
    std::panic::set_hook(Box::new(|info| {
        if let Ok(mut last) = LAST_PANIC.lock() {
            *last = Some(one_line(&info.to_string()));
        }
    }));
}

/// The error for a panic that was caught.
pub(crate) fn panicked() -> Error {
    let what = LAST_PANIC.lock().ok().and_then(|mut last| last.take()).unwrap_or_else(|| "a panic".to_owned());
    Error::internal(format!("internal error: {what}")).advice(format!("please report it at {ISSUES}"))
}

/// The text's lines joined, without the `error:` that clap puts in front.
pub(crate) fn one_line(text: &str) -> String {
    let joined = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    joined.strip_prefix("error: ").map(str::to_owned).unwrap_or(joined)
}
