//! Texts in no order of memory, each copied: asked for sixteen ahead, and when its turn comes.

use divan::Bencher;
use lakerace_orc::internals::prefetch;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

const TEXTS: usize = 1 << 20;
const TEXT_BYTES: usize = 96;
const AHEAD: usize = 16;

fn bench(bencher: Bencher, is_ahead: bool) {
    let texts: Vec<u8> = (0..TEXTS * TEXT_BYTES).map(|at| at as u8).collect();
    let mut starts: Vec<usize> = (0..TEXTS).map(|text| text * TEXT_BYTES).collect();
    starts.shuffle(&mut StdRng::seed_from_u64(27));
    let mut copy = Vec::with_capacity(texts.len());
    bencher.bench_local(|| {
        copy.clear();
        for (number, start) in starts.iter().enumerate() {
            if let Some(next) = starts.get(number + AHEAD).filter(|_| is_ahead) {
                [*next, next + TEXT_BYTES - 1].into_iter().for_each(|at| prefetch(&texts[at]));
            }
            // Most texts end anywhere.
            copy.extend_from_slice(&texts[*start..start + TEXT_BYTES - number % 16]);
        }
    });
}

#[divan::bench]
fn ours(bencher: Bencher) {
    bench(bencher, true);
}

#[divan::bench]
fn plain(bencher: Bencher) {
    bench(bencher, false);
}
