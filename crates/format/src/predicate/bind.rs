//! Conversion of expressions to conditions: names resolved, types checked, literals converted once.

mod calls;

pub(super) use self::calls::is_uuid_value;

use std::sync::Arc;

use arrow::array::types::*;
use arrow::array::*;
use arrow::datatypes::{DataType, Field, Fields, Schema};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use lakerace_io::{Error, ErrorKind, Result};

use super::like::LikePattern;
use super::literal::{LiteralPlace, describe, is_instant, place_literal, to_f64};
use super::node::{ConditionNode, RowScalar};
use super::time::{DAY_NS, parse_time, parse_timestamp};
use super::value::{Value, is_binary, is_text, plain_type};
use super::{ColumnRef, evaluate};
use crate::expr::{ArithmeticOp, CompareOp, Expr, Literal};
use crate::schema_text::{UUID, print_type};
use crate::suggestions::{column_not_found, column_or_text_not_found};

/// Deeper nesting than any person writes; evaluation recurses as deep.
const MAX_DEPTH: usize = 200;

pub(super) fn bind(expr: &Expr, schema: &Schema) -> Result<ConditionNode> {
    PredicateBinder { schema }.condition(expr, 0)
}

/// An expression as a value for each row, and the type of its values.
pub(super) fn bind_value(expr: &Expr, schema: &Schema) -> Result<(RowScalar, DataType)> {
    let binder = PredicateBinder { schema };
    let scalar = binder.scalar(expr, 0)?;
    let data_type = binder.type_of(&scalar)?;
    Ok((scalar, data_type))
}

/// A class of values that can be compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ComparisonClass {
    Null,
    Boolean,
    Number,
    Text,
    Binary,
    Instant,
    Time,
    Interval,
    Other,
}

struct PredicateBinder<'a> {
    schema: &'a Schema,
}

