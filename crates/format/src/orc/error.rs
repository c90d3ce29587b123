//! Errors of the ORC crate as ours.

use lakerace_io::{Error, ErrorKind};
use lakerace_orc::ErrorKind as OrcKind;

/// The error of the same kind, with its place in the file.
pub(crate) fn from_orc(error: lakerace_orc::Error) -> Error {
    let kind = match error.kind() {
        OrcKind::Corrupt => ErrorKind::Corrupt,
        OrcKind::Unsupported => ErrorKind::Unsupported,
        OrcKind::Invalid => ErrorKind::Invalid,
        OrcKind::Internal => ErrorKind::Internal,
    };
    let own = Error::new(kind, error.message());
    if error.location().is_empty() { own } else { own.at(error.location()) }
}

/// Names the file in an error, unless its store did already.
pub(crate) fn named(error: Error, url: &str) -> Error {
    if error.kind() == ErrorKind::Cancelled { error } else { error.at(url) }
}
