//! Files to batches and back: Parquet, CSV and TBL, each planned by `lakerace-io`.

pub mod csv;
mod expr;
pub mod folder;
mod input;
pub mod names;
mod options;
mod parquet;
mod plan;
pub mod predicate;
pub mod schema_text;
mod sink;
mod source;
mod split;

pub use expr::{ArithmeticOp, CompareOp, Expr, Literal};
pub use input::{Constants, InputFile};
pub use options::{Codec, Compression, CsvOptions, Format, OnBadRow, WriteOptions};
pub use parquet::{ParquetSink, ParquetSource};
pub use plan::{FilePlan, ReadPlan, ReadRequest, UnitPlan};
pub use predicate::Predicate;
pub use sink::{Sink, Written};
pub use source::{Batches, Source, SourceInfo};