impl PredicateBinder<'_> {
    fn condition(&self, expr: &Expr, depth: usize) -> Result<ConditionNode> {
        if depth > MAX_DEPTH {
            return Err(Error::unsupported(format!("it is nested deeper than {MAX_DEPTH} levels")));
        }
        match expr {
            Expr::Literal(Literal::Null) => Ok(ConditionNode::Constant(None)),
            Expr::Literal(Literal::Boolean(b)) => Ok(ConditionNode::Constant(Some(*b))),
            Expr::Literal(other) => Err(Error::invalid(format!("{} is not a condition", describe(other)))
                .advice("compare a column with a value, as in price > 100")),
            Expr::Arithmetic { .. } => {
                Err(Error::invalid("a number is not a condition")
                    .advice("compare it with a value, as in price * 2 > 100"))
            }
            Expr::Column(name) => {
                let column = self.column(name)?;
                match class_of(&column.data_type) {
                    ComparisonClass::Boolean => Ok(ConditionNode::Truth(RowScalar::Column(column))),
                    ComparisonClass::Null => Ok(ConditionNode::Constant(None)),
                    _ => Err(Error::invalid(format!(
                        "column {name:?} is {}, not a condition",
                        self.type_of_column(&column)
                    ))
                    .advice("compare it with a value, or CAST it to bool")),
                }
            }
            Expr::And(all) => Ok(ConditionNode::And(self.flatten(all, depth, true)?)),
            Expr::Or(any) => Ok(ConditionNode::Or(self.flatten(any, depth, false)?)),
            Expr::Not(inner) => Ok(ConditionNode::Not(Box::new(self.condition(inner, depth + 1)?))),
            Expr::IsNull(inner) => Ok(ConditionNode::IsNull(self.scalar(inner, depth + 1)?)),
            Expr::Compare { op, left, right } => self.compare(*op, left, right, depth + 1),
            Expr::In { expr, list } => self.is_in(expr, list, depth + 1),
            Expr::Call { .. } | Expr::Cast { .. } | Expr::Case { .. } => {
                let scalar = self.scalar(expr, depth + 1)?;
                match class(&scalar) {
                    ComparisonClass::Boolean => fold(ConditionNode::Truth(scalar)),
                    ComparisonClass::Null => Ok(ConditionNode::Constant(None)),
                    _ => Err(Error::invalid(format!("{} is not a condition", words(&scalar, self.schema)))),
                }
            }
            Expr::Like { expr, pattern, escape, case_insensitive } => {
                let Expr::Column(name) = expr.as_ref() else {
                    let pattern = LikePattern::new(pattern, *escape, *case_insensitive).map_err(Error::invalid)?;
                    return self.like(expr, pattern, depth + 1);
                };
                let column = self.column(name)?;
                if !is_text(&column.data_type) {
                    return Err(Error::invalid(format!(
                        "column {name:?} is {}, but LIKE needs text",
                        self.type_of_column(&column)
                    ))
                    .advice(calls::like_advice(&column.data_type)));
                }
                let pattern = LikePattern::new(pattern, *escape, *case_insensitive).map_err(Error::invalid)?;
                Ok(ConditionNode::Like { column, pattern })
            }
        }
    }

    /// The conditions, those of a nested AND in an AND (OR in an OR) pulled up.
    fn flatten(&self, exprs: &[Expr], depth: usize, is_and: bool) -> Result<Vec<ConditionNode>> {
        let mut nodes = Vec::with_capacity(exprs.len());
        for expr in exprs {
            match (self.condition(expr, depth + 1)?, is_and) {
                (ConditionNode::And(inner), true) | (ConditionNode::Or(inner), false) => nodes.extend(inner),
                (node, _) => nodes.push(node),
            }
        }
        Ok(nodes)
    }

    fn compare(&self, op: CompareOp, left: &Expr, right: &Expr, depth: usize) -> Result<ConditionNode> {
        match (left, right) {
            (Expr::Column(name), Expr::Literal(literal)) => self.compare_column(op, name, literal),
            (Expr::Literal(literal), Expr::Column(name)) => self.compare_column(op.flipped(), name, literal),
            _ => {
                let (left, right) = self.scalar_pair(left, right, depth)?;
                let (left, right) = (self.next_to_uuid(&left, &right)?, self.next_to_uuid(&right, &left)?);
                let (l, r) = (class(&left), class(&right));
                if l == ComparisonClass::Null || r == ComparisonClass::Null {
                    return Ok(ConditionNode::Constant(None));
                }
                // Statistics also decide comparisons of a column with a value that is the same for all rows.
                for (column, constant, op) in [(&left, &right, op), (&right, &left, op.flipped())] {
                    if let (RowScalar::Column(column), Some(literal)) = (column, self.folded(constant)?)
                        && let Ok(place) = place_literal(&literal, &column.data_type, "")
                    {
                        return Ok(compare_at(op, Arc::clone(column), place));
                    }
                }
                let is_comparable = (l == r && l != ComparisonClass::Other)
                    || matches!(
                        (l, r),
                        (ComparisonClass::Text, ComparisonClass::Binary)
                            | (ComparisonClass::Binary, ComparisonClass::Text)
                    );
                if !is_comparable {
                    return Err(Error::invalid(format!(
                        "{} can't be compared with {}",
                        words(&left, self.schema),
                        words(&right, self.schema)
                    )));
                }
                if (is_fixed_binary(&left) && r == ComparisonClass::Text)
                    || (l == ComparisonClass::Text && is_fixed_binary(&right))
                {
                    let message =
                        format!("{} can't be compared with {}", words(&left, self.schema), words(&right, self.schema));
                    return Err(
                        Error::invalid(message).advice("a constant can be a UUID when it is compared with 16 bytes")
                    );
                }
                fold(ConditionNode::CompareScalars { op, left, right })
            }
        }
    }

    /// The text of the type of a column's values.
    fn type_of_column(&self, column: &Arc<ColumnRef>) -> String {
        type_text(&RowScalar::Column(Arc::clone(column)), plain_type(&column.data_type), self.schema)
    }

    fn compare_column(&self, op: CompareOp, name: &str, literal: &Literal) -> Result<ConditionNode> {
        let column = self.column(name)?;
        if plain_type(&column.data_type) == &DataType::Null {
            return Ok(ConditionNode::Constant(None));
        }
        let place = place_literal(literal, &column.data_type, &self.type_of_column(&column));
        let place = place.map_err(|what| wrong_type(name, &what))?;
        Ok(compare_at(op, column, place))
    }

    fn is_in(&self, expr: &Expr, list: &[Literal], depth: usize) -> Result<ConditionNode> {
        let Expr::Column(name) = expr else {
            let equal =
                |literal: &Literal| self.compare(CompareOp::Eq, expr, &Expr::Literal(literal.clone()), depth + 1);
            return Ok(ConditionNode::Or(list.iter().map(equal).collect::<Result<_>>()?));
        };
        let column = self.column(name)?;
        let (mut values, mut has_null) = (Vec::with_capacity(list.len()), false);
        let shown = self.type_of_column(&column);
        for literal in list {
            match place_literal(literal, &column.data_type, &shown).map_err(|what| wrong_type(name, &what))? {
                LiteralPlace::Null => has_null = true,
                LiteralPlace::At(value) => values.push(value),
                // No value of the column equals it.
                LiteralPlace::After(_) | LiteralPlace::Below | LiteralPlace::Above => {}
            }
        }
        Ok(ConditionNode::In { column, values, has_null })
    }

    /// Both sides of a comparison or an arithmetic operation; a text literal next to a date becomes one.
    fn scalar_pair(&self, left: &Expr, right: &Expr, depth: usize) -> Result<(RowScalar, RowScalar)> {
        let (l, r) = (self.scalar(left, depth)?, self.scalar(right, depth)?);
        let as_time = |literal: &Expr, scalar: RowScalar, other: ComparisonClass| match literal {
            Expr::Literal(Literal::Text(text)) if other == ComparisonClass::Instant => {
                let (nanoseconds, _) = parse_timestamp(text)
                    .ok_or_else(|| Error::invalid(format!("'{text}' is not a date or timestamp such as 2024-02-29")))?;
                instant(nanoseconds).map(RowScalar::Constant)
            }
            Expr::Literal(Literal::Text(text)) if other == ComparisonClass::Time => {
                let nanoseconds = parse_time(text)
                    .ok_or_else(|| Error::invalid(format!("'{text}' is not a time such as 23:59:59")))?;
                Ok(RowScalar::Constant(Arc::new(Time64NanosecondArray::from(vec![nanoseconds]))))
            }
            _ => Ok(scalar),
        };
        let (class_l, class_r) = (class(&l), class(&r));
        Ok((as_time(left, l, class_r)?, as_time(right, r, class_l)?))
    }

    fn scalar(&self, expr: &Expr, depth: usize) -> Result<RowScalar> {
        if depth > MAX_DEPTH {
            return Err(Error::unsupported(format!("it is nested deeper than {MAX_DEPTH} levels")));
        }
        match expr {
            Expr::Column(name) => Ok(RowScalar::Column(self.column(name)?)),
            Expr::Literal(literal) => constant(literal).map(RowScalar::Constant),
            Expr::Arithmetic { op, left, right } => {
                let (left, right) = self.scalar_pair(left, right, depth + 1)?;
                check_arithmetic(*op, &left, &right, self.schema)?;
                Ok(RowScalar::Arithmetic { op: *op, left: Box::new(left), right: Box::new(right) })
            }
            Expr::Call { function, arguments } => self.call(*function, arguments, depth + 1),
            Expr::Cast { expr, data_type, is_lenient } => self.cast(expr, data_type, *is_lenient, depth + 1),
            Expr::Case { branches, otherwise } => self.case(branches, otherwise.as_deref(), depth + 1),
            condition => Ok(RowScalar::Condition(Box::new(self.condition(condition, depth + 1)?))),
        }
    }

    fn column(&self, name: &str) -> Result<Arc<ColumnRef>> {
        let fields = self.schema.fields();
        let known = || fields.iter().map(|field| field.name().as_str());
        let found = find_column(fields, name).map_err(|error| match error.kind() {
            ErrorKind::NotFound if !name.contains('.') => column_or_text_not_found(name, known()),
            _ => error,
        });
        found.map(Arc::new)
    }
}

