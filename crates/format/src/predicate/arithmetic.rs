//! Arithmetic, and comparisons of two values that may differ in type.

use std::sync::Arc;

use arrow::array::types::*;
use arrow::array::*;
use arrow::compute::kernels::numeric;
use arrow::compute::{CastOptions, cast, cast_with_options, nullif};
use arrow::datatypes::{DataType, TimeUnit, i256};
use lakerace_io::{Error, Result};

use super::kernels::{internal, kernel};
use super::literal::unit_ns;
use super::operand::RowOperand;
use super::value::{NativeInteger, for_integer_type, is_binary, is_text};
use crate::expr::{ArithmeticOp, CompareOp};
use crate::schema_text::print_type;
use crate::utc::in_utc;

/// `left op right`. Types were checked when the filter was bound.
pub(super) fn arithmetic(op: ArithmeticOp, left: &RowOperand, right: &RowOperand) -> Result<RowOperand> {
    let is_scalar = left.is_scalar && right.is_scalar;
    let (l, r) = (left.array.data_type(), right.array.data_type());
    let array = if l == &DataType::Null || r == &DataType::Null {
        let rows = if left.is_scalar { right.array.len() } else { left.array.len() };
        new_null_array(&DataType::Null, rows)
    } else if is_interval(l) || is_interval(r) {
        with_interval(op, left, right)?
    } else if l == &DataType::Date32 || r == &DataType::Date32 {
        days(op, left, right)?
    } else if op == ArithmeticOp::Divide || l.is_floating() || r.is_floating() {
        numbers(op, &converted(left, &DataType::Float64)?, &converted(right, &DataType::Float64)?)?
    } else if l.is_decimal() || r.is_decimal() {
        let is_wide = matches!(l, DataType::Decimal256(_, _)) || matches!(r, DataType::Decimal256(_, _));
        numbers(op, &decimal(left, is_wide)?, &decimal(right, is_wide)?)?
    } else {
        numbers(op, &converted(left, &DataType::Int64)?, &converted(right, &DataType::Int64)?)?
    };
    Ok(RowOperand { array, is_scalar })
}

/// `left op right` of two values that can be compared.
pub(super) fn compare_operands(op: CompareOp, left: &RowOperand, right: &RowOperand) -> Result<BooleanArray> {
    let (l, r) = (left.array.data_type(), right.array.data_type());
    if l == &DataType::Null || r == &DataType::Null {
        let rows = if left.is_scalar { right.array.len() } else { left.array.len() };
        return Ok(BooleanArray::new_null(rows));
    }
    if l.is_floating() || r.is_floating() {
        let (left, right) = (converted(left, &DataType::Float64)?, converted(right, &DataType::Float64)?);
        return Ok(compare_floats(op, &left, &right));
    }
    if l == r && !matches!(l, DataType::FixedSizeBinary(_)) {
        return kernel(op, left, right);
    }
    if is_text(l) && is_text(r) {
        return kernel(op, &converted(left, &DataType::Utf8View)?, &converted(right, &DataType::Utf8View)?);
    }
    if (is_text(l) || is_binary(l)) && (is_text(r) || is_binary(r)) {
        return kernel(op, &bytes(left)?, &bytes(right)?);
    }
    compare_exactly(op, left, right)
}

fn bytes(operand: &RowOperand) -> Result<RowOperand> {
    match operand.array.data_type() {
        DataType::FixedSizeBinary(_) => converted(&converted(operand, &DataType::Binary)?, &DataType::BinaryView),
        _ => converted(operand, &DataType::BinaryView),
    }
}

pub(super) fn converted(operand: &RowOperand, to: &DataType) -> Result<RowOperand> {
    if operand.array.data_type() == to {
        return Ok(operand.clone());
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let array = cast_with_options(&operand.array, to, &options)
        .map_err(|e| Error::invalid("a value is out of range").because(e))?;
    Ok(RowOperand { array, is_scalar: operand.is_scalar })
}

/// Converts to a decimal that holds all values of the type.
fn decimal(operand: &RowOperand, is_wide: bool) -> Result<RowOperand> {
    let (precision, scale) = match operand.array.data_type() {
        DataType::Decimal32(p, s)
        | DataType::Decimal64(p, s)
        | DataType::Decimal128(p, s)
        | DataType::Decimal256(p, s) => (*p, *s),
        // A u64 has up to 20 digits.
        _ => (20, 0),
    };
    let to = if is_wide { DataType::Decimal256(precision, scale) } else { DataType::Decimal128(precision, scale) };
    converted(operand, &to)
}

fn numbers(op: ArithmeticOp, left: &RowOperand, right: &RowOperand) -> Result<ArrayRef> {
    let result = match op {
        ArithmeticOp::Add => numeric::add(left, right),
        ArithmeticOp::Subtract => numeric::sub(left, right),
        ArithmeticOp::Multiply => numeric::mul(left, right),
        ArithmeticOp::Divide => numeric::div(left, &without_zeros(right)?),
        ArithmeticOp::Modulo => numeric::rem(left, &without_zeros(right)?),
    };
    result.map_err(|e| Error::invalid("arithmetic failed").because(e))
}

/// Replaces zero by null: a division by it is then null as well.
fn without_zeros(operand: &RowOperand) -> Result<RowOperand> {
    let zero = internal(cast(&Int64Array::from(vec![0]), operand.array.data_type()))?;
    let zero = RowOperand { array: zero, is_scalar: true };
    let array_only = RowOperand { array: Arc::clone(&operand.array), is_scalar: false };
    let is_zero = compare_operands(CompareOp::Eq, &array_only, &zero)?;
    Ok(RowOperand { array: internal(nullif(&operand.array, &is_zero))?, is_scalar: operand.is_scalar })
}

/// Days added to or taken from dates, and days between dates.
fn days(op: ArithmeticOp, left: &RowOperand, right: &RowOperand) -> Result<ArrayRef> {
    let is_difference = left.array.data_type() == &DataType::Date32 && right.array.data_type() == &DataType::Date32;
    let as_days = |operand: &RowOperand| match operand.array.data_type() {
        DataType::Date32 => converted(&converted(operand, &DataType::Int32)?, &DataType::Int64),
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            Err(Error::invalid("only whole numbers of days can be added to a date"))
        }
        _ => converted(operand, &DataType::Int64),
    };
    let sum = numbers(op, &as_days(left)?, &as_days(right)?)?;
    if is_difference {
        return Ok(sum);
    }
    let sum = converted(&RowOperand { array: sum, is_scalar: false }, &DataType::Int32)?;
    internal(cast(&sum.array, &DataType::Date32))
}

