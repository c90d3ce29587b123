//! Delta tables: reads of their versions, writes, upserts, deletes, maintenance and verification.
//!
//! The Delta kernel replays the log. It knows which files make a version, and what a table demands of its readers and
//! writers. Its requests go through the job's metered store (`kernel::engine`).
//!
//! `DeltaSource` is a version as a [`Source`](lakerace_format::Source). The Parquet source of `lakerace-format` reads its
//! rows. A [`Snapshot`] gives that source the table's columns and their stored form. For each file, it adds the
//! constants of the partition, and the rows that a deletion vector hides.
//!
//! An upsert is in `upsert.rs`, the commit of a log entry in `commit.rs`. Format rules are those of
//! <https://github.com/delta-io/delta/blob/master/PROTOCOL.md>.

mod alter;
mod changes;
mod commit;
mod condition_parser;
mod condition_probe;
mod constraint;
mod delete;
mod deletion_vector;
#[doc(hidden)]
pub mod internals;
mod kernel;
mod key;
mod log;
mod maintain;
mod merge;
mod new_values;
mod paths;
mod probe;
mod properties;
mod protocol;
mod rewrite;
mod row_ids;
mod row_reader;
mod row_writer;
mod rows;
mod snapshot;
mod source;
mod stream;
mod table;
mod table_folders;
mod table_format;
mod table_scan;
mod update;
mod upsert;
mod verify;
mod version_spec;
mod write;

pub use alter::{AlterOptions, Altered, alter, alter_announced};
pub use changes::{CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION, ChangeFeed, ChangeOrigin, change_ranges, changes};
pub use commit::CommitFence;
pub use condition_parser::ConditionParser;
pub use delete::{AffectedRows, DeleteOptions, delete, delete_with, plan_delete};
pub use deletion_vector::commit::ChangeOutcome;
pub use lakerace_io::WriteMode;
pub use log::entry::entry_digest;
pub use maintain::{
    CompactOptions, CompactPlan, Compacted, HistoryEntry, Layout, Restored, VacuumOptions, Vacuumed, compact,
    compact_after_write, history, plan_compact, restore, vacuum,
};
pub use merge::{MergeAction, MergeClause, MergeOptions, MergeOutcome, MergeStatement, merge, plan_merge};
pub use new_values::ColumnAssignment;
pub use paths::LOG;
pub use row_ids::{FILE_COLUMN, POSITION_COLUMN, RowStatement, RowStatementKind, commit_rows};
pub use snapshot::{KEY_PROPERTY, Snapshot};
pub use source::DeltaSource;
pub use stream::{NonAppend, StreamBatch, StreamOptions, StreamPosition, StreamStart, TableStream};
pub use table::Table;
pub use table_folders::{check_outside_tables, is_local_table, is_table, table_above, tables_in};
pub use table_format::DELTA;
pub use table_scan::{ScanFile, ScannedVersion, TableScan, TableTask, read_table_task};
pub use update::{UpdateOptions, UpdateStatement, plan_update, update};
pub use upsert::row_mapping::check_declared_key;
pub use upsert::{
    MergeOperator, OnDuplicate, PartKeys, PlannedFile, SourceRows, UpsertOptions, UpsertPart, UpsertPlan,
    commit_upsert, delete_keys, explain as explain_upsert, explain_new as explain_new_upsert, files_per_key,
    is_divisible, plan_delete_keys, upsert, upsert_part,
};
pub use verify::{Finding, Subject, Verified, VerifyOptions, verify};
pub use version_spec::VersionSpec;
pub use write::{
    AppTransaction, DeltaSink, Evolve, FilesCommit, PendingFile, PlannedSchema, ReplaceCondition, Replaced,
    SchemaReplacement, TableFileWriter, TableWrite, check_existing, check_replaced, commit_files, discard_files,
    has_transaction, may_widen, truncate,
};