/// The column of this name, or else the field that its dots lead to through structs. A missing one is an error that
/// names the nearest.
pub(crate) fn find_column(fields: &Fields, name: &str) -> Result<ColumnRef> {
    if let Some((root, path, data_type)) = resolve(fields, name)? {
        return Ok(ColumnRef { root, path, data_type });
    }
    // If the struct exists, a field of it was meant.
    if let Some((head, _)) = name.rsplit_once('.')
        && let Some((_, _, DataType::Struct(inner))) = resolve(fields, head)?
    {
        let inner: Vec<String> = inner.iter().map(|f| format!("{head}.{}", f.name())).collect();
        return Err(column_not_found(name, inner.iter().map(String::as_str)));
    }
    Err(column_not_found(name, fields.iter().map(|f| f.name().as_str())))
}

/// The field of this whole name, or else the field that its dots lead to.
fn resolve(fields: &Fields, name: &str) -> Result<Option<(usize, Vec<String>, DataType)>> {
    let mut found = fields.iter().enumerate().filter(|(_, f)| f.name() == name);
    if let Some((index, field)) = found.next() {
        if found.next().is_some() {
            return Err(Error::invalid(format!("there is more than one column {name:?}")));
        }
        return Ok(Some((index, vec![name.to_owned()], field.data_type().clone())));
    }
    for (dot, _) in name.rmatch_indices('.') {
        let is_parent = |f: &&Arc<Field>| f.name() == &name[..dot];
        let Some(index) = fields.iter().position(|f| is_parent(&f)) else { continue };
        let DataType::Struct(inner) = fields[index].data_type() else { continue };
        if let Some((_, mut path, data_type)) = resolve(inner, &name[dot + 1..])? {
            path.insert(0, name[..dot].to_owned());
            return Ok(Some((index, path, data_type)));
        }
    }
    Ok(None)
}