/// Returns true if values are spans of time.
pub(super) fn is_interval(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Interval(_))
}

/// A span of time added to or taken from an instant, by the calendar of UTC. A date becomes a timestamp.
fn with_interval(op: ArithmeticOp, left: &RowOperand, right: &RowOperand) -> Result<ArrayRef> {
    let (instant, interval) = if is_interval(left.array.data_type()) { (right, left) } else { (left, right) };
    let unit = match instant.array.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, _) => TimeUnit::Nanosecond,
        _ => TimeUnit::Microsecond,
    };
    let result_type = match instant.array.data_type() {
        DataType::Timestamp(_, zone) => DataType::Timestamp(unit, zone.clone()),
        _ => DataType::Timestamp(unit, None),
    };
    // Equal instants have equal sums, also in columns with different time zones: no day is shorter or longer.
    let sum = numbers(op, &converted(instant, &in_utc(&result_type))?, interval)?;
    internal(cast(&sum, &result_type))
}

fn compare_floats(op: CompareOp, left: &RowOperand, right: &RowOperand) -> BooleanArray {
    let test = |a: f64, b: f64| match op {
        CompareOp::Eq => a == b,
        CompareOp::NotEq => a != b,
        CompareOp::Less => a < b,
        CompareOp::LessOrEq => a <= b,
        CompareOp::Greater => a > b,
        CompareOp::GreaterOrEq => a >= b,
    };
    let (l, r) = (left.array.as_primitive::<Float64Type>(), right.array.as_primitive::<Float64Type>());
    let value = |array: &Float64Array, i: usize| array.is_valid(i).then(|| array.value(i));
    zip(left, right, |i, j| Some(test(value(l, i)?, value(r, j)?)))
}

/// Integers, decimals and instants of different types, brought to one unit.
fn compare_exactly(op: CompareOp, left: &RowOperand, right: &RowOperand) -> Result<BooleanArray> {
    let factors = factors(left.array.data_type(), right.array.data_type())?;
    let (l, r) = (widened(&left.array, factors.0)?, widened(&right.array, factors.1)?);
    Ok(zip(left, right, |i, j| {
        let order = l[i]?.cmp(&r[j]?);
        Some(match op {
            CompareOp::Eq => order.is_eq(),
            CompareOp::NotEq => order.is_ne(),
            CompareOp::Less => order.is_lt(),
            CompareOp::LessOrEq => order.is_le(),
            CompareOp::Greater => order.is_gt(),
            CompareOp::GreaterOrEq => order.is_ge(),
        })
    }))
}

/// The factors by which the stored integers of both types count in one unit.
fn factors(left: &DataType, right: &DataType) -> Result<(i256, i256)> {
    if let (Some(l), Some(r)) = (unit_ns(left), unit_ns(right)) {
        return Ok((i256::from_i128(l), i256::from_i128(r)));
    }
    let (l, r) = (scale(left), scale(right));
    let most = l.max(r);
    let power = |scale: i32| {
        u32::try_from(most - scale).ok().and_then(|n| i256::from_i128(10).checked_pow(n)).ok_or_else(|| {
            Error::unsupported(format!("{left} can't be compared with {right}: their scales are too far apart"))
        })
    };
    Ok((power(l)?, power(r)?))
}

fn scale(data_type: &DataType) -> i32 {
    match data_type {
        DataType::Decimal32(_, s)
        | DataType::Decimal64(_, s)
        | DataType::Decimal128(_, s)
        | DataType::Decimal256(_, s) => i32::from(*s),
        _ => 0,
    }
}

fn widened(array: &ArrayRef, factor: i256) -> Result<Vec<Option<i256>>> {
    let out_of_range = || Error::invalid(format!("a value of type {} is out of range", print_type(array.data_type())));
    for_integer_type!(
        array.data_type(),
        T => {
            let widen = |v: Option<<T as ArrowPrimitiveType>::Native>| {
                v.map(|v| v.widen().checked_mul(factor).ok_or_else(out_of_range)).transpose()
            };
            array.as_primitive::<T>().iter().map(widen).collect()
        },
        Err(Error::internal(format!("a value of type {} can't be compared", array.data_type())))
    )
}

/// A row at a time, one value standing for all rows where an operand is a scalar.
fn zip(left: &RowOperand, right: &RowOperand, test: impl Fn(usize, usize) -> Option<bool>) -> BooleanArray {
    let rows = if left.is_scalar { right.array.len() } else { left.array.len() };
    let at = |operand: &RowOperand, i: usize| if operand.is_scalar { 0 } else { i };
    (0..rows).map(|i| test(at(left, i), at(right, i))).collect()
}
