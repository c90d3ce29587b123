#![allow(clippy::unwrap_used)]
use arrow::array::{LargeStringArray, StringArray};
use arrow::compute::filter;
use proptest::prelude::*;

use super::*;

/// The rows by the standard library, text by text.
fn expected(texts: &[Option<String>], substring: &str) -> Vec<bool> {
    texts.iter().map(|text| text.as_ref().is_some_and(|text| text.contains(substring))).collect()
}

/// The result of rows that are not null; those that are have none.
fn rows(found: &BooleanBuffer, array: &dyn Array) -> Vec<bool> {
    (0..array.len()).map(|row| array.is_valid(row) && found.value(row)).collect()
}

proptest! {
    #[test]
    fn agrees_with_each_text_alone(
        texts in prop::collection::vec(prop::option::weighted(0.9, "[ab]{0,30}|é[ab]{12,14}"), 0..300),
        substring in "[ab]{1,4}|éa?",
        start in 0usize..70,
        kept in prop::collection::vec(any::<bool>(), 300),
    ) {
        let finder = Finder::new(substring.as_bytes());
        let start = start.min(texts.len());
        let wanted = expected(&texts[start..], &substring);
        let views: StringViewArray = texts.iter().map(|text| text.as_deref()).collect();
        let views = views.slice(start, texts.len() - start);
        prop_assert_eq!(rows(&rows_with(&views, &finder), &views), wanted.clone());
        let small: StringArray = texts.iter().map(|text| text.as_deref()).collect();
        let small = small.slice(start, texts.len() - start);
        prop_assert_eq!(rows(&rows_with_offsets(&small, &finder), &small), wanted.clone());
        let large: LargeStringArray = texts.iter().map(|text| text.as_deref()).collect();
        prop_assert_eq!(rows(&rows_with_offsets(&large, &finder), &large), expected(&texts, &substring));

        // Texts between those that stay are not searched.
        let mask = kept[..views.len()].to_vec().into();
        let some = filter(&views, &mask).unwrap();
        let some = arrow::array::AsArray::as_string_view(&some);
        let wanted: Vec<bool> = wanted.into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(row, _)| row).collect();
        prop_assert_eq!(rows(&rows_with(some, &finder), some), wanted);
    }
}

#[test]
fn a_substring_across_two_texts_is_in_neither() {
    let texts = ["the first text ends with a", "b starts the second text", "and a third one has ab in it"];
    let finder = Finder::new(b"ab");
    let array = StringArray::from(texts.to_vec());
    assert_eq!(rows(&rows_with_offsets(&array, &finder), &array), [false, false, true]);
    let views = StringViewArray::from(texts.to_vec());
    assert_eq!(rows(&rows_with(&views, &finder), &views), [false, false, true]);
}

#[test]
fn texts_of_several_buffers_and_in_any_order_are_found() {
    let (first, second) = (StringViewArray::from(vec!["one long text with x in it"; 3]), "another one without that");
    let second = StringViewArray::from(vec![second, "and the last one, which has x"]);
    let both = arrow::compute::concat(&[&first, &second]).unwrap();
    let turned = arrow::compute::take(&both, &arrow::array::UInt32Array::from(vec![4, 0, 3, 3, 1, 4]), None).unwrap();
    let turned = arrow::array::AsArray::as_string_view(&turned);
    let found = rows_with(turned, &Finder::new(b"x"));
    assert_eq!(rows(&found, turned), [true, true, false, false, true, true]);
}
