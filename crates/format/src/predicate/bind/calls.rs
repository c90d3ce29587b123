//! Functions, casts and branches: their arguments checked, their values brought to one type.

use std::sync::Arc;

use arrow::array::{Array, RecordBatch, new_empty_array, new_null_array};
use arrow::compute::DatePart;
use arrow::datatypes::{DataType, Schema, TimeUnit};
use lakerace_io::{Error, Result};

use super::{ComparisonClass, PredicateBinder, class, class_of, fold, words};
use crate::expr::{Expr, Literal, ScalarFunction};
use crate::extension_types::has_uuid_values;
use crate::predicate::arithmetic::arithmetic;
use crate::predicate::call::FunctionCall;
use crate::predicate::date_trunc::DateUnit;
use crate::predicate::evaluate;
use crate::predicate::like::LikePattern;
use crate::predicate::literal::literal_of;
use crate::predicate::node::{ConditionNode, RowScalar};
use crate::predicate::operand::RowOperand;
use crate::predicate::value::{is_text, plain_type};
use crate::schema_text::UUID;
use crate::uuids::UUID_BYTES;

/// The next step for bytes of one size, which are no text.
const BYTES_ADVICE: &str = "compare it as a whole, with bytes such as X'00FF' or the text of a UUID";

/// The next step where LIKE needs a text.
pub(super) fn like_advice(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::FixedSizeBinary(_) => BYTES_ADVICE,
        _ => "CAST it to text: CAST(a AS text) LIKE 'x%'",
    }
}

