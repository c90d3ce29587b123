//! Filter expressions as values. Evaluation and pruning are in [`crate::predicate`].

use serde::{Deserialize, Serialize};

use crate::predicate::decimal::DecimalNumber;

/// A filter expression over the columns of a source. SQL's three-valued logic: a row stays if the filter is true.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Expr {
    /// A column by name; dots lead into structs if no column has the whole name.
    Column(String),
    /// A constant.
    Literal(Literal),
    /// A comparison.
    Compare {
        /// The operator.
        op: CompareOp,
        /// Left side.
        left: Box<Expr>,
        /// Right side.
        right: Box<Expr>,
    },
    /// Arithmetic on numbers (and days added to dates).
    Arithmetic {
        /// The operator.
        op: ArithmeticOp,
        /// Left side.
        left: Box<Expr>,
        /// Right side.
        right: Box<Expr>,
    },
    /// All are true.
    And(Vec<Expr>),
    /// At least one is true.
    Or(Vec<Expr>),
    /// Negation.
    Not(Box<Expr>),
    /// The value is null.
    IsNull(Box<Expr>),
    /// Equal to one of the constants.
    In {
        /// The value.
        expr: Box<Expr>,
        /// The constants.
        list: Vec<Literal>,
    },
    /// SQL LIKE: `%` any run, `_` any one character.
    Like {
        /// The value.
        expr: Box<Expr>,
        /// The pattern.
        pattern: String,
        /// The character that takes the next one literally.
        escape: Option<char>,
        /// ILIKE.
        case_insensitive: bool,
    },
    /// A function of values.
    Call {
        /// The function.
        function: ScalarFunction,
        /// Its arguments, in order.
        arguments: Vec<Expr>,
    },
    /// A value as another type.
    Cast {
        /// The value.
        expr: Box<Expr>,
        /// The type, as [`crate::schema_text`] writes it.
        data_type: String,
        /// A value that does not fit becomes null instead of an error.
        is_lenient: bool,
    },
    /// The value of the first branch whose condition is true; null if there is none.
    Case {
        /// Conditions and values.
        branches: Vec<(Expr, Expr)>,
        /// The value where no condition is true.
        otherwise: Option<Box<Expr>>,
    },
}

/// A function of values. All are null if an argument is null, except for [`ScalarFunction::Coalesce`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScalarFunction {
    /// The first argument that is not null.
    Coalesce,
    /// Text in lower case.
    Lower,
    /// Text in upper case.
    Upper,
    /// Characters of a text from a position on, the first one being 1; a third argument gives their number. A negative
    /// position counts from the end.
    Substr,
    /// The number of characters of a text.
    Length,
    /// Text without blanks, or without the characters of the second argument, at both ends.
    Trim,
    /// The same, only at the start.
    TrimStart,
    /// The same, only at the end.
    TrimEnd,
    /// Texts one after the other.
    Concat,
    /// The start of the unit of time that an instant is in: `date_trunc('month', t)`. In UTC.
    DateTrunc,
    /// A part of a date or time: `date_part('year', t)`. In UTC.
    DatePart,
    /// True of a text in which a regular expression is found; a third argument has flags, `i` for letters without case.
    RegexpLike,
    /// Text in which each occurrence of the second argument is the third one.
    Replace,
    /// True of a text that starts with the second argument.
    StartsWith,
    /// A number without its sign.
    Abs,
    /// A number with the other sign, also of zero.
    Negate,
    /// A number rounded to an integer, or to so many digits after the point as the second argument says, a constant.
    Round,
}

impl Expr {
    /// The number of its parts: columns, constants and operators.
    pub fn part_count(&self) -> usize {
        let sum = |parts: &mut dyn Iterator<Item = &Self>| parts.map(Self::part_count).sum::<usize>();
        1 + match self {
            Self::Column(_) | Self::Literal(_) => 0,
            Self::Compare { left, right, .. } | Self::Arithmetic { left, right, .. } => {
                left.part_count() + right.part_count()
            }
            Self::And(parts) | Self::Or(parts) => sum(&mut parts.iter()),
            Self::Not(expr) | Self::IsNull(expr) | Self::Like { expr, .. } | Self::Cast { expr, .. } => {
                expr.part_count()
            }
            Self::In { expr, list } => expr.part_count() + list.len(),
            Self::Call { arguments, .. } => sum(&mut arguments.iter()),
            Self::Case { branches, otherwise } => {
                let branches = branches.iter().flat_map(|(condition, value)| [condition, value]);
                sum(&mut branches.chain(otherwise.as_deref()))
            }
        }
    }

