#![allow(clippy::unwrap_used)]

use arrow::array::{AsArray, Int32Array, ListArray, StringArray};
use arrow::compute::interleave_record_batch;
use arrow::datatypes::{Field, Int32Type, Schema};
use proptest::prelude::*;

use super::*;

fn batch(texts: Vec<Option<String>>, pieces: usize) -> RecordBatch {
    let rows = texts.len();
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(StringViewArray::from_iter(texts.iter().map(Option::as_deref))),
        Arc::new(BinaryViewArray::from_iter(texts.iter().map(|text| text.as_deref().map(str::as_bytes)))),
        Arc::new(StringArray::from_iter(texts.iter().map(Option::as_deref))),
        Arc::new((0..rows as i32).collect::<Int32Array>()),
        Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(
            (0..rows as i32).map(|row| Some((0..row % 3).map(Some))),
        )),
    ];
    let fields: Vec<Field> = arrays
        .iter()
        .enumerate()
        .map(|(at, array)| Field::new(format!("c{at}"), array.data_type().clone(), true))
        .collect();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    // A slice shares the buffers of the whole.
    let start = rows / (pieces + 2);
    batch.slice(start, rows - start)
}

proptest! {
    #[test]
    fn rows_come_in_the_order_asked_for(
        texts in prop::collection::vec(
            prop::collection::vec(prop::option::of("[a-z]{0,30}"), 2..40),
            1..5,
        ),
        picks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..100),
    ) {
        let batches: Vec<RecordBatch> = texts.into_iter().enumerate().map(|(at, texts)| batch(texts, at)).collect();
        let at: Vec<(usize, usize)> = picks
            .iter()
            .map(|(number, row)| {
                let number = number.index(batches.len());
                (number, row.index(batches[number].num_rows()))
            })
            .collect();
        let gathered = gather(&batches[0].schema(), &batches, &at).unwrap();
        gathered.column(0).as_string_view().to_data().validate_full().unwrap();
        let expected = interleave_record_batch(&batches.iter().collect::<Vec<_>>(), &at).unwrap();
        prop_assert_eq!(gathered, expected);
    }
}
