use super::*;

fn json() -> Field {
    let mut field = Field::new("a", DataType::Utf8, true);
    mark_json(&mut field);
    field
}

#[test]
fn joined_fields_keep_the_extension_type_that_both_have() {
    let joined = |mut field: Field, other: &Field| {
        join_extension_types(&mut field, other);
        field
    };
    let (text, null) = (Field::new("a", DataType::Utf8, true), Field::new("a", DataType::Null, true));
    assert!(is_json(&joined(json(), &json())));
    assert_eq!(joined(json(), &text), text);
    assert_eq!(joined(text.clone(), &json()), text);
    assert!(is_json(&joined(json(), &null)));
    assert_eq!(joined(null, &json()).extension_type_name(), Some("arrow.json"));
}

#[test]
fn other_bytes_are_no_uuids() {
    let mut field = Field::new("a", DataType::FixedSizeBinary(8), true);
    mark_uuid(&mut field);
    assert!(!is_uuid(&field));
}

#[test]
fn json_is_text_for_other_libraries() {
    let mut uuid = Field::new("u", DataType::FixedSizeBinary(16), true);
    mark_uuid(&mut uuid);
    let within = |field: Field| Field::new("list", DataType::List(Arc::new(field)), true);
    let text = Field::new("a", DataType::Utf8, true);
    let exported = exported_schema(&Schema::new(vec![json(), within(json()), within(uuid.clone())]));
    assert_eq!(*exported, Schema::new(vec![text.clone(), within(text), within(uuid)]));
}

#[test]
fn other_libraries_get_uuids_without_a_dictionary() {
    let mut uuid = Field::new("u", DataType::FixedSizeBinary(16), true);
    mark_uuid(&mut uuid);
    let values = Box::new(uuid.data_type().clone());
    let dictionary = uuid.clone().with_data_type(DataType::Dictionary(Box::new(DataType::Int32), values));
    let within = |field: Field| Field::new("list", DataType::List(Arc::new(field)), true);
    let exported = exported_schema(&Schema::new(vec![dictionary.clone(), within(dictionary)]));
    assert_eq!(*exported, Schema::new(vec![uuid.clone(), within(uuid)]));
}
