//! The values that rows are sorted by, as bytes.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, RecordBatch, Scalar};
use arrow::compute::kernels::cmp::{gt_eq, lt_eq};
use arrow::compute::{SortOptions, filter_record_batch, is_null, or_kleene, sort_to_indices};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Schema};
use arrow::row::{RowConverter, SortField};
use lakerace_io::{Error, Result};

use crate::expr::Expr;
use crate::predicate::{RowValue, plain_type};
use crate::schema_text::print_type;

/// A value that rows are sorted by, and its direction.
#[derive(Debug, Clone, PartialEq)]
pub struct SortTerm {
    /// A column, or a value that is computed from columns.
    pub value: Expr,
    /// The value as it was written.
    pub text: String,
    /// True if the greatest value comes first.
    pub is_descending: bool,
    /// True if nulls come before all values, in either direction.
    pub has_nulls_first: bool,
}

/// The terms of an order, bound to a schema. They make keys of rows: bytes that sort as the rows do.
///
/// NaN is greater than all numbers, -0.0 equals 0.0, and texts sort by their bytes.
#[derive(Debug, Clone)]
pub struct SortKeys {
    terms: Vec<BoundTerm>,
}

/// A term of an order, bound to a schema.
#[derive(Debug, Clone)]
struct BoundTerm {
    value: RowValue,
    /// The type of the values that are compared.
    data_type: DataType,
    options: SortOptions,
}

impl SortKeys {
    /// Binds terms to a schema.
    ///
    /// # Errors
    /// `NotFound` for a column that does not exist, with the nearest name; `Unsupported` for values without an order.
    pub fn bind(terms: &[SortTerm], schema: &Schema) -> Result<Self> {
        let terms = terms.iter().map(|term| BoundTerm::bind(term, schema)).collect::<Result<_>>()?;
        Ok(Self { terms })
    }

    /// The keys of the rows of a batch, which has the columns of the schema by name.
    ///
    /// # Errors
    /// `Unsupported` for keys that exceed 2 GiB together.
    pub fn encode(&self, batch: &RecordBatch) -> Result<BinaryArray> {
        let values: Vec<ArrayRef> = self.terms.iter().map(|term| term.values(batch)).collect::<Result<_>>()?;
        let converter = self.converter()?;
        let rows = converter.convert_columns(&values).map_err(Error::unexpected)?;
        rows.try_into_binary().map_err(|error| {
            Error::unsupported(format!("the values that {} rows are sorted by exceed 2 GiB", batch.num_rows()))
                .because(error)
        })
    }

    /// The values of the terms in a key, each as an array of one value.
    ///
    /// # Errors
    /// `Internal` for terms that can't be decoded.
    ///
    /// # Panics
    /// For bytes that [`Self::encode`] has not returned.
    pub fn values_of(&self, key: &[u8]) -> Result<Vec<ArrayRef>> {
        let converter = self.converter()?;
        let rows = converter.from_binary(BinaryArray::from_vec(vec![key]));
        converter.convert_rows(&rows).map_err(Error::unexpected)
    }

    /// The rows of a batch that may be its first `limit` rows, by the first term alone. They keep their order.
    pub fn first_rows(&self, batch: RecordBatch, limit: usize) -> Result<RecordBatch> {
        let Some(term) = self.terms.first().filter(|_| limit > 0 && limit < batch.num_rows()) else { return Ok(batch) };
        let values = term.values(&batch)?;
        // Arrow does not sort all types that have keys, such as that of nulls alone.
        let Ok(sorted) = sort_to_indices(&values, Some(term.options), Some(limit)) else { return Ok(batch) };
        let Some(last) = sorted.values().get(limit - 1).map(|row| *row as usize).filter(|row| values.is_valid(*row))
        else {
            return Ok(batch);
        };
        let last = Scalar::new(values.slice(last, 1));
        let is_first = if term.options.descending { gt_eq(&values, &last) } else { lt_eq(&values, &last) };
        let mut is_first = is_first.map_err(Error::unexpected)?;
        if term.options.nulls_first && values.null_count() > 0 {
            is_first =
                or_kleene(&is_first, &is_null(&values).map_err(Error::unexpected)?).map_err(Error::unexpected)?;
        }
        filter_record_batch(&batch, &is_first).map_err(Error::unexpected)
    }

    fn converter(&self) -> Result<RowConverter> {
        let field = |term: &BoundTerm| SortField::new_with_options(term.data_type.clone(), term.options);
        RowConverter::new(self.terms.iter().map(field).collect()).map_err(Error::unexpected)
    }
}

impl BoundTerm {
    fn bind(term: &SortTerm, schema: &Schema) -> Result<Self> {
        let value = RowValue::bind(&term.value, schema)?;
        let data_type = match plain_type(value.data_type()) {
            DataType::Float16 => DataType::Float32,
            other => other.clone(),
        };
        if data_type.is_nested() || matches!(data_type, DataType::Interval(_)) {
            let data_type = print_type(&data_type);
            return Err(Error::unsupported(format!("rows can't be sorted by values of type {data_type}"))
                .at(&term.text)
                .advice("sort by numbers, booleans, texts, bytes, dates or times, such as a field of a struct"));
        }
        let options = SortOptions { descending: term.is_descending, nulls_first: term.has_nulls_first };
        Ok(Self { value, data_type, options })
    }

    /// The values of the term in a batch, so that equal ones have equal bytes.
    fn values(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        Ok(with_equal_floats(self.value.evaluate_as(&self.data_type, batch)?))
    }
}

/// The array with the same bits for floats that are equal: for both zeros, and for all NaNs.
fn with_equal_floats(values: ArrayRef) -> ArrayRef {
    match values.data_type() {
        DataType::Float32 => {
            let form = |value: f32| if value.is_nan() { f32::NAN } else { value + 0.0 };
            Arc::new(values.as_primitive::<Float32Type>().unary::<_, Float32Type>(form))
        }
        DataType::Float64 => {
            let form = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
            Arc::new(values.as_primitive::<Float64Type>().unary::<_, Float64Type>(form))
        }
        _ => values,
    }
}

#[cfg(test)]
mod tests;
