#![allow(clippy::unwrap_used)]

use arrow::array::new_null_array;
use arrow::datatypes::{Field, Fields, UnionFields, UnionMode};

use super::*;

/// All types that have fields within, and how many.
fn nested_types(inner: &DataType) -> Vec<(DataType, usize)> {
    let item: FieldRef = Arc::new(Field::new("item", inner.clone(), true));
    let key = Arc::new(Field::new("key", DataType::Int8, false));
    let entries: Fields = vec![key, Arc::clone(&item)].into();
    let entries = Arc::new(Field::new("entries", DataType::Struct(entries.clone()), false));
    vec![
        (DataType::Struct(Fields::empty()), 0),
        (DataType::Struct(vec![Arc::clone(&item), Arc::new(Field::new("other", DataType::Int8, true))].into()), 2),
        (DataType::List(Arc::clone(&item)), 1),
        (DataType::LargeList(Arc::clone(&item)), 1),
        (DataType::ListView(Arc::clone(&item)), 1),
        (DataType::LargeListView(Arc::clone(&item)), 1),
        (DataType::FixedSizeList(item, 2), 1),
        (DataType::Map(entries, false), 1),
    ]
}

fn flat_types() -> [DataType; 4] {
    let values = Box::new(DataType::Utf8View);
    [DataType::Null, DataType::Int64, DataType::Utf8View, DataType::Dictionary(Box::new(DataType::Int8), values)]
}

/// Judged by the arrow crate: each field within a type is the type of a child of its arrays.
#[test]
fn fields_within_a_type_are_those_of_the_children_of_its_arrays() {
    for (data_type, count) in nested_types(&DataType::Int32) {
        let fields = inner_fields(&data_type).unwrap();
        let children = new_null_array(&data_type, 1).to_data();
        let children: Vec<&DataType> = children.child_data().iter().map(|child| child.data_type()).collect();
        assert_eq!(fields.iter().map(|field| field.data_type()).collect::<Vec<_>>(), children, "{data_type}");
        assert_eq!(fields.len(), count, "{data_type}");
    }
    assert!(flat_types().iter().all(|flat| inner_fields(flat).is_none()));
}

#[test]
fn mapped_fields_take_the_places_of_those_before() {
    let renamed = |field: &FieldRef| -> FieldRef { Arc::new(Field::clone(field).with_name("new")) };
    for (data_type, _) in nested_types(&DataType::Int32) {
        assert_eq!(map_inner_fields(&data_type, Arc::clone), Some(data_type.clone()));
        let mapped = map_inner_fields(&data_type, renamed).unwrap();
        assert_eq!(std::mem::discriminant(&mapped), std::mem::discriminant(&data_type));
        let expected: Vec<FieldRef> = inner_fields(&data_type).unwrap().iter().map(renamed).collect();
        assert_eq!(inner_fields(&mapped), Some(expected.as_slice()));
    }
    assert!(flat_types().iter().all(|flat| map_inner_fields(flat, renamed).is_none()));
}

#[test]
fn a_type_is_found_at_any_level() {
    let is_view = |data_type: &DataType| *data_type == DataType::Utf8View;
    let mut nested = flat_types().to_vec();
    for _ in 0..3 {
        for data_type in nested.clone() {
            let holders = nested_types(&data_type).into_iter().skip(1).map(|(holder, _)| holder);
            let members = UnionFields::try_new(vec![0], vec![Field::new("a", data_type.clone(), true)]).unwrap();
            let ends = Arc::new(Field::new("run_ends", DataType::Int32, false));
            let runs = Arc::new(Field::new("values", data_type.clone(), true));
            let others = [DataType::Union(members, UnionMode::Sparse), DataType::RunEndEncoded(ends, runs)];
            for holder in holders.chain(others) {
                let by_text = holder.to_string().contains("Utf8View");
                assert_eq!(contains_type(&holder, &is_view), by_text, "{holder}");
                nested.push(holder);
            }
        }
        nested.truncate(60);
    }
}