/// The error of a literal that a column can't be compared with.
fn wrong_type(name: &str, what: &str) -> Error {
    Error::invalid(format!("column {name:?}: {what}"))
}

/// A comparison of a column with a place on its axis.
fn compare_at(op: CompareOp, column: Arc<ColumnRef>, place: LiteralPlace) -> ConditionNode {
    use CompareOp::*;
    let is_float = plain_type(&column.data_type).is_floating();
    match place {
        LiteralPlace::Null => ConditionNode::Constant(None),
        LiteralPlace::At(value) => ConditionNode::Compare { column, op, value },
        // Between two neighbours, no value is equal, and less means at most the lower one.
        LiteralPlace::After(value) => match op {
            Less | LessOrEq => ConditionNode::Compare { column, op: LessOrEq, value },
            Greater | GreaterOrEq => ConditionNode::Compare { column, op: Greater, value },
            Eq | NotEq => ConditionNode::Known { column, value: op == NotEq },
        },
        // Beyond the finite floats there still is an infinity, and NaN is on no side of anything.
        LiteralPlace::Below | LiteralPlace::Above if is_float && !matches!(op, Eq | NotEq) => {
            let infinity = if place == LiteralPlace::Above { f64::INFINITY } else { f64::NEG_INFINITY };
            let op = match (op, place == LiteralPlace::Above) {
                (Less | LessOrEq, true) => Less,
                (Greater | GreaterOrEq, true) => GreaterOrEq,
                (Less | LessOrEq, false) => LessOrEq,
                (_, _) => Greater,
            };
            ConditionNode::Compare { column, op, value: Value::Float(infinity) }
        }
        LiteralPlace::Below => ConditionNode::Known { column, value: matches!(op, Greater | GreaterOrEq | NotEq) },
        LiteralPlace::Above => ConditionNode::Known { column, value: matches!(op, Less | LessOrEq | NotEq) },
    }
}

