#![allow(clippy::unwrap_used, clippy::panic)]

use arrow::array::{
    BinaryArray, BinaryViewArray, BooleanArray, Decimal128Array, Decimal256Array, DictionaryArray,
    FixedSizeBinaryArray, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, LargeBinaryArray,
    LargeStringArray, ListArray, StringArray, StringViewArray,
};
use arrow::compute::{cast, interleave_record_batch};
use arrow::datatypes::{Field, Int32Type, Schema, i256};
use proptest::prelude::*;

use super::super::NumberedRows;
use super::*;

/// A column of each layout, numbers and texts in turns, of these texts and their lengths. Only every second batch has nulls.
fn batch(texts: &[Option<String>], has_nulls: bool) -> RecordBatch {
    let texts: Vec<Option<&str>> =
        texts.iter().map(|text| text.as_deref().or((!has_nulls).then_some("twelve bytes and more"))).collect();
    let bytes: Vec<Option<&[u8]>> = texts.iter().map(|text| text.map(str::as_bytes)).collect();
    let numbers: Vec<Option<i64>> =
        texts.iter().zip(0..).map(|(text, row)| Some(text.as_ref()?.len() as i64 * 1000 + row)).collect();
    let number = |at: usize| numbers[at];
    let rows = texts.len();
    let days: Int32Array = (0..rows).map(|row| Some(number(row)? as i32)).collect();
    let arrays: Vec<ArrayRef> = vec![
        Arc::new((0..rows).map(|row| Some(number(row)? as i8)).collect::<Int8Array>()),
        Arc::new(StringViewArray::from_iter(texts.iter().copied())),
        Arc::new((0..rows).map(|row| Some(number(row)? as i16)).collect::<Int16Array>()),
        Arc::new(StringArray::from_iter(texts.iter().copied())),
        cast(&days, &DataType::Date32).unwrap(),
        Arc::new(BooleanArray::from_iter((0..rows).map(|row| Some(number(row)? % 2 == 0)))),
        Arc::new(LargeStringArray::from_iter(texts.iter().copied())),
        Arc::new(Int64Array::from_iter(numbers.iter().copied())),
        Arc::new(BinaryArray::from_iter(bytes.iter().copied())),
        Arc::new((0..rows).map(|row| Some(number(row)? as f64 / 8.0)).collect::<Float64Array>()),
        Arc::new(DictionaryArray::<Int32Type>::from_iter(texts.iter().copied())),
        Arc::new((0..rows).map(|row| Some(i128::from(number(row)?) << 70)).collect::<Decimal128Array>()),
        Arc::new((0..rows).map(|row| Some(i256::from_i128(number(row)?.into()))).collect::<Decimal256Array>()),
        Arc::new(LargeBinaryArray::from_iter(bytes.iter().copied())),
        Arc::new(BinaryViewArray::from_iter(bytes.iter().copied())),
        Arc::new(
            FixedSizeBinaryArray::try_from_sparse_iter_with_size(
                (0..rows).map(|row| Some(number(row)?.to_le_bytes())),
                8,
            )
            .unwrap(),
        ),
        Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(
            (0..rows).map(|row| Some((0..row as i32 % 3).map(Some))),
        )),
    ];
    let field = |(at, array): (usize, &ArrayRef)| Field::new(format!("c{at}"), array.data_type().clone(), true);
    let schema = Schema::new(arrays.iter().enumerate().map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), arrays).unwrap()
}

fn texts(rows: usize) -> Vec<Option<String>> {
    (0..rows).map(|row| (row % 5 != 0).then(|| "é".repeat(row % 40))).collect()
}

