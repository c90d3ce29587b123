//! The type of a column of text or bytes, kept in the metadata of its field.

use std::collections::HashMap;

use arrow::datatypes::Field;
use lakerace_format::{EXTENSION_NAME, UUID_EXTENSION};

use super::elements as kind;

/// The key of the metadata.
const KEY: &str = "lakerace.bson";

/// The encoding of a value of another type as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextTag {
    /// 24 hexadecimal digits.
    ObjectId,
    /// A Decimal128 as text: one that no Arrow decimal holds.
    Decimal,
    /// Canonical extended JSON.
    Json,
}

impl TextTag {
    /// Reads the tag of a field.
    pub(super) fn from_field(field: &Field) -> Option<Self> {
        match field.metadata().get(KEY)?.as_str() {
            "objectId" => Some(Self::ObjectId),
            "decimal" => Some(Self::Decimal),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::ObjectId => "objectId",
            Self::Decimal => "decimal",
            Self::Json => "json",
        }
    }

    /// The required form of the text.
    pub(super) fn expectation(self) -> &'static str {
        match self {
            Self::ObjectId => "a text is not an ObjectId of 24 hexadecimal digits",
            Self::Decimal => "a text is not a decimal of at most 34 digits",
            Self::Json => "a text is not valid extended JSON",
        }
    }

    /// The metadata of a field with this tag.
    pub(super) fn metadata(self) -> HashMap<String, String> {
        HashMap::from([(KEY.to_owned(), self.name().to_owned())])
    }

    /// The type and the bytes of the value that a text represents.
    pub(super) fn bytes_of(self, text: &str) -> Option<(u8, Vec<u8>)> {
        match self {
            Self::ObjectId => Some((kind::OBJECT_ID, bson::oid::ObjectId::parse_str(text).ok()?.bytes().to_vec())),
            Self::Decimal => Some((kind::DECIMAL128, text.parse::<bson::Decimal128>().ok()?.bytes().to_vec())),
            Self::Json => {
                let value = super::json::parse(text)?;
                let mut document = bson::Document::new();
                document.insert("v", value);
                let bytes = bson::RawDocumentBuf::try_from(document).ok()?.into_bytes();
                Some((*bytes.get(4)?, bytes.get(7..bytes.len() - 1)?.to_vec()))
            }
        }
    }
}

/// The subtype with which bytes of a column are written.
pub(super) fn binary_subtype(field: &Field) -> u8 {
    if field.extension_type_name() == Some(UUID_EXTENSION) {
        return 4;
    }
    let named = field.metadata().get(KEY).and_then(|text| text.strip_prefix("binary:"));
    named.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// The metadata of bytes of a subtype.
pub(super) fn binary_metadata(subtype: u8) -> HashMap<String, String> {
    match subtype {
        0 => HashMap::new(),
        4 => HashMap::from([(EXTENSION_NAME.to_owned(), UUID_EXTENSION.to_owned())]),
        other => HashMap::from([(KEY.to_owned(), format!("binary:{other}"))]),
    }
}
