#![allow(clippy::unwrap_used, reason = "a test may panic")]

use arrow::array::{Array, ArrayRef, AsArray, StringArray, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use proptest::prelude::*;

use super::text_dictionary;

/// The texts of a dictionary, by the crate `arrow`, after its checks.
fn read_back(texts: &StringViewArray) -> (usize, StringArray) {
    let dictionary = text_dictionary(texts).unwrap();
    dictionary.to_data().validate_full().unwrap();
    assert_eq!(*dictionary.data_type(), DataType::Dictionary(DataType::Int32.into(), DataType::Utf8.into()));
    // A reader may look up the keys of nulls, too.
    assert!(dictionary.keys().values().iter().all(|key| (*key as usize) < dictionary.values().len()));
    let plain: ArrayRef = cast(&dictionary, &DataType::Utf8).unwrap();
    (dictionary.values().len(), plain.as_string::<i32>().clone())
}

fn plain(texts: &StringViewArray) -> StringArray {
    texts.iter().collect()
}

#[test]
fn texts_that_repeat_are_values_once() {
    let words = ["", "short", "exactly 12 b", "a text of more than twelve bytes"];
    let distinct = StringViewArray::from_iter_values(words);
    let keys = arrow::array::UInt32Array::from_iter_values((0..10_000).map(|row| row * 7 % 4));
    let texts = arrow::compute::take(&distinct, &keys, None).unwrap();
    let (values, back) = read_back(texts.as_string_view());
    assert_eq!((values, back), (4, plain(texts.as_string_view())));
}

#[test]
fn texts_that_differ_have_a_value_for_each_row() {
    let texts = StringViewArray::from_iter_values((0..10_000).map(|row| format!("the text of the row {row}")));
    let (values, back) = read_back(&texts);
    assert_eq!((values, back), (10_000, plain(&texts)));
}

#[test]
fn a_dictionary_grows() {
    let texts: StringViewArray = (0..200_000).map(|row| Some(format!("{}", row % 9_000))).collect();
    // The first rows all differ, so this batch has a value for each row.
    assert_eq!(read_back(&texts), (200_000, plain(&texts)));
    let texts: StringViewArray = (0..200_000).map(|row| Some(format!("{}", row / 20))).collect();
    assert_eq!(read_back(&texts), (10_000, plain(&texts)));
}

#[test]
fn nulls_need_no_value_of_their_own() {
    assert_eq!(read_back(&StringViewArray::new_null(0)).0, 0);
    assert_eq!(read_back(&StringViewArray::new_null(5)), (1, StringArray::new_null(5)));
    let texts: StringViewArray = (0..9_999).map(|row| (row % 3 != 0).then(|| format!("{}", row % 5))).collect();
    assert_eq!(read_back(&texts), (5, plain(&texts)));
}

proptest! {
    #[test]
    fn any_texts_are_the_same_afterwards(
        rows in prop::collection::vec(prop::option::of(0_u32..200), 0..5_000),
        start in 0_usize..100,
        word in "[a-zäß€😀]{0,20}",
    ) {
        let texts: StringViewArray = rows.iter().map(|row| row.map(|row| format!("{word}{row}"))).collect();
        let texts = texts.slice(start.min(texts.len()), texts.len() - start.min(texts.len()));
        prop_assert_eq!(read_back(&texts).1, plain(&texts));
        prop_assert_eq!(text_dictionary(&texts).unwrap().null_count(), texts.null_count());
    }
}
