//! Running a condition over a batch.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::types::*;
use arrow::array::*;
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::compute::kernels::boolean;
use arrow::compute::{cast, take};
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;
use lakerace_io::{Error, Result};

use super::ColumnRef;
use super::arithmetic::{arithmetic, compare_operands};
use super::asked_rows::{asked_rows, spread, true_rows};
use super::branches::branch_values;
use super::call::FunctionCall;
use super::kernels::{internal, kernel};
use super::like::like;
use super::node::{ConditionNode, IN_BY_COMPARING, RowScalar};
use super::operand::RowOperand;
use super::repeated_texts::by_distinct_texts;
use super::value::{Value, array_of, for_integer_type, is_binary, is_text, plain_type};
use crate::expr::CompareOp;
use crate::schema_text::print_type;

/// The value of a condition for each row.
pub(super) fn evaluate(node: &ConditionNode, batch: &RecordBatch) -> Result<BooleanArray> {
    match by_distinct_texts(node, batch, evaluate_each)? {
        Some(outcomes) => Ok(outcomes),
        None => evaluate_each(node, batch),
    }
}

/// The value of a condition for each row, each of which is looked at.
pub(super) fn evaluate_each(node: &ConditionNode, batch: &RecordBatch) -> Result<BooleanArray> {
    match node {
        ConditionNode::Constant(value) => Ok(constant(*value, batch.num_rows())),
        ConditionNode::Known { column, value } => {
            let array = column_array(column, batch)?;
            let values =
                if *value { BooleanBuffer::new_set(array.len()) } else { BooleanBuffer::new_unset(array.len()) };
            Ok(BooleanArray::new(values, array.logical_nulls()))
        }
        ConditionNode::Compare { column, op, value } => {
            let array = column_array(column, batch)?;
            over_values(&array, &|values| compare_value(values, *op, value))
        }
        ConditionNode::In { column, values, has_null } => {
            let array = column_array(column, batch)?;
            let found = over_values(&array, &|array| is_in(array, values))?;
            if *has_null { internal(boolean::or_kleene(&found, &constant(None, found.len()))) } else { Ok(found) }
        }
        ConditionNode::Like { column, pattern } => {
            let array = column_array(column, batch)?;
            over_values(&array, &|values| like(values, pattern))
        }
        // A nested column may have a part of its fields.
        ConditionNode::IsNull(RowScalar::Column(column)) if column.data_type.is_nested() => {
            internal(boolean::is_null(array_at(column, batch)?.as_ref()))
        }
        ConditionNode::IsNull(scalar) => {
            let operand = scalar_operand(scalar, batch)?;
            broadcast(internal(boolean::is_null(operand.array.as_ref()))?, operand.is_scalar, batch.num_rows())
        }
        ConditionNode::Truth(scalar) => {
            let operand = scalar_operand(scalar, batch)?;
            let array = internal(cast(&operand.array, &DataType::Boolean))?;
            broadcast(array.as_boolean().clone(), operand.is_scalar, batch.num_rows())
        }
        ConditionNode::CompareScalars { op, left, right } => {
            let (left, right) = (scalar_operand(left, batch)?, scalar_operand(right, batch)?);
            let is_scalar = left.is_scalar && right.is_scalar;
            broadcast(compare_operands(*op, &left, &right)?, is_scalar, batch.num_rows())
        }
        ConditionNode::And(nodes) => combine(nodes, batch, true),
        ConditionNode::Or(nodes) => combine(nodes, batch, false),
        ConditionNode::Not(node) => internal(boolean::not(&evaluate(node, batch)?)),
    }
}

/// The values of a condition for the `asked` rows. Those of the others are any: a cast of them may fail.
fn evaluate_asked(node: &ConditionNode, batch: &RecordBatch, asked: &BooleanBuffer) -> Result<BooleanArray> {
    if !node.may_fail() || asked.count_set_bits() == batch.num_rows() {
        return evaluate(node, batch);
    }
    Ok(spread(&evaluate(node, &asked_rows(node, batch, asked)?)?, asked))
}

