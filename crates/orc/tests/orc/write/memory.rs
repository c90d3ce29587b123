//! What a writer holds, and how large its stripes are, does not depend on how large and wide a table is.

use std::sync::Arc;

use arrow::array::*;
use lakerace_orc::Codec;
use lakerace_orc::write::{Writer, WriterOptions};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::common;

const COLUMNS: usize = 400;
const ROWS: usize = 2000;
const BATCHES: usize = 5;

/// Four kinds of columns in turn: numbers, texts that repeat in the next batch only, texts that repeat, decimals.
fn wide() -> RecordBatch {
    let random = &mut StdRng::seed_from_u64(1);
    let mut column = |nth: usize| -> ArrayRef {
        let numbers: Vec<u64> = (0..ROWS).map(|_| random.next_u64() >> 16).collect();
        match nth % 4 {
            0 => Arc::new(numbers.iter().map(|&n| Some(n as i64)).collect::<Int64Array>()),
            1 => Arc::new(numbers.iter().map(|n| Some(format!("{n:x}"))).collect::<StringArray>()),
            2 => Arc::new(numbers.iter().map(|n| Some(format!("text {}", n % 50))).collect::<StringViewArray>()),
            _ => {
                let decimals: Decimal128Array = numbers.iter().map(|&n| Some((n >> 10).into())).collect();
                Arc::new(decimals.with_precision_and_scale(15, 2).unwrap())
            }
        }
    };
    RecordBatch::try_from_iter((0..COLUMNS).map(|nth| (format!("c{nth}"), column(nth)))).unwrap()
}

#[test]
fn wide_tables_take_as_much_as_the_documentation_says() {
    let batch = wide();
    for (codec, stripe_size) in [(Codec::None, 4 << 20), (Codec::Zstd, 4 << 20), (Codec::Snappy, 1 << 20)] {
        let options =
            WriterOptions { codec, stripe_size, row_index_stride: 200, block_size: 4 << 10, ..Default::default() };
        // At most two streams here have values that wait.
        let bound = 2 * stripe_size + COLUMNS * 2 * 2 * (options.block_size + 200 * 8);
        let mut writer = Writer::new(batch.schema(), options).unwrap();
        let mut file = Vec::new();
        for _ in 0..BATCHES {
            for at in (0..ROWS).step_by(100) {
                file.extend(writer.write(&batch.slice(at, 100)).unwrap());
                let held = writer.memory_bytes();
                assert!(held <= bound, "{codec:?}: {held} bytes are held, more than {bound}");
            }
        }
        let finished = writer.finish().unwrap();
        file.extend(finished.pieces);
        let file = bytes::Bytes::from(file.concat());
        let tail = common::tail(&file).unwrap();
        let sizes: Vec<usize> =
            tail.stripes().iter().map(|info| (info.index_bytes + info.data_bytes) as usize).collect();
        assert!(sizes.len() > 2, "{sizes:?}");
        let whole = &sizes[..sizes.len() - 1];
        // A row group of all columns takes more than a quarter of the smallest stripe.
        assert!(whole.iter().all(|&size| size <= stripe_size * 3 / 2), "{codec:?}: {sizes:?}");
        assert!(whole.iter().all(|&size| size >= stripe_size / 2), "{codec:?}: {sizes:?}");
        assert_eq!((finished.stripes, finished.rows), (sizes.len(), (BATCHES * ROWS) as u64));
    }
}
