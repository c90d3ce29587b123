//! Arguments of `sql`.

use clap::{ArgAction, Args};

use super::{RowOutputArgs, StoreArgs};
use crate::value;

#[derive(Debug, Args)]
pub(crate) struct SqlArgs {
    /// One query: SELECT, FROM, WITH, VALUES, TABLE, SHOW, DESCRIBE or SUMMARIZE. Its tables are locations, quoted unless they are
    /// plain names: 'orders.parquet', 's3://lake/*.parquet', 'lake/orders' AT (VERSION => 3).
    #[arg(value_name = "QUERY")]
    pub(crate) query: String,
    /// A name of a location in the query; may be repeated.
    #[arg(long, value_name = "NAME=LOCATION", value_parser = value::relation, action = ArgAction::Append)]
    pub(crate) relation: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) rows: RowOutputArgs,
    /// Print the plan and its cost without running it: the columns and filters of each scan, and the bytes to read.
    #[arg(long, conflicts_with_all = ["format", "output", "durability"])]
    pub(crate) explain: bool,
    /// Memory for joins, groups and sorts; the rest is written to temporary files on the local disk. Default: 80 % of
    /// the machine's.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) memory_limit: Option<u64>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
