//! Conditions that have the same value here and in Spark, for every row.
//!
//! A table's constraints are Spark's SQL, and several expressions have another value there: NaN is the greatest number
//! and equals itself, `trim` only removes blanks, integers wrap around or fail, texts are cast in the time zone of the
//! session. Only expressions that are listed here count as the same; floats are compared as Spark compares them.

use arrow::datatypes::{DataType, Schema};
use lakerace_format::predicate::RowValue;
use lakerace_format::{ArithmeticOp, CompareOp, Expr, Literal, ScalarFunction};
use lakerace_io::{Error, Result};

/// The expressions that constraints may have, for messages.
const ADVICE: &str = "such a condition consists of columns, constants of their types, comparisons, IN, BETWEEN, LIKE, IS NULL, AND, OR, \
                      NOT, CASE, coalesce and length";
/// Arithmetic in a refusal.
const ARITHMETIC: &str = "arithmetic (it may overflow; % by a positive integer does not)";
/// Every integer up to this is a 32-bit float.
const MAX_FLOAT_INTEGER: u128 = 1 << 24;
/// Two decimals of so many digits are never the same 64-bit float.
const MAX_DOUBLE_DIGITS: u32 = 15;
/// The most digits of a decimal.
const MAX_DECIMAL_DIGITS: u32 = 38;

/// A class of values that Spark compares without a cast that could change them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SparkClass {
    Null,
    Boolean,
    /// An integer or decimal with so many digits before and after the point.
    Exact {
        whole: u32,
        scale: u32,
    },
    Float,
    Double,
    Text,
    Binary,
    Date,
    /// A point in time.
    Instant,
    /// A date and time without a zone.
    WallClock,
    Other,
}

/// The condition with Spark's value for every row of this schema; an error where lakerace knows of none.
/// `has_padded_texts`: some text of the table is padded or collated, so that Spark compares texts in another way.
pub(super) fn as_in_spark(expr: &Expr, schema: &Schema, has_padded_texts: bool) -> Result<Expr> {
    SparkMeaning { schema, has_padded_texts }.condition(expr)
}

struct SparkMeaning<'a> {
    schema: &'a Schema,
    has_padded_texts: bool,
}

