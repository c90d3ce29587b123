//! Holding a condition against statistics.
//!
//! For each condition two questions are answered: can it be true, can it be false. Both may be answered with
//! yes although no row is so; never with no although one is. NOT exchanges them.

use std::cmp::Ordering;
use std::sync::Arc;

use super::ColumnRef;
use super::node::{ConditionNode, RowScalar};
use super::value::{Value, is_text, plain_type};
use crate::expr::CompareOp;

/// The known bounds of a column of a set of rows. The default is: nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bounds {
    /// No value is less, except for NaN. It need not be a value that occurs: it may have been cut.
    pub min: Option<Value>,
    /// No value is greater, except for NaN.
    pub max: Option<Value>,
    /// The number of nulls (including those in a null struct).
    pub null_count: Option<u64>,
}

impl Bounds {
    /// The bounds of this number of rows, without implausible entries. Some writers give bounds in the wrong order,
    /// more nulls than rows, or bounds without a meaning; if one bound is NaN, comparisons for the other failed too.
    #[must_use]
    pub fn plausible(mut self, rows: Option<u64>) -> Self {
        let is_nan = |bound: &Option<Value>| matches!(bound, Some(Value::Float(float)) if float.is_nan());
        if is_nan(&self.min) || is_nan(&self.max) {
            (self.min, self.max) = (None, None);
        }
        if let (Some(min), Some(max)) = (&self.min, &self.max)
            && min.compare(max).is_none_or(Ordering::is_gt)
        {
            (self.min, self.max) = (None, None);
        }
        if let (Some(nulls), Some(rows)) = (self.null_count, rows)
            && (nulls > rows || (nulls == rows && (self.min.is_some() || self.max.is_some())))
        {
            return Self::default();
        }
        self
    }
}

/// Statistics of a set of rows: a file, a row group, a page, a partition.
pub trait ColumnStatistics {
    /// The number of rows.
    fn row_count(&self) -> Option<u64>;

    /// The known bounds of a column.
    fn bounds(&self, column: &ColumnRef) -> Bounds;

    /// The source of the bounds, for messages.
    fn label(&self) -> &str {
        "statistics"
    }
}

pub(super) fn can_match(node: &ConditionNode, statistics: &dyn ColumnStatistics) -> Result<(), String> {
    if statistics.row_count() == Some(0) {
        return Err("no rows".to_owned());
    }
    outcome(node, statistics).true_if
}

