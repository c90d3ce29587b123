//! Why a file could not be read or written, and where.

use std::fmt;

/// The kind of an error, which decides how the caller can react.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The bytes break the rules of the format: the file is damaged.
    Corrupt,
    /// The file or request is right, but this crate can't do it.
    Unsupported,
    /// The call or its data is wrong: a column that isn't there, a value that doesn't fit its type.
    Invalid,
    /// A fault of this crate.
    Internal,
}

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error with its kind, a message, and the place in the file. Displays as `place: message`.
///
/// ```
/// use lakerace_orc::Error;
/// let error = Error::corrupt("the run ends before its length says").at("column 3, stream DATA").at("stripe 0");
/// assert_eq!(error.to_string(), "stripe 0, column 3, stream DATA: the run ends before its length says");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<OrcErrorCore>);

#[derive(Clone, PartialEq, Eq)]
struct OrcErrorCore {
    kind: ErrorKind,
    message: String,
    place: String,
}

impl Error {
    /// An error of `kind` that says `message`, in lower case and without a full stop.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(OrcErrorCore { kind, message: message.into(), place: String::new() }))
    }

    /// An error of [`ErrorKind::Corrupt`].
    #[cold]
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// An error of [`ErrorKind::Unsupported`].
    #[cold]
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// An error of [`ErrorKind::Invalid`].
    #[cold]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// An error of [`ErrorKind::Internal`].
    #[cold]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Names the place. The first call names the innermost one; a later one puts an outer place in front of it.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        let outer = place.to_string();
        self.0.place = if self.0.place.is_empty() { outer } else { format!("{outer}, {}", self.0.place) };
        self
    }

    /// The kind of the error, which decides how the caller can react.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The part of the file, stripe, column and stream, as far as known; empty where not.
    pub fn location(&self) -> &str {
        &self.0.place
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.place.is_empty() {
            write!(f, "{}: ", self.0.place)?;
        }
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}

impl From<arrow::error::ArrowError> for Error {
    fn from(error: arrow::error::ArrowError) -> Self {
        Self::internal(error.to_string())
    }
}

impl From<lakerace_exec::Interruption> for Error {
    fn from(interruption: lakerace_exec::Interruption) -> Self {
        Self::internal(interruption.to_string())
    }
}
