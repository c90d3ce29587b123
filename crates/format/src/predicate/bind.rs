//! From expressions to conditions: names resolved, types checked, literals converted once.

mod calls;

use std::sync::Arc;

use arrow::array::types::*;
use arrow::array::*;
use arrow::datatypes::{DataType, Field, Fields, Schema};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use lakerace_io::{Error, Result};

use super::like::Pattern;
use super::literal::{Place, describe, is_instant, place, to_f64};
use super::node::{Node, Scalar};
use super::time::{DAY_NS, parse_time, parse_timestamp};
use super::value::{Value, is_binary, is_text, plain_type};
use super::{ColumnRef, evaluate};
use crate::suggestions::column_not_found;
use crate::{ArithmeticOp, CompareOp, Expr, Literal};

/// Deeper nesting than any person writes; evaluation recurses as deep.
const MAX_DEPTH: usize = 200;

pub(super) fn bind(expr: &Expr, schema: &Schema) -> Result<Node> {
    Binder { schema }.condition(expr, 0)
}

/// An expression as a value for each row, and the type of its values.
pub(super) fn bind_value(expr: &Expr, schema: &Schema) -> Result<(Scalar, DataType)> {
    let binder = Binder { schema };
    let scalar = binder.scalar(expr, 0)?;
    let data_type = binder.type_of(&scalar)?;
    Ok((scalar, data_type))
}

/// A class of values that can be compared with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
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

struct Binder<'a> {
    schema: &'a Schema,
}