/// The rows of `among` for which a condition is true. A part that may fail is asked of rows only where the other parts leave open
/// whether they are kept.
pub(super) fn true_among(node: &ConditionNode, batch: &RecordBatch, among: BooleanBuffer) -> Result<BooleanBuffer> {
    match node {
        ConditionNode::And(nodes) => {
            let mut open = among;
            each_that_succeeds(nodes, |node| {
                open = true_among(node, batch, open.clone())?;
                Ok(open.count_set_bits() > 0)
            })?;
            Ok(open)
        }
        ConditionNode::Or(nodes) => {
            let mut open = among.clone();
            each_that_succeeds(nodes, |node| {
                open = &open & &!&true_among(node, batch, open.clone())?;
                Ok(open.count_set_bits() > 0)
            })?;
            Ok(&among & &!&open)
        }
        node => Ok(&among & &true_rows(&evaluate_asked(node, batch, &among)?)),
    }
}

/// Takes each condition in turn, as long as `take` is true: those that may fail after the others. One that fails is taken again after
/// the others, which may leave fewer rows open.
///
/// # Errors
/// That of the first condition, where all that are left fail.
fn each_that_succeeds(nodes: &[ConditionNode], mut take: impl FnMut(&ConditionNode) -> Result<bool>) -> Result<()> {
    let (failing, sure): (Vec<_>, Vec<_>) = nodes.iter().partition(|node| node.may_fail());
    let mut left = [sure, failing].concat();
    loop {
        let (mut failed, mut first) = (Vec::new(), None);
        let count = left.len();
        for node in left {
            match take(node) {
                Ok(true) => {}
                Ok(false) => return Ok(()),
                Err(error) => {
                    failed.push(node);
                    first.get_or_insert(error);
                }
            }
        }
        match first {
            None => return Ok(()),
            Some(error) if failed.len() == count => return Err(error),
            Some(_) => left = failed,
        }
    }
}

/// AND or OR of conditions; stops where the rest can't change the outcome of any row. Conditions that may fail are asked of the rows
/// only that the others leave open.
fn combine(nodes: &[ConditionNode], batch: &RecordBatch, is_and: bool) -> Result<BooleanArray> {
    let mut result: Option<BooleanArray> = None;
    each_that_succeeds(nodes, |node| {
        let joined = match &result {
            None => evaluate(node, batch)?,
            Some(so_far) => {
                let next = evaluate_asked(node, batch, &open_rows(so_far, is_and))?;
                internal(if is_and { boolean::and_kleene(so_far, &next) } else { boolean::or_kleene(so_far, &next) })?
            }
        };
        let is_open = open_rows(&joined, is_and).count_set_bits() > 0;
        result = Some(joined);
        Ok(is_open)
    })?;
    Ok(result.unwrap_or_else(|| constant(Some(is_and), batch.num_rows())))
}

/// The rows whose outcome further conditions can change: those that are not false in an AND, or not true in an OR.
fn open_rows(so_far: &BooleanArray, is_and: bool) -> BooleanBuffer {
    match so_far.nulls() {
        None if is_and => so_far.values().clone(),
        None => !so_far.values(),
        Some(valid) if is_and => so_far.values() | &!valid.inner(),
        Some(valid) => !&(so_far.values() & valid.inner()),
    }
}

/// The values of a column, null if a struct that contains it is null.
pub(super) fn column_array(column: &ColumnRef, batch: &RecordBatch) -> Result<ArrayRef> {
    let array = array_at(column, batch)?;
    let (found, bound) = (plain_type(array.data_type()), plain_type(&column.data_type));
    let same_family = (is_text(found) && is_text(bound)) || (is_binary(found) && is_binary(bound));
    if found != bound && !same_family {
        let name = column.name();
        return Err(Error::internal(format!("column {name:?} is {found} in a batch, but was bound as {bound}")));
    }
    Ok(array)
}

