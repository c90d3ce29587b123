//! Conditions on rows, and the values of the places in them.

use clap::{ArgAction, Args};
use lakerace::{FilterParameter, Result, with_parameters};

#[derive(Debug, Args)]
pub(crate) struct FilterArgs {
    /// Only rows for which this SQL expression is true.
    #[arg(long = "where", value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) filter: Option<String>,
    /// The value of the next ? in --where; may be repeated. For a column of numbers, dates or times, its text is parsed
    /// as such.
    #[arg(long = "param", value_name = "VALUE", requires = "filter", allow_hyphen_values = true, action = ArgAction::Append)]
    pub(crate) parameters: Vec<String>,
}

impl FilterArgs {
    /// The condition with its values.
    pub(crate) fn condition(&self) -> Result<Option<String>> {
        let Some(filter) = &self.filter else { return Ok(None) };
        let is_whole = self.parameters.is_empty() && !filter.contains('?');
        if is_whole {
            return Ok(Some(filter.clone()));
        }
        let parameters: Vec<_> = self.parameters.iter().cloned().map(FilterParameter::Text).collect();
        with_parameters(filter, &parameters).map(Some)
    }
}
