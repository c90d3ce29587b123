//! Errors of the engine as exceptions of the package.

use lakerace::{Error, ErrorKind};
use lakerace_io::option::Door;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

/// The exception for `error`: `KeyboardInterrupt` for a cancelled job, else the class of its kind.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    if error.kind() == ErrorKind::Cancelled {
        return PyKeyboardInterrupt::new_err(());
    }
    let class = match error.kind() {
        ErrorKind::Internal | ErrorKind::Cancelled => "InternalError",
        ErrorKind::Usage => "UsageError",
        ErrorKind::NotFound => "NotFoundError",
        ErrorKind::Invalid => "InvalidInputError",
        ErrorKind::Corrupt => "CorruptDataError",
        ErrorKind::Unsupported => "UnsupportedError",
        ErrorKind::Conflict => "ConflictError",
        ErrorKind::Unavailable => "UnavailableError",
    };
    let text = error.text(Door::Python);
    let made = py
        .import("lakerace._errors")
        .and_then(|module| module.getattr(class))
        .and_then(|class| class.call1((text.to_string(), text.place, text.advice)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}
