//! The arguments of commands that maintain Delta tables.

use clap::{ArgAction, Args};
use lakerace::Compression;

use super::durability::DurabilityArgs;
use super::filter::FilterArgs;
use super::{RowOutputArgs, StoreArgs};
use crate::value::{self, CommaList};

#[derive(Debug, Args)]
pub(crate) struct AlterArgs {
    /// The folder of the table.
    #[arg(value_name = "TABLE")]
    pub(crate) table: String,
    /// Add this column, such as "price decimal(10,2)"; may be repeated. Rows that are there have null in it.
    #[arg(long, value_name = "NAME TYPE", action = ArgAction::Append)]
    pub(crate) add_column: Vec<String>,
    /// Rename a column; may be repeated. No file is rewritten: the first rename or drop maps the table's columns, and
    /// readers and writers have to support column mapping from then on.
    #[arg(long, value_name = "OLD=NEW", value_parser = value::property, action = ArgAction::Append)]
    pub(crate) rename: Vec<(String, String)>,
    /// Drop these columns. Files keep their values until they are written again.
    #[arg(long, value_name = "A,B", action = ArgAction::Append)]
    pub(crate) drop: Vec<CommaList>,
    /// Widen the type of a column, such as price=bigint; may be repeated. Readers and writers have to support type
    /// widening from then on.
    #[arg(long = "type", value_name = "COLUMN=TYPE", value_parser = value::property, action = ArgAction::Append)]
    pub(crate) types: Vec<(String, String)>,
    /// Set the comment of a column; an empty one removes it. May be repeated.
    #[arg(long = "comment", value_name = "COLUMN=TEXT", value_parser = value::property, action = ArgAction::Append)]
    pub(crate) comments: Vec<(String, String)>,
    /// Add a condition that is true of every row, such as positive="price > 0"; may be repeated. Existing rows are
    /// checked first. Remove it by --unset delta.constraints.NAME.
    #[arg(long = "constraint", value_name = "NAME=EXPR", value_parser = value::property, action = ArgAction::Append)]
    pub(crate) constraints: Vec<(String, String)>,
    /// Set this property; may be repeated. The table's protocol gets the features that the property demands, such as
    /// deletion vectors for delta.enableDeletionVectors=true. `delta.feature.NAME=supported` only adds a feature.
    #[arg(long, value_name = "K=V", value_parser = value::property, action = ArgAction::Append)]
    pub(crate) set: Vec<(String, String)>,
    /// Remove this property; may be repeated. Features stay in the protocol.
    #[arg(long, value_name = "K", action = ArgAction::Append)]
    pub(crate) unset: Vec<String>,
    /// Print the features that readers and writers would have to support, and change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) durability: DurabilityArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CompactArgs {
    /// The folder of the table.
    #[arg(value_name = "TABLE")]
    pub(crate) table: String,
    /// The size of new files; files of three quarters of it and more stay. Default: 256 MiB.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) target_size: Option<u64>,
    /// Sort the rows of each partition by these columns; all files of the partition are rewritten.
    #[arg(long, value_name = "A,B", conflicts_with = "zorder")]
    pub(crate) sort_by: Option<CommaList>,
    /// Put the rows of each partition along a curve through these columns: filters on any of them skip files.
    #[arg(long, value_name = "A,B")]
    pub(crate) zorder: Option<CommaList>,
    #[command(flatten)]
    pub(crate) condition: FilterArgs,
    /// Memory for rows that are sorted; more go to the local disk. Default: 512 MiB.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) memory_limit: Option<u64>,
    /// Compact small files only if there are 50 or more. Rewrite a file of 16 MiB or more if over half of its rows are
    /// hidden; if all files together hide more than three rows for every ten visible ones, also rewrite those that hide
    /// the most. New files have 128 MiB, unless sizes say otherwise.
    #[arg(long)]
    pub(crate) auto: bool,
    /// Print the files that would be rewritten, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Codec of new files.
    #[arg(long, value_name = "CODEC[:LEVEL]")]
    pub(crate) compression: Option<Compression>,
    #[command(flatten)]
    pub(crate) durability: DurabilityArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct VacuumArgs {
    /// The folder of the table.
    #[arg(value_name = "TABLE")]
    pub(crate) table: String,
    /// Retention of removed files, such as 7d or 12h. Default: delta.deletedFileRetentionDuration, else 7 days.
    #[arg(long, value_name = "TIME", value_parser = lakerace::parse_duration)]
    pub(crate) retain: Option<std::time::Duration>,
    /// Print the files that would be removed, and remove nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Allow a retention below the table's own: readers of earlier versions and running writers may lose files by it.
    #[arg(long)]
    pub(crate) allow_short_retention: bool,
    #[command(flatten)]
    pub(crate) durability: DurabilityArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// The folder of the table.
    #[arg(value_name = "TABLE")]
    pub(crate) table: String,
    /// Read all values, too, and hold the statistics of the log against them: bounds and null counts.
    #[arg(long)]
    pub(crate) deep: bool,
    /// Repair what sound files prove: write a checkpoint again from the entries, restore an entry from a copy in `_delta_log`, remove a
    /// `_last_checkpoint` that points nowhere. Nothing is guessed.
    #[arg(long)]
    pub(crate) repair: bool,
    /// With --repair: give up the commit of the last entry if it is empty, as after a loss of power. Its version then
    /// has the rows of the one before. Only for an entry without a backup, and while no one writes to the table.
    #[arg(long, requires = "repair")]
    pub(crate) drop_empty_entry: bool,
    /// The columns that should identify a row. Default: the table's key (lakerace.primaryKey).
    #[arg(long, value_name = "A,B")]
    pub(crate) key: Option<CommaList>,
    /// Memory for the search for duplicate keys; with less, key columns are read more often. Default: 512 MiB.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) memory_limit: Option<u64>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    /// The folder of the table.
    #[arg(value_name = "TABLE")]
    pub(crate) table: String,
    /// The last N versions only.
    #[arg(long, value_name = "N", value_parser = value::positive)]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ChangesArgs {
    /// The folder of the table.
    #[arg(value_name = "TABLE")]
    pub(crate) table: String,
    /// The first version.
    #[arg(long, value_name = "VERSION", value_parser = value::number)]
    pub(crate) from: u64,
    /// The last version. Default: the table's.
    #[arg(long, value_name = "VERSION", value_parser = value::number)]
    pub(crate) to: Option<u64>,
    #[command(flatten)]
    pub(crate) rows: RowOutputArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// The folder of the table.
    #[arg(value_name = "TABLE")]
    pub(crate) table: String,
    /// The version whose rows, schema and properties are restored.
    #[arg(long, value_name = "VERSION|TIMESTAMP")]
    pub(crate) at: String,
    #[command(flatten)]
    pub(crate) durability: DurabilityArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
