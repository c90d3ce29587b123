#![allow(clippy::unwrap_used)]

use arrow::array::{
    FixedSizeBinaryArray, FixedSizeListArray, GenericListViewArray, ListArray, MapArray, OffsetSizeTrait, StructArray,
};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};

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

/// The texts of each row of a list of UUIDs, made of its texts.
fn rows_of<O: OffsetSizeTrait>(list: &GenericListViewArray<O>) -> Vec<Vec<Option<String>>> {
    let row = |values: ArrayRef| values.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect();
    list.iter().map(|values| values.map(row).unwrap_or_default()).collect()
}

fn list_view<O: OffsetSizeTrait>(item: &FieldRef, offsets: &[usize], sizes: &[usize]) -> GenericListViewArray<O> {
    let numbers = |numbers: &[usize]| numbers.iter().map(|n| O::usize_as(*n)).collect::<ScalarBuffer<O>>();
    GenericListViewArray::try_new(Arc::clone(item), numbers(offsets), numbers(sizes), ids(), None).unwrap()
}

/// Rows of a list view may share their elements, and have any order.
#[test]
fn uuids_in_list_views_become_texts() {
    let item: FieldRef = Arc::new(uuid_field("item"));
    let (offsets, sizes) = ([1, 0, 0, 2, 0], [1, 2, 0, 0, 1]);
    let elements = [Some(TEXT.to_owned()), None];
    let model: Vec<Vec<Option<String>>> =
        offsets.iter().zip(sizes).map(|(offset, size)| elements[*offset..offset + size].to_vec()).collect();
    let (short, long) = (list_view::<i32>(&item, &offsets, &sizes), list_view::<i64>(&item, &offsets, &sizes));
    let schema = Schema::new(vec![
        Field::new("short", DataType::ListView(Arc::clone(&item)), true),
        Field::new("long", DataType::LargeListView(item), true),
    ]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(short), Arc::new(long)]).unwrap();
    assert!(has_uuids(&batch.schema()));
    for (from, rows) in [(0, 5), (1, 3), (4, 1)] {
        let texts = with_uuid_texts(batch.slice(from, rows)).unwrap();
        assert_eq!(rows_of(texts.column(0).as_list_view::<i32>()), model[from..from + rows]);
        assert_eq!(rows_of(texts.column(1).as_list_view::<i64>()), model[from..from + rows]);
        assert!(!has_uuids(&texts.schema()));
    }
}

#[test]
fn uuids_in_maps_and_lists_of_one_size_become_texts() {
    let key = Arc::new(Field::new("keys", DataType::Int64, false));
    let fields: Fields = vec![key, Arc::new(uuid_field("values"))].into();
    let numbers: ArrayRef = Arc::new(arrow::array::Int64Array::from(vec![1, 2]));
    let entries = StructArray::try_new(fields.clone(), vec![numbers, ids()], None).unwrap();
    let entry = Arc::new(Field::new("entries", DataType::Struct(fields), false));
    let map = MapArray::try_new(Arc::clone(&entry), OffsetBuffer::from_lengths([2]), entries, None, false).unwrap();
    let item: FieldRef = Arc::new(uuid_field("item"));
    let pair = FixedSizeListArray::try_new(Arc::clone(&item), 2, ids(), None).unwrap();
    let schema = Schema::new(vec![
        Field::new("map", DataType::Map(entry, false), true),
        Field::new("pair", DataType::FixedSizeList(item, 2), true),
    ]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![Arc::new(map), Arc::new(pair)]).unwrap();
    let texts = with_uuid_texts(batch).unwrap();
    let values = |array: &ArrayRef| array.as_string::<i32>().iter().map(|t| t.map(str::to_owned)).collect::<Vec<_>>();
    assert_eq!(values(texts.column(0).as_map().values()), [Some(TEXT.to_owned()), None]);
    assert_eq!(values(texts.column(1).as_fixed_size_list().values()), [Some(TEXT.to_owned()), None]);
}
