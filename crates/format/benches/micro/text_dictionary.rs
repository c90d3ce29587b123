//! Texts as keys of a dictionary, beside the crate `arrow`, which hashes the bytes of each text.

use arrow::array::{Array, ArrayRef, AsArray, StringViewArray, UInt32Array};
use arrow::compute::{cast, take};
use arrow::datatypes::DataType;
use divan::Bencher;
use lakerace_format::text_dictionary;
use rand::RngExt;

use crate::sample;

const ROWS: usize = 128 << 10;
const VALUES: [u32; 3] = [3, 200, 20_000];

fn cities(values: u32) -> ArrayRef {
    let mut random = sample::random();
    let names = StringViewArray::from_iter_values((0..values).map(|number| format!("city number {number}")));
    let keys = UInt32Array::from_iter_values((0..ROWS).map(|_| random.random_range(0..values)));
    take(&names, &keys, None).unwrap()
}

#[divan::bench(args = VALUES)]
fn ours(bencher: Bencher, values: u32) {
    let texts = cities(values);
    bencher.bench_local(|| text_dictionary(texts.as_string_view()).unwrap().len());
}

#[divan::bench(args = VALUES)]
fn plain(bencher: Bencher, values: u32) {
    let texts = cities(values);
    let kind = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    bencher.bench_local(|| cast(&texts, &kind).unwrap().len());
}
