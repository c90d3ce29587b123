#![allow(clippy::unwrap_used)]

use arrow::array::{FixedSizeBinaryArray, ListArray, StructArray};
use arrow::buffer::OffsetBuffer;

use super::*;
use crate::extension_types::mark_uuid;

const TEXT: &str = "123e4567-e89b-12d3-a456-426614174000";

fn uuid_field(name: &str) -> Field {
    let mut field = Field::new(name, DataType::FixedSizeBinary(16), true);
    mark_uuid(&mut field);
    field
}

fn ids() -> ArrayRef {
    let values = [Some(uuid_bytes(TEXT).unwrap()), None].into_iter();
    Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, 16).unwrap())
}

#[test]
fn texts_and_bytes_are_the_same_uuid() {
    assert_eq!(uuid_text(&uuid_bytes(TEXT).unwrap()), TEXT);
    assert_eq!(uuid_bytes(&TEXT.replace('-', "").to_uppercase()), uuid_bytes(TEXT));
    assert_eq!(uuid_bytes("123"), None);
}

#[test]
fn uuids_at_every_level_become_texts() {
    let fields: Fields = vec![uuid_field("u")].into();
    let within = StructArray::try_new(fields.clone(), vec![ids()], None).unwrap();
    let item = Arc::new(Field::new("item", DataType::Struct(fields.clone()), true));
    let offsets = OffsetBuffer::from_lengths([2, 0]);
    let list = ListArray::try_new(Arc::clone(&item), offsets, Arc::new(within), None).unwrap();
    let bytes = Field::new("bytes", DataType::FixedSizeBinary(16), true);
    let schema = Schema::new(vec![uuid_field("u"), Field::new("list", DataType::List(item), true), bytes]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![ids(), Arc::new(list), ids()]).unwrap();

    let texts = with_uuid_texts(batch.slice(0, 1)).unwrap();
    assert_eq!(texts.column(0).as_string::<i32>().value(0), TEXT);
    let within = texts.column(1).as_list::<i32>().value(0);
    let within = within.as_struct().column(0).as_string::<i32>();
    assert_eq!(within.iter().collect::<Vec<_>>(), [Some(TEXT), None]);
    assert_eq!(texts.column(2).data_type(), &DataType::FixedSizeBinary(16));
    assert!(!has_uuids(&texts.schema()));
}