fn check_arithmetic(op: ArithmeticOp, left: &RowScalar, right: &RowScalar, schema: &Schema) -> Result<()> {
    use ArithmeticOp::{Add, Subtract};
    match (class(left), class(right), op) {
        (ComparisonClass::Null | ComparisonClass::Number, ComparisonClass::Null | ComparisonClass::Number, _) => Ok(()),
        (ComparisonClass::Instant, ComparisonClass::Number, Add | Subtract) if is_date(left) => Ok(()),
        (ComparisonClass::Number, ComparisonClass::Instant, Add) if is_date(right) => Ok(()),
        (ComparisonClass::Instant, ComparisonClass::Instant, Subtract) if is_date(left) && is_date(right) => Ok(()),
        (ComparisonClass::Instant, ComparisonClass::Interval, Add | Subtract)
        | (ComparisonClass::Interval, ComparisonClass::Instant, Add) => Ok(()),
        (ComparisonClass::Instant, _, _) | (_, ComparisonClass::Instant, _) => Err(Error::unsupported(format!(
            "{} and {} can't be combined: days are added to dates, and intervals to dates and timestamps",
            words(left, schema),
            words(right, schema)
        ))),
        _ => Err(Error::invalid(format!(
            "{} and {} can't be combined by arithmetic",
            words(left, schema),
            words(right, schema)
        ))),
    }
}

fn is_date(scalar: &RowScalar) -> bool {
    match scalar {
        RowScalar::Column(column) => plain_type(&column.data_type) == &DataType::Date32,
        RowScalar::Constant(array) => array.data_type() == &DataType::Date32,
        RowScalar::Arithmetic { left, right, .. } => {
            let is_sum = |date: &RowScalar, days: &RowScalar| is_date(date) && class(days) == ComparisonClass::Number;
            is_sum(left, right) || is_sum(right, left)
        }
        RowScalar::Condition(_) => false,
        RowScalar::Call { data_type, .. } => data_type == &DataType::Date32,
    }
}

/// Values of one size, such as UUIDs: their bytes are not those of a text.
fn is_fixed_binary(scalar: &RowScalar) -> bool {
    match scalar {
        RowScalar::Column(column) => matches!(plain_type(&column.data_type), DataType::FixedSizeBinary(_)),
        RowScalar::Call { data_type, .. } => matches!(data_type, DataType::FixedSizeBinary(_)),
        _ => false,
    }
}

fn class(scalar: &RowScalar) -> ComparisonClass {
    match scalar {
        RowScalar::Column(column) => class_of(&column.data_type),
        RowScalar::Constant(array) => class_of(array.data_type()),
        RowScalar::Condition(_) => ComparisonClass::Boolean,
        RowScalar::Call { data_type, .. } => class_of(data_type),
        RowScalar::Arithmetic { left, right, .. } => match (class(left), class(right)) {
            (ComparisonClass::Instant, ComparisonClass::Number | ComparisonClass::Interval)
            | (ComparisonClass::Number | ComparisonClass::Interval, ComparisonClass::Instant) => {
                ComparisonClass::Instant
            }
            (ComparisonClass::Null, _) | (_, ComparisonClass::Null) => ComparisonClass::Null,
            _ => ComparisonClass::Number,
        },
    }
}

fn class_of(data_type: &DataType) -> ComparisonClass {
    match plain_type(data_type) {
        DataType::Null => ComparisonClass::Null,
        DataType::Boolean => ComparisonClass::Boolean,
        DataType::Time32(_) | DataType::Time64(_) => ComparisonClass::Time,
        DataType::Interval(_) => ComparisonClass::Interval,
        t if t.is_numeric() => ComparisonClass::Number,
        t if is_text(t) => ComparisonClass::Text,
        t if is_binary(t) => ComparisonClass::Binary,
        t if is_instant(t) => ComparisonClass::Instant,
        _ => ComparisonClass::Other,
    }
}

/// The text of a value's type.
fn type_text(scalar: &RowScalar, data_type: &DataType, schema: &Schema) -> String {
    if is_uuid_value(scalar, schema) { UUID.to_owned() } else { print_type(data_type) }
}

