use arrow::datatypes::{DataType, Field, Fields, Metadata};
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;

use super::{FEW_FIELDS, FieldIds, FieldPositions};
use crate::FindBy;

fn with_id(name: &str, id: &str) -> Field {
    let metadata: Metadata = [(PARQUET_FIELD_ID_META_KEY, id.to_owned())].into_iter().collect();
    Field::new(name, DataType::Int32, true).with_metadata(metadata)
}

fn fields(count: usize) -> Fields {
    let mut fields: Vec<Field> = (0..count).map(|n| with_id(&format!("c{n}"), &format!("{}", count - n))).collect();
    fields.push(with_id("c0", "0"));
    fields.into()
}

#[test]
fn few_and_many_fields_are_found_alike() {
    for count in [1, FEW_FIELDS - 1, FEW_FIELDS, FEW_FIELDS + 1, 1000] {
        let fields = fields(count);
        let positions = FieldPositions::new(&fields);
        for (at, field) in fields.iter().enumerate() {
            let first = fields.iter().position(|other| other.name() == field.name());
            assert_eq!(positions.of_name(field.name()), first, "{count}");
            assert_eq!(positions.of_stored(field, FindBy::Name), first, "{count}");
            assert_eq!(positions.of_stored(field, FindBy::Id), Some(at), "{count}");
            assert_eq!(positions.of_stored(&Field::new(field.name(), DataType::Int8, true), FindBy::Id), first);
        }
        assert_eq!(positions.of_name("other"), None);
        assert_eq!(positions.of_stored(&with_id("c0", "other"), FindBy::Id), None);
    }
}

#[test]
fn a_field_that_is_there_twice_has_its_id_once() {
    let mut ids = FieldIds::default();
    ids.take(&Field::new("s", DataType::Struct(vec![with_id("x", "7")].into()), true));
    assert!(ids.of_copy(with_id("y", "7")).metadata().is_empty());
    assert_eq!(ids.of_copy(with_id("z", "8")), with_id("z", "8"));
    assert!(ids.of_copy(with_id("w", "8")).metadata().is_empty());
    assert_eq!(ids.of_copy(Field::new("v", DataType::Utf8, true)), Field::new("v", DataType::Utf8, true));
}
