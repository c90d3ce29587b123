//! Which system a location names.

/// A database system, named by the scheme of a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum System {
    /// `mongodb:` and `mongodb+srv:`.
    MongoDb,
    /// `elasticsearch:` and `elasticsearch+https:`; OpenSearch speaks the same protocol.
    Elasticsearch,
    /// `sqlite:`.
    Sqlite,
}

impl System {
    /// The system that a location names, `None` where it names a file, a table or a store.
    ///
    /// ```
    /// use lakerace_database::System;
    /// assert_eq!(System::of("sqlite:///a.db#t"), Some(System::Sqlite));
    /// assert_eq!(System::of("a.parquet"), None);
    /// ```
    pub fn of(location: &str) -> Option<Self> {
        let (scheme, _) = location.split_once(':')?;
        match scheme.to_ascii_lowercase().as_str() {
            "mongodb" | "mongodb+srv" => Some(Self::MongoDb),
            "elasticsearch" | "elasticsearch+https" => Some(Self::Elasticsearch),
            "sqlite" => Some(Self::Sqlite),
            _ => None,
        }
    }

    /// Its name, as messages and reports give it.
    pub fn name(self) -> &'static str {
        match self {
            Self::MongoDb => "mongodb",
            Self::Elasticsearch => "elasticsearch",
            Self::Sqlite => "sqlite",
        }
    }
}
