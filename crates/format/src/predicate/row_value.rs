//! A value for each row: an expression bound to a schema.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Decimal128Type, Decimal256Type, Field, Schema,
};
use lakerace_io::{Error, Result};

use super::node::RowScalar;
use super::value::plain_type;
use super::{ColumnRef, bind, evaluate};
use crate::expr::Expr;
use crate::extension_types::mark_uuid;
use crate::uuids::UUID_BYTES;

/// A value for each row: an expression bound to a schema.
#[derive(Debug, Clone)]
pub struct RowValue {
    scalar: RowScalar,
    data_type: DataType,
    columns: Vec<Arc<ColumnRef>>,
    roots: Vec<usize>,
}

impl RowValue {
    /// Checks `expr` against `schema`, as [`Predicate::bind`] does.
    ///
    /// # Errors
    /// `NotFound` for a column that does not exist, with the nearest name; `Invalid` for types that don't fit.
    ///
    /// [`Predicate::bind`]: super::Predicate::bind
    pub fn bind(expr: &Expr, schema: &Schema) -> Result<Self> {
        let (scalar, data_type) = bind::bind_value(expr, schema)?;
        let mut columns: Vec<Arc<ColumnRef>> = Vec::new();
        scalar.visit_columns(&mut |column| {
            if !columns.contains(column) {
                columns.push(Arc::clone(column));
            }
        });
        let mut roots: Vec<usize> = columns.iter().map(|column| column.root).collect();
        roots.sort_unstable();
        roots.dedup();
        Ok(Self { scalar, data_type, columns, roots })
    }

    /// The type of its values.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// The indices of the top-level columns that it needs, ascending, in the schema that it was bound to.
    pub fn columns(&self) -> &[usize] {
        &self.roots
    }

    /// The columns and struct fields that it needs, in the order of their first use.
    pub fn column_refs(&self) -> impl Iterator<Item = &ColumnRef> {
        self.columns.iter().map(AsRef::as_ref)
    }

    /// A column of its values, with this name. One that is a column or a field of a struct, unchanged, keeps the field's
    /// type, nullability and metadata. `schema` is the one that the value was bound to.
    pub fn field(&self, name: &str, schema: &Schema) -> Field {
        if let Some(field) = self.own_field(schema) {
            return field.with_name(name);
        }
        let is_nullable = match &self.scalar {
            RowScalar::Constant(value) => value.logical_null_count() > 0,
            _ => true,
        };
        let mut field = Field::new(name, plain_type(&self.data_type).clone(), is_nullable);
        if bind::is_uuid_value(&self.scalar, schema) && *field.data_type() == DataType::FixedSizeBinary(UUID_BYTES) {
            mark_uuid(&mut field);
        }
        field
    }

    /// The field that it is, unchanged; nullable if a struct that contains it is.
    fn own_field(&self, schema: &Schema) -> Option<Field> {
        let RowScalar::Column(column) = &self.scalar else { return None };
        let mut field = schema.fields().get(column.root)?;
        let mut is_nullable = field.is_nullable();
        for name in column.path.get(1..)? {
            let DataType::Struct(fields) = field.data_type() else { return None };
            field = fields.iter().find(|field| field.name() == name)?;
            is_nullable |= field.is_nullable();
        }
        Some(field.as_ref().clone().with_nullable(is_nullable))
    }

    /// Its values in a batch, which has the columns of [`Self::columns`] by name.
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        match &self.scalar {
            // As it is stored, with its dictionary.
            RowScalar::Column(column) => evaluate::array_at(column, batch),
            scalar => evaluate::values(scalar, batch),
        }
    }

    /// Its values like [`Self::evaluate`], in this type.
    ///
    /// # Errors
    /// `Invalid` for a decimal that has more digits than any decimal type.
    pub fn evaluate_as(&self, data_type: &DataType, batch: &RecordBatch) -> Result<ArrayRef> {
        let found = self.evaluate(batch)?;
        if found.data_type() != data_type {
            let options = CastOptions { safe: false, ..CastOptions::default() };
            return cast_with_options(&found, data_type, &options).map_err(Error::unexpected);
        }
        // Types with fewer digits than the most have room for each result.
        let checked = match data_type {
            DataType::Decimal128(precision @ DECIMAL128_MAX_PRECISION, _) => {
                found.as_primitive::<Decimal128Type>().validate_decimal_precision(*precision)
            }
            DataType::Decimal256(precision @ DECIMAL256_MAX_PRECISION, _) => {
                found.as_primitive::<Decimal256Type>().validate_decimal_precision(*precision)
            }
            _ => Ok(()),
        };
        checked.map_err(|error| Error::invalid("a decimal has too many digits").because(error))?;
        Ok(found)
    }
}

#[cfg(test)]
mod tests;