impl SparkMeaning<'_> {
    fn condition(&self, expr: &Expr) -> Result<Expr> {
        let (expr, class) = self.value(expr)?;
        match class {
            SparkClass::Boolean | SparkClass::Null => Ok(expr),
            _ => Err(refused("a condition that is no comparison")),
        }
    }

    fn conditions(&self, exprs: &[Expr]) -> Result<Vec<Expr>> {
        exprs.iter().map(|expr| self.condition(expr)).collect()
    }

    fn value(&self, expr: &Expr) -> Result<(Expr, SparkClass)> {
        let condition = |expr: Expr| Ok((expr, SparkClass::Boolean));
        match expr {
            Expr::Column(_) => Ok((expr.clone(), self.column(expr)?)),
            Expr::Literal(literal) => Ok((expr.clone(), class_of_literal(literal))),
            Expr::And(parts) => condition(Expr::And(self.conditions(parts)?)),
            Expr::Or(parts) => condition(Expr::Or(self.conditions(parts)?)),
            Expr::Not(inner) => condition(Expr::Not(Box::new(self.condition(inner)?))),
            Expr::IsNull(inner) => condition(Expr::IsNull(Box::new(self.value(inner)?.0))),
            Expr::Compare { op, left, right } => condition(self.compare(*op, left, right)?),
            Expr::In { expr, list } => {
                let (value, class) = self.value(expr)?;
                list.iter().try_for_each(|literal| self.check_literal(class, literal))?;
                condition(Expr::In { expr: Box::new(value), list: list.clone() })
            }
            Expr::Like { expr, pattern, escape: None, case_insensitive: false } if !pattern.contains('\\') => {
                let (value, class) = self.value(expr)?;
                self.check_texts(class)?;
                match class {
                    SparkClass::Text => condition(Expr::Like {
                        expr: Box::new(value),
                        pattern: pattern.clone(),
                        escape: None,
                        case_insensitive: false,
                    }),
                    _ => Err(refused("LIKE next to a value that is no text")),
                }
            }
            Expr::Like { .. } => Err(refused("ILIKE, and LIKE with an escape character or a backslash")),
            Expr::Call { function: ScalarFunction::Length, arguments } => self.length(arguments),
            Expr::Call { function: ScalarFunction::Coalesce, arguments } => {
                let (arguments, class) = self.of_one_class(arguments.iter().collect())?;
                Ok((Expr::Call { function: ScalarFunction::Coalesce, arguments }, class))
            }
            Expr::Call { function: ScalarFunction::Negate, .. } => Err(refused(ARITHMETIC)),
            Expr::Call { function, .. } => Err(refused(&format!("the function {function:?}"))),
            Expr::Case { branches, otherwise } => self.case(branches, otherwise.as_deref()),
            Expr::Arithmetic { op, left, right } => self.modulo(*op, left, right),
            Expr::Cast { data_type, .. } => Err(refused(&format!("a cast to {data_type}"))),
        }
    }

    fn column(&self, expr: &Expr) -> Result<SparkClass> {
        if let Expr::Column(name) = expr
            && name.contains('.')
            && self.schema.fields().iter().any(|field| field.name().contains('.'))
        {
            return Err(refused(&format!("the name {name:?} in a table with dots in the names of columns")));
        }
        Ok(class_of_type(RowValue::bind(expr, self.schema)?.data_type()))
    }

    fn length(&self, arguments: &[Expr]) -> Result<(Expr, SparkClass)> {
        let [argument] = arguments else { return Err(refused("length of several values")) };
        let (value, class) = self.value(argument)?;
        self.check_texts(class)?;
        match class {
            SparkClass::Text => {
                let call = Expr::Call { function: ScalarFunction::Length, arguments: vec![value] };
                Ok((call, SparkClass::Exact { whole: 10, scale: 0 }))
            }
            _ => Err(refused("length of a value that is no text")),
        }
    }

    fn case(&self, branches: &[(Expr, Expr)], otherwise: Option<&Expr>) -> Result<(Expr, SparkClass)> {
        let conditions = branches.iter().map(|(condition, _)| self.condition(condition));
        let conditions: Vec<Expr> = conditions.collect::<Result<_>>()?;
        let values = branches.iter().map(|(_, value)| value).chain(otherwise).collect();
        let (mut values, class) = self.of_one_class(values)?;
        let otherwise = if otherwise.is_some() { values.pop().map(Box::new) } else { None };
        Ok((Expr::Case { branches: conditions.into_iter().zip(values).collect(), otherwise }, class))
    }

    /// Values of one class, nulls left out. Constants take the class of the columns next to them.
    fn of_one_class(&self, exprs: Vec<&Expr>) -> Result<(Vec<Expr>, SparkClass)> {
        let mut class = SparkClass::Null;
        let mut values = Vec::with_capacity(exprs.len());
        for expr in exprs {
            let (value, found) = self.value(expr)?;
            class = match (class, found) {
                (known, SparkClass::Null) => known,
                (SparkClass::Null, found) => found,
                (SparkClass::Exact { .. }, SparkClass::Exact { .. }) => common_decimal(class, found)?,
                (known, found) if known == found && found != SparkClass::Other => known,
                _ => return Err(refused("values of different types in one CASE or coalesce")),
            };
            values.push(value);
        }
        Ok((values, class))
    }

    /// `a % 7`: it has the sign of `a`, and never overflows.
    fn modulo(&self, op: ArithmeticOp, left: &Expr, right: &Expr) -> Result<(Expr, SparkClass)> {
        let (left, class) = self.value(left)?;
        let is_integer = matches!(class, SparkClass::Exact { scale: 0, .. }) && matches!(left, Expr::Column(_));
        match (op, right) {
            (ArithmeticOp::Modulo, Expr::Literal(Literal::Number { digits: 1..=0x7FFF_FFFF, scale: 0 }))
                if is_integer =>
            {
                Ok((Expr::Arithmetic { op, left: Box::new(left), right: Box::new(right.clone()) }, class))
            }
            _ => Err(refused(ARITHMETIC)),
        }
    }

    fn compare(&self, op: CompareOp, left: &Expr, right: &Expr) -> Result<Expr> {
        if let (Expr::Literal(_), false) = (left, matches!(right, Expr::Literal(_))) {
            return self.compare(flipped(op), right, left);
        }
        let (left, class) = self.value(left)?;
        let right = match right {
            Expr::Literal(literal) => {
                self.check_literal(class, literal)?;
                right.clone()
            }
            _ => {
                let (right, other) = self.value(right)?;
                self.check_classes(class, other)?;
                right
            }
        };
        if class == SparkClass::Boolean && !matches!(op, CompareOp::Eq | CompareOp::NotEq) {
            return Err(refused("< and > next to a condition"));
        }
        // NaN is greater than all numbers.
        let negated = match (class, op) {
            (SparkClass::Float | SparkClass::Double, CompareOp::Greater) => Some(CompareOp::LessOrEq),
            (SparkClass::Float | SparkClass::Double, CompareOp::GreaterOrEq) => Some(CompareOp::Less),
            _ => None,
        };
        let compare = |op| Expr::Compare { op, left: Box::new(left.clone()), right: Box::new(right.clone()) };
        Ok(match negated {
            Some(op) => Expr::Not(Box::new(compare(op))),
            None => compare(op),
        })
    }

    fn check_classes(&self, left: SparkClass, right: SparkClass) -> Result<()> {
        use SparkClass as C;
        match (left, right) {
            (C::Null, _) | (_, C::Null) => Ok(()),
            (C::Exact { .. }, C::Exact { .. }) => common_decimal(left, right).map(drop),
            (C::Float | C::Double, C::Float | C::Double) => Err(refused("two floats (NaN equals itself in Spark)")),
            (C::Other, _) => Err(refused("a comparison of values of this type")),
            _ if left == right => self.check_texts(left),
            _ => Err(refused("a comparison of values of different types")),
        }
    }

    fn check_literal(&self, class: SparkClass, literal: &Literal) -> Result<()> {
        use SparkClass as C;
        let is_same = match (class, literal) {
            (_, Literal::Null) => true,
            (C::Boolean, Literal::Boolean(_))
            | (C::Text, Literal::Text(_))
            | (C::Binary, Literal::Binary(_))
            | (C::Date | C::WallClock, Literal::Date(_)) => true,
            (C::Exact { .. }, Literal::Number { .. }) => {
                return common_decimal(class, class_of_literal(literal)).map(drop);
            }
            (C::Double, Literal::Number { digits, scale }) => {
                digits.unsigned_abs() < 10u128.pow(MAX_DOUBLE_DIGITS) && u32::from(*scale) <= MAX_DOUBLE_DIGITS
            }
            (C::Double, Literal::Float(_)) => true,
            (C::Float, Literal::Number { digits, scale: 0 }) => digits.unsigned_abs() <= MAX_FLOAT_INTEGER,
            (C::Date, Literal::Text(text)) => is_plain_date(text),
            (C::Instant, Literal::Timestamp { nanoseconds, is_utc: true }) => nanoseconds % 1000 == 0,
            _ => false,
        };
        match (is_same, class) {
            (true, _) => self.check_texts(class),
            (false, C::Instant | C::WallClock) => Err(refused("a constant next to a timestamp").advice(
                "write it with an offset, as TIMESTAMP '2024-02-29T23:59:59Z', next to a timestamp with a zone",
            )),
            (false, C::Float) => {
                Err(refused("a constant next to a 32-bit float that is no integer (Spark rounds it to 64 bits)"))
            }
            (false, _) => Err(refused("a constant of another type than the value next to it, or of too many digits")),
        }
    }

    fn check_texts(&self, class: SparkClass) -> Result<()> {
        match self.has_padded_texts && class == SparkClass::Text {
            true => Err(refused("a text in a table with collations or columns of type CHAR")),
            false => Ok(()),
        }
    }
}

