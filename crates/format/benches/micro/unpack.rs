//! Unpacking dictionary indexes: by a loop for each width, and bit by bit offset.

use divan::Bencher;
use lakerace_format::internals::unpack;

use crate::sample;

const VALUES: usize = 64 << 10;
const WIDTHS: [u32; 3] = [3, 9, 17];

fn bench(bencher: Bencher, width: u32, unpack: impl Fn(&[u8], u32, &mut [u32])) {
    let bytes = sample::number_page(VALUES * width as usize / 8 + 8, u64::MAX);
    let mut target = vec![0; VALUES];
    bencher.bench_local(|| unpack(&bytes, width, &mut target));
}

#[divan::bench(args = WIDTHS)]
fn ours(bencher: Bencher, width: u32) {
    bench(bencher, width, unpack);
}

#[divan::bench(args = WIDTHS)]
fn plain(bencher: Bencher, width: u32) {
    bench(bencher, width, |bytes, width, target| {
        for (number, value) in target.iter_mut().enumerate() {
            let bit = number * width as usize;
            let word = bytes.get(bit / 8..bit / 8 + 8).map_or(0, |word| u64::from_le_bytes(word.try_into().unwrap()));
            *value = (word >> (bit % 8)) as u32 & ((1 << width) - 1);
        }
    });
}
