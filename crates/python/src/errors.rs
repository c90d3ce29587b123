//! Errors of the engine as exceptions of the package.

use lakerace::{Error, ErrorKind};
use lakerace_io::option::Door;
use pyo3::exceptions::{PyKeyboardInterrupt, PyModuleNotFoundError};
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

/// An exception of the package as an error of the engine, for the command that called the package.
pub(crate) fn caught(py: Python<'_>, raised: &PyErr) -> Error {
    if raised.is_instance_of::<PyKeyboardInterrupt>(py) {
        return Error::cancelled();
    }
    let value = raised.value(py);
    if raised.is_instance_of::<PyModuleNotFoundError>(py) {
        return Error::unsupported(value.to_string());
    }
    let text = |name: &str| value.getattr(name).ok().and_then(|text| text.extract::<String>().ok());
    let named = text("kind").and_then(|name| KINDS.into_iter().find(|kind| kind.name() == name));
    let Some(kind) = named else { return Error::internal(raised.to_string()) };
    // The text of an exception has its place and its advice in it.
    let (mut message, place, advice) = (value.to_string(), text("place"), text("advice"));
    if let Some(rest) = place.as_ref().and_then(|place| message.strip_prefix(&format!("{place}: "))) {
        message = rest.to_owned();
    }
    if let Some(rest) = advice.as_ref().and_then(|advice| message.strip_suffix(&format!(" ({advice})"))) {
        message = rest.to_owned();
    }
    let error = Error::new(kind, message);
    let error = place.into_iter().fold(error, Error::at);
    advice.into_iter().fold(error, Error::advice)
}

/// The kinds that have an exception of their own.
const KINDS: [ErrorKind; 8] = [
    ErrorKind::Internal,
    ErrorKind::Usage,
    ErrorKind::NotFound,
    ErrorKind::Invalid,
    ErrorKind::Corrupt,
    ErrorKind::Unsupported,
    ErrorKind::Conflict,
    ErrorKind::Unavailable,
];
