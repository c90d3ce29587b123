//! Arguments of `sql`.

use clap::{ArgAction, Args};

use super::durability::OutputDurabilityArgs;
use super::{RowFormat, StoreArgs};
use crate::value;

#[derive(Debug, Args)]
pub(crate) struct SqlArgs {
    /// One query: SELECT, FROM, WITH, VALUES, DESCRIBE or SUMMARIZE. Its tables are locations, quoted unless they are
    /// plain names: 'orders.parquet', 's3://lake/*.parquet', 'lake/orders' AT (VERSION => 3).
    #[arg(value_name = "QUERY")]
    pub(crate) query: String,
    /// A name of a location in the query; may be repeated.
    #[arg(long, value_name = "NAME=LOCATION", value_parser = value::relation, action = ArgAction::Append)]
    pub(crate) relation: Vec<(String, String)>,
    /// Format of the rows. Default: by the ending of FILE (.csv, .jsonl, .arrow), else an aligned table.
    #[arg(long, value_enum)]
    pub(crate) format: Option<RowFormat>,
    /// Write rows to this path or URL instead of stdout; it appears when it is complete.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<String>,
    /// Print the plan and its price instead of running it: the columns and filters of each scan, and the bytes to read.
    #[arg(long, conflicts_with_all = ["format", "output"])]
    pub(crate) explain: bool,
    /// Memory of joins, groups and sorts; more go to the local disk for a while. Default: 80 % of the machine's.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) memory_limit: Option<u64>,
    #[command(flatten)]
    pub(crate) durability: OutputDurabilityArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
