//! The error type of the whole of lakerace.
//!
//! An error has a [`ErrorKind`], named by the caller's next step, a message, the place (file or URL, and the position
//! in it) and often advice. Formats and stores keep their own richer errors as the `source`.

use std::fmt;

use crate::option::{Door, OptionDefinition, with_option_replaced};
use crate::printable;

/// The kind of an error, by the caller's next step.
///
/// The kinds map one to one to exit codes of the command and to exception classes in Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// A fault of lakerace itself: report it.
    Internal,
    /// The call or command line is wrong: fix the call.
    Usage,
    /// The file, bucket, table or column does not exist: name another one.
    NotFound,
    /// The input is well-formed but not acceptable: wrong types, wrong credentials, bad rows.
    Invalid,
    /// The data is damaged: restore it from elsewhere.
    Corrupt,
    /// The input is right, but lakerace can't do this: take another way.
    Unsupported,
    /// Another process changed or made the object first: read it again, then retry.
    Conflict,
    /// A store or resource does not answer or is full: the caller may retry.
    Unavailable,
    /// The job was cancelled by its user.
    Cancelled,
}

impl ErrorKind {
    /// The process exit code of this kind.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Internal => 1,
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Invalid => 4,
            Self::Corrupt => 5,
            Self::Unsupported => 6,
            Self::Conflict => 7,
            Self::Unavailable => 8,
            // 128 + SIGINT, as shells report a process ended by Ctrl-C.
            Self::Cancelled => 130,
        }
    }

    /// The stable lower-case name of this kind, as `--json` prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::Usage => "usage",
            Self::NotFound => "not_found",
            Self::Invalid => "invalid_input",
            Self::Corrupt => "corrupt_data",
            Self::Unsupported => "unsupported",
            Self::Conflict => "conflict",
            Self::Unavailable => "unavailable",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A result with lakerace's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error that names its place and what to do. Displays as `place: message (advice)`, control characters
/// escaped. Message, place and advice may name [options](crate::option), which [`Error::text`] shows as a door has them.
///
/// ```
/// use lakerace_io::Error;
/// let error = Error::corrupt("the footer ends before its length says").at("a.parquet");
/// assert_eq!(error.to_string(), "a.parquet: the footer ends before its length says");
/// ```
#[derive(Clone)]
pub struct Error(Box<ErrorCore>);

#[derive(Clone)]
struct ErrorCore {
    kind: ErrorKind,
    message: String,
    place: Option<String>,
    advice: Option<String>,
    source: Option<std::sync::Arc<dyn std::error::Error + Send + Sync>>,
}

macro_rules! constructors {
    ($($name:ident => $kind:ident),*) => {$(
        #[doc = concat!("An error of [`ErrorKind::", stringify!($kind), "`].")]
        pub fn $name(message: impl Into<String>) -> Self {
            Self::new(ErrorKind::$kind, message)
        }
    )*};
}

impl Error {
    constructors!(
        internal => Internal, usage => Usage, not_found => NotFound, invalid => Invalid,
        corrupt => Corrupt, unsupported => Unsupported, conflict => Conflict,
        unavailable => Unavailable
    );

