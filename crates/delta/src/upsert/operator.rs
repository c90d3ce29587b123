//! The effect of a row with the same key on a column's value.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, AsArray, BooleanArray, LargeStringArray, RecordBatch, Scalar, StringArray, StringViewArray,
    new_null_array,
};
use arrow::compute::kernels::{cmp, numeric, zip::zip};
use arrow::compute::{CastOptions, cast_with_options, is_not_null};
use arrow::datatypes::{DataType, Schema};
use arrow::error::ArrowError;
use lakerace_format::schema_text::print_field_type;
use lakerace_format::suggestions;
use lakerace_io::{Error, Result};

/// The merge of a column's old value and a new one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum MergeOperator {
    /// The new one, even if it is null.
    #[default]
    Last,
    /// The new one, unless it is null.
    LastNotNull,
    /// Their sum; a null counts as nothing.
    Sum,
    /// The smaller one; a null counts as nothing.
    Min,
    /// The larger one; a null counts as nothing.
    Max,
    /// The old text, this separator, the new text; a null counts as nothing, separator included.
    Concat(String),
}

impl FromStr for MergeOperator {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "last" => Ok(Self::Last),
            "last_not_null" => Ok(Self::LastNotNull),
            "sum" => Ok(Self::Sum),
            "min" => Ok(Self::Min),
            "max" => Ok(Self::Max),
            other => match other.strip_prefix("concat:") {
                Some(separator) => Ok(Self::Concat(separator.to_owned())),
                None => Err(Error::usage(format!("{other:?} is not a merge operator"))
                    .advice("the operators are last, last_not_null, sum, min, max and concat:SEPARATOR")),
            },
        }
    }
}

impl fmt::Display for MergeOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Last => f.write_str("last"),
            Self::LastNotNull => f.write_str("last_not_null"),
            Self::Sum => f.write_str("sum"),
            Self::Min => f.write_str("min"),
            Self::Max => f.write_str("max"),
            Self::Concat(separator) => write!(f, "concat:{separator}"),
        }
    }
}

impl MergeOperator {
    /// Returns true if the result depends on the old value.
    pub fn needs_old(&self) -> bool {
        *self != Self::Last
    }

    /// Returns true if it can be applied to values of this type.
    fn takes(&self, data_type: &DataType) -> bool {
        match self {
            Self::Last | Self::LastNotNull => true,
            Self::Sum => data_type.is_numeric(),
            Self::Min | Self::Max => {
                data_type.is_numeric()
                    || data_type.is_temporal()
                    || is_text(data_type)
                    || matches!(
                        data_type,
                        DataType::Boolean | DataType::Binary | DataType::LargeBinary | DataType::BinaryView
                    )
            }
            Self::Concat(_) => is_text(data_type),
        }
    }

    /// Old and new values, row by row, made one. Both have one type and length.
    fn apply(&self, old: &ArrayRef, new: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        match self {
            Self::Last => Ok(Arc::clone(new)),
            Self::LastNotNull => zip(&is_not_null(new)?, new, old),
            Self::Sum => either(old, new, &sum(old, new)?),
            Self::Min => either(old, new, &zip(&cmp::lt_eq(old, new)?, old, new)?),
            Self::Max => either(old, new, &zip(&cmp::gt_eq(old, new)?, old, new)?),
            Self::Concat(separator) => either(old, new, &concat(old, new, separator)),
        }
    }
}

/// The sums, in the same type: those of decimals are a digit wider at first.
fn sum(old: &ArrayRef, new: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let sums = numeric::add(old, new)?;
    if sums.data_type() == old.data_type() {
        return Ok(sums);
    }
    let checked = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(&sums, old.data_type(), &checked)
        .map_err(|error| ArrowError::ArithmeticOverflow(error.to_string()))
}