/// Packed, and taken in this order, they are as Arrow's own kernel has them.
fn check(batches: &[RecordBatch], order: &[u32], whole_first: usize) {
    let schema = batches[0].schema();
    let mut rows = NumberedRows::new(RowPacking::new(&schema, 2).map(Arc::new));
    for (number, batch) in batches.iter().enumerate() {
        if number == whole_first {
            rows.pack().unwrap();
        }
        rows.push(batch.clone()).unwrap();
    }
    rows.pack().unwrap();
    assert!(rows.batches().is_empty());
    let at: Vec<(usize, usize)> =
        batches.iter().enumerate().flat_map(|(n, batch)| (0..batch.num_rows()).map(move |row| (n, row))).collect();
    assert_eq!(rows.len(), at.len());
    let expected: Vec<(usize, usize)> = order.iter().map(|row| at[*row as usize]).collect();
    let expected = interleave_record_batch(&batches.iter().collect::<Vec<_>>(), &expected).unwrap();
    let found = rows.gather(&schema, order.iter().copied()).unwrap();
    found.columns().iter().for_each(|column| column.to_data().validate_full().unwrap());
    assert_eq!(found, expected);
}

#[test]
fn rows_come_back_whatever_their_number() {
    for rows in [1, 2 * PIECE_ROWS + 1, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 3 * BLOCK_ROWS + 7] {
        let batches = [batch(&texts(rows), true), batch(&texts(rows + 3), false).slice(2, rows)];
        let order: Vec<u32> = (0..2 * rows as u32).rev().collect();
        check(&batches, &order, 1);
        check(&batches, &[], 0);
    }
}

#[test]
fn a_schema_of_other_columns_is_not_packed() {
    let whole = batch(&texts(3), true);
    let lists = whole.project(&[16]).unwrap();
    assert!(RowPacking::new(&lists.schema(), 1).is_none());
    let mut rows = NumberedRows::new(None);
    rows.push(lists.clone()).unwrap();
    rows.pack().unwrap();
    assert_eq!(rows.gather(&lists.schema(), 0..3).unwrap(), lists);
}

#[test]
fn packed_rows_take_what_they_hold() {
    let whole = batch(&texts(1000), false).project(&[1, 7]).unwrap();
    let packing = RowPacking::new(&whole.schema(), 1).unwrap();
    let (packed, _) = packing.pack(&whole, None).unwrap().remove(0);
    let text_bytes: usize = whole.column(0).as_string_view().iter().flatten().map(str::len).sum();
    // A byte of nulls, a length and a number.
    let bytes = text_bytes + 1000 * (1 + 4 + 8);
    assert_eq!((0..1000).map(|row| packed.row_bytes(row)).sum::<usize>(), bytes);
    // Blocks come in steps of a sixteenth; where each row begins, and where it came from.
    assert!((bytes..bytes * 17 / 16 + 64 + 1001 * 4 + 1000 * 2).contains(&packed.memory_bytes()));
}

#[test]
fn large_rows_are_packed_in_several_pieces() {
    let texts: Vec<Option<String>> = (0..5).map(|row| Some("x".repeat((row + 1) << 20))).collect();
    let whole = batch(&texts, true).project(&[1, 7, 3]).unwrap();
    let pieces = RowPacking::new(&whole.schema(), 2).unwrap().pack(&whole, None).unwrap();
    assert_eq!(pieces.iter().map(|(rows, _)| rows.rows()).collect::<Vec<_>>(), [2, 1, 1, 1]);
    check(&[whole.clone(), whole], &[9, 0, 4, 5], 0);
}

#[test]
fn ranges_are_bounded_by_rows_and_bytes() {
    let lengths = [10usize, 5000, 10, 10, 10, 400, 400, 400, 10];
    let texts: Vec<Option<String>> = lengths.iter().map(|length| Some("x".repeat(*length))).collect();
    let whole = batch(&texts, true).project(&[1]).unwrap();
    let mut rows = NumberedRows::new(RowPacking::new(&whole.schema(), 1).map(Arc::new));
    rows.push(whole.clone()).unwrap();
    let cut = |rows: &NumberedRows, most_rows, most_bytes| rows.cut(0..9, most_rows, most_bytes);
    assert_eq!(cut(&rows, 4, 1000), [0..4, 4..8, 8..9]);
    rows.pack().unwrap();
    assert_eq!(cut(&rows, 4, 1000), [0..1, 1..2, 2..6, 6..9]);
    assert_eq!(cut(&rows, 4, 800), [0..1, 1..2, 2..6, 6..7, 7..9]);
    assert_eq!(cut(&rows, 100, 1), (0..9).map(|row| row..row + 1).collect::<Vec<_>>());
    assert_eq!(cut(&rows, 4, 1 << 20), [0..4, 4..8, 8..9]);
    assert_eq!(rows.cut([1, 1, 8].into_iter(), 4, 6000), [0..1, 1..3]);
}