    /// The expression with others in place of some columns: those for whose name `replace` returns one.
    #[must_use]
    pub fn with_columns_replaced(&self, replace: &dyn Fn(&str) -> Option<Self>) -> Self {
        let of = |expr: &Self| expr.with_columns_replaced(replace);
        let boxed = |expr: &Self| Box::new(of(expr));
        let all = |parts: &[Self]| parts.iter().map(of).collect();
        match self {
            Self::Column(name) => replace(name).unwrap_or_else(|| self.clone()),
            Self::Literal(_) => self.clone(),
            Self::Compare { op, left, right } => Self::Compare { op: *op, left: boxed(left), right: boxed(right) },
            Self::Arithmetic { op, left, right } => {
                Self::Arithmetic { op: *op, left: boxed(left), right: boxed(right) }
            }
            Self::And(parts) => Self::And(all(parts)),
            Self::Or(parts) => Self::Or(all(parts)),
            Self::Not(expr) => Self::Not(boxed(expr)),
            Self::IsNull(expr) => Self::IsNull(boxed(expr)),
            Self::In { expr, list } => Self::In { expr: boxed(expr), list: list.clone() },
            Self::Like { expr, pattern, escape, case_insensitive } => Self::Like {
                expr: boxed(expr),
                pattern: pattern.clone(),
                escape: *escape,
                case_insensitive: *case_insensitive,
            },
            Self::Call { function, arguments } => Self::Call { function: *function, arguments: all(arguments) },
            Self::Cast { expr, data_type, is_lenient } => {
                Self::Cast { expr: boxed(expr), data_type: data_type.clone(), is_lenient: *is_lenient }
            }
            Self::Case { branches, otherwise } => Self::Case {
                branches: branches.iter().map(|(condition, value)| (of(condition), of(value))).collect(),
                otherwise: otherwise.as_deref().map(boxed),
            },
        }
    }

    /// Calls `visit` with the name of each column, once for each occurrence.
    pub fn visit_columns(&self, visit: &mut dyn FnMut(&str)) {
        match self {
            Self::Column(name) => visit(name),
            Self::Literal(_) => {}
            Self::Compare { left, right, .. } | Self::Arithmetic { left, right, .. } => {
                left.visit_columns(visit);
                right.visit_columns(visit);
            }
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|part| part.visit_columns(visit)),
            Self::Not(expr)
            | Self::IsNull(expr)
            | Self::In { expr, .. }
            | Self::Like { expr, .. }
            | Self::Cast { expr, .. } => expr.visit_columns(visit),
            Self::Call { arguments, .. } => arguments.iter().for_each(|argument| argument.visit_columns(visit)),
            Self::Case { branches, otherwise } => {
                for (condition, value) in branches {
                    condition.visit_columns(visit);
                    value.visit_columns(visit);
                }
                if let Some(otherwise) = otherwise {
                    otherwise.visit_columns(visit);
                }
            }
        }
    }
}

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum CompareOp {
    Eq,
    NotEq,
    Less,
    LessOrEq,
    Greater,
    GreaterOrEq,
}

/// An arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ArithmeticOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// A constant, as exact as it was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Literal {
    /// NULL.
    Null,
    /// TRUE or FALSE.
    Boolean(bool),
    /// A number written without exponent: `digits` x 10^-`scale`. `12` is (12, 0), `1.50` is (150, 2).
    Number {
        /// All digits, signed.
        digits: i128,
        /// The number of digits after the point.
        scale: u8,
    },
    /// A number written with an exponent.
    Float(f64),
    /// A number that neither of these holds with all its digits: `-12.5e-400`.
    LongNumber(String),
    /// Text. Compared with a date or timestamp column, it is parsed as one.
    Text(String),
    /// Bytes, `X'00FF'`.
    Binary(Vec<u8>),
    /// DATE '2024-02-29': days since 1970-01-01.
    Date(i32),
    /// INTERVAL '…': a span of time in calendar months, days and nanoseconds, which are added one after the other.
    Interval {
        /// Months.
        months: i32,
        /// Days.
        days: i32,
        /// Nanoseconds.
        nanoseconds: i64,
    },
    /// TIMESTAMP '…': nanoseconds since 1970-01-01 00:00:00 (UTC where an offset was given).
    Timestamp {
        /// Nanoseconds.
        nanoseconds: i128,
        /// An offset was given: an instant, not a wall-clock time.
        is_utc: bool,
    },
}

impl Literal {
    /// Parses a number from its text: `-12`, `.5`, `1e400`. `None` for text that is not a number.
    pub fn number(text: &str) -> Option<Self> {
        let number = DecimalNumber::parse(text)?;
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let has_exponent = text.contains(['e', 'E']);
        if let (false, Ok(digits), Ok(scale)) =
            (has_exponent, format!("{whole}{fraction}").parse(), u8::try_from(fraction.len()))
        {
            return Some(Self::Number { digits, scale });
        }
        let float: f64 = number.text().parse().ok()?;
        let is_exact = has_exponent && float.is_finite() && DecimalNumber::parse(&format!("{float:e}")) == Some(number);
        Some(if is_exact { Self::Float(float) } else { Self::LongNumber(text.to_owned()) })
    }
}
