//! The storage of the rows of a type.

use arrow::datatypes::DataType;

/// The packed form of a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PackedKind {
    Fixed { width: usize },
    Text,
}

impl PackedKind {
    pub fn for_type(data_type: &DataType) -> Option<Self> {
        use DataType::{Binary, BinaryView, LargeBinary, LargeUtf8, Utf8, Utf8View};
        match (data_type, data_type.primitive_width()) {
            (_, Some(width @ (1 | 2 | 4 | 8 | 16))) => Some(Self::Fixed { width }),
            (Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView, _) => Some(Self::Text),
            _ => None,
        }
    }

    pub fn width(self) -> usize {
        match self {
            Self::Fixed { width } => width,
            Self::Text => LENGTH_BYTES,
        }
    }
}

/// The length of a text.
pub(crate) const LENGTH_BYTES: usize = size_of::<u32>();