impl PredicateBinder<'_> {
    /// A function with its arguments.
    pub(super) fn call(&self, function: ScalarFunction, arguments: &[Expr], depth: usize) -> Result<RowScalar> {
        use ScalarFunction as F;
        let (least, most) = match function {
            F::Coalesce => (1, usize::MAX),
            F::Concat => (2, usize::MAX),
            F::Lower | F::Upper | F::Length | F::Abs | F::Negate => (1, 1),
            F::Round => (1, 2),
            F::Replace => (3, 3),
            F::Trim | F::TrimStart | F::TrimEnd => (1, 2),
            F::Substr | F::RegexpLike => (2, 3),
            F::DateTrunc | F::DatePart | F::StartsWith => (2, 2),
        };
        if arguments.len() < least || arguments.len() > most {
            let message = format!("{} has {} arguments", name(function), arguments.len());
            return Err(Error::usage(message).advice(format!("write it as {}", form(function))));
        }
        let bound = |expr: &Expr| self.scalar(expr, depth);
        let all = || arguments.iter().map(bound).collect::<Result<Vec<RowScalar>>>();
        match function {
            F::Coalesce => {
                let values = self.of_one_type(all()?, name(function))?;
                self.bound_call(FunctionCall::Coalesce, values)
            }
            F::Lower => self.over_texts(function, FunctionCall::Lower, all()?, arguments.len()),
            F::Upper => self.over_texts(function, FunctionCall::Upper, all()?, arguments.len()),
            F::Length => self.over_texts(function, FunctionCall::Length, all()?, arguments.len()),
            F::Concat => self.over_texts(function, FunctionCall::Concat, all()?, arguments.len()),
            F::Trim => self.over_texts(function, FunctionCall::Trim { at_start: true, at_end: true }, all()?, 2),
            F::TrimStart => self.over_texts(function, FunctionCall::Trim { at_start: true, at_end: false }, all()?, 2),
            F::TrimEnd => self.over_texts(function, FunctionCall::Trim { at_start: false, at_end: true }, all()?, 2),
            F::Replace => self.over_texts(function, FunctionCall::Replace, all()?, 3),
            F::StartsWith => self.over_texts(function, FunctionCall::StartsWith, all()?, 2),
            F::Abs => self.over_texts(function, FunctionCall::Abs, all()?, 0),
            F::Negate => self.over_texts(function, FunctionCall::Negate, all()?, 0),
            F::Round => {
                let digits = match arguments.get(1) {
                    None => 0,
                    Some(digits) => self.whole_number(digits, depth)?.ok_or_else(|| {
                        Error::unsupported("the digits of round must be a constant integer")
                            .advice(format!("write it as {}", form(function)))
                    })?,
                };
                self.over_texts(function, FunctionCall::Round { digits }, vec![bound(&arguments[0])?], 0)
            }
            F::Substr => self.over_texts(function, FunctionCall::Substr, all()?, 1),
            F::RegexpLike => {
                let text = |at: usize| match arguments.get(at) {
                    Some(Expr::Literal(Literal::Text(text))) => Ok(Some(text.clone())),
                    None => Ok(None),
                    Some(_) => Err(Error::unsupported("the regular expression must be a text constant")
                        .advice(format!("write it as {}", form(function)))),
                };
                if arguments[1..].iter().any(|argument| matches!(argument, Expr::Literal(Literal::Null))) {
                    self.over_texts(function, FunctionCall::Lower, vec![bound(&arguments[0])?], 1)?;
                    return Ok(null_of(&DataType::Boolean));
                }
                let (pattern, flags) = (text(1)?.unwrap_or_default(), text(2)?);
                self.over_texts(function, FunctionCall::Regexp { pattern, flags }, vec![bound(&arguments[0])?], 1)
            }
            F::DateTrunc | F::DatePart => {
                let Expr::Literal(Literal::Text(part)) = &arguments[0] else {
                    return Err(Error::unsupported(format!("the unit of {} must be a text constant", name(function)))
                        .advice(format!("write it as {}", form(function))));
                };
                let value = match bound(&arguments[1])? {
                    null if class(&null) == ComparisonClass::Null => {
                        null_of(&DataType::Timestamp(TimeUnit::Microsecond, None))
                    }
                    value => value,
                };
                let is_clock = class(&value) == ComparisonClass::Time && function == F::DatePart;
                if class(&value) != ComparisonClass::Instant && !is_clock {
                    let message =
                        format!("{} takes a date or timestamp, not {}", name(function), words(&value, self.schema));
                    return Err(Error::invalid(message).advice("CAST a text to one: CAST(a AS timestamp)"));
                }
                let call = if function == F::DateTrunc {
                    FunctionCall::DateTrunc(DateUnit::parse(part)?)
                } else {
                    date_part(part)?
                };
                self.bound_call(call, vec![value])
            }
        }
    }

    /// The value of a constant integer; `None` for other values.
    fn whole_number(&self, expr: &Expr, depth: usize) -> Result<Option<i32>> {
        let value = self.folded(&self.scalar(expr, depth)?)?;
        Ok(match value {
            Some(Literal::Number { digits, scale: 0 }) => i32::try_from(digits).ok(),
            _ => None,
        })
    }

    /// A value as another type.
    pub(super) fn cast(&self, expr: &Expr, data_type: &str, is_lenient: bool, depth: usize) -> Result<RowScalar> {
        let to = crate::schema_text::parse_type(data_type)?;
        let value = self.scalar(expr, depth)?;
        let from = self.type_of(&value)?;
        let (is_uuid, is_bytes) = (is_uuid_value(&value, self.schema), class(&value) == ComparisonClass::Binary);
        if data_type.trim().eq_ignore_ascii_case(UUID) {
            return match is_uuid {
                true => Ok(value),
                false if is_text(&from) || is_bytes => self.bound_call(FunctionCall::Uuid { is_lenient }, vec![value]),
                false if from == DataType::Null => Ok(null_of(&to)),
                false => Err(Error::invalid(format!("{} can't be cast to uuid", words(&value, self.schema)))
                    .advice("a text or 16 bytes can be cast to it")),
            };
        }
        if is_uuid && is_text(&to) {
            return self.bound_call(FunctionCall::UuidText, vec![value]);
        }
        if !arrow::compute::can_cast_types(&from, &to) {
            return Err(Error::invalid(format!("{} can't be cast to {data_type}", words(&value, self.schema))).advice(
                match is_text(&to) {
                    true => BYTES_ADVICE,
                    false => "CAST it to another type, such as text",
                },
            ));
        }
        self.bound_call(FunctionCall::Cast { to, is_lenient }, vec![value])
    }

    /// A value that is compared with another one: a constant text next to computed UUIDs is a UUID.
    pub(super) fn next_to_uuid(&self, scalar: &RowScalar, other: &RowScalar) -> Result<RowScalar> {
        let is_computed = matches!(other, RowScalar::Call { .. }) && is_uuid_value(other, self.schema);
        match scalar {
            RowScalar::Constant(text) if is_computed && is_text(text.data_type()) => {
                self.bound_call(FunctionCall::Uuid { is_lenient: false }, vec![scalar.clone()])
            }
            _ => Ok(scalar.clone()),
        }
    }

    /// The value of the first branch that is true.
    pub(super) fn case(&self, branches: &[(Expr, Expr)], otherwise: Option<&Expr>, depth: usize) -> Result<RowScalar> {
        let mut conditions = Vec::with_capacity(branches.len());
        let mut values = Vec::with_capacity(branches.len() + 1);
        for (condition, value) in branches {
            conditions.push(RowScalar::Condition(Box::new(self.condition(condition, depth)?)));
            values.push(self.scalar(value, depth)?);
        }
        values.push(self.scalar(otherwise.unwrap_or(&Expr::Literal(Literal::Null)), depth)?);
        let mut values = self.of_one_type(values, "CASE")?;
        let otherwise = values.pop();
        let pairs = conditions.into_iter().zip(values).flat_map(|(condition, value)| [condition, value]);
        self.bound_call(FunctionCall::Case, pairs.chain(otherwise).collect())
    }

    /// A computed text that matches a pattern.
    pub(super) fn like(&self, expr: &Expr, pattern: LikePattern, depth: usize) -> Result<ConditionNode> {
        let value = self.scalar(expr, depth)?;
        match class(&value) {
            ComparisonClass::Null => Ok(ConditionNode::Constant(None)),
            ComparisonClass::Text => {
                fold(ConditionNode::Truth(self.bound_call(FunctionCall::Like(pattern), vec![value])?))
            }
            _ => Err(Error::invalid(format!("{} is not text, but LIKE needs text", words(&value, self.schema)))
                .advice(like_advice(&self.type_of(&value)?))),
        }
    }

    /// A function whose first arguments are texts, and whose others are numbers.
    fn over_texts(
        &self,
        function: ScalarFunction,
        call: FunctionCall,
        mut arguments: Vec<RowScalar>,
        texts: usize,
    ) -> Result<RowScalar> {
        for (at, argument) in arguments.iter_mut().enumerate() {
            let (wanted, kind, cast) = match at < texts {
                true => (ComparisonClass::Text, "text", "CAST(a AS text)"),
                false => (ComparisonClass::Number, "a number", "CAST(a AS double)"),
            };
            let found = class(argument);
            if found == ComparisonClass::Null {
                *argument = null_of(if at < texts { &DataType::Utf8View } else { &DataType::Int64 });
            } else if found != wanted {
                let message = format!("{} takes {kind}, not {}", name(function), words(argument, self.schema));
                return Err(Error::invalid(message).advice(format!("CAST the value to another type: {cast}")));
            }
        }
        self.bound_call(call, arguments)
    }

    /// A function with the type of its values, or its value if it is one for all rows: an error if it fails for
    /// constants.
    fn bound_call(&self, call: FunctionCall, arguments: Vec<RowScalar>) -> Result<RowScalar> {
        let operands = arguments.iter().map(zero_rows).collect::<Result<Vec<_>>>()?;
        let value = call.evaluate(&operands, 0)?;
        if value.is_scalar {
            return Ok(RowScalar::Constant(value.array));
        }
        Ok(RowScalar::Call { call, arguments, data_type: value.array.data_type().clone() })
    }

    /// The type of a value's values.
    pub(super) fn type_of(&self, scalar: &RowScalar) -> Result<DataType> {
        match scalar {
            RowScalar::Column(column) => Ok(column.data_type.clone()),
            other => Ok(zero_rows(other)?.array.data_type().clone()),
        }
    }

    /// The values, cast to the type that holds all of them.
    fn of_one_type(&self, values: Vec<RowScalar>, what: &str) -> Result<Vec<RowScalar>> {
        let types = values.iter().map(|value| self.type_of(value)).collect::<Result<Vec<_>>>()?;
        let Some(common) = common_type(&types) else {
            let words: Vec<String> = values.iter().map(|value| words(value, self.schema)).collect();
            return Err(Error::invalid(format!("{what} has values of different types: {}", words.join(", ")))
                .advice("CAST them to one type: CAST(a AS text)"));
        };
        let cast = |(value, data_type): (RowScalar, &DataType)| match *data_type == common {
            true => Ok(value),
            false => self.bound_call(FunctionCall::Cast { to: common.clone(), is_lenient: false }, vec![value]),
        };
        values.into_iter().zip(&types).map(cast).collect()
    }

    /// A value without columns as a constant; `None` if it has columns, or there is no constant of its type.
    pub(super) fn folded(&self, scalar: &RowScalar) -> Result<Option<Literal>> {
        let mut has_columns = matches!(scalar, RowScalar::Condition(_));
        scalar.visit_columns(&mut |_| has_columns = true);
        if has_columns {
            return Ok(None);
        }
        let nothing = RecordBatch::new_empty(std::sync::Arc::new(self.schema.clone()));
        let value = evaluate::scalar_operand(scalar, &nothing)?;
        let array = value.array;
        if !value.is_scalar || array.len() != 1 {
            return Ok(None);
        }
        Ok(literal_of(array.as_ref(), 0))
    }
}

