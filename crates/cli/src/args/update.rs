//! The arguments of an update.

use clap::{ArgAction, Args};
use lakerace::{AssignmentText, FilterParameter, Result, UpdateTexts, with_parameters_in};

use super::StoreArgs;
use super::durability::DurabilityArgs;
use crate::value;

#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// The folder of the table.
    #[arg(value_name = "TABLE")]
    pub(crate) table: String,
    /// Set a column to the value of a SQL expression over the row, such as "price = price * 1.1"; may be repeated. The
    /// value is converted to the type of the column, and a value that does not fit is an error.
    #[arg(
        long = "set",
        value_name = "COLUMN = EXPR",
        required = true,
        allow_hyphen_values = true,
        action = ArgAction::Append
    )]
    pub(crate) assignments: Vec<String>,
    /// Only rows for which this SQL expression is true. Default: all rows.
    #[arg(long = "where", value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) filter: Option<String>,
    /// The value of the next ? in --set, in the order of these options, and then in --where; may be repeated. For a column
    /// of numbers, dates or times, its text is parsed as such.
    #[arg(long = "param", value_name = "VALUE", allow_hyphen_values = true, action = ArgAction::Append)]
    pub(crate) parameters: Vec<String>,
    /// Approximate memory for new rows, which are sorted by the key of the table. Default: 512 MiB.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) memory_limit: Option<u64>,
    /// Enable deletion vectors on a table that lacks them: rows are hidden without rewriting files, and readers of the
    /// table must support them.
    #[arg(long)]
    pub(crate) enable_deletion_vectors: bool,
    /// Count the rows that would be updated, check their new values, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) durability: DurabilityArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

impl UpdateArgs {
    /// The new values of columns, and the condition, with their parameters.
    pub(crate) fn texts(&self) -> Result<UpdateTexts> {
        let texts: Vec<&String> = self.assignments.iter().chain(&self.filter).collect();
        let is_whole = self.parameters.is_empty() && !texts.iter().any(|text| text.contains('?'));
        let mut texts: Vec<String> = if is_whole {
            texts.into_iter().cloned().collect()
        } else {
            let parameters: Vec<_> = self.parameters.iter().cloned().map(FilterParameter::Text).collect();
            with_parameters_in(&texts, &parameters)?
        };
        let condition = self.filter.as_ref().and_then(|_| texts.pop());
        Ok(UpdateTexts { assignments: texts.into_iter().map(AssignmentText::Whole).collect(), condition })
    }
}