impl Binder<'_> {
    fn condition(&self, expr: &Expr, depth: usize) -> Result<Node> {
        if depth > MAX_DEPTH {
            return Err(Error::unsupported(format!("the filter is nested deeper than {MAX_DEPTH} levels")));
        }
        match expr {
            Expr::Literal(Literal::Null) => Ok(Node::Constant(None)),
            Expr::Literal(Literal::Boolean(b)) => Ok(Node::Constant(Some(*b))),
            Expr::Literal(other) => Err(Error::invalid(format!("{} is not a condition", describe(other)))),
            Expr::Arithmetic { .. } => Err(Error::invalid("a number is not a condition")),
            Expr::Column(name) => {
                let column = self.column(name)?;
                match class_of(&column.data_type) {
                    Class::Boolean => Ok(Node::Truth(Scalar::Column(column))),
                    Class::Null => Ok(Node::Constant(None)),
                    _ => Err(Error::invalid(format!("column {name:?} is {}, not a condition", column.data_type))),
                }
            }
            Expr::And(all) => Ok(Node::And(self.flatten(all, depth, true)?)),
            Expr::Or(any) => Ok(Node::Or(self.flatten(any, depth, false)?)),
            Expr::Not(inner) => Ok(Node::Not(Box::new(self.condition(inner, depth + 1)?))),
            Expr::IsNull(inner) => Ok(Node::IsNull(self.scalar(inner, depth + 1)?)),
            Expr::Compare { op, left, right } => self.compare(*op, left, right, depth + 1),
            Expr::In { expr, list } => self.is_in(expr, list, depth + 1),
            Expr::Call { .. } | Expr::Cast { .. } | Expr::Case { .. } => {
                let scalar = self.scalar(expr, depth + 1)?;
                match class(&scalar) {
                    Class::Boolean => fold(Node::Truth(scalar)),
                    Class::Null => Ok(Node::Constant(None)),
                    _ => Err(Error::invalid(format!("{} is not a condition", words(&scalar)))),
                }
            }
            Expr::Like { expr, pattern, escape, case_insensitive } => {
                let Expr::Column(name) = expr.as_ref() else {
                    let pattern = Pattern::new(pattern, *escape, *case_insensitive).map_err(Error::invalid)?;
                    return self.like(expr, pattern, depth + 1);
                };
                let column = self.column(name)?;
                if !is_text(&column.data_type) {
                    return Err(Error::invalid(format!(
                        "column {name:?} is {}, and LIKE needs text",
                        column.data_type
                    )));
                }
                let pattern = Pattern::new(pattern, *escape, *case_insensitive).map_err(Error::invalid)?;
                Ok(Node::Like { column, pattern })
            }
        }
    }

    /// The conditions, those of a nested AND in an AND (OR in an OR) pulled up.
    fn flatten(&self, exprs: &[Expr], depth: usize, is_and: bool) -> Result<Vec<Node>> {
        let mut nodes = Vec::with_capacity(exprs.len());
        for expr in exprs {
            match (self.condition(expr, depth + 1)?, is_and) {
                (Node::And(inner), true) | (Node::Or(inner), false) => nodes.extend(inner),
                (node, _) => nodes.push(node),
            }
        }
        Ok(nodes)
    }

    fn compare(&self, op: CompareOp, left: &Expr, right: &Expr, depth: usize) -> Result<Node> {
        match (left, right) {
            (Expr::Column(name), Expr::Literal(literal)) => self.compare_column(op, name, literal),
            (Expr::Literal(literal), Expr::Column(name)) => self.compare_column(op.flipped(), name, literal),
            _ => {
                let (left, right) = self.scalar_pair(left, right, depth)?;
                let (l, r) = (class(&left), class(&right));
                if l == Class::Null || r == Class::Null {
                    return Ok(Node::Constant(None));
                }
                // A column against what is the same for all rows is held against statistics, too.
                for (column, constant, op) in [(&left, &right, op), (&right, &left, op.flipped())] {
                    if let (Scalar::Column(column), Some(literal)) = (column, self.folded(constant)?)
                        && let Ok(place) = place(&literal, &column.data_type)
                    {
                        return Ok(compare_at(op, Arc::clone(column), place));
                    }
                }
                let is_comparable = (l == r && l != Class::Other)
                    || matches!((l, r), (Class::Text, Class::Binary) | (Class::Binary, Class::Text));
                if !is_comparable {
                    return Err(Error::invalid(format!("{} can't be compared with {}", words(&left), words(&right))));
                }
                if (is_fixed_binary(&left) && r == Class::Text) || (l == Class::Text && is_fixed_binary(&right)) {
                    let message = format!("{} can't be compared with {}", words(&left), words(&right));
                    return Err(Error::invalid(message).advice("a constant is taken for a UUID beside 16 bytes"));
                }
                fold(Node::CompareScalars { op, left, right })
            }
        }
    }

    fn compare_column(&self, op: CompareOp, name: &str, literal: &Literal) -> Result<Node> {
        let column = self.column(name)?;
        if plain_type(&column.data_type) == &DataType::Null {
            return Ok(Node::Constant(None));
        }
        let place = place(literal, &column.data_type).map_err(|what| wrong_type(name, &what))?;
        Ok(compare_at(op, column, place))
    }

    fn is_in(&self, expr: &Expr, list: &[Literal], depth: usize) -> Result<Node> {
        let Expr::Column(name) = expr else {
            let equal =
                |literal: &Literal| self.compare(CompareOp::Eq, expr, &Expr::Literal(literal.clone()), depth + 1);
            return Ok(Node::Or(list.iter().map(equal).collect::<Result<_>>()?));
        };
        let column = self.column(name)?;
        let (mut values, mut has_null) = (Vec::with_capacity(list.len()), false);
        for literal in list {
            match place(literal, &column.data_type).map_err(|what| wrong_type(name, &what))? {
                Place::Null => has_null = true,
                Place::At(value) => values.push(value),
                // No value of the column equals it.
                Place::After(_) | Place::Below | Place::Above => {}
            }
        }
        Ok(Node::In { column, values, has_null })
    }

    /// Both sides of a comparison or an arithmetic operation; a text literal beside a date becomes one.
    fn scalar_pair(&self, left: &Expr, right: &Expr, depth: usize) -> Result<(Scalar, Scalar)> {
        let (l, r) = (self.scalar(left, depth)?, self.scalar(right, depth)?);
        let as_time = |literal: &Expr, scalar: Scalar, other: Class| match literal {
            Expr::Literal(Literal::Text(text)) if other == Class::Instant => {
                let (nanoseconds, _) = parse_timestamp(text)
                    .ok_or_else(|| Error::invalid(format!("'{text}' is no date or timestamp such as 2024-02-29")))?;
                instant(nanoseconds).map(Scalar::Constant)
            }
            Expr::Literal(Literal::Text(text)) if other == Class::Time => {
                let nanoseconds =
                    parse_time(text).ok_or_else(|| Error::invalid(format!("'{text}' is no time such as 23:59:59")))?;
                Ok(Scalar::Constant(Arc::new(Time64NanosecondArray::from(vec![nanoseconds]))))
            }
            _ => Ok(scalar),
        };
        let (class_l, class_r) = (class(&l), class(&r));
        Ok((as_time(left, l, class_r)?, as_time(right, r, class_l)?))
    }

    fn scalar(&self, expr: &Expr, depth: usize) -> Result<Scalar> {
        if depth > MAX_DEPTH {
            return Err(Error::unsupported(format!("the filter is nested deeper than {MAX_DEPTH} levels")));
        }
        match expr {
            Expr::Column(name) => Ok(Scalar::Column(self.column(name)?)),
            Expr::Literal(literal) => constant(literal).map(Scalar::Constant),
            Expr::Arithmetic { op, left, right } => {
                let (left, right) = self.scalar_pair(left, right, depth + 1)?;
                check_arithmetic(*op, &left, &right)?;
                Ok(Scalar::Arithmetic { op: *op, left: Box::new(left), right: Box::new(right) })
            }
            Expr::Call { function, arguments } => self.call(*function, arguments, depth + 1),
            Expr::Cast { expr, data_type, is_lenient } => self.cast(expr, data_type, *is_lenient, depth + 1),
            Expr::Case { branches, otherwise } => self.case(branches, otherwise.as_deref(), depth + 1),
            condition => Ok(Scalar::Condition(Box::new(self.condition(condition, depth + 1)?))),
        }
    }

    fn column(&self, name: &str) -> Result<Arc<ColumnRef>> {
        find_column(self.schema.fields(), name).map(Arc::new)
    }
}