/// Returns true if the values are UUIDs: those of such a column, of a cast, and of branches that are all UUIDs. A constant of
/// 16 bytes comes from a cast.
pub(in crate::predicate) fn is_uuid_value(scalar: &RowScalar, schema: &Schema) -> bool {
    let is_null =
        |scalar: &RowScalar| matches!(scalar, RowScalar::Constant(value) if value.null_count() == value.len());
    match scalar {
        RowScalar::Column(column) => column.field(schema).is_some_and(has_uuid_values),
        RowScalar::Constant(value) => *value.data_type() == DataType::FixedSizeBinary(UUID_BYTES),
        RowScalar::Call { call: FunctionCall::Uuid { .. }, .. } => true,
        RowScalar::Call { call: FunctionCall::Cast { to, .. }, arguments, .. } => {
            *to == DataType::FixedSizeBinary(UUID_BYTES) && arguments.iter().all(|value| is_uuid_value(value, schema))
        }
        RowScalar::Call { call: FunctionCall::Coalesce, arguments, .. } => {
            arguments.iter().all(|value| is_null(value) || is_uuid_value(value, schema))
        }
        // Conditions and values by turns, then the last value.
        RowScalar::Call { call: FunctionCall::Case, arguments, .. } => {
            let values = arguments.iter().skip(1).step_by(2).chain(arguments.last());
            values.into_iter().all(|value| is_null(value) || is_uuid_value(value, schema))
        }
        _ => false,
    }
}

