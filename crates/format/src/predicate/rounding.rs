//! Functions of numbers: their distance from zero, the other sign, and rounding.

use std::sync::Arc;

use arrow::array::types::*;
use arrow::array::{ArrayRef, AsArray};
use arrow::compute::kernels::numeric::neg;
use arrow::datatypes::DataType;
use lakerace_io::{Error, Result};

use super::arithmetic::converted;
use super::operand::RowOperand;

/// Digits of the largest decimal that is rounded.
const MOST_DIGITS: u8 = 38;

/// The values without their sign: integers with a sign as 64-bit ones, others with their own type.
///
/// # Errors
/// `Invalid` for the least 64-bit integer, and for decimals of more than 38 digits.
pub(super) fn absolute(operand: &RowOperand) -> Result<ArrayRef> {
    let array = &operand.array;
    Ok(match array.data_type() {
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64 | DataType::Null => Arc::clone(array),
        DataType::Float32 => Arc::new(array.as_primitive::<Float32Type>().unary::<_, Float32Type>(f32::abs)),
        data_type if data_type.is_floating() => {
            let floats = converted(operand, &DataType::Float64)?;
            Arc::new(floats.array.as_primitive::<Float64Type>().unary::<_, Float64Type>(f64::abs))
        }
        data_type if data_type.is_decimal() => {
            let (decimals, precision, scale) = decimals(operand, 0)?;
            let decimals = decimals.as_primitive::<Decimal128Type>().unary::<_, Decimal128Type>(i128::abs);
            Arc::new(decimals.with_precision_and_scale(precision, scale).map_err(Error::unexpected)?)
        }
        _ => {
            let numbers = converted(operand, &DataType::Int64)?;
            let numbers = numbers.array.as_primitive::<Int64Type>();
            Arc::new(numbers.try_unary::<_, Int64Type, _>(|number| number.checked_abs().ok_or_else(too_large))?)
        }
    })
}

/// The values with the other sign, also of zero: integers as 64-bit ones, others with their own type.
///
/// # Errors
/// `Invalid` for integers beyond 64 bits.
pub(super) fn negated(operand: &RowOperand) -> Result<ArrayRef> {
    let numbers = match operand.array.data_type() {
        DataType::Null => return Ok(Arc::clone(&operand.array)),
        data_type if data_type.is_integer() => converted(operand, &DataType::Int64)?,
        _ => operand.clone(),
    };
    neg(&numbers.array).map_err(|_| too_large())
}

/// The values rounded to so many digits after the point, or before it if negative; halves away from zero. Integers with a sign
/// become 64-bit ones. Decimals keep their digits after the point, which may be zeros.
///
/// # Errors
/// `Invalid` for integers beyond 64 bits, and for decimals of more than 38 digits.
pub(super) fn rounded(operand: &RowOperand, digits: i32) -> Result<ArrayRef> {
    let array = &operand.array;
    Ok(match array.data_type() {
        DataType::Null => Arc::clone(array),
        data_type if data_type.is_floating() => {
            let floats = converted(operand, &DataType::Float64)?;
            let floats = floats.array.as_primitive::<Float64Type>();
            let rounded = floats.unary::<_, Float64Type>(|number| rounded_float(number, digits));
            let rounded = RowOperand { array: Arc::new(rounded), is_scalar: operand.is_scalar };
            converted(&rounded, data_type)?.array
        }
        data_type if data_type.is_decimal() => {
            let (decimals, precision, scale) = decimals(operand, 1)?;
            let places = i32::from(scale) - digits;
            let round = |value: i128| rounded_integer(value, places).filter(|value| fits(*value, precision));
            let decimals = decimals.as_primitive::<Decimal128Type>();
            let decimals = decimals.try_unary::<_, Decimal128Type, _>(|value| round(value).ok_or_else(too_large))?;
            Arc::new(decimals.with_precision_and_scale(precision, scale).map_err(Error::unexpected)?)
        }
        DataType::UInt64 => {
            let numbers = array.as_primitive::<UInt64Type>();
            let round = |number: u64| u64::try_from(rounded_integer(i128::from(number), -digits)?).ok();
            Arc::new(numbers.try_unary::<_, UInt64Type, _>(|number| round(number).ok_or_else(too_large))?)
        }
        _ => {
            let numbers = converted(operand, &DataType::Int64)?;
            let numbers = numbers.array.as_primitive::<Int64Type>();
            let round = |number: i64| i64::try_from(rounded_integer(i128::from(number), -digits)?).ok();
            Arc::new(numbers.try_unary::<_, Int64Type, _>(|number| round(number).ok_or_else(too_large))?)
        }
    })
}

/// The values as 128-bit decimals with so many digits more, and their precision and scale.
fn decimals(operand: &RowOperand, more_digits: u8) -> Result<(ArrayRef, u8, i8)> {
    let (precision, scale) = match operand.array.data_type() {
        DataType::Decimal32(p, s)
        | DataType::Decimal64(p, s)
        | DataType::Decimal128(p, s)
        | DataType::Decimal256(p, s) => (*p, *s),
        other => return Err(Error::internal(format!("{other} is no decimal"))),
    };
    let precision = precision.saturating_add(more_digits).min(MOST_DIGITS);
    let decimals = converted(operand, &DataType::Decimal128(precision, scale))?;
    Ok((decimals.array, precision, scale))
}

fn fits(value: i128, precision: u8) -> bool {
    value.unsigned_abs() < 10u128.pow(u32::from(precision))
}

/// An integer whose last `places` digits become zeros; `None` beyond 128 bits.
fn rounded_integer(value: i128, places: i32) -> Option<i128> {
    let Ok(places @ 1..) = u32::try_from(places) else { return Some(value) };
    let Some(unit) = 10i128.checked_pow(places) else { return Some(0) };
    let rest = value % unit;
    let is_up = rest.unsigned_abs() >= unit.unsigned_abs().div_ceil(2);
    let down = value - rest;
    if is_up { down.checked_add(unit * value.signum()) } else { Some(down) }
}

/// As duckdb and PostgreSQL round floats: scaled by a power of ten, and back. A number too large for that has no such digits.
fn rounded_float(value: f64, digits: i32) -> f64 {
    let unit = 10f64.powi(digits.abs());
    let rounded = if digits < 0 { (value / unit).round() * unit } else { (value * unit).round() / unit };
    match rounded.is_finite() {
        true => rounded,
        false if digits < 0 && value.is_finite() => 0.0,
        false => value,
    }
}

fn too_large() -> Error {
    Error::invalid("a value is out of range").advice("CAST it to a wider type, such as double")
}

#[cfg(test)]
mod tests;
