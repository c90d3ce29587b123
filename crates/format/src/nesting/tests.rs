#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema};
use lakerace_io::ErrorKind;

use super::{MAX_NESTING, check_nesting};

fn nested(depth: usize, wrap: fn(Field) -> DataType) -> Schema {
    let data_type = (0..depth).fold(DataType::Int32, |inner, _| wrap(Field::new("inner", inner, true)));
    Schema::new(vec![Field::new("flat", DataType::Utf8, true), Field::new("deep", data_type, true)])
}

#[test]
fn the_deepest_types_pass_and_deeper_ones_are_refused_by_name() {
    let wraps: [fn(Field) -> DataType; 4] = [
        |inner| DataType::Struct(Fields::from(vec![inner])),
        |inner| DataType::List(Arc::new(inner)),
        |inner| DataType::FixedSizeList(Arc::new(inner), 1),
        |inner| DataType::Dictionary(Box::new(DataType::Int8), Box::new(inner.data_type().clone())),
    ];
    for wrap in wraps {
        check_nesting(&nested(MAX_NESTING, wrap)).unwrap();
        for depth in [MAX_NESTING + 1, 5000] {
            let error = check_nesting(&nested(depth, wrap)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            assert!(error.to_string().contains("\"deep\""), "{error}");
        }
    }
}
