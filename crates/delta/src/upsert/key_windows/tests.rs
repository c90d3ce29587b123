#![allow(clippy::unwrap_used)]

use arrow::array::{ArrayRef, Int64Array, StringArray};

use super::*;

fn batch(rows: usize, text_bytes: usize) -> RecordBatch {
    let texts = StringArray::from_iter_values((0..rows).map(|_| "x".repeat(text_bytes)));
    let numbers = Int64Array::from_iter_values(0..rows as i64);
    let columns: [(&str, ArrayRef); 2] = [("number", Arc::new(numbers)), ("text", Arc::new(texts))];
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn pieces_have_every_row_once_and_are_counted_on() {
    let batches = [batch(0, 1), batch(300_000, 1), batch(5, 1), batch(0, 1), batch(131_072, 1)];
    let pieces = numbered_pieces(batches.iter().cloned().map(Ok), 2, usize::MAX).collect::<Result<Vec<_>>>().unwrap();
    let mut next = FIRST_ROW;
    for (first_row, piece) in &pieces {
        assert_eq!(*first_row, next);
        assert!((1..=*PIECE_ROWS.end()).contains(&piece.num_rows()));
        next += piece.num_rows() as u64;
    }
    let pieces: Vec<RecordBatch> = pieces.into_iter().map(|(_, piece)| piece).collect();
    let schema = batches[0].schema();
    let whole = |batches: &[RecordBatch]| arrow::compute::concat_batches(&schema, batches).unwrap();
    assert_eq!(whole(&pieces), whole(&batches));
}

#[test]
fn an_error_comes_in_its_place() {
    let batches = [Ok(batch(3, 1)), Err(Error::invalid("source"))];
    let pieces: Vec<_> = numbered_pieces(batches.into_iter(), 2, usize::MAX).collect();
    assert_eq!(pieces[0].as_ref().unwrap().0, FIRST_ROW);
    assert_eq!(pieces[1].as_ref().unwrap_err().message(), "source");
}

#[test]
fn pieces_that_are_under_way_take_bounded_memory() {
    for (rows, text_bytes) in [(131_072, 8), (20_000, 1000)] {
        let batch = batch(rows, text_bytes);
        let bytes: usize = batch.columns().iter().map(value_bytes).sum();
        for threads in [1, 2, 16, 64] {
            let piece = piece_rows(&batch, threads, usize::MAX);
            let under_way = (2 * threads + PIECES_AHEAD) * piece * (bytes / rows);
            assert!(under_way <= UNDER_WAY_BYTES || piece == *PIECE_ROWS.start(), "{threads} threads: {under_way}");
        }
        assert!(piece_rows(&batch, 64, usize::MAX) < piece_rows(&batch, 2, usize::MAX));
    }
}
