//! Filters bound to a schema: evaluated on batches, and compared with statistics to skip whole units.
//!
//! The rules, where SQL leaves room:
//! - Three-valued logic: a comparison with null is null, and a row stays only where the filter is true.
//! - Integers, decimals, dates and timestamps are compared exactly with any literal: `i < 1.5` is `i <= 1`, and a number
//!   beyond the column's range is just greater or less than all of its values. No literal is equal to a value by rounding.
//! - A float in a column is the shortest decimal that reads back as the same float of its width, as in the checksum: `0.1`
//!   finds the 32-bit float 0.1. Its exact value finds it, too. Any other number lies between two floats: `f = 16777217` finds
//!   no 32-bit float. Two columns, one of them a float, are compared as 64-bit floats.
//! - Floats compare as IEEE 754 says: NaN equals nothing, itself included, and is neither less nor greater; -0.0 equals 0.0.
//! - Text compares by its UTF-8 bytes, also with binary columns. Next to a column of 16 bytes, which a UUID of Parquet is, it is
//!   a UUID, with or without hyphens and braces; next to other columns of one size it has as many bytes. LIKE has no escape character
//!   unless one is given.
//! - Text literals become dates, times or timestamps next to such columns. A timestamp without an offset is taken as UTC
//!   next to a column with a time zone; a date is its midnight.
//! - `/` always gives a 64-bit float (`5 / 2` is 2.5); `/` and `%` by zero give null; integer overflow is an error.
//! - A function is null if an argument is, except for `coalesce`. Upper and lower case are those of Unicode. `length`
//!   and `substr` count characters. `date_trunc` and `date_part` use UTC alone, for any zone of the column. A number
//!   that is cast to an integer is cut towards zero. An interval that is added to a date gives a timestamp.
//! - A text literal next to a column of numbers is the number that it writes.
//! - Column names are matched exactly; `a.b` is the column of that name, or else field `b` of the struct `a`.

mod arithmetic;
mod asked_rows;
mod bind;
mod branches;
mod call;
mod date_trunc;
pub(crate) mod decimal;
mod evaluate;
mod kernels;
mod like;
mod literal;
mod node;
mod operand;
mod prune;
mod repeated_texts;
mod rounding;
mod row_value;
pub mod time;
mod value;

use std::sync::Arc;

use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use lakerace_io::Result;

pub(crate) use self::bind::find_column;
pub use self::literal::literal_of;
use self::node::ConditionNode;
pub use self::prune::{Bounds, ColumnStatistics};
pub use self::row_value::RowValue;
pub(crate) use self::value::plain_type;
pub use self::value::{Value, array_of};
use crate::expr::Expr;

/// A filter bound to a schema.
#[derive(Debug, Clone)]
pub struct Predicate {
    node: ConditionNode,
    columns: Vec<Arc<ColumnRef>>,
    roots: Vec<usize>,
}

/// A column, or a field of a struct column, that a filter uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnRef {
    /// The top-level column's index in the schema that the filter was bound to.
    pub root: usize,
    /// The column's name, then the names of the fields that lead to the value.
    pub path: Vec<String>,
    /// The value's type.
    pub data_type: DataType,
}

impl ColumnRef {
    /// The name as a user writes it.
    pub fn name(&self) -> String {
        self.path.join(".")
    }

    /// The field in the schema that the filter was bound to.
    fn field<'a>(&self, schema: &'a Schema) -> Option<&'a Field> {
        let mut field = schema.fields().get(self.root)?;
        for name in self.path.get(1..)? {
            let DataType::Struct(fields) = field.data_type() else { return None };
            field = fields.iter().find(|field| field.name() == name)?;
        }
        Some(field)
    }
}

impl Predicate {
    /// Checks `expr` against `schema`. A column that does not exist is `NotFound` and names the nearest; types
    /// that can't be compared are `Invalid` and named both.
    pub fn bind(expr: &Expr, schema: &Schema) -> Result<Self> {
        Ok(Self::from_node(bind::bind(expr, schema)?))
    }

    fn from_node(node: ConditionNode) -> Self {
        let mut columns: Vec<Arc<ColumnRef>> = Vec::new();
        node.visit_columns(&mut |column| {
            if !columns.contains(column) {
                columns.push(Arc::clone(column));
            }
        });
        columns.sort_by(|a, b| (a.root, &a.path).cmp(&(b.root, &b.path)));
        let mut roots: Vec<usize> = columns.iter().map(|c| c.root).collect();
        roots.dedup();
        Self { node, columns, roots }
    }

    /// The indices of the top-level columns that it needs, ascending, in the schema that it was bound to.
    pub fn columns(&self) -> &[usize] {
        &self.roots
    }

    /// The columns and struct fields that it needs, in the order of the schema.
    pub fn column_refs(&self) -> impl Iterator<Item = &ColumnRef> {
        self.columns.iter().map(AsRef::as_ref)
    }

    /// Returns true if only the nulls of a column are needed. [`Self::evaluate`] then needs none of its fields.
    pub(crate) fn asks_nulls_alone(&self, column: &ColumnRef) -> bool {
        let mut is_alone = true;
        self.node.visit_values(&mut |used| is_alone &= used.as_ref() != column);
        is_alone
    }

    /// The parts that are joined by AND: a row stays if all are true. A single one, if there is no AND at the top.
    pub fn conjuncts(&self) -> Vec<Self> {
        match &self.node {
            ConditionNode::And(nodes) => nodes.iter().cloned().map(Self::from_node).collect(),
            _ => vec![self.clone()],
        }
    }

    /// Evaluates the filter to one value a row; only true keeps the row. The others are false or null: which of them, is not said
    /// of a filter that may fail. The batch needs to have the columns of [`Self::columns`], by name, with the types bound to (the
    /// layouts of text and bytes may differ).
    pub fn evaluate(&self, batch: &RecordBatch) -> Result<BooleanArray> {
        if !self.may_fail() {
            return evaluate::evaluate(&self.node, batch);
        }
        let all = BooleanBuffer::new_set(batch.num_rows());
        evaluate::true_among(&self.node, batch, all).map(|rows| BooleanArray::new(rows, None))
    }

    /// Returns true if evaluating it may fail for some values: those of a cast, or of arithmetic that overflows.
    pub fn may_fail(&self) -> bool {
        self.node.may_fail()
    }

    /// The rows of `among` for which the filter is true. The others can't make it fail: they are not asked.
    pub fn true_among(&self, batch: &RecordBatch, among: &BooleanBuffer) -> Result<BooleanBuffer> {
        evaluate::true_among(&self.node, batch, among.clone())
    }

    /// Succeeds if a set of rows with these statistics may hold a row for which the filter is true. The error is the
    /// reason: `statistics: price max 50 < 60`. Never excludes rows that match.
    pub fn can_match(&self, statistics: &dyn ColumnStatistics) -> Result<(), String> {
        prune::can_match(&self.node, statistics)
    }

    /// The columns whose statistics can decide it; none where no statistics can.
    pub fn decided_by(&self) -> Vec<Arc<ColumnRef>> {
        prune::decided_by(&self.node)
    }

    /// The equalities that bloom filters can answer: for each column named, a row that matches has one of these values in it.
    pub fn equalities(&self) -> Vec<(Arc<ColumnRef>, Vec<Value>)> {
        prune::equalities(&self.node)
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod exact_tests;

#[cfg(test)]
mod failure_tests;