/// Null of a type.
fn null_of(data_type: &DataType) -> RowScalar {
    RowScalar::Constant(new_null_array(data_type, 1))
}

/// The values of zero rows, or the value for all rows. The types of functions are known already, so that nested ones are
/// not evaluated again at each level.
fn zero_rows(scalar: &RowScalar) -> Result<RowOperand> {
    let empty = |data_type: &DataType| RowOperand { array: new_empty_array(data_type), is_scalar: false };
    Ok(match scalar {
        RowScalar::Column(column) => empty(plain_type(&column.data_type)),
        RowScalar::Condition(_) => empty(&DataType::Boolean),
        RowScalar::Call { data_type, .. } => empty(data_type),
        RowScalar::Constant(array) => RowOperand { array: Arc::clone(array), is_scalar: true },
        RowScalar::Arithmetic { op, left, right } => arithmetic(*op, &zero_rows(left)?, &zero_rows(right)?)?,
    })
}

/// The type that holds the values of all; `None` if there is none.
fn common_type(types: &[DataType]) -> Option<DataType> {
    let known: Vec<&DataType> =
        types.iter().map(plain_type).filter(|data_type| **data_type != DataType::Null).collect();
    let Some(first) = known.first() else { return Some(DataType::Null) };
    if known.iter().all(|data_type| data_type == first) {
        return Some((*first).clone());
    }
    let first = class_of(first);
    if known.iter().any(|data_type| class_of(data_type) != first) {
        return None;
    }
    match first {
        ComparisonClass::Text => Some(DataType::Utf8View),
        ComparisonClass::Binary => Some(DataType::BinaryView),
        ComparisonClass::Number => common_number(&known),
        ComparisonClass::Instant => Some(common_instant(&known)),
        _ => None,
    }
}

