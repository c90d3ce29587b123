#![allow(clippy::unwrap_used)]

use arrow::array::Int64Array;
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn the_least_and_the_largest_text_are_kept(texts in proptest::collection::vec(proptest::option::of("[ab\u{0}é]{0,16}"), 0..40)) {
        let array: StringViewArray = texts.iter().map(Option::as_deref).collect();
        let (least, largest) = (texts.iter().flatten().min(), texts.iter().flatten().max());
        let found = extremes(&array).map(|(least, largest)| (array.value(least), array.value(largest)));
        prop_assert_eq!(found, least.zip(largest).map(|(least, largest)| (least.as_str(), largest.as_str())));
        if let Some(thin) = thinned(&array) {
            let thin = thin.unwrap();
            prop_assert_eq!(thin.len(), array.len());
            let shown: Vec<&str> = thin.as_string_view().iter().flatten().collect();
            prop_assert_eq!((shown.iter().min().copied(), shown.iter().max().copied()), (least.map(String::as_str), largest.map(String::as_str)));
        }
    }
}

#[test]
fn numbers_of_nulls_can_be_changed_at_any_depth() {
    let counts: ArrayRef = Arc::new(Int64Array::from(vec![5]));
    let inner = StructArray::try_from(vec![("text", counts)]).unwrap();
    let outer = StructArray::try_from(vec![("nullCount", Arc::new(inner) as ArrayRef)]).unwrap();
    let same = map_child(&outer, "minValues", &|_| Err(Error::internal("it has none"))).unwrap();
    assert_eq!(same, outer);
    let more = map_child(&outer, "nullCount", &|_| Ok(Arc::new(Int64Array::from(vec![7])))).unwrap_err();
    assert!(more.to_string().contains("type"), "{more}");
}
