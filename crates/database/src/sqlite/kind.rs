//! How a column's type is stored.

use arrow::datatypes::{DataType, TimeUnit};
use lakerace_format::schema_text::print_type;
use lakerace_io::option::COLUMNS;
use lakerace_io::{Error, Result};

/// The kind of a column's values, as SQLite stores them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StorageClass {
    /// All null.
    Null,
    /// Integers 0 and 1.
    Boolean,
    /// Integers of 64 bits, narrower ones included.
    Integer,
    /// Integers, or above 2^63 - 1 their digits as text.
    UnsignedLong,
    /// Floats.
    Real,
    /// Digits with this many after the point, as text.
    Decimal { precision: u8, scale: i8 },
    /// Text.
    Text,
    /// Bytes.
    Bytes,
    /// `2024-02-29`.
    Date,
    /// `2024-02-29T12:34:56.000001`, with `Z` where it is an instant.
    Timestamp { unit: TimeUnit, is_utc: bool },
    /// `12:34:56.000001`.
    Time(TimeUnit),
    /// Integers of a unit that the type names.
    Duration,
    /// Lists, structs and maps as JSON text.
    Json,
}

impl StorageClass {
    /// The kind of a type; `Unsupported` where SQLite has no place for it.
    pub fn for_type(data_type: &DataType) -> Result<Self> {
        use DataType as T;
        Ok(match data_type {
            T::Null => Self::Null,
            T::Boolean => Self::Boolean,
            T::Int8 | T::Int16 | T::Int32 | T::Int64 | T::UInt8 | T::UInt16 | T::UInt32 => Self::Integer,
            T::UInt64 => Self::UnsignedLong,
            T::Float16 | T::Float32 | T::Float64 => Self::Real,
            T::Decimal32(precision, scale)
            | T::Decimal64(precision, scale)
            | T::Decimal128(precision, scale)
            | T::Decimal256(precision, scale) => Self::Decimal { precision: *precision, scale: *scale },
            T::Utf8 | T::LargeUtf8 | T::Utf8View => Self::Text,
            T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => Self::Bytes,
            T::Date32 => Self::Date,
            T::Date64 => Self::Timestamp { unit: TimeUnit::Millisecond, is_utc: false },
            T::Timestamp(unit, zone) => Self::Timestamp { unit: *unit, is_utc: zone.is_some() },
            T::Time32(unit) | T::Time64(unit) => Self::Time(*unit),
            T::Duration(_) => Self::Duration,
            T::List(_) | T::LargeList(_) | T::FixedSizeList(..) | T::Struct(_) | T::Map(..) => Self::Json,
            T::Dictionary(_, values) => Self::for_type(values)?,
            other => {
                return Err(Error::unsupported(format!("SQLite can't store the type {}", print_type(other)))
                    .advice(format!("exclude the column with {COLUMNS}")));
            }
        })
    }

    /// The type that a STRICT table declares.
    pub fn declared(self) -> &'static str {
        match self {
            Self::Boolean | Self::Integer | Self::Duration => "INTEGER",
            Self::Real => "REAL",
            Self::Bytes => "BLOB",
            Self::UnsignedLong => "ANY",
            Self::Null
            | Self::Text
            | Self::Decimal { .. }
            | Self::Date
            | Self::Timestamp { .. }
            | Self::Time(_)
            | Self::Json => "TEXT",
        }
    }

    /// Returns true if values are texts.
    pub fn is_text(self) -> bool {
        self.declared() == "TEXT"
    }
}

/// The affinity of a declared type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TypeAffinity {
    Integer,
    Real,
    Numeric,
    Text,
    /// Values stay unchanged.
    None,
}

impl TypeAffinity {
    /// By SQLite's rules, in their order. `ANY` of a STRICT table keeps values.
    pub fn from_declared(declared: &str, is_strict: bool) -> Self {
        let declared = declared.to_ascii_uppercase();
        let has = |part: &str| declared.contains(part);
        match () {
            () if is_strict && declared == "ANY" => Self::None,
            () if has("INT") => Self::Integer,
            () if has("CHAR") || has("CLOB") || has("TEXT") => Self::Text,
            () if has("BLOB") || declared.is_empty() => Self::None,
            () if has("REAL") || has("FLOA") || has("DOUB") => Self::Real,
            () => Self::Numeric,
        }
    }
}