fn words(scalar: &RowScalar, schema: &Schema) -> String {
    let type_text = |data_type: &DataType| type_text(scalar, data_type, schema);
    match scalar {
        RowScalar::Column(column) => format!("column {:?} ({})", column.name(), type_text(&column.data_type)),
        RowScalar::Constant(array) => match Value::from_array(array, 0) {
            Some(value) => format!("{} ({})", value.display(array.data_type()), type_text(array.data_type())),
            None if matches!(array.data_type(), DataType::Interval(_)) => "an interval".to_owned(),
            None => "NULL".to_owned(),
        },
        RowScalar::Arithmetic { .. } if class(scalar) == ComparisonClass::Instant => "a computed date".to_owned(),
        RowScalar::Arithmetic { .. } => "a computed number".to_owned(),
        RowScalar::Condition(_) => "a condition (Boolean)".to_owned(),
        RowScalar::Call { data_type, .. } => format!("a computed value ({})", type_text(data_type)),
    }
}

/// A literal as an array of one value.
fn constant(literal: &Literal) -> Result<ArrayRef> {
    Ok(match literal {
        Literal::Null => Arc::new(NullArray::new(1)),
        Literal::Boolean(b) => Arc::new(BooleanArray::from(vec![*b])),
        Literal::Text(text) => Arc::new(StringViewArray::from(vec![text.as_str()])),
        Literal::Binary(bytes) => Arc::new(BinaryViewArray::from(vec![bytes.as_slice()])),
        Literal::Date(days) => Arc::new(Date32Array::from(vec![*days])),
        Literal::Timestamp { nanoseconds, .. } => return instant(*nanoseconds),
        Literal::Interval { months, days, nanoseconds } => {
            let value = IntervalMonthDayNanoType::make_value(*months, *days, *nanoseconds);
            Arc::new(IntervalMonthDayNanoArray::from(vec![value]))
        }
        Literal::Float(_) | Literal::LongNumber(_) => {
            Arc::new(Float64Array::from(vec![to_f64(literal).unwrap_or(f64::NAN)]))
        }
        Literal::Number { digits, scale: 0 } if i64::try_from(*digits).is_ok() => {
            Arc::new(Int64Array::from(vec![*digits as i64]))
        }
        Literal::Number { digits, scale } => {
            let precision = (digits.unsigned_abs().checked_ilog10().unwrap_or(0) as u8 + 1).max(*scale);
            let array = Decimal128Array::from(vec![*digits]);
            match (precision <= Decimal128Type::MAX_PRECISION)
                .then(|| array.with_precision_and_scale(precision, *scale as i8))
            {
                Some(Ok(array)) => Arc::new(array),
                _ => Arc::new(Float64Array::from(vec![to_f64(literal).unwrap_or(f64::NAN)])),
            }
        }
    })
}

/// The coarsest type that holds an instant exactly.
fn instant(nanoseconds: i128) -> Result<ArrayRef> {
    if nanoseconds % DAY_NS == 0
        && let Ok(days) = i32::try_from(nanoseconds / DAY_NS)
    {
        return Ok(Arc::new(Date32Array::from(vec![days])));
    }
    if nanoseconds % 1000 == 0
        && let Ok(microseconds) = i64::try_from(nanoseconds / 1000)
    {
        return Ok(Arc::new(TimestampMicrosecondArray::from(vec![microseconds])));
    }
    match i64::try_from(nanoseconds) {
        Ok(nanoseconds) => Ok(Arc::new(TimestampNanosecondArray::from(vec![nanoseconds]))),
        Err(_) => Err(Error::invalid("a timestamp this far away can't have nanoseconds")),
    }
}

/// Conditions without columns are worked out once.
fn fold(node: ConditionNode) -> Result<ConditionNode> {
    let mut has_columns = false;
    node.visit_columns(&mut |_| has_columns = true);
    if has_columns {
        return Ok(node);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row =
        RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).map_err(Error::unexpected)?;
    let value = evaluate::evaluate(&node, &row)?;
    Ok(ConditionNode::Constant(value.is_valid(0).then(|| value.value(0))))
}
