#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BooleanArray, StringViewArray};

use super::RowMask;

#[test]
fn few_texts_let_go_of_the_pages_they_came_from() {
    let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values((0..100).map(|n| format!("text of number {n}"))));
    let bytes = |array: &ArrayRef| -> usize { array.as_string_view().data_buffers().iter().map(|b| b.len()).sum() };
    for (one_of, holds_all) in [(3, false), (1, true)] {
        let mask: BooleanArray =
            (0..100).map(|row| if row % 7 == 0 { None } else { Some(row % one_of == 0) }).collect();
        let selection = RowMask::new(&mask);
        let kept = selection.filter(&texts).unwrap();
        let rows: Vec<usize> = selection.part(0..100).runs().flatten().collect();
        assert_eq!((kept.len(), rows.len(), selection.len()), (selection.count(), selection.count(), 100));
        for (row, text) in rows.iter().zip(kept.as_string_view()) {
            assert_eq!(text.unwrap(), format!("text of number {row}"));
        }
        assert_eq!(bytes(&kept) == bytes(&texts), holds_all);
    }
}