fn common_number(types: &[&DataType]) -> Option<DataType> {
    if types.iter().any(|data_type| data_type.is_floating()) {
        return Some(DataType::Float64);
    }
    let needs_digits = |data_type: &&&DataType| data_type.is_decimal() || **data_type == &DataType::UInt64;
    if types.iter().find(needs_digits).is_none() {
        return Some(DataType::Int64);
    }
    let digits = |data_type: &&DataType| match data_type {
        DataType::Decimal32(p, s)
        | DataType::Decimal64(p, s)
        | DataType::Decimal128(p, s)
        | DataType::Decimal256(p, s) => (i32::from(*p) - i32::from(*s), i32::from(*s)),
        _ => (20, 0),
    };
    let whole = types.iter().map(|data_type| digits(data_type).0).max()?;
    let scale = types.iter().map(|data_type| digits(data_type).1).max()?;
    let (precision, scale) = (u8::try_from(whole + scale).ok()?, i8::try_from(scale).ok()?);
    match precision {
        0..=38 => Some(DataType::Decimal128(precision, scale)),
        39..=76 => Some(DataType::Decimal256(precision, scale)),
        _ => None,
    }
}

fn common_instant(types: &[&DataType]) -> DataType {
    let mut finest = TimeUnit::Microsecond;
    let mut zones = Vec::with_capacity(types.len());
    for data_type in types {
        let zone = match data_type {
            DataType::Timestamp(unit, zone) => {
                finest = if *unit == TimeUnit::Nanosecond { TimeUnit::Nanosecond } else { finest };
                zone.as_deref()
            }
            _ => None,
        };
        zones.push(zone);
    }
    let zone = match zones.as_slice() {
        [first, others @ ..] if others.iter().all(|other| other == first) => *first,
        // A time without a zone is one in UTC, as in comparisons.
        _ => Some("UTC"),
    };
    DataType::Timestamp(finest, zone.map(Into::into))
}

fn date_part(part: &str) -> Result<FunctionCall> {
    let lower = part.to_lowercase();
    Ok(FunctionCall::DatePart(match lower.as_str() {
        "year" | "years" => DatePart::Year,
        "quarter" | "quarters" => DatePart::Quarter,
        "month" | "months" => DatePart::Month,
        "week" | "weeks" => DatePart::Week,
        "day" | "days" => DatePart::Day,
        "dow" | "dayofweek" => DatePart::DayOfWeekSunday0,
        "isodow" => DatePart::DayOfWeekMonday1,
        "doy" | "dayofyear" => DatePart::DayOfYear,
        "hour" | "hours" => DatePart::Hour,
        "minute" | "minutes" => DatePart::Minute,
        "second" | "seconds" => DatePart::Second,
        "epoch" => return Ok(FunctionCall::Epoch),
        _ => {
            return Err(Error::usage(format!("{part:?} is not a part of a date or time")).advice(
                "choose one of year, quarter, month, week, day, dow, isodow, doy, hour, minute, second, epoch",
            ));
        }
    }))
}

/// A function's name in SQL.
fn name(function: ScalarFunction) -> &'static str {
    form(function).split('(').next().unwrap_or_default()
}

fn form(function: ScalarFunction) -> &'static str {
    use ScalarFunction as F;
    match function {
        F::Coalesce => "coalesce(a, b, …)",
        F::Lower => "lower(a)",
        F::Upper => "upper(a)",
        F::Substr => "substr(a, 2, 3)",
        F::Length => "length(a)",
        F::Trim => "trim(a)",
        F::TrimStart => "ltrim(a)",
        F::TrimEnd => "rtrim(a)",
        F::Concat => "concat(a, b)",
        F::DateTrunc => "date_trunc('month', t)",
        F::DatePart => "date_part('year', t)",
        F::RegexpLike => "regexp_like(a, '^x')",
        F::Replace => "replace(a, 'x', 'y')",
        F::StartsWith => "starts_with(a, 'x')",
        F::Abs => "abs(a)",
        F::Negate => "-a",
        F::Round => "round(a, 2)",
    }
}
