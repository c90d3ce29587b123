//! Encoders of the ORC v1 specification: values to bytes, without any state that outlives a call.
//!
//! The writer collects the values of one row group and encodes them together, so a run never crosses the border of a
//! row group: each row group starts with a new run, and its position in the row index is a byte offset and a run
//! position of 0.

pub(crate) mod bits;
pub(crate) mod booleans;
pub(crate) mod byte_rle;
pub(crate) mod codec;
pub(crate) mod dictionary;
pub(crate) mod int_rle;
pub(crate) mod nanos;
pub(crate) mod varint;
