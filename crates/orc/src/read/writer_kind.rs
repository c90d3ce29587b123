//! The implementation that wrote a file, whose peculiarities a reader knows.

/// The software that wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WriterSoftware {
    /// ORC Java, and Hive before it.
    Java,
    /// ORC C++.
    Cpp,
    /// Presto.
    Presto,
    /// Go, by Scritchley.
    Go,
    /// Trino.
    Trino,
    /// cuDF.
    Cudf,
    /// Another one.
    Other(u32),
}