fn refused(what: &str) -> Error {
    Error::unsupported(format!("{what}: Spark may evaluate it in another way")).advice(ADVICE)
}

fn flipped(op: CompareOp) -> CompareOp {
    use CompareOp as C;
    match op {
        C::Eq | C::NotEq => op,
        C::Less => C::Greater,
        C::LessOrEq => C::GreaterOrEq,
        C::Greater => C::Less,
        C::GreaterOrEq => C::LessOrEq,
    }
}

fn class_of_type(data_type: &DataType) -> SparkClass {
    use DataType as T;
    let exact = |whole, scale| SparkClass::Exact { whole, scale };
    match data_type {
        T::Null => SparkClass::Null,
        T::Boolean => SparkClass::Boolean,
        T::Int8 | T::Int16 | T::Int32 => exact(10, 0),
        T::Int64 => exact(20, 0),
        T::Decimal128(precision, scale) => match u32::try_from(*scale) {
            Ok(scale) => exact(u32::from(*precision).saturating_sub(scale), scale),
            Err(_) => SparkClass::Other,
        },
        T::Float32 => SparkClass::Float,
        T::Float64 => SparkClass::Double,
        T::Utf8 | T::LargeUtf8 | T::Utf8View => SparkClass::Text,
        T::Binary | T::LargeBinary | T::BinaryView => SparkClass::Binary,
        T::Date32 => SparkClass::Date,
        T::Timestamp(_, Some(_)) => SparkClass::Instant,
        T::Timestamp(_, None) => SparkClass::WallClock,
        _ => SparkClass::Other,
    }
}

