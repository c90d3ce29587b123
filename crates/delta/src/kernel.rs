//! The Delta kernel over our stores: its engine, its executor and its errors.

pub(crate) mod engine;
pub(crate) mod error;
pub(crate) mod executor;
pub(crate) mod surrogates;
