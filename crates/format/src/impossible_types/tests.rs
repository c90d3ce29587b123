use std::sync::Arc;

use arrow::datatypes::{Field, Schema};

use super::*;

fn found(data_type: DataType) -> Option<String> {
    let fields = vec![Field::new("fine", DataType::Int32, true), Field::new("odd", data_type, true)];
    ImpossibleType::find(&Schema::new(fields)).map(|found| found.to_string())
}

fn item(data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", data_type, true))
}

#[test]
fn possible_types_pass() {
    let pair = DataType::Struct(vec![item(DataType::Utf8), item(DataType::Int8)].into());
    for data_type in [
        DataType::Decimal32(9, 2),
        DataType::Decimal64(18, -18),
        DataType::Decimal128(38, 38),
        // Other libraries have decimals below 1 with less digits than their scale.
        DataType::Decimal128(3, 5),
        DataType::Decimal256(76, 0),
        DataType::FixedSizeBinary(0),
        DataType::FixedSizeList(item(DataType::Int8), 0),
        DataType::Map(item(pair), false),
        DataType::Dictionary(Box::new(DataType::UInt64), Box::new(DataType::Utf8)),
        DataType::RunEndEncoded(item(DataType::Int16), item(DataType::Utf8)),
    ] {
        assert_eq!(found(data_type.clone()), None, "{data_type}");
    }
}

#[test]
fn impossible_types_are_named_at_any_level() {
    let impossible = [
        DataType::Decimal32(10, 0),
        DataType::Decimal64(19, 0),
        DataType::Decimal128(139, 2),
        DataType::Decimal128(0, 0),
        DataType::Decimal128(5, 39),
        DataType::Decimal128(5, -39),
        DataType::Decimal256(77, 0),
        DataType::FixedSizeBinary(-1),
        DataType::FixedSizeList(item(DataType::Int8), -5),
        DataType::Map(item(DataType::Utf8), false),
        DataType::Map(item(DataType::Struct(vec![item(DataType::Utf8)].into())), false),
        DataType::Dictionary(Box::new(DataType::Utf8), Box::new(DataType::Utf8)),
        DataType::RunEndEncoded(item(DataType::Int8), item(DataType::Utf8)),
    ];
    for data_type in impossible {
        let wraps = [
            data_type.clone(),
            DataType::List(item(data_type.clone())),
            DataType::Struct(vec![item(data_type.clone())].into()),
            DataType::Dictionary(Box::new(DataType::Int8), Box::new(data_type.clone())),
            DataType::RunEndEncoded(item(DataType::Int16), item(data_type.clone())),
        ];
        for wrapped in wraps {
            let text = found(wrapped).unwrap_or_default();
            let start = format!("column \"odd\" has the type {}, but ", print_type(&data_type));
            assert!(text.starts_with(&start), "{text}");
        }
    }
}
