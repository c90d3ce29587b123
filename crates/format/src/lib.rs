//! Files to batches and back: Parquet, ORC, CSV, TSV, TBL, JSON, JSON lines, Avro and Arrow IPC. Excel to batches.
//!
//! A [`Source`] plans its reads, and a [`Sink`] writes batches. `lakerace-io` plans the requests.

mod array_bytes;
mod arrow_ipc;
mod avro;
mod batch_selection;
pub mod calendar;
mod columns;
pub mod conform;
mod content;
pub mod csv;
mod deleted_rows;
mod duplicates;
mod excel;
mod exec;
mod expr;
mod extension_types;
mod field_positions;
mod file_format;
mod file_notes;
mod files;
mod fixed_sizes;
pub mod folder;
mod foreign_arrays;
mod format_registry;
mod input;
#[doc(hidden)]
pub mod internals;
pub mod json;
mod json_lines;
mod map_keys;
mod nesting;
mod options;
mod orc;
mod own_texts;
mod panic_guard;
mod parquet;
mod place_columns;
mod plan;
pub mod predicate;
mod projection;
mod read_back;
mod schema_bytes;
mod schema_merge;
pub mod schema_text;
mod sequential_files;
mod sink;
pub mod sort;
mod source;
pub mod suggestions;
mod table_format;
mod table_schema;
mod text;
mod utc;
mod variant;
mod whole_days;
mod zstd_contexts;

pub use arrow_ipc::{ARROW_IPC, ArrowSink, ArrowSource};
pub use avro::{AVRO, AvroSink, AvroSource};
pub use columns::requested_schema;
pub use content::{DetectedContent, PACKED_FRONT_BYTES, is_zip};
pub use csv::{CSV, TBL, TSV};
pub use deleted_rows::DeletedRows;
pub use duplicates::refuse_to_write_duplicates;
pub use excel::EXCEL;
pub use exec::is_large_row;
pub use expr::{ArithmeticOp, CompareOp, Expr, Literal, ScalarFunction};
pub use extension_types::{EXTENSION_NAME, UUID_EXTENSION, exported_schema, is_uuid};
pub use field_positions::{FieldIds, FieldPositions, FindBy};
pub use file_format::{CheckSchema, CreateFile, FileFormat, OpenFiles, OpenOptions};
pub use fixed_sizes::warn_of_fixed_sizes;
pub use foreign_arrays::{checked_batch, with_plain_nulls};
pub use input::{Constants, InputFile};
pub use json_lines::{JSON, JSON_LINES, JsonLines, JsonLinesSink, JsonLinesSource, values_of_json};
pub use lakerace_orc::prefetch;
pub use map_keys::refuse_keys_twice;
pub use nesting::{MAX_NESTING, check_nesting, nested_too_deep};
pub use options::{
    Codec, ColumnUnion, Compression, CsvOptions, ExcelOptions, OnBadRow, OrcOptions, ParquetOptions, TimestampUnit,
    WriteOptions,
};
pub use orc::{ORC, OrcSink, OrcSource};
pub use own_texts::with_own_texts;
pub use parquet::{Block, Keeps, MemoryPool, PARQUET, ParquetSink, ParquetSource, RowGroup};
pub use plan::{FieldPaths, FilePlan, ReadPlan, ReadRequest, RowGroupsPlan, UnitPlan};
pub use predicate::Predicate;
pub use projection::{narrowed_batch, without_dictionaries};
pub use read_back::{check_read_back, read_back_schema};
pub use schema_bytes::{decode_schema, encode_schema, schema_from_base64, schema_to_base64};
pub use sink::{Narrowing, Sink, Written};
pub use source::{Batches, ColumnOwners, Extremes, Source, SourceInfo};
pub use table_format::TableFormat;
pub use table_schema::TableSchema;
pub use text::keeps_digits;
pub use utc::with_instants_in_utc;
