//! Conditions on texts that repeat, asked once of each text, and the same conditions asked of each row for comparison.

use arrow::array::{RecordBatch, StringViewArray, UInt32Array};
use arrow::compute::take;
use divan::Bencher;
use lakerace_format::predicate::Predicate;
use lakerace_format::{CompareOp, Expr, Literal, ScalarFunction};
use rand::RngExt;

use crate::sample;

const ROWS: usize = 64 << 10;
/// Rows of a batch of which each one is asked.
const FEW_ROWS: usize = 1000;
/// Conditions and numbers of texts.
const CASES: [(&str, u32); 6] =
    [("like", 7), ("upper", 7), ("ilike", 7), ("like", 2000), ("upper", 2000), ("ilike", 2000)];

fn batch(values: u32) -> RecordBatch {
    let mut random = sample::random();
    let names = StringViewArray::from_iter_values((0..values).map(|number| format!("city number {number}")));
    let keys = UInt32Array::from_iter_values((0..ROWS).map(|_| random.random_range(0..values)));
    RecordBatch::try_from_iter([("t", take(&names, &keys, None).unwrap())]).unwrap()
}

fn condition(kind: &str) -> Expr {
    let column = || Box::new(Expr::Column("t".to_owned()));
    let like = |case_insensitive| Expr::Like {
        expr: column(),
        pattern: "%Number 7%".to_owned(),
        escape: None,
        case_insensitive,
    };
    match kind {
        "upper" => Expr::Compare {
            op: CompareOp::Eq,
            left: Box::new(Expr::Call { function: ScalarFunction::Upper, arguments: vec![*column()] }),
            right: Box::new(Expr::Literal(Literal::Text("CITY NUMBER 7".to_owned()))),
        },
        kind => like(kind == "ilike"),
    }
}

fn measure(bencher: Bencher, kind: &str, values: u32, step: usize) {
    let batch = batch(values);
    let predicate = Predicate::bind(&condition(kind), &batch.schema()).unwrap();
    let rows = |at: usize| batch.slice(at, step.min(ROWS - at));
    let count = |at: usize| predicate.evaluate(&rows(at)).unwrap().true_count();
    bencher.bench_local(|| (0..ROWS).step_by(step).map(count).sum::<usize>());
}

#[divan::bench(args = CASES)]
fn ours(bencher: Bencher, (kind, values): (&str, u32)) {
    measure(bencher, kind, values, ROWS);
}

#[divan::bench(args = CASES)]
fn plain(bencher: Bencher, (kind, values): (&str, u32)) {
    measure(bencher, kind, values, FEW_ROWS);
}