/// Returns the array of a column, in the type that the batch has.
pub(super) fn array_at(column: &ColumnRef, batch: &RecordBatch) -> Result<ArrayRef> {
    let missing = || Error::internal(format!("the batch has no column {:?}", column.name()));
    let mut path = column.path.iter();
    let root = path.next().ok_or_else(missing)?;
    let mut array = Arc::clone(batch.column_by_name(root).ok_or_else(missing)?);
    for name in path {
        let parent = array.as_struct_opt().ok_or_else(missing)?;
        let child = Arc::clone(parent.column_by_name(name).ok_or_else(missing)?);
        array = match parent.nulls() {
            None => child,
            Some(nulls) => with_nulls(&child, nulls)?,
        };
    }
    Ok(array)
}

fn with_nulls(array: &ArrayRef, nulls: &NullBuffer) -> Result<ArrayRef> {
    let is_null = BooleanArray::new(!nulls.inner(), None);
    internal(arrow::compute::nullif(array, &is_null))
}

pub(super) fn scalar_operand(scalar: &RowScalar, batch: &RecordBatch) -> Result<RowOperand> {
    match scalar {
        RowScalar::Column(column) => {
            let array = column_array(column, batch)?;
            let array = match array.data_type() {
                DataType::Dictionary(_, values) => internal(cast(&array, values))?,
                _ => array,
            };
            Ok(RowOperand { array, is_scalar: false })
        }
        RowScalar::Constant(array) => Ok(RowOperand { array: Arc::clone(array), is_scalar: true }),
        RowScalar::Condition(node) => Ok(RowOperand { array: Arc::new(evaluate(node, batch)?), is_scalar: false }),
        RowScalar::Arithmetic { op, left, right } => {
            let (left, right) = (scalar_operand(left, batch)?, scalar_operand(right, batch)?);
            arithmetic(*op, &left, &right)
        }
        RowScalar::Call { call: call @ (FunctionCall::Case | FunctionCall::Coalesce), arguments, data_type }
            if batch.num_columns() > 0 && arguments.iter().any(RowScalar::may_fail) =>
        {
            branch_values(values, matches!(call, FunctionCall::Case), arguments, data_type, batch)
        }
        RowScalar::Call { call, arguments, .. } => {
            let arguments = arguments.iter().map(|scalar| scalar_operand(scalar, batch)).collect::<Result<Vec<_>>>()?;
            call.evaluate(&arguments, batch.num_rows())
        }
    }
}

/// A value for each row of a batch.
pub(super) fn values(scalar: &RowScalar, batch: &RecordBatch) -> Result<ArrayRef> {
    let operand = scalar_operand(scalar, batch)?;
    if !operand.is_scalar {
        return Ok(operand.array);
    }
    internal(take(&operand.array, &UInt32Array::from(vec![0; batch.num_rows()]), None))
}

fn broadcast(values: BooleanArray, is_scalar: bool, rows: usize) -> Result<BooleanArray> {
    if !is_scalar {
        return Ok(values);
    }
    Ok(constant(values.is_valid(0).then(|| values.value(0)), rows))
}

fn constant(value: Option<bool>, rows: usize) -> BooleanArray {
    match value {
        Some(true) => BooleanArray::new(BooleanBuffer::new_set(rows), None),
        Some(false) => BooleanArray::new(BooleanBuffer::new_unset(rows), None),
        None => BooleanArray::new(BooleanBuffer::new_unset(rows), Some(NullBuffer::new_null(rows))),
    }
}

/// Runs `condition` over the array, or once over a dictionary's values and then by key.
fn over_values(array: &ArrayRef, condition: &dyn Fn(&ArrayRef) -> Result<BooleanArray>) -> Result<BooleanArray> {
    let Some(dictionary) = array.as_any_dictionary_opt() else { return condition(array) };
    if dictionary.values().len() > dictionary.len() {
        let DataType::Dictionary(_, value_type) = array.data_type() else { return condition(array) };
        return condition(&internal(cast(array, value_type))?);
    }
    let outcome = condition(dictionary.values())?;
    Ok(internal(take(&outcome, dictionary.keys(), None))?.as_boolean().clone())
}