fn class_of_literal(literal: &Literal) -> SparkClass {
    match literal {
        Literal::Null => SparkClass::Null,
        Literal::Boolean(_) => SparkClass::Boolean,
        Literal::Number { digits, scale } => {
            let (count, scale) = (digits.unsigned_abs().checked_ilog10().unwrap_or(0) + 1, u32::from(*scale));
            SparkClass::Exact { whole: count.saturating_sub(scale), scale }
        }
        Literal::Text(_) => SparkClass::Text,
        Literal::Binary(_) => SparkClass::Binary,
        Literal::Date(_) => SparkClass::Date,
        Literal::Timestamp { .. } | Literal::Float(_) | Literal::LongNumber(_) | Literal::Interval { .. } => {
            SparkClass::Other
        }
    }
}

/// The decimal in which Spark compares two numbers, if it has all of their digits.
fn common_decimal(left: SparkClass, right: SparkClass) -> Result<SparkClass> {
    match (left, right) {
        (SparkClass::Exact { whole, scale }, SparkClass::Exact { whole: other_whole, scale: other_scale })
            if whole.max(other_whole) + scale.max(other_scale) <= MAX_DECIMAL_DIGITS =>
        {
            Ok(SparkClass::Exact { whole: whole.max(other_whole), scale: scale.max(other_scale) })
        }
        _ => Err(refused("decimals that have more than 38 digits together")),
    }
}

/// `2024-02-29`: every reader takes it for the same date.
fn is_plain_date(text: &str) -> bool {
    let is_shaped = text.len() == 10
        && text
            .bytes()
            .enumerate()
            .all(|(at, byte)| if matches!(at, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() });
    is_shaped && lakerace_format::predicate::time::parse_date(text).is_some()
}

#[cfg(test)]
mod tests;
