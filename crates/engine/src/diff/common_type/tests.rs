use super::*;

fn list(data_type: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", data_type, true)))
}

#[test]
fn values_of_two_layouts_are_text_or_bytes() {
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    assert_eq!(common_type(&DataType::Utf8, &dictionary), Some(DataType::Utf8));
    assert_eq!(common_type(&DataType::LargeUtf8, &dictionary), Some(DataType::Utf8View));
    assert_eq!(common_type(&DataType::Int32, &DataType::Int64), Some(DataType::Utf8View));
    assert_eq!(common_type(&DataType::Binary, &DataType::LargeBinary), Some(DataType::BinaryView));
    assert_eq!(common_type(&DataType::Binary, &DataType::Utf8), Some(DataType::BinaryView));
    assert_eq!(common_type(&dictionary, &dictionary), Some(dictionary));
    assert_eq!(common_type(&DataType::Binary, &DataType::Int64), None);
    assert_eq!(common_type(&list(DataType::Binary), &list(DataType::Int64)), None);
}

#[test]
fn lists_stay_lists() {
    let large = DataType::LargeList(Arc::new(Field::new("element", list(DataType::LargeUtf8), false)));
    let expected = DataType::LargeList(Arc::new(Field::new("item", list(DataType::Utf8View), true)));
    assert_eq!(common_type(&list(list(DataType::Utf8)), &large), Some(expected));
}

#[test]
fn other_shapes_have_no_common_type() {
    let named = |name: &str| DataType::Struct(Fields::from(vec![Field::new(name, DataType::Int32, true)]));
    assert_eq!(common_type(&named("a"), &named("b")), None);
    assert_eq!(common_type(&named("a"), &DataType::Int32), None);
    assert_eq!(common_type(&list(DataType::Int32), &named("a")), None);
}
