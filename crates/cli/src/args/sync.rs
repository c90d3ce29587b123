//! Options of `lakerace sync`.

use std::time::Duration;

use clap::Args;
use lakerace::WriteMode;
use lakerace::option::Choice;

use super::StoreArgs;
use super::durability::DurabilityArgs;
use crate::value::{self, BatchRowCount, CommaList};

#[derive(Debug, Args)]
pub(crate) struct SyncArgs {
    /// The folder of the Delta table.
    #[arg(value_name = "TABLE")]
    pub(crate) table: String,
    /// The target: mongodb://host/db/collection, elasticsearch://host:9200/index or sqlite:///file.db#table.
    #[arg(value_name = "TARGET")]
    pub(crate) target: String,
    /// The key columns, in order. Default: the table's property lakerace.primaryKey.
    #[arg(long, value_name = "A,B")]
    pub(crate) key: Option<CommaList>,
    /// A target that exists and does not follow the table: fail, or replace it by a new load.
    #[arg(long, value_parser = value::choice_among::<WriteMode>(SYNC_MODES), default_value = WriteMode::default().choice_name())]
    pub(crate) mode: WriteMode,
    /// Check the sync and print what it would do, without writing.
    #[arg(long, conflicts_with_all = ["follow", "interval"])]
    pub(crate) dry_run: bool,
    /// Run until Ctrl-C or SIGTERM, and send each new version.
    #[arg(long)]
    pub(crate) follow: bool,
    /// Time between two checks of the table, such as 10s or 5m.
    #[arg(long, value_name = "TIME", value_parser = lakerace::parse_duration, default_value = "1s", requires = "follow")]
    pub(crate) interval: Duration,
    /// Rows per batch; the target acknowledges each batch.
    #[arg(long, value_name = "N|all", value_parser = value::batch_rows)]
    pub(crate) batch_rows: Option<BatchRowCount>,
    /// Write at most N rows per second.
    #[arg(long, value_name = "N", value_parser = value::count)]
    pub(crate) max_rate: Option<u64>,
    /// Allow values to lose precision that the target's type lacks, such as microseconds.
    #[arg(long)]
    pub(crate) allow_narrowing: bool,
    /// At the end, compare the row counts and checksums of the table and the target.
    #[arg(long, conflicts_with = "allow_narrowing")]
    pub(crate) verify: bool,
    #[command(flatten)]
    pub(crate) durability: DurabilityArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// The modes for a target that exists: keep it, or replace it by a new load.
const SYNC_MODES: &[(&str, WriteMode)] = &[("error", WriteMode::Error), ("overwrite", WriteMode::Overwrite)];
