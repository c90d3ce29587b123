//! `--flatten` and `--unflatten`.

use clap::Args;
use lakerace::{ColumnNesting, DEFAULT_SEPARATOR, Result};

/// The nesting of columns.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct NestingArgs {
    /// Structs become columns of their fields, such as user.address.city, at any depth. The default separator is a dot;
    /// --flatten=_ sets another one. --columns, --where and --order-by name the source's columns. Lists and maps stay unchanged.
    #[arg(
        long,
        value_name = "SEPARATOR",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = DEFAULT_SEPARATOR,
        conflicts_with = "unflatten"
    )]
    flatten: Option<String>,
    /// Columns become fields of structs by their names: user.name and user.age become the struct user, which is null where all of
    /// its fields are null. The default separator is a dot; --unflatten=_ sets another one.
    #[arg(
        long,
        value_name = "SEPARATOR",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = DEFAULT_SEPARATOR
    )]
    unflatten: Option<String>,
}

impl NestingArgs {
    /// The nesting that they name.
    ///
    /// # Errors
    /// Those of [`ColumnNesting::from_options`].
    pub(crate) fn nesting(&self) -> Result<ColumnNesting> {
        ColumnNesting::from_options(self.flatten.clone(), self.unflatten.clone())
    }
}