/// `both` where neither is null, or else the one that is not.
fn either(old: &ArrayRef, new: &ArrayRef, both: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let with_new = zip(&is_not_null(old)?, both, new)?;
    zip(&is_not_null(new)?, &with_new, old)
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Old text, separator, new text.
fn concat(old: &ArrayRef, new: &ArrayRef, separator: &str) -> ArrayRef {
    fn joined<'a>(
        old: impl Iterator<Item = Option<&'a str>>,
        new: impl Iterator<Item = Option<&'a str>>,
        separator: &str,
    ) -> impl Iterator<Item = Option<String>> {
        old.zip(new).map(move |pair| match pair {
            (Some(old), Some(new)) => Some([old, separator, new].concat()),
            _ => None,
        })
    }
    match old.data_type() {
        DataType::LargeUtf8 => {
            let (old, new) = (old.as_string::<i64>().iter(), new.as_string::<i64>().iter());
            Arc::new(joined(old, new, separator).collect::<LargeStringArray>())
        }
        DataType::Utf8View => {
            let (old, new) = (old.as_string_view().iter(), new.as_string_view().iter());
            Arc::new(joined(old, new, separator).collect::<StringViewArray>())
        }
        _ => {
            let (old, new) = (old.as_string::<i32>().iter(), new.as_string::<i32>().iter());
            Arc::new(joined(old, new, separator).collect::<StringArray>())
        }
    }
}

/// The operators of a table's columns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct MergeOperators {
    by_column: BTreeMap<String, MergeOperator>,
}

impl MergeOperators {
    /// Checks operators by column against a table and its key. Columns that are not named have [`MergeOperator::Last`].
    ///
    /// Errors: `NotFound` for a column that does not exist, `Usage` for a key column and for a type that the operator
    /// can't take.
    pub fn new(
        operators: impl IntoIterator<Item = (String, MergeOperator)>,
        schema: &Schema,
        key: &[impl AsRef<str>],
    ) -> Result<Self> {
        let mut by_column = BTreeMap::new();
        for (name, operator) in operators {
            let field = schema.field_with_name(&name).map_err(|_| {
                suggestions::column_not_found(&name, schema.fields().iter().map(|field| field.name().as_str()))
            })?;
            if key.iter().any(|key| key.as_ref() == name) {
                return Err(Error::usage(format!("{name:?} is a key column, which can't have a merge operator")));
            }
            if !operator.takes(field.data_type()) {
                let message = format!("{operator} can't merge the column {name:?} of type {}", print_field_type(field));
                return Err(Error::usage(message).advice("last and last_not_null accept every type"));
            }
            by_column.insert(name, operator);
        }
        Ok(Self { by_column })
    }

    /// The operator of a column.
    pub fn for_column(&self, column: &str) -> &MergeOperator {
        self.by_column.get(column).unwrap_or(&MergeOperator::Last)
    }

    /// Returns true if any column's result depends on older rows.
    pub fn combine_rows(&self) -> bool {
        self.by_column.values().any(MergeOperator::needs_old)
    }

    /// Merges `new` rows into `old` ones of the same columns where `has_new`; the others stay old.
    ///
    /// Errors: `Invalid` for a sum beyond its type, naming the column.
    pub fn merge_where(&self, has_new: &[bool], old: &RecordBatch, new: &RecordBatch) -> Result<RecordBatch> {
        let mask = BooleanArray::from(has_new.to_vec());
        let columns = old.schema_ref().fields().iter().zip(old.columns().iter().zip(new.columns()));
        let merged = columns.map(|(field, (old, new))| {
            // A row without a new value is excluded: its stale value must not overflow a sum.
            let merge = || {
                let new = zip(&mask, new, &Scalar::new(new_null_array(new.data_type(), 1)))?;
                zip(&mask, &self.for_column(field.name()).apply(old, &new)?, old)
            };
            merge().map_err(|error| failed(field.name(), &error))
        });
        let columns = merged.collect::<Result<Vec<_>>>()?;
        RecordBatch::try_new(old.schema(), columns)
            .map_err(|error| Error::internal("merged rows don't fit their schema").because(error))
    }
}

fn failed(column: &str, error: &ArrowError) -> Error {
    match error {
        ArrowError::ArithmeticOverflow(message) => {
            Error::invalid(format!("the column {column:?} overflows in a merge: {message}"))
                .advice("widen its type, or choose another operator")
        }
        other => Error::internal(format!("the column {column:?} can't be merged: {other}")),
    }
}

#[cfg(test)]
mod tests;
