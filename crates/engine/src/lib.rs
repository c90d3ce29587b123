//! The jobs: scans, copies, schemas, upserts, deletes, maintenance of tables, syncs and diffs.
//!
//! A location's name becomes a [`Source`] or a [`Sink`] here.
//!
//! ```no_run
//! use lakerace::{Job, ReadOptions, Scan};
//!
//! let job = Job::default();
//! let options = ReadOptions { filter: Some("l_quantity > 49".into()), ..ReadOptions::default() };
//! let scan = Scan::open("lineitem.parquet", &options, &job)?;
//! println!("{}", scan.explain());
//! for batch in scan.batches()? {
//!     println!("{} rows", batch?.num_rows());
//! }
//! println!("{:?}", job.meter().counts());
//! # Ok::<(), lakerace::Error>(())
//! ```

mod check;
mod checksum;
mod column_item;
mod column_nesting;
mod computed_columns;
mod copy;
mod csv_types;
mod database;
mod dataset;
mod delta;
mod diff;
mod distributed;
mod dry_run;
mod explain;
mod files;
mod files_store;
mod filter;
mod hive;
mod keys;
mod lease;
mod load;
mod maintain;
mod merge;
mod new_place;
mod option_scope;
mod options;
mod piped;
mod place_scope;
mod plan_log;
mod read_ahead;
mod rebatch;
mod replaced_source;
mod report;
mod resolve;
mod scan;
mod scan_order;
mod scan_texts;
mod schema;
mod since;
mod stream;
mod sync;
mod table_scan;
mod target;
mod tpch;
mod update;
mod upsert;

pub use check::check;
pub use checksum::{Checksum, checksum};
pub use column_item::{ColumnItem, ComputedColumn};
pub use column_nesting::{ColumnNesting, DEFAULT_SEPARATOR};
pub use copy::{check_target, copy, plan_copy, plan_write, write};
pub use diff::{DIFF_CHANGE, DIFF_COLUMNS, DIFF_MEMORY_BYTES, Diff, DiffOptions, RowDiff};
pub use distributed::{
    NewTable, SharedTable, commit_files, commit_rows, commit_upsert, discard_files, drop_table, merged_schema,
    remove_empty_table, remove_staged, remove_staged_file, replaced_schema, staging_folder, table_writer, truncate,
    upsert_part,
};
pub use dry_run::DryRun;
pub use explain::{Alternative, Explain};
pub use files_store::open_files;
pub use filter::{AssignmentText, FilterParameter, parse_filter, with_parameters, with_parameters_in};
pub use lakerace_database::BatchRows;
pub use lakerace_delta::{
    AlterOptions, Altered, AppTransaction, ChangeOutcome, Compacted, DeleteOptions, Evolve, FilesCommit, Finding,
    HistoryEntry, MergeOperator, MergeOptions, MergeOutcome, NonAppend, OnDuplicate, PartKeys, PendingFile,
    PlannedSchema, ReplaceCondition, Replaced, Restored, RowStatement, RowStatementKind, ScanFile, ScannedVersion,
    SchemaReplacement, SourceRows, StreamBatch, StreamOptions, StreamPosition, StreamStart, TableFileWriter, TableScan,
    TableTask, UpdateOptions, UpsertOptions as RowOptions, UpsertPart, UpsertPlan, VacuumOptions, Vacuumed, Verified,
    VerifyOptions, check_outside_tables,
};
pub use lakerace_format::predicate::Value;
pub use lakerace_format::schema_text::{parse_type, print_type};
pub use lakerace_format::{
    ARROW_IPC, Batches, CSV, Codec, ColumnUnion, Compression, CreateFile, CsvOptions, EXCEL, ExcelOptions, Expr,
    Extremes, FieldPaths, FileFormat, FilePlan, JSON_LINES, ORC, OnBadRow, OpenFiles, OpenOptions, OrcOptions, PARQUET,
    ParquetOptions, ReadPlan, ReadRequest, Sink, Source, SourceInfo, TBL, TSV, TimestampUnit, WriteOptions, Written,
    value_text, with_instants_in_utc, with_uuid_texts,
};
pub use lakerace_io::option;
pub use lakerace_io::panics::panicked;
pub use lakerace_io::{
    Counts, Credential, CredentialSource, Credentials, DurabilityLevel, Error, ErrorKind, FileIo, Job, JobOptions,
    LocationCheck, MinSeekSize, Prices, RangeOptions, RegionSource, Requests, Result, RightCheck, RightOutcome,
    StorageOptions, WriteMode, parse_bytes,
};
pub use lakerace_tpch::{Mode as TpchMode, Scale as TpchScale, Table as TpchTable};
pub use maintain::{
    CompactOptions, alter, alter_announced, change_ranges, changes, compact, history, layout, parse_duration,
    parse_new_columns, plan_compact, restore, vacuum, verify,
};
pub use merge::{MergeActionText, MergeClauseText, MergeTexts, merge_rows, plan_merge_rows};
pub use new_place::check_new_file;
pub use options::{CopyOptions, LoadOptions, ReadOptions, Since};
pub use place_scope::JobPlaces;
pub use report::{Clock, Report};
pub use scan::Scan;
pub use schema::{ColumnReport, SchemaReport, TableReport, schema};
pub use stream::StreamedTable;
pub use sync::{SyncOptions, Synced, follow, plan_sync, sync};
pub use table_scan::{OpenVersion, read_table_task};
pub use tpch::{
    AppliedStream, AppliedTable, ApplyOptions, GeneratedTable, Generation, StreamOutcome, TableProgress, TpchFormat,
    TpchOptions, TpchTarget, apply as apply_refresh,
};
pub use update::{UpdateTexts, plan_update, update};
pub use upsert::{
    UpsertOptions, delete, delete_keys, delete_keys_rows, explain_upsert, explain_upsert_rows, plan_delete,
    plan_delete_keys, plan_delete_keys_rows, plan_upsert, plan_upsert_rows, read_for_table, upsert, upsert_and_compact,
    upsert_rows,
};
