//! Types that no Arrow array can have. Bytes of a schema can state them: the arrow crate takes their numbers as they are, and
//! panics or returns wrong values later.

use std::fmt::Display;

use arrow::datatypes::{
    DECIMAL32_MAX_PRECISION, DECIMAL64_MAX_PRECISION, DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType,
    Schema,
};

use crate::nested_types::inner_fields;
use crate::schema_text::print_type;

/// The first column of a schema with a type that no array has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImpossibleType {
    column: String,
    data_type: String,
    rule: String,
}

impl ImpossibleType {
    /// Looks at all columns, and at the types within theirs.
    pub fn find(schema: &Schema) -> Option<Self> {
        schema.fields().iter().find_map(|field| {
            let (data_type, rule) = broken_rule(field.data_type())?;
            Some(Self { column: field.name().clone(), data_type: print_type(data_type), rule })
        })
    }
}

impl Display for ImpossibleType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { column, data_type, rule } = self;
        write!(f, "column {column:?} has the type {data_type}, but {rule}")
    }
}

/// The first type that breaks a rule, and the rule.
fn broken_rule(data_type: &DataType) -> Option<(&DataType, String)> {
    let own = match data_type {
        DataType::Decimal32(precision, scale) => decimal_rule(*precision, *scale, DECIMAL32_MAX_PRECISION),
        DataType::Decimal64(precision, scale) => decimal_rule(*precision, *scale, DECIMAL64_MAX_PRECISION),
        DataType::Decimal128(precision, scale) => decimal_rule(*precision, *scale, DECIMAL128_MAX_PRECISION),
        DataType::Decimal256(precision, scale) => decimal_rule(*precision, *scale, DECIMAL256_MAX_PRECISION),
        DataType::FixedSizeBinary(size) | DataType::FixedSizeList(_, size) if *size < 0 => {
            Some("its values can't have a negative size".to_owned())
        }
        DataType::Map(entries, _) => {
            let is_pair = matches!(entries.data_type(), DataType::Struct(fields) if fields.len() == 2);
            (!is_pair).then(|| "the entries of a map have a key and a value".to_owned())
        }
        DataType::Dictionary(key, _) if !key.is_dictionary_key_type() => {
            Some("the indices of a dictionary are whole numbers".to_owned())
        }
        DataType::RunEndEncoded(ends, _) if !ends.data_type().is_run_ends_type() => {
            Some("the ends of runs are whole numbers of 16, 32 or 64 bits".to_owned())
        }
        _ => None,
    };
    if let Some(rule) = own {
        return Some((data_type, rule));
    }
    match data_type {
        DataType::Dictionary(_, values) => broken_rule(values),
        DataType::RunEndEncoded(_, values) => broken_rule(values.data_type()),
        DataType::Union(members, _) => members.iter().find_map(|(_, member)| broken_rule(member.data_type())),
        other => inner_fields(other).into_iter().flatten().find_map(|field| broken_rule(field.data_type())),
    }
}

fn decimal_rule(precision: u8, scale: i8, most: u8) -> Option<String> {
    if !(1..=most).contains(&precision) {
        return Some(format!("decimals of this width have a precision of 1 to {most}"));
    }
    (scale.unsigned_abs() > most).then(|| format!("decimals of this width have a scale of -{most} to {most}"))
}

#[cfg(test)]
mod tests;
