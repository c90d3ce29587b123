//! The compiled form of a filter.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

use super::ColumnRef;
use super::call::FunctionCall;
use super::like::LikePattern;
use super::value::Value;
use crate::expr::{ArithmeticOp, CompareOp};

/// Up to this number of values, IN compares with one after the other, vectorised.
pub(super) const IN_BY_COMPARING: usize = 4;

/// A condition.
#[derive(Debug, Clone)]
pub(super) enum ConditionNode {
    /// A constant for every row.
    Constant(Option<bool>),
    /// `value` if the column is not null, otherwise null.
    Known {
        column: Arc<ColumnRef>,
        value: bool,
    },
    /// A comparison of a column with a value of the same type.
    Compare {
        column: Arc<ColumnRef>,
        op: CompareOp,
        value: Value,
    },
    /// Membership of a column in some values of the same type; null instead of false if NULL is among them.
    In {
        column: Arc<ColumnRef>,
        values: Vec<Value>,
        has_null: bool,
    },
    /// A text column matches a pattern.
    Like {
        column: Arc<ColumnRef>,
        pattern: LikePattern,
    },
    /// A value is null.
    IsNull(RowScalar),
    /// A boolean value is true.
    Truth(RowScalar),
    /// Any two values.
    CompareScalars {
        op: CompareOp,
        left: RowScalar,
        right: RowScalar,
    },
    And(Vec<ConditionNode>),
    Or(Vec<ConditionNode>),
    Not(Box<ConditionNode>),
}

/// A value for each row.
#[derive(Debug, Clone)]
pub(super) enum RowScalar {
    Column(Arc<ColumnRef>),
    /// A value for all rows.
    Constant(ArrayRef),
    Arithmetic {
        op: ArithmeticOp,
        left: Box<RowScalar>,
        right: Box<RowScalar>,
    },
    Condition(Box<ConditionNode>),
    /// A function of values.
    Call {
        call: FunctionCall,
        arguments: Vec<RowScalar>,
        /// The type of its values.
        data_type: DataType,
    },
}

impl ConditionNode {
    /// Visits the columns that it uses.
    pub fn visit_columns(&self, visit: &mut dyn FnMut(&Arc<ColumnRef>)) {
        self.visit(true, visit);
    }

    /// Visits the columns whose values it uses, and not only whether they are null.
    pub fn visit_values(&self, visit: &mut dyn FnMut(&Arc<ColumnRef>)) {
        self.visit(false, visit);
    }

    fn visit(&self, with_nulls: bool, visit: &mut dyn FnMut(&Arc<ColumnRef>)) {
        match self {
            Self::Constant(_) => {}
            Self::IsNull(RowScalar::Column(column)) => {
                if with_nulls {
                    visit(column);
                }
            }
            Self::Known { column, .. }
            | Self::Compare { column, .. }
            | Self::In { column, .. }
            | Self::Like { column, .. } => visit(column),
            Self::IsNull(scalar) | Self::Truth(scalar) => scalar.visit(with_nulls, visit),
            Self::CompareScalars { left, right, .. } => {
                left.visit(with_nulls, visit);
                right.visit(with_nulls, visit);
            }
            Self::And(nodes) | Self::Or(nodes) => nodes.iter().for_each(|n| n.visit(with_nulls, visit)),
            Self::Not(node) => node.visit(with_nulls, visit),
        }
    }
}

impl ConditionNode {
    pub fn may_fail(&self) -> bool {
        match self {
            Self::Constant(_) | Self::Known { .. } | Self::Compare { .. } | Self::In { .. } | Self::Like { .. } => {
                false
            }
            Self::IsNull(scalar) | Self::Truth(scalar) => scalar.may_fail(),
            Self::CompareScalars { left, right, .. } => left.may_fail() || right.may_fail(),
            Self::And(nodes) | Self::Or(nodes) => nodes.iter().any(Self::may_fail),
            Self::Not(node) => node.may_fail(),
        }
    }
}

impl RowScalar {
    /// Returns true if some rows may have values for which it is an error.
    pub fn may_fail(&self) -> bool {
        match self {
            Self::Column(_) | Self::Constant(_) => false,
            Self::Arithmetic { .. } => true,
            Self::Condition(node) => node.may_fail(),
            Self::Call {
                call:
                    FunctionCall::Cast { is_lenient: false, .. }
                    | FunctionCall::Uuid { is_lenient: false }
                    | FunctionCall::Negate
                    | FunctionCall::DateTrunc(_)
                    | FunctionCall::DatePart(_),
                ..
            } => true,
            Self::Call { arguments, .. } => arguments.iter().any(Self::may_fail),
        }
    }

    /// Visits the columns that it uses.
    pub fn visit_columns(&self, visit: &mut dyn FnMut(&Arc<ColumnRef>)) {
        self.visit(true, visit);
    }

    fn visit(&self, with_nulls: bool, visit: &mut dyn FnMut(&Arc<ColumnRef>)) {
        match self {
            Self::Column(column) => visit(column),
            Self::Constant(_) => {}
            Self::Arithmetic { left, right, .. } => {
                left.visit(with_nulls, visit);
                right.visit(with_nulls, visit);
            }
            Self::Condition(node) => node.visit(with_nulls, visit),
            Self::Call { arguments, .. } => arguments.iter().for_each(|scalar| scalar.visit(with_nulls, visit)),
        }
    }
}

impl CompareOp {
    /// The operator that says the same with its sides exchanged.
    pub fn flipped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEq => Self::GreaterOrEq,
            Self::Greater => Self::Less,
            Self::GreaterOrEq => Self::LessOrEq,
            other => other,
        }
    }

    /// The operator that is true where this one is false (of two values that have an order).
    pub(super) fn negated(self) -> Self {
        match self {
            Self::Eq => Self::NotEq,
            Self::NotEq => Self::Eq,
            Self::Less => Self::GreaterOrEq,
            Self::LessOrEq => Self::Greater,
            Self::Greater => Self::LessOrEq,
            Self::GreaterOrEq => Self::Less,
        }
    }
}
