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
    /// Add this column, such as "price decimal(10,2)"; may be repeated. Existing rows get null.
    #[arg(long, value_name = "NAME TYPE", action = ArgAction::Append)]
    pub(crate) add_column: Vec<String>,
    /// Rename a column; may be repeated. No file is rewritten. The first rename or drop enables column mapping, which
    /// readers and writers must support from then on.
    #[arg(long, value_name = "OLD=NEW", value_parser = value::property, action = ArgAction::Append)]
    pub(crate) rename: Vec<(String, String)>,
    /// Drop these columns. Files keep the values until they are rewritten.
    #[arg(long, value_name = "A,B", action = ArgAction::Append)]
    pub(crate) drop: Vec<CommaList>,
    /// Widen the type of a column, such as price=bigint; may be repeated. Readers and writers must support type
    /// widening from then on.
    #[arg(long = "type", value_name = "COLUMN=TYPE", value_parser = value::property, action = ArgAction::Append)]
    pub(crate) types: Vec<(String, String)>,
    /// Set the comment of a column; an empty one removes it. May be repeated.
    #[arg(long = "comment", value_name = "COLUMN=TEXT", value_parser = value::property, action = ArgAction::Append)]
    pub(crate) comments: Vec<(String, String)>,
    /// Add a condition that must be true for every row, such as positive="price > 0"; may be repeated. Existing rows
    /// are checked first. Remove it by --unset delta.constraints.NAME.
    #[arg(long = "constraint", value_name = "NAME=EXPR", value_parser = value::property, action = ArgAction::Append)]
    pub(crate) constraints: Vec<(String, String)>,
    /// Set this property; may be repeated. The table's protocol gets the features that the property demands, such as
    /// deletion vectors for delta.enableDeletionVectors=true. `delta.feature.NAME=supported` only adds a feature.
    #[arg(long, value_name = "K=V", value_parser = value::property, action = ArgAction::Append)]
    pub(crate) set: Vec<(String, String)>,
    /// Remove this property; may be repeated. Features stay in the protocol.
    #[arg(long, value_name = "K", action = ArgAction::Append)]
    pub(crate) unset: Vec<String>,
    /// Print the features that readers and writers would need to support, and change nothing.
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
    /// The size of new files. Files of at least three quarters of this size are kept, unless more
    /// than 5 % of their rows are deleted. Default: 256 MiB.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) target_size: Option<u64>,
    /// Sort the rows of each partition by these columns; all files of the partition are rewritten.
    #[arg(long, value_name = "A,B", conflicts_with = "zorder")]
    pub(crate) sort_by: Option<CommaList>,
    /// Sort the rows of each partition in z-order of these columns, so that a filter on any of them skips files.
    #[arg(long, value_name = "A,B")]
    pub(crate) zorder: Option<CommaList>,
    #[command(flatten)]
    pub(crate) condition: FilterArgs,
    /// Memory for rows. When they are sorted, more rows are written to temporary files on the local disk. Default:
    /// 512 MiB.
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
    /// Allow a retention below the table's own. This may remove files that readers of earlier versions and running
    /// writers need.
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
    /// Also read all values, and compare them with the statistics of the log: bounds and null counts.
    #[arg(long)]
    pub(crate) deep: bool,
    /// Repair damage if undamaged files prove the correct state: rewrite a checkpoint from the entries, restore an
    /// entry from a copy in `_delta_log`, remove a `_last_checkpoint` that points to no checkpoint.
    #[arg(long)]
    pub(crate) repair: bool,
    /// With --repair: abandon the commit of an empty last entry, for example after a power loss. Its version gets the
    /// rows of the previous version. Use it only if the entry has no backup and no one writes to the table.
    #[arg(long, requires = "repair")]
    pub(crate) drop_empty_entry: bool,
    /// The columns that should identify a row. Default: the table's key (lakerace.primaryKey).
    #[arg(long, value_name = "A,B")]
    pub(crate) key: Option<CommaList>,
    /// Memory for the search for duplicate keys; with a lower limit, the key columns are read more often. Default: 512
    /// MiB.
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
