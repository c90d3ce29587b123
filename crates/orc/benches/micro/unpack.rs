//! Unpacking integers: by a loop for each width, and bit by bit offset.

use divan::Bencher;
use lakerace_orc::internals::unpack;

const VALUES: usize = 64 << 10;
const WIDTHS: [u32; 3] = [3, 9, 24];

fn bench(bencher: Bencher, width: u32, unpack: impl Fn(&[u8], u32, &mut [i64])) {
    let bytes: Vec<u8> =
        (0..VALUES as u32 * width / 8 + 8).map(|at| (at.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
    let mut out = vec![0; VALUES];
    bencher.bench_local(|| unpack(&bytes, width, &mut out));
}

#[divan::bench(args = WIDTHS)]
fn ours(bencher: Bencher, width: u32) {
    bench(bencher, width, |bytes, width, out| unpack(bytes, width, out).unwrap());
}

#[divan::bench(args = WIDTHS)]
fn plain(bencher: Bencher, width: u32) {
    bench(bencher, width, |bytes, width, out| {
        for (number, value) in out.iter_mut().enumerate() {
            let bit = number * width as usize;
            let word = bytes.get(bit / 8..bit / 8 + 8).map_or(0, |word| u64::from_be_bytes(word.try_into().unwrap()));
            *value = (word << (bit % 8) >> (64 - width)) as i64;
        }
    });
}
