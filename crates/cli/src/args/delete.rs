//! The arguments of a delete.

use clap::{Arg, ArgGroup, Args};
use lakerace::FileFormat;

use super::durability::DurabilityArgs;
use super::filter::FilterArgs;
use super::{CsvArgs, StoreArgs};
use crate::value::{self, CommaList};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("condition").required(true).args(["filter", "keys"]))]
#[command(mut_args(without_condition))]
pub(crate) struct DeleteArgs {
    /// The folder of the table.
    #[arg(value_name = "TABLE")]
    pub(crate) table: String,
    #[command(flatten)]
    pub(crate) condition: FilterArgs,
    /// Delete the rows whose keys are in this file, folder, glob or Delta table, or in `-` (standard input); repeated, in any of them.
    #[arg(long, value_name = "SRC", conflicts_with = "parameters")]
    pub(crate) keys: Vec<String>,
    /// The key columns. Default: the table's property lakerace.primaryKey.
    #[arg(long, value_name = "A,B", conflicts_with = "filter")]
    pub(crate) key: Option<CommaList>,
    /// Approximate memory for keys and buffers. Default: 1 GiB.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes, conflicts_with = "filter")]
    pub(crate) memory_limit: Option<u64>,
    /// Enable deletion vectors on a table that lacks them: rows are hidden without rewriting files, and readers of the
    /// table must support them.
    #[arg(long)]
    pub(crate) enable_deletion_vectors: bool,
    /// Count the rows that would be deleted, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The format of the keys' source, if its name does not say it.
    #[arg(long, value_parser = value::file_format(), value_name = "FORMAT", conflicts_with = "filter")]
    pub(crate) input_format: Option<&'static FileFormat>,
    #[command(flatten)]
    pub(crate) durability: DurabilityArgs,
    #[command(flatten)]
    pub(crate) csv: CsvArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Refuses options of the text of keys where there is a condition, and no keys.
fn without_condition(argument: Arg) -> Arg {
    let options = CsvArgs::augment_args(clap::Command::new("keys"));
    let is_of_text = options.get_arguments().any(|option| option.get_id() == argument.get_id());
    if is_of_text { argument.conflicts_with("filter") } else { argument }
}
