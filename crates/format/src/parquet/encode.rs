//! Encoding one column of a row group.
//!
//! Columns that are not nested are encoded here, without a detour over levels and index lists: values go in runs
//! from Arrow's buffers into pages, and whether a dictionary pays is decided from a sample before anything is hashed.
//! Nested columns are left to the `parquet` crate ([`super::write::nested`]).

pub(crate) mod block;
pub(crate) mod bloom;
pub(super) mod boolean;
pub(super) mod buffer;
pub(super) mod bytes;
pub(crate) mod compress;
pub(super) mod delta;
pub(super) mod dictionary;
pub(super) mod encoder;
pub(super) mod fixed;
pub(super) mod intervals;
pub(crate) mod literals;
pub(super) mod page;
pub(super) mod physical;
pub(super) mod rle;
pub(super) mod statistics;
pub(super) mod values;

use std::sync::Arc;

use lakerace_io::{Error, Result};
use parquet::basic::Type;
use parquet::schema::types::ColumnDescPtr;

use self::boolean::BooleanEncoder;
use self::bytes::BytesEncoder;
use self::encoder::ColumnEncoder;
use self::fixed::FixedEncoder;
use self::values::{DoubleValues, FloatValues, Int32Values, Int64Values};
use super::write::options::CheckedOptions;

/// An encoder for a column that is not nested.
pub(crate) fn flat_encoder(
    column: &ColumnDescPtr,
    settings: &Arc<CheckedOptions>,
    bloom: bool,
) -> Result<Box<dyn ColumnEncoder>> {
    let (column, settings) = (Arc::clone(column), Arc::clone(settings));
    Ok(match column.physical_type() {
        Type::BOOLEAN => Box::new(BooleanEncoder::new(column, settings)),
        Type::INT32 => Box::new(FixedEncoder::<Int32Values>::new(column, settings, bloom)?),
        Type::INT64 => Box::new(FixedEncoder::<Int64Values>::new(column, settings, bloom)?),
        Type::FLOAT => Box::new(FixedEncoder::<FloatValues>::new(column, settings, bloom)?),
        Type::DOUBLE => Box::new(FixedEncoder::<DoubleValues>::new(column, settings, bloom)?),
        Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY => Box::new(BytesEncoder::new(column, settings, bloom)?),
        Type::INT96 => return Err(Error::internal("an Arrow column was mapped to an INT96 column")),
    })
}
