#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema};

use super::*;

fn tree() -> OrcType {
    let entries = Fields::from(vec![
        Field::new("key", DataType::Utf8View, false),
        Field::new(
            "value",
            DataType::Struct(Fields::from(vec![
                Field::new("x", DataType::Int32, true),
                Field::new("y.z", DataType::Int32, true),
            ])),
            true,
        ),
    ]);
    let list = DataType::List(Arc::new(Field::new("item", DataType::Int32, true)));
    OrcType::from_arrow(&Schema::new(vec![
        Field::new("a", DataType::Int64, true),
        Field::new("m", DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false), true),
        Field::new("l", list, true),
    ]))
    .unwrap()
}

#[test]
fn columns_come_with_what_they_lie_in_and_what_lies_in_them() {
    let root = tree();
    let columns = |names: &[&str]| Projection::names(&root, names).unwrap().columns();
    assert_eq!(Projection::all(&root).columns(), (0..=8).collect::<Vec<_>>());
    assert_eq!(columns(&["l", "a"]), [0, 1, 7, 8]);
    assert_eq!(columns(&["m.value.y.z"]), [0, 2, 3, 4, 6]);
    assert_eq!(columns(&["m.key"]), [0, 2, 3, 4, 5, 6]);
    assert_eq!(columns(&["l.element"]), [0, 7, 8]);
    assert_eq!(columns(&[]), [0]);
    assert!(Projection::names(&root, &["m.value.y"]).is_err());
    assert!(Projection::ids(&root, &[9]).is_err());
}
