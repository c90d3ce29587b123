#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use arrow::array::{Int32Array, StringArray};
use arrow::datatypes::{Field, Fields};

use super::*;

fn path(text: &str) -> Part {
    let names: Vec<String> = text.split('.').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    Part::of_path(&names)
}

fn structure(fields: Vec<(&str, DataType)>) -> DataType {
    let fields: Fields = fields.into_iter().map(|(name, data_type)| Field::new(name, data_type, true)).collect();
    DataType::Struct(fields)
}

#[test]
fn parts_are_joined() {
    let mut part = path("b.c");
    part.join(path("a"));
    part.join(path("b.d"));
    let of_b = Part::Fields(vec![("c".into(), Part::Whole), ("d".into(), Part::Whole)]);
    assert_eq!(part, Part::Fields(vec![("b".into(), of_b), ("a".into(), Part::Whole)]));
    part.join(path("b"));
    assert_eq!(part, Part::Fields(vec![("b".into(), Part::Whole), ("a".into(), Part::Whole)]));
    part.join(path(""));
    assert_eq!(part, Part::Whole);
}

#[test]
fn fields_keep_the_order_of_their_struct() {
    let inner = structure(vec![("c", DataType::Int32), ("d", DataType::Utf8)]);
    let whole = Arc::new(Field::new("s", structure(vec![("a", DataType::Int32), ("b", inner)]), true));
    let mut part = path("b.d");
    part.join(path("a"));
    let wanted = structure(vec![("a", DataType::Int32), ("b", structure(vec![("d", DataType::Utf8)]))]);
    assert_eq!(part.of_field(&whole).data_type(), &wanted);
    assert_eq!(Part::Whole.of_field(&whole), whole);
}

#[test]
fn arrays_lose_the_other_fields() {
    let a: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
    let b: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
    let fields = Fields::from(vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Utf8, true)]);
    let nulls = Some(vec![true, false].into());
    let whole: ArrayRef = Arc::new(StructArray::new(fields.clone(), vec![a, Arc::clone(&b)], nulls.clone()));
    let narrowed = narrow(&whole, &structure(vec![("b", DataType::Utf8)])).unwrap();
    let wanted: ArrayRef = Arc::new(StructArray::new(Fields::from(vec![fields[1].clone()]), vec![b], nulls));
    assert_eq!(&narrowed, &wanted);
    assert_eq!(&narrow(&narrowed, narrowed.data_type()).unwrap(), &narrowed);
}

#[test]
fn leaves_are_counted_through_all_types() {
    let item = Arc::new(Field::new("item", structure(vec![("x", DataType::Int32), ("y", DataType::Int32)]), true));
    let whole = structure(vec![
        ("a", DataType::Int32),
        ("l", DataType::List(item)),
        ("s", structure(vec![("c", DataType::Int32), ("d", DataType::Utf8)])),
    ]);
    let leaves = |names: &[&str]| {
        let mut part = path(names[0]);
        names[1..].iter().for_each(|name| part.join(path(name)));
        let part = part.of_field(&Arc::new(Field::new("", whole.clone(), true)));
        let (mut next, mut found) = (10, Vec::new());
        leaves_of_part(&whole, part.data_type(), &mut next, &mut |leaf| found.push(leaf));
        assert_eq!(next, 15);
        found
    };
    assert_eq!(leaves(&["a"]), [10]);
    assert_eq!(leaves(&["l"]), [11, 12]);
    assert_eq!(leaves(&["s.d", "a"]), [10, 14]);
    assert_eq!(leaves(&[""]), [10, 11, 12, 13, 14]);
}