    /// An error of `kind` that says `message`, in lower case and without a full stop.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(ErrorCore { kind, message: message.into(), place: None, advice: None, source: None }))
    }

    /// An error of [`ErrorKind::Internal`] for a failure of a library whose conditions were checked before the call.
    pub fn unexpected(source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::from_source(ErrorKind::Internal, source)
    }

    /// An error of `kind` with the message of `source`, which it keeps.
    ///
    /// ```
    /// use lakerace_io::{Error, ErrorKind};
    /// let failure = "a".parse::<u8>().unwrap_err();
    /// let error = Error::from_source(ErrorKind::Invalid, failure);
    /// assert_eq!(error.to_string(), "invalid digit found in string");
    /// assert!(std::error::Error::source(&error).is_some_and(|source| source.is::<std::num::ParseIntError>()));
    /// ```
    pub fn from_source(kind: ErrorKind, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self::new(kind, source.to_string()).caused_by(source)
    }

    /// Adds what `source` says to the message, and keeps it.
    ///
    /// ```
    /// use lakerace_io::Error;
    /// let error = Error::invalid("no number").because("a".parse::<u8>().unwrap_err());
    /// assert_eq!(error.to_string(), "no number: invalid digit found in string");
    /// assert!(std::error::Error::source(&error).is_some());
    /// ```
    #[must_use]
    pub fn because(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.message = format!("{}: {source}", self.0.message);
        self.caused_by(source)
    }

    /// The job was cancelled.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "cancelled")
    }

    /// Names the file, URL or position in it. The first call names the innermost place; a later one puts the outer
    /// place before it.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        let outer = place.to_string();
        self.0.place = Some(match self.0.place.take() {
            None => outer,
            Some(inner) if inner.starts_with(&outer) => inner,
            Some(inner) => format!("{outer}: {inner}"),
        });
        self
    }

    /// [`Self::at`] for an error that names no place yet.
    #[must_use]
    pub fn or_at(self, place: impl fmt::Display) -> Self {
        if self.0.place.is_some() { self } else { self.at(place) }
    }

    /// Adds advice for the user.
    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> Self {
        self.0.advice = Some(advice.into());
        self
    }

    /// Names another option in the place of one, for a caller with a separate option for each of its sources.
    #[must_use]
    pub fn naming(mut self, other: &'static OptionDefinition, one: &'static OptionDefinition) -> Self {
        self.0.message = with_option_replaced(&self.0.message, one, other);
        self.0.advice = self.0.advice.map(|advice| with_option_replaced(&advice, one, other));
        self
    }

    /// Keeps the error that caused this one.
    #[must_use]
    pub fn caused_by(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.0.source = Some(std::sync::Arc::new(source));
        self
    }

    /// The kind of the error, which determines the caller's next step.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The error in the words of a door.
    pub fn text(&self, door: Door) -> ErrorText {
        let shown = |text: &String| door.show(text).into_owned();
        ErrorText {
            message: shown(&self.0.message),
            place: self.0.place.as_ref().map(shown),
            advice: self.0.advice.as_ref().map(shown),
        }
    }

    /// The message without place and advice, for other messages: [`Error::text`] has the words for people.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Place and message, for a warning or a message that has its own advice. Options in it stay those of any door.
    ///
    /// ```
    /// let error = lakerace_io::Error::corrupt("no magic bytes").at("a.parquet").advice("restore it");
    /// assert_eq!(error.without_advice(), "a.parquet: no magic bytes");
    /// ```
    pub fn without_advice(&self) -> String {
        let (place, message) = (&self.0.place, &self.0.message);
        place.as_ref().map_or_else(|| message.clone(), |place| format!("{place}: {message}"))
    }

    /// The advice to the user, where known, for the advice of other errors.
    pub fn advice_text(&self) -> Option<&str> {
        self.0.advice.as_deref()
    }

    /// The file, URL or position, where known.
    pub fn location(&self) -> Option<&str> {
        self.0.place.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text(Door::Library).fmt(f)
    }
}

/// The texts of an error, with options as a [`Door`] has them. Displays as [`Error`] does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorText {
    /// The message without place and advice.
    pub message: String,
    /// The file, URL or position, where known.
    pub place: Option<String>,
    /// The advice to the user, where known.
    pub advice: Option<String>,
}

impl fmt::Display for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            // A place such as `memory:` brings its colon.
            let colon = if place.ends_with(':') { "" } else { ":" };
            write!(f, "{}{colon} ", printable(place))?;
        }
        f.write_str(&printable(&self.message))?;
        match &self.advice {
            Some(advice) => write!(f, " ({})", printable(advice)),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)?;
        match &self.0.source {
            Some(source) => write!(f, " [caused by {}]", printable(&source.to_string())),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|s| s.as_ref() as _)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        // Our own error that passed through a reader or writer.
        if let Some(own) = error.get_ref().and_then(|inner| inner.downcast_ref::<Self>()) {
            return own.clone();
        }
        use std::io::ErrorKind as Io;
        let kind = match error.kind() {
            Io::NotFound => ErrorKind::NotFound,
            Io::PermissionDenied | Io::ReadOnlyFilesystem | Io::IsADirectory | Io::NotADirectory | Io::InvalidInput => {
                ErrorKind::Invalid
            }
            Io::AlreadyExists => ErrorKind::Conflict,
            Io::UnexpectedEof | Io::InvalidData => ErrorKind::Corrupt,
            Io::Unsupported => ErrorKind::Unsupported,
            Io::OutOfMemory => ErrorKind::Unavailable,
            _ => ErrorKind::Unavailable,
        };
        let full = error.kind() == Io::StorageFull || error.kind() == Io::QuotaExceeded;
        let denied = error.kind() == Io::PermissionDenied;
        let read_only = error.kind() == Io::ReadOnlyFilesystem;
        let lacks_descriptors = matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE));
        let is_loop = error.raw_os_error() == Some(libc::ELOOP);
        let kind = if is_loop { ErrorKind::Invalid } else { kind };
        let made = Self::new(kind, error.to_string()).caused_by(error);
        match () {
            () if full => made.advice("free some space or choose another target, then run it again"),
            () if lacks_descriptors => made.advice("raise the limit of open files with ulimit -n"),
            () if is_loop => made.advice("remove the symbolic link that leads to itself"),
            () if read_only => made.advice("mount it writable, or choose another place"),
            () if denied => made.advice("change its permissions, or choose another place"),
            () => made,
        }
    }
}
