//! The parser of conditions, which the opener of a table brings.

use lakerace_format::Expr;
use lakerace_io::Result;

/// Parses a condition that is written as SQL.
pub type ConditionParser = fn(&str) -> Result<Expr>;
