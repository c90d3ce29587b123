//! Errors of the kernel as ours, by the reaction that they require of the caller.

use delta_kernel::parquet::errors::ParquetError;
use delta_kernel::{KernelError, KernelResult};
use lakerace_io::{Error, object_store, panics, store_error};

/// Calls into the kernel: its errors and panics become ours. Its input is logs of any writer, so that a panic means
/// damage.
pub(crate) fn guarded<T>(call: impl FnOnce() -> KernelResult<T>) -> Result<T, Error> {
    match panics::caught(call) {
        Ok(outcome) => outcome.map_err(from_kernel),
        Err(payload) => Err(panics::shortage(&*payload).unwrap_or_else(|| Error::corrupt("the log can't be parsed"))),
    }
}

/// Returns true if the error says that a file does not exist.
pub(crate) fn is_missing(error: &KernelError) -> bool {
    match error {
        KernelError::Backtraced { source, .. } => is_missing(source),
        KernelError::FileNotFound(_) | KernelError::ObjectStore(object_store::Error::NotFound { .. }) => true,
        KernelError::IOError(error) => error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

/// An error of the kernel as ours. One of ours that travelled through it comes out unchanged.
pub(crate) fn from_kernel(error: KernelError) -> Error {
    use KernelError as K;
    let text = plain(&error.to_string());
    match error {
        K::Backtraced { source, .. } => from_kernel(*source),
        K::GenericError { source } => match source.downcast::<Error>() {
            Ok(own) => *own,
            Err(_) => Error::corrupt(text),
        },
        K::ObjectStore(inner) => of_store(inner),
        // A checkpoint is read as Parquet: that its store fails is no damage.
        K::Parquet(ParquetError::External(source)) => match source.downcast::<object_store::Error>() {
            Ok(inner) => of_store(*inner),
            Err(_) => Error::corrupt(text),
        },
        K::IOError(inner) => Error::from(inner),
        K::FileNotFound(path) => Error::corrupt(format!("the file {path} of its log does not exist"))
            .advice("restore it, or read a version that does not need it"),
        K::EmptyLog => Error::not_found("no version of a Delta table exists here"),
        K::MissingVersion(_) | K::StartVersionNotFound { .. } | K::LogHistory(_) => Error::not_found(text),
        K::Unsupported(what) => unsupported(&what),
        K::ChangeDataFeedUnsupported(_) | K::ChecksumWriteUnsupported(_) => Error::unsupported(text),
        K::FileAlreadyExists(_) | K::TableAlreadyExistsAtPath(_) => Error::conflict(text),
        K::Cancelled => Error::cancelled(),
        K::MissingColumn(_) | K::Schema(_) | K::InvalidPartitionValues(_) | K::StatsValidation(_) => {
            Error::invalid(text)
        }
        K::InternalError(_) | K::JoinFailure(_) | K::InvalidTransactionState(_) => Error::internal(text),
        _ => Error::corrupt(text),
    }
}

/// Names of types that the kernel and the libraries below it put in front of their messages.
const FRAMES: [&str; 22] = [
    "Generic delta kernel error: ",
    "Generic error: ",
    "Arrow error: ",
    "Arrow: ",
    "Parquet error: ",
    "Parquet argument error: ",
    "External: ",
    "EOF: ",
    "NYI: ",
    "Json error: ",
    "Parser error: ",
    "Cast error: ",
    "Compute error: ",
    "Schema error: ",
    "Invalid argument error: ",
    "Internal error: ",
    "Internal error ",
    "Error interacting with object store: ",
    "Object store path error: ",
    "Deletion Vector error: ",
    "Error writing checkpoint: ",
    "Join failure: ",
];

/// A text of the kernel without the names of its types and functions, and without a backtrace.
pub(crate) fn plain(text: &str) -> String {
    let mut text = text.lines().next().unwrap_or_default().trim_start();
    while let Some(rest) = FRAMES.iter().find_map(|frame| text.strip_prefix(frame)) {
        text = rest.trim_start();
    }
    let text = text.strip_suffix("This is a kernel bug, please report.").unwrap_or(text).trim().trim_end_matches('.');
    if text.is_empty() {
        return "the log can't be parsed".to_owned();
    }
    // `… non-nullable StructArray child: Field { "path": Utf8 }`
    if let Some((before, field)) = text.split_once(NULL_FIELD) {
        let name = field.split('"').next().unwrap_or_default();
        return format!("{before}its field {name:?} is missing or null");
    }
    // `Unknown("name")` is a feature that the kernel does not know.
    let known = text.replace("Unknown(\"", "\"");
    if known.len() == text.len() { known } else { known.replace("\")", "\"") }
}

/// Arrow's words in front of the name of a field.
const NULL_FIELD: &str = "Encountered unmasked nulls in non-nullable StructArray child: Field { \"";

fn of_store(error: object_store::Error) -> Error {
    let error = store_error(error, "");
    Error::new(error.kind(), error.to_string().trim_start_matches(": ").to_owned())
}

fn unsupported(what: &str) -> Error {
    Error::unsupported(what.to_owned()).advice("this version of lakerace does not support what the table requires")
}

/// An error of ours on its way through the kernel.
pub(crate) fn to_kernel(error: Error) -> KernelError {
    KernelError::generic_err(error)
}

#[cfg(test)]
mod tests;