/// The column of this name, or else the field that its dots lead to through structs. One that does not exist is an error
/// that names the nearest.
pub(crate) fn find_column(fields: &Fields, name: &str) -> Result<ColumnRef> {
    if let Some((root, path, data_type)) = resolve(fields, name)? {
        return Ok(ColumnRef { root, path, data_type });
    }
    // Where the struct exists, a field of it was meant.
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

fn wrong_type(name: &str, what: &str) -> Error {
    Error::invalid(format!("column {name:?}: {what}"))
}

/// A comparison of a column with a place on its axis.
fn compare_at(op: CompareOp, column: Arc<ColumnRef>, place: Place) -> Node {
    use CompareOp::*;
    let is_float = plain_type(&column.data_type).is_floating();
    match place {
        Place::Null => Node::Constant(None),
        Place::At(value) => Node::Compare { column, op, value },
        // Between two neighbours, nothing is equal, and less means at most the lower one.
        Place::After(value) => match op {
            Less | LessOrEq => Node::Compare { column, op: LessOrEq, value },
            Greater | GreaterOrEq => Node::Compare { column, op: Greater, value },
            Eq | NotEq => Node::Known { column, value: op == NotEq },
        },
        // Beyond the finite floats there still is an infinity, and NaN is on no side of anything.
        Place::Below | Place::Above if is_float && !matches!(op, Eq | NotEq) => {
            let infinity = if place == Place::Above { f64::INFINITY } else { f64::NEG_INFINITY };
            let op = match (op, place == Place::Above) {
                (Less | LessOrEq, true) => Less,
                (Greater | GreaterOrEq, true) => GreaterOrEq,
                (Less | LessOrEq, false) => LessOrEq,
                (_, _) => Greater,
            };
            Node::Compare { column, op, value: Value::Float(infinity) }
        }
        Place::Below => Node::Known { column, value: matches!(op, Greater | GreaterOrEq | NotEq) },
        Place::Above => Node::Known { column, value: matches!(op, Less | LessOrEq | NotEq) },
    }
}

fn check_arithmetic(op: ArithmeticOp, left: &Scalar, right: &Scalar) -> Result<()> {
    use ArithmeticOp::{Add, Subtract};
    match (class(left), class(right), op) {
        (Class::Null | Class::Number, Class::Null | Class::Number, _) => Ok(()),
        (Class::Instant, Class::Number, Add | Subtract) if is_date(left) => Ok(()),
        (Class::Number, Class::Instant, Add) if is_date(right) => Ok(()),
        (Class::Instant, Class::Instant, Subtract) if is_date(left) && is_date(right) => Ok(()),
        (Class::Instant, Class::Interval, Add | Subtract) | (Class::Interval, Class::Instant, Add) => Ok(()),
        (Class::Instant, _, _) | (_, Class::Instant, _) => Err(Error::unsupported(format!(
            "{} and {} can't be combined: days are added to dates, and intervals to dates and timestamps",
            words(left),
            words(right)
        ))),
        _ => Err(Error::invalid(format!("{} and {} can't be combined by arithmetic", words(left), words(right)))),
    }
}

fn is_date(scalar: &Scalar) -> bool {
    match scalar {
        Scalar::Column(column) => plain_type(&column.data_type) == &DataType::Date32,
        Scalar::Constant(array) => array.data_type() == &DataType::Date32,
        Scalar::Arithmetic { left, right, .. } => {
            let is_sum = |date: &Scalar, days: &Scalar| is_date(date) && class(days) == Class::Number;
            is_sum(left, right) || is_sum(right, left)
        }
        Scalar::Condition(_) => false,
        Scalar::Call { data_type, .. } => data_type == &DataType::Date32,
    }
}

/// Values of one size, such as UUIDs: their bytes are no text's.
fn is_fixed_binary(scalar: &Scalar) -> bool {
    matches!(scalar, Scalar::Column(column) if matches!(plain_type(&column.data_type), DataType::FixedSizeBinary(_)))
}

fn class(scalar: &Scalar) -> Class {
    match scalar {
        Scalar::Column(column) => class_of(&column.data_type),
        Scalar::Constant(array) => class_of(array.data_type()),
        Scalar::Condition(_) => Class::Boolean,
        Scalar::Call { data_type, .. } => class_of(data_type),
        Scalar::Arithmetic { left, right, .. } => match (class(left), class(right)) {
            (Class::Instant, Class::Number | Class::Interval) | (Class::Number | Class::Interval, Class::Instant) => {
                Class::Instant
            }
            (Class::Null, _) | (_, Class::Null) => Class::Null,
            _ => Class::Number,
        },
    }
}

fn class_of(data_type: &DataType) -> Class {
    match plain_type(data_type) {
        DataType::Null => Class::Null,
        DataType::Boolean => Class::Boolean,
        DataType::Time32(_) | DataType::Time64(_) => Class::Time,
        DataType::Interval(_) => Class::Interval,
        t if t.is_numeric() => Class::Number,
        t if is_text(t) => Class::Text,
        t if is_binary(t) => Class::Binary,
        t if is_instant(t) => Class::Instant,
        _ => Class::Other,
    }
}

fn words(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Column(column) => format!("column {:?} ({})", column.name(), column.data_type),
        Scalar::Constant(array) => match Value::from_array(array, 0) {
            Some(value) => format!("{} ({})", value.display(array.data_type()), array.data_type()),
            None if matches!(array.data_type(), DataType::Interval(_)) => "an interval".to_owned(),
            None => "NULL".to_owned(),
        },
        Scalar::Arithmetic { .. } if class(scalar) == Class::Instant => "a computed date".to_owned(),
        Scalar::Arithmetic { .. } => "a computed number".to_owned(),
        Scalar::Condition(_) => "a condition (Boolean)".to_owned(),
        Scalar::Call { data_type, .. } => format!("a computed value ({data_type})"),
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
    if let Ok(nanoseconds) = i64::try_from(nanoseconds) {
        return Ok(Arc::new(TimestampNanosecondArray::from(vec![nanoseconds])));
    }
    match i64::try_from(nanoseconds.div_euclid(1000)) {
        Ok(microseconds) if nanoseconds % 1000 == 0 => {
            Ok(Arc::new(TimestampMicrosecondArray::from(vec![microseconds])))
        }
        _ => Err(Error::invalid("a timestamp this far away can't have nanoseconds")),
    }
}

/// Conditions without columns are worked out once.
fn fold(node: Node) -> Result<Node> {
    let mut has_columns = false;
    node.visit_columns(&mut |_| has_columns = true);
    if has_columns {
        return Ok(node);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row =
        RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).map_err(Error::unexpected)?;
    let value = evaluate::evaluate(&node, &row)?;
    Ok(Node::Constant(value.is_valid(0).then(|| value.value(0))))
}
