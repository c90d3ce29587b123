//! `LIKE '%text%'` over a column of addresses: the texts of neighbouring rows together, and one by one.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StringViewArray};
use arrow::buffer::BooleanBuffer;
use divan::Bencher;
use lakerace_format::{Expr, Predicate};
use memchr::memmem::Finder;
use rand::RngExt;

use crate::sample;

const ROWS: usize = 64 << 10;
/// One in so many addresses has the text.
const ONE_IN: [u32; 3] = [2, 20, 1000];

fn addresses(one_in: u32) -> RecordBatch {
    let mut random = sample::random();
    let address = |_| {
        let length = random.random_range(20..120);
        let word = if random.random_range(0..one_in) == 0 { "Go" } else { "go" };
        format!("http://example.com/{word}/{}", "x".repeat(length))
    };
    let texts: StringViewArray = (0..ROWS).map(address).map(Some).collect();
    RecordBatch::try_from_iter([("url", Arc::new(texts) as ArrayRef)]).unwrap()
}

#[divan::bench(args = ONE_IN)]
fn ours(bencher: Bencher, one_in: u32) {
    let batch = addresses(one_in);
    let condition = Expr::Like {
        expr: Box::new(Expr::Column("url".to_owned())),
        pattern: "%Go%".to_owned(),
        escape: None,
        case_insensitive: false,
    };
    let predicate = Predicate::bind(&condition, &batch.schema()).unwrap();
    bencher.bench_local(|| predicate.evaluate(&batch).unwrap().true_count());
}

#[divan::bench(args = ONE_IN)]
fn plain(bencher: Bencher, one_in: u32) {
    let batch = addresses(one_in);
    let texts = batch.column(0).as_string_view();
    let finder = Finder::new("Go");
    bencher.bench_local(|| {
        BooleanBuffer::collect_bool(texts.len(), |row| finder.find(texts.value(row).as_bytes()).is_some())
            .count_set_bits()
    });
}
