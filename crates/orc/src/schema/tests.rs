#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::ErrorKind;

fn nested() -> Schema {
    let item = Arc::new(Field::new("item", DataType::Decimal128(15, 2), true));
    let fields = vec![Field::new("l", DataType::List(item), true), Field::new("b", DataType::Boolean, true)];
    let entries = Fields::from(vec![
        Field::new("key", DataType::Utf8View, false),
        Field::new("value", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), true),
    ]);
    Schema::new(vec![
        Field::new("a", DataType::Int64, true),
        Field::new("s", DataType::Struct(fields.into()), true),
        Field::new("m", DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false), true),
        Field::new("d", DataType::Date32, true),
    ])
}

#[test]
fn ids_count_nodes_in_pre_order_and_everything_comes_back() {
    let tree = OrcType::from_arrow(&nested()).unwrap();
    let types = tree.to_proto();
    assert_eq!(types.len(), 10);
    assert_eq!(types[0].subtypes, [1, 2, 6, 9]);
    assert_eq!(types[2].subtypes, [3, 5]);
    assert!(types.iter().all(|wire| wire.attributes.is_empty() == (wire.kind() != proto::TypeKind::TimestampInstant)));
    let [instant] = &types[8].attributes[..] else { panic!("{:?}", types[8]) };
    assert_eq!((instant.key(), instant.value()), ("spark.sql.catalyst.type", "timestamp"));
    assert_eq!((types[4].precision(), types[4].scale()), (15, 2));
    let again = OrcType::from_proto(&types).unwrap();
    assert_eq!(again, tree);
    assert_eq!(*again.to_arrow_schema(TimeUnit::Nanosecond), nested());
    assert_eq!(again.find(8).unwrap().kind, OrcKind::TimestampInstant);
    assert_eq!(again.find(6).unwrap().last_id, 8);
    assert!(again.find(10).is_none());
}

#[test]
fn a_bigint_that_spark_marks_as_a_time_is_one() {
    let mut types = OrcType::from_arrow(&Schema::new(vec![Field::new("t", DataType::Int64, true)])).unwrap().to_proto();
    let pair = |value: &str| proto::StringPair { key: Some(SPARK_TYPE.to_owned()), value: Some(value.to_owned()) };
    types[1].attributes = vec![pair("interval day to second")];
    assert_eq!(OrcType::from_proto(&types).unwrap().find(1).unwrap().kind, OrcKind::Long);
    types[1].attributes = vec![pair("timestamp_ntz")];
    let tree = OrcType::from_proto(&types).unwrap();
    let schema = tree.to_arrow_schema(TimeUnit::Microsecond);
    assert_eq!(schema.field(0).data_type(), &DataType::Timestamp(TimeUnit::Microsecond, None));
    assert_eq!(tree.to_proto(), types);
}

#[test]
fn types_that_are_no_tree_are_errors() {
    let good = OrcType::from_arrow(&nested()).unwrap().to_proto();
    let mut cases: Vec<(Vec<proto::Type>, &str)> = vec![(vec![], "missing"), (good[..9].to_vec(), "missing")];
    let mut change = |at: usize, make: &dyn Fn(&mut proto::Type), words: &'static str| {
        let mut types = good.clone();
        make(&mut types[at]);
        cases.push((types, words));
    };
    change(0, &|t| t.subtypes[1] = 0, "the next in order");
    change(3, &|t| t.subtypes.clear(), "0 children");
    change(9, &|t| t.subtypes.push(1), "1 children, but its kind has 0");
    change(0, &|t| drop(t.field_names.pop()), "3 names for 4 fields");
    change(4, &|t| t.precision = Some(39), "precision 39");
    change(
        0,
        &|t| {
            t.subtypes.pop();
            t.field_names.pop();
        },
        "only 9 of 10",
    );
    for (types, words) in cases {
        let error = OrcType::from_proto(&types).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains(words), "{error}");
    }
    let mut deep = vec![proto::Type { kind: Some(proto::TypeKind::Long as i32), ..Default::default() }];
    for id in (1..200).rev() {
        deep.insert(
            0,
            proto::Type { kind: Some(proto::TypeKind::List as i32), subtypes: vec![id], ..Default::default() },
        );
    }
    deep.iter_mut().enumerate().for_each(|(at, t)| t.subtypes.iter_mut().for_each(|s| *s = at as u32 + 1));
    assert_eq!(OrcType::from_proto(&deep).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn what_orc_lacks_is_named_with_its_column() {
    let inner = Fields::from(vec![Field::new("t", DataType::UInt64, true)]);
    let schema = Schema::new(vec![Field::new("s", DataType::Struct(inner), true)]);
    let error = OrcType::from_arrow(&schema).unwrap_err();
    assert_eq!((error.kind(), error.location()), (ErrorKind::Unsupported, "s, t"));
}