proptest! {
    #[test]
    fn rows_come_in_the_order_asked_for(
        texts in prop::collection::vec(prop::collection::vec(prop::option::of("[a-z]{0,30}"), 2..40), 1..5),
        picks in prop::collection::vec(any::<prop::sample::Index>(), 0..600),
        whole_first in 0usize..5,
    ) {
        let batches: Vec<RecordBatch> = texts
            .iter()
            .enumerate()
            // A slice shares the buffers of the whole.
            .map(|(number, texts)| batch(texts, number % 2 == 0).slice(1, texts.len() - 1))
            .collect();
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let order: Vec<u32> = picks.iter().map(|pick| pick.index(rows) as u32).collect();
        check(&batches, &order, whole_first);
    }
}

#[test]
fn rows_are_kept_nearly_in_the_order_of_their_keys() {
    let rows = 2 * PIECE_ROWS + 100;
    let whole = batch(&texts(rows), true);
    // In no order, and each twice.
    let keys: Vec<u64> = (0..rows as u64).map(|row| (row / 2 * 2).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 30).collect();
    let packing = Arc::new(RowPacking::new(&whole.schema(), 2).unwrap());
    let rows_and_keys = |alone: bool| {
        let (mut packed, mut kept) = (NumberedRows::new(Some(Arc::clone(&packing))), Keys::Narrow(Vec::new()));
        let keys = Keys::Narrow(keys.clone());
        if alone {
            let batch = packing.pack_alone(&whole, Some(&keys), 7).unwrap();
            assert!(packed.push_packed(batch, &mut kept).is_err(), "packed rows among others");
            packed.pack().unwrap();
            packed.push_packed(packing.pack_alone(&whole, Some(&keys), 7).unwrap(), &mut kept).unwrap();
        } else {
            packed.pack().unwrap();
            packed.push_by_keys(whole.clone(), keys, &mut kept).unwrap();
        }
        (packed, kept)
    };
    let (packed, kept) = rows_and_keys(false);
    assert_eq!(rows_and_keys(true).1, kept);
    let Keys::Narrow(kept) = kept else { panic!() };
    let origins: Vec<u32> = (0..rows as u32).map(|row| packed.origin(row)).collect();
    assert!(!origins.is_sorted());
    assert_eq!(kept, origins.iter().map(|row| keys[*row as usize]).collect::<Vec<_>>());
    let found = packed.gather(&whole.schema(), 0..rows as u32).unwrap();
    found.columns().iter().for_each(|column| column.to_data().validate_full().unwrap());
    assert_eq!(found, take_record_batch(&whole, &UInt32Array::from(origins.clone())).unwrap());
    for piece in [0..PIECE_ROWS, PIECE_ROWS..2 * PIECE_ROWS, 2 * PIECE_ROWS..rows] {
        let mut expected = origins[piece.clone()].to_vec();
        expected.sort_by_key(|row| (keys[*row as usize], *row));
        // Those of few rows may be in order already.
        let (_, sorted) = Keys::Narrow(kept[piece.clone()].to_vec()).sorted(1);
        let sorted = sorted.unwrap_or_else(|| (0..piece.len() as u32).collect());
        assert!(expected.into_iter().eq(sorted.iter().map(|row| origins[piece.start + *row as usize])));
    }
}
