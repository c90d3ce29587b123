#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use arrow::array::{Int32Array, LargeListArray, StringArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::Field;

use super::*;

fn path(text: &str) -> ColumnPart {
    let names: Vec<String> = text.split('.').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    ColumnPart::of_path(&names)
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
    let of_b = ColumnPart::Fields(vec![("c".into(), ColumnPart::Whole), ("d".into(), ColumnPart::Whole)]);
    assert_eq!(part, ColumnPart::Fields(vec![("b".into(), of_b), ("a".into(), ColumnPart::Whole)]));
    part.join(path("b"));
    assert_eq!(part, ColumnPart::Fields(vec![("b".into(), ColumnPart::Whole), ("a".into(), ColumnPart::Whole)]));
    part.join(path(""));
    assert_eq!(part, ColumnPart::Whole);
}

#[test]
fn fields_keep_the_order_of_their_struct() {
    let inner = structure(vec![("c", DataType::Int32), ("d", DataType::Utf8)]);
    let whole = Arc::new(Field::new("s", structure(vec![("a", DataType::Int32), ("b", inner)]), true));
    let mut part = path("b.d");
    part.join(path("a"));
    let wanted = structure(vec![("a", DataType::Int32), ("b", structure(vec![("d", DataType::Utf8)]))]);
    assert_eq!(part.of_field(&whole).data_type(), &wanted);
    assert_eq!(ColumnPart::Whole.of_field(&whole), whole);
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
        leaves_of_part(&whole, part.data_type(), FindBy::Name, &mut next, &mut |leaf| found.push(leaf));
        assert_eq!(next, 15);
        found
    };
    assert_eq!(leaves(&["a"]), [10]);
    assert_eq!(leaves(&["l"]), [11, 12]);
    assert_eq!(leaves(&["s.d", "a"]), [10, 14]);
    assert_eq!(leaves(&[""]), [10, 11, 12, 13, 14]);
}

fn list(item: DataType) -> DataType {
    DataType::LargeList(Arc::new(Field::new("item", item, true)))
}

fn map(value: DataType) -> DataType {
    let pair = vec![Field::new("key", DataType::Utf8, false), Field::new("value", value, true)];
    DataType::Map(Arc::new(Field::new("entries", DataType::Struct(pair.into()), false)), false)
}

fn part_of(part: &ColumnPart, whole: DataType) -> DataType {
    part.of_field(&Arc::new(Field::new("", whole, true))).data_type().clone()
}

#[test]
fn parts_go_through_lists_and_the_values_of_maps() {
    let pair = || structure(vec![("a", DataType::Int32), ("b", DataType::Utf8)]);
    let one = structure(vec![("a", DataType::Int32)]);
    assert_eq!(part_of(&path("a"), list(map(list(pair())))), list(map(list(one.clone()))));
    assert_eq!(part_of(&path("a"), map(DataType::Int32)), map(DataType::Int32));
    // What is not there says nothing of the rest.
    assert_eq!(part_of(&ColumnPart::of_paths(&[vec!["a".into()], vec!["c".into()]]), list(pair())), list(pair()));
    // Where all is null is told by the field of the fewest bytes.
    let wide = structure(vec![("b", DataType::Utf8), ("l", list(DataType::Int32)), ("a", DataType::Int32)]);
    assert_eq!(part_of(&ColumnPart::of_paths(&[]), list(wide)), list(one));
    assert_eq!(part_of(&ColumnPart::nulls(), structure(Vec::new())), structure(Vec::new()));
    assert_eq!(part_of(&ColumnPart::nulls_of_path(&["s".into()]), structure(vec![("s", pair())])), {
        structure(vec![("s", structure(vec![("a", DataType::Int32)]))])
    });
}

#[test]
fn items_of_lists_lose_the_other_fields() {
    let a: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
    let b: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "z"]));
    let item = |fields: Vec<Field>, children: Vec<ArrayRef>| -> ArrayRef {
        let nulls = Some(vec![true, true, false].into());
        let items = StructArray::new(fields.into(), children, nulls);
        let field = Arc::new(Field::new("item", items.data_type().clone(), true));
        let nulls = Some(vec![true, false].into());
        Arc::new(LargeListArray::new(field, OffsetBuffer::from_lengths([3, 0]), Arc::new(items), nulls))
    };
    let (of_a, of_b) = (Field::new("a", DataType::Int32, true), Field::new("b", DataType::Utf8, true));
    let whole = item(vec![of_a.clone(), of_b], vec![Arc::clone(&a), b]);
    let part = item(vec![of_a], vec![a]);
    assert_eq!(&narrow(&whole, part.data_type()).unwrap(), &part);
    assert_eq!(&narrow(&whole.slice(1, 1), part.data_type()).unwrap(), &part.slice(1, 1));
}

#[test]
fn a_map_has_its_keys_whatever_is_read_of_its_values() {
    let inner = structure(vec![
        ("m", map(structure(vec![("x", DataType::Int32), ("y", DataType::Int32)]))),
        ("t", map(DataType::Utf8)),
    ]);
    let leaves = |part: &DataType| {
        let (mut next, mut found) = (0, Vec::new());
        leaves_of_part(&inner, part, FindBy::Name, &mut next, &mut |leaf| found.push(leaf));
        assert_eq!(next, 5);
        found
    };
    assert_eq!(leaves(&structure(vec![("m", map(structure(vec![("y", DataType::Int32)])))])), [0, 2]);
    // A field that the file lacks: one of its own tells where the struct is null, and a map has a key and a value at least.
    assert_eq!(leaves(&structure(vec![("late", DataType::Int32)])), [0, 1]);
    assert_eq!(leaves(&structure(vec![("m", map(structure(vec![("late", DataType::Int32)])))])), [0, 1]);
}