fn compare_value(array: &ArrayRef, op: CompareOp, value: &Value) -> Result<BooleanArray> {
    match (array.data_type(), value) {
        (DataType::Float64, Value::Float(f)) => Ok(compare_float(array.as_primitive::<Float64Type>(), op, *f)),
        (DataType::Float32, Value::Float(f)) => Ok(compare_float(array.as_primitive::<Float32Type>(), op, *f as f32)),
        (DataType::Float16, Value::Float(f)) => {
            let array = internal(cast(array, &DataType::Float32))?;
            Ok(compare_float(array.as_primitive::<Float32Type>(), op, *f as f32))
        }
        (DataType::FixedSizeBinary(_), _) => {
            let array = RowOperand { array: internal(cast(array, &DataType::Binary))?, is_scalar: false };
            compare_with(op, &array, value)
        }
        _ => compare_with(op, &RowOperand { array: Arc::clone(array), is_scalar: false }, value),
    }
}

fn compare_with(op: CompareOp, array: &RowOperand, value: &Value) -> Result<BooleanArray> {
    let constant = array_of(std::slice::from_ref(value), array.array.data_type())?;
    kernel(op, array, &RowOperand { array: constant, is_scalar: true })
}

/// IEEE comparison, where Arrow's kernel has a total order.
fn compare_float<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, op: CompareOp, value: T::Native) -> BooleanArray
where
    T::Native: PartialOrd,
{
    let values = array.values();
    let bits = match op {
        CompareOp::Eq => pack(values, |v| v == value),
        CompareOp::NotEq => pack(values, |v| v != value),
        CompareOp::Less => pack(values, |v| v < value),
        CompareOp::LessOrEq => pack(values, |v| v <= value),
        CompareOp::Greater => pack(values, |v| v > value),
        CompareOp::GreaterOrEq => pack(values, |v| v >= value),
    };
    BooleanArray::new(bits, array.nulls().cloned())
}

/// Packs one bit a value. Whole words at a time, so that the compiler vectorises the test.
fn pack<T: Copy>(values: &[T], test: impl Fn(T) -> bool) -> BooleanBuffer {
    let words: Vec<u64> = values
        .chunks(64)
        .map(|chunk| chunk.iter().enumerate().fold(0, |word, (i, v)| word | (u64::from(test(*v)) << i)))
        .collect();
    BooleanBuffer::new(words.into(), 0, values.len())
}

fn is_in(array: &ArrayRef, values: &[Value]) -> Result<BooleanArray> {
    let none = || BooleanArray::new(BooleanBuffer::new_unset(array.len()), array.logical_nulls());
    if values.len() <= IN_BY_COMPARING || matches!(array.data_type(), DataType::Boolean) {
        let mut found = none();
        for value in values {
            found = internal(boolean::or_kleene(&found, &compare_value(array, CompareOp::Eq, value)?))?;
        }
        return Ok(found);
    }
    let bits = match array.data_type() {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            let array = internal(cast(array, &DataType::Float64))?;
            // Adding zero makes -0.0 and 0.0 the same bits; NaN is never found.
            let wanted: HashSet<u64> = values
                .iter()
                .filter_map(|v| if let Value::Float(f) = v { Some(*f) } else { None })
                .filter(|f| !f.is_nan())
                .map(|f| (f + 0.0).to_bits())
                .collect();
            pack(array.as_primitive::<Float64Type>().values(), |v| wanted.contains(&(v + 0.0).to_bits()))
        }
        t if is_text(t) || is_binary(t) => {
            let wanted: HashSet<&[u8]> =
                values.iter().filter_map(|v| if let Value::Bytes(b) = v { Some(b.as_slice()) } else { None }).collect();
            let array = internal(cast(array, &DataType::BinaryView))?;
            let array = array.as_binary_view();
            BooleanBuffer::collect_bool(array.len(), |i| array.is_valid(i) && wanted.contains(array.value(i)))
        }
        other => {
            let wanted = array_of(values, other)?;
            for_integer_type!(other, T => {
                let mut wanted = wanted.as_primitive::<T>().values().to_vec();
                wanted.sort_unstable();
                pack(array.as_primitive::<T>().values(), |v| wanted.binary_search(&v).is_ok())
            }, return Err(Error::unsupported(format!("IN is not supported on a column of type {}", print_type(other)))))
        }
    };
    Ok(BooleanArray::new(bits, array.logical_nulls()))
}