pub(super) fn equalities(node: &ConditionNode) -> Vec<(Arc<ColumnRef>, Vec<Value>)> {
    match node {
        ConditionNode::And(nodes) => nodes.iter().flat_map(equalities).collect(),
        ConditionNode::Compare { column, op: CompareOp::Eq, value } => vec![(Arc::clone(column), stored_as(value))],
        ConditionNode::In { column, values, .. } => {
            vec![(Arc::clone(column), values.iter().flat_map(stored_as).collect())]
        }
        ConditionNode::Or(nodes) => {
            // x = 1 OR x = 2: any branch without exactly this column makes the OR say nothing.
            let mut joined: Option<(Arc<ColumnRef>, Vec<Value>)> = None;
            for node in nodes {
                let branch = equalities(node);
                let ([(column, values)], true) = (branch.as_slice(), is_equality(node)) else { return Vec::new() };
                match &mut joined {
                    None => joined = Some((Arc::clone(column), values.clone())),
                    Some((first, all)) if first == column => all.extend_from_slice(values),
                    Some(_) => return Vec::new(),
                }
            }
            joined.into_iter().collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn decided_by(node: &ConditionNode) -> Vec<Arc<ColumnRef>> {
    match node {
        ConditionNode::Known { column, .. }
        | ConditionNode::Compare { column, .. }
        | ConditionNode::In { column, .. } => vec![Arc::clone(column)],
        ConditionNode::Like { column, pattern } if !pattern.prefix().is_empty() => vec![Arc::clone(column)],
        ConditionNode::IsNull(RowScalar::Column(column)) | ConditionNode::Truth(RowScalar::Column(column)) => {
            vec![Arc::clone(column)]
        }
        ConditionNode::And(nodes) => nodes.iter().flat_map(decided_by).collect(),
        ConditionNode::Or(nodes) => {
            let branches: Vec<_> = nodes.iter().map(decided_by).collect();
            // A branch that nothing decides may be true of any row.
            if branches.iter().any(Vec::is_empty) { Vec::new() } else { branches.concat() }
        }
        ConditionNode::Not(node) => decided_by(node),
        ConditionNode::Constant(_)
        | ConditionNode::Like { .. }
        | ConditionNode::IsNull(_)
        | ConditionNode::Truth(_)
        | ConditionNode::CompareScalars { .. } => Vec::new(),
    }
}

fn is_equality(node: &ConditionNode) -> bool {
    matches!(node, ConditionNode::Compare { op: CompareOp::Eq, .. } | ConditionNode::In { .. })
}

/// The stored values that are equal to this one: both zeros for a zero.
fn stored_as(value: &Value) -> Vec<Value> {
    match value {
        Value::Float(f) if *f == 0.0 => vec![Value::Float(0.0), Value::Float(-0.0)],
        other => vec![other.clone()],
    }
}

/// The possible results of a condition: true and false; for an impossible one, the reason.
struct PossibleOutcomes {
    true_if: Result<(), String>,
    false_if: Result<(), String>,
}

impl PossibleOutcomes {
    const UNKNOWN: Self = Self { true_if: Ok(()), false_if: Ok(()) };
}

fn outcome(node: &ConditionNode, statistics: &dyn ColumnStatistics) -> PossibleOutcomes {
    match node {
        ConditionNode::Constant(value) => {
            let never = |wanted: bool| if *value == Some(wanted) { Ok(()) } else { Err(constant_words(*value)) };
            PossibleOutcomes { true_if: never(true), false_if: never(false) }
        }
        ConditionNode::Known { column, value } => {
            let facts = ColumnFacts::new(column, statistics);
            let never = |wanted: bool| match facts.not_all_null() {
                Ok(()) if *value != wanted => Err(format!("the filter is {value} for every value of {}", facts.name)),
                known => known,
            };
            PossibleOutcomes { true_if: never(true), false_if: never(false) }
        }
        ConditionNode::Compare { column, op, value } => {
            let facts = ColumnFacts::new(column, statistics);
            let false_if = if facts.is_float { facts.not_all_null() } else { facts.compare(op.negated(), value) };
            PossibleOutcomes { true_if: facts.compare(*op, value), false_if }
        }
        ConditionNode::In { column, values, has_null } => {
            let facts = ColumnFacts::new(column, statistics);
            let false_if =
                if *has_null { Err("IN with a NULL is never false".to_owned()) } else { facts.not_all_null() };
            PossibleOutcomes { true_if: facts.any_of(values), false_if }
        }
        ConditionNode::Like { column, pattern } => {
            let facts = ColumnFacts::new(column, statistics);
            PossibleOutcomes { true_if: facts.begins_with(pattern.prefix()), false_if: facts.not_all_null() }
        }
        ConditionNode::IsNull(RowScalar::Column(column)) => {
            let facts = ColumnFacts::new(column, statistics);
            PossibleOutcomes { true_if: facts.any_null(), false_if: facts.not_all_null() }
        }
        ConditionNode::Truth(RowScalar::Column(column)) => {
            let facts = ColumnFacts::new(column, statistics);
            let is = |wanted: bool| facts.compare(CompareOp::Eq, &Value::Boolean(wanted));
            PossibleOutcomes { true_if: is(true), false_if: is(false) }
        }
        ConditionNode::IsNull(_) | ConditionNode::Truth(_) | ConditionNode::CompareScalars { .. } => {
            PossibleOutcomes::UNKNOWN
        }
        ConditionNode::And(nodes) => {
            let (mut true_if, mut reasons, mut can_be_false) = (Ok(()), Vec::new(), false);
            for node in nodes {
                let part = outcome(node, statistics);
                true_if = true_if.and(part.true_if);
                match part.false_if {
                    Ok(()) => can_be_false = true,
                    Err(reason) => reasons.push(reason),
                }
            }
            PossibleOutcomes {
                true_if,
                false_if: if can_be_false { Ok(()) } else { Err(joined(reasons, "always true")) },
            }
        }
        ConditionNode::Or(nodes) => {
            let (mut false_if, mut reasons, mut can_be_true) = (Ok(()), Vec::new(), false);
            for node in nodes {
                let part = outcome(node, statistics);
                false_if = false_if.and(part.false_if);
                match part.true_if {
                    Ok(()) => can_be_true = true,
                    Err(reason) => reasons.push(reason),
                }
            }
            PossibleOutcomes {
                true_if: if can_be_true { Ok(()) } else { Err(joined(reasons, "always false")) },
                false_if,
            }
        }
        ConditionNode::Not(node) => {
            let inner = outcome(node, statistics);
            PossibleOutcomes { true_if: inner.false_if, false_if: inner.true_if }
        }
    }
}

fn constant_words(value: Option<bool>) -> String {
    format!("the filter is always {}", value.map_or("null".to_owned(), |v| v.to_string()))
}

/// At most three reasons, each said once.
fn joined(mut reasons: Vec<String>, none: &str) -> String {
    reasons.dedup();
    let more = reasons.len().saturating_sub(3);
    reasons.truncate(3);
    match (reasons.is_empty(), more) {
        (true, _) => format!("the filter is {none}"),
        (false, 0) => reasons.join("; "),
        (false, more) => format!("{}; and {more} more", reasons.join("; ")),
    }
}

/// The statistics of one column, interpreted for its type.
struct ColumnFacts<'a> {
    column: &'a ColumnRef,
    name: String,
    label: &'a str,
    is_float: bool,
    bounds: Bounds,
    rows: Option<u64>,
}

impl<'a> ColumnFacts<'a> {
    fn new(column: &'a ColumnRef, statistics: &'a dyn ColumnStatistics) -> Self {
        let rows = statistics.row_count();
        Self {
            column,
            name: column.name(),
            label: statistics.label(),
            is_float: plain_type(&column.data_type).is_floating(),
            bounds: statistics.bounds(column).plausible(rows),
            rows,
        }
    }

    fn not_all_null(&self) -> Result<(), String> {
        match (self.bounds.null_count, self.rows) {
            (Some(nulls), Some(rows)) if nulls >= rows => Err(format!("{}: {} has only nulls", self.label, self.name)),
            _ => Ok(()),
        }
    }

    fn any_null(&self) -> Result<(), String> {
        match self.bounds.null_count {
            Some(0) => Err(format!("{}: {} has no nulls", self.label, self.name)),
            _ => Ok(()),
        }
    }

    /// Succeeds if a value of the column can be `op` `value`.
    fn compare(&self, op: CompareOp, value: &Value) -> Result<(), String> {
        self.not_all_null()?;
        let (below, above) = match op {
            CompareOp::Eq => (self.max_is(Ordering::Less, value), self.min_is(Ordering::Greater, value)),
            CompareOp::NotEq => (self.is_always(value), None),
            CompareOp::Less => (None, self.min_is(Ordering::Equal, value).or(self.min_is(Ordering::Greater, value))),
            CompareOp::LessOrEq => (None, self.min_is(Ordering::Greater, value)),
            CompareOp::Greater => (self.max_is(Ordering::Equal, value).or(self.max_is(Ordering::Less, value)), None),
            CompareOp::GreaterOrEq => (self.max_is(Ordering::Less, value), None),
        };
        below.or(above).map_or(Ok(()), Err)
    }

    fn max_is(&self, order: Ordering, value: &Value) -> Option<String> {
        self.bound_is("max", self.bounds.max.as_ref()?, order, value)
    }

    fn min_is(&self, order: Ordering, value: &Value) -> Option<String> {
        self.bound_is("min", self.bounds.min.as_ref()?, order, value)
    }

    fn bound_is(&self, which: &str, bound: &Value, order: Ordering, value: &Value) -> Option<String> {
        if bound.compare(value)? != order {
            return None;
        }
        let sign = match order {
            Ordering::Less => "<",
            Ordering::Equal => "=",
            Ordering::Greater => ">",
        };
        let data_type = &self.column.data_type;
        let (bound, value) = (bound.display(data_type), value.display(data_type));
        Some(format!("{}: {} {which} {bound} {sign} {value}", self.label, self.name))
    }

    /// The column holds this value only. Not known of floats: NaN is outside of the bounds.
    fn is_always(&self, value: &Value) -> Option<String> {
        let equals = |bound: &Option<Value>| bound.as_ref()?.compare(value).map(Ordering::is_eq);
        let is_always = !self.is_float && equals(&self.bounds.min)? && equals(&self.bounds.max)?;
        is_always.then(|| format!("{}: {} is always {}", self.label, self.name, value.display(&self.column.data_type)))
    }

    fn any_of(&self, values: &[Value]) -> Result<(), String> {
        self.not_all_null()?;
        let mut first = None;
        for value in values {
            match self.compare(CompareOp::Eq, value) {
                Ok(()) => return Ok(()),
                Err(reason) => first = first.or(Some(reason)),
            }
        }
        Err(match (first, values.len()) {
            (None, _) => format!("the filter's list has no value that {} can hold", self.name),
            (Some(reason), 1) => reason,
            (Some(_), n) => {
                let words = |bound: &Option<Value>| {
                    bound.as_ref().map_or("unknown".to_owned(), |v| v.display(&self.column.data_type))
                };
                let (min, max) = (words(&self.bounds.min), words(&self.bounds.max));
                format!("{}: none of the {n} values is within {} min {min} to max {max}", self.label, self.name)
            }
        })
    }

    fn begins_with(&self, prefix: &str) -> Result<(), String> {
        self.not_all_null()?;
        if prefix.is_empty() || !is_text(&self.column.data_type) {
            return Ok(());
        }
        let prefix_value = Value::Bytes(prefix.as_bytes().to_vec());
        if let Some(reason) = self.max_is(Ordering::Less, &prefix_value) {
            return Err(reason);
        }
        // All values that start with the prefix are below a minimum that is greater and doesn't start with it.
        let begins = matches!(&self.bounds.min, Some(Value::Bytes(min)) if min.starts_with(prefix.as_bytes()));
        match self.min_is(Ordering::Greater, &prefix_value) {
            Some(reason) if !begins => Err(reason),
            _ => Ok(()),
        }
    }
}
