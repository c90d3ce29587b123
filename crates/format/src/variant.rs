//! Variants: values of any type, in a pair of bytes each.
//!
//! Writers may store parts of them as columns of a type (`typed_value`), if most values of a column are alike. These
//! parts are joined here, because nothing else in the engine supports such columns. Rules: Parquet's
//! `VariantShredding.md`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, Field, Fields};
use lakerace_io::Result;
use parquet::errors::ParquetError;
use parquet_variant_compute::{VariantArray, unshred_variant};

use crate::parquet::guarded;

/// Returns true if a table's struct of these stored fields is a variant: Delta's are of two byte strings that are never
/// null, have these names in every file, and no ids (Delta protocol, "Variant Data Type").
pub fn is_variant(stored: &Fields) -> bool {
    let is_part = |field: &Field, name: &str| {
        field.name() == name
            && !field.is_nullable()
            && field.metadata().is_empty()
            && matches!(field.data_type(), DataType::Binary | DataType::BinaryView)
    };
    matches!(&stored[..], [first, second] if is_part(first, "metadata") && is_part(second, "value"))
}

/// The variants of a file without columns of a type for parts of them.
///
/// Errors: `Corrupt` where the parts don't fit together, or are of a type that no variant has.
pub(crate) fn whole(array: &ArrayRef) -> Result<ArrayRef> {
    let has_parts = |fields: &Fields| fields.iter().any(|field| field.name() == "typed_value");
    if !matches!(array.data_type(), DataType::Struct(fields) if has_parts(fields)) {
        return Ok(Arc::clone(array));
    }
    // The crate panics on some damaged values.
    guarded("its variants", || {
        let variants = VariantArray::try_new(array.as_ref()).and_then(|array| unshred_variant(&array));
        Ok(Arc::new(variants.map_err(ParquetError::from)?.into_inner()) as ArrayRef)
    })
}

#[cfg(test)]
mod tests;
