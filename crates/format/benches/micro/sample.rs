//! Rows and bytes that benches share, the same in each run.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringViewArray};
use arrow::datatypes::{Field, Schema};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const WORDS: [&str; 16] = [
    "furiously",
    "quick",
    "requests",
    "sleep",
    "carefully",
    "final",
    "deposits",
    "above",
    "the",
    "ironic",
    "packages",
    "haggle",
    "blithely",
    "regular",
    "accounts",
    "among",
];

pub fn random() -> StdRng {
    StdRng::seed_from_u64(27)
}

/// A comment of some words, as TPC-H has them.
pub fn comment(random: &mut StdRng) -> String {
    let words: Vec<&str> = (0..random.random_range(2..8)).map(|_| WORDS[random.random_range(0..WORDS.len())]).collect();
    words.join(" ")
}

/// A table like lineitem: keys, dates, prices, amounts, short texts and comments.
pub fn table(rows: usize) -> RecordBatch {
    let random = &mut random();
    let numbers = |random: &mut StdRng, most: i64| (0..rows).map(|_| random.random_range(0..most)).collect::<Vec<_>>();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("key", Arc::new(Int64Array::from_iter_values((0..rows as i64).map(|row| row / 4 * 8 + row % 4)))),
        ("part", Arc::new(Int64Array::from(numbers(random, 200_000)))),
        (
            "price",
            Arc::new(
                Decimal128Array::from_iter_values(numbers(random, 10_000_000).into_iter().map(i128::from))
                    .with_precision_and_scale(15, 2)
                    .unwrap(),
            ),
        ),
        (
            "weight",
            Arc::new(Float64Array::from_iter_values(numbers(random, 1 << 40).into_iter().map(|n| n as f64 / 7.0))),
        ),
        (
            "day",
            Arc::new(Date32Array::from_iter_values(numbers(random, 2500).into_iter().map(|day| 8000 + day as i32))),
        ),
        ("mode", Arc::new(StringViewArray::from_iter_values((0..rows).map(|_| WORDS[random.random_range(0..7)])))),
        ("comment", Arc::new(StringViewArray::from_iter_values((0..rows).map(|_| comment(random))))),
    ];
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, array)| array).collect()).unwrap()
}

/// A page of comments, each with its length before it.
pub fn text_page(bytes: usize) -> Vec<u8> {
    let (random, mut page) = (&mut random(), Vec::new());
    while page.len() < bytes {
        let text = comment(random);
        page.extend_from_slice(&(text.len() as u32).to_le_bytes());
        page.extend_from_slice(text.as_bytes());
    }
    page
}

/// A page of 64-bit numbers below a bound.
pub fn number_page(bytes: usize, most: u64) -> Vec<u8> {
    let random = &mut random();
    (0..bytes / 8).flat_map(|_| random.random_range(0..most).to_le_bytes()).collect()
}
