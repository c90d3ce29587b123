use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

use super::*;
use crate::widths::closest_width;

fn encoded(values: &[i64], signed: bool) -> Vec<u8> {
    let mut out = Vec::new();
    encode(values, signed, &mut out);
    out
}

/// A decoder by the letter of the specification.
struct Decoder<'a> {
    bytes: &'a [u8],
    signed: bool,
    /// How often each encoding was met: short repeat, direct, patched base, delta.
    met: [usize; 4],
}

impl Decoder<'_> {
    fn byte(&mut self) -> u64 {
        let (first, rest) = self.bytes.split_first().unwrap();
        self.bytes = rest;
        u64::from(*first)
    }

    fn big_endian(&mut self, bytes: u64) -> u64 {
        (0..bytes).fold(0, |value, _| value << 8 | self.byte())
    }

    fn varint(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            value |= (byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }

    fn packed(&mut self, count: usize, width: u32) -> Vec<u64> {
        let bit = |bytes: &[u8], i: usize| u64::from(bytes[i / 8] >> (7 - i % 8) & 1);
        let width = width as usize;
        let values =
            (0..count).map(|n| (0..width).fold(0, |v, b| v << 1 | bit(self.bytes, n * width + b))).collect::<Vec<_>>();
        self.bytes = &self.bytes[(count * width).div_ceil(8)..];
        values
    }

    fn sign(&self, value: u64) -> i64 {
        if self.signed { unzigzag(value) } else { value as i64 }
    }

    fn run(&mut self, out: &mut Vec<i64>) {
        const WIDTHS: [u32; 32] = [
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 30, 32, 40,
            48, 56, 64,
        ];
        let first = self.byte();
        self.met[(first >> 6) as usize] += 1;
        if first >> 6 == 0 {
            let value = self.big_endian((first >> 3 & 7) + 1);
            out.extend(std::iter::repeat_n(self.sign(value), (first & 7) as usize + 3));
            return;
        }
        let code = (first >> 1 & 31) as usize;
        let count = ((first & 1) << 8 | self.byte()) as usize + 1;
        match first >> 6 {
            1 => out.extend(self.packed(count, WIDTHS[code]).into_iter().map(|v| self.sign(v))),
            2 => self.patched(count, WIDTHS[code], &WIDTHS, out),
            _ => {
                let base = self.varint();
                let mut value = self.sign(base);
                let delta = unzigzag(self.varint());
                out.push(value);
                value += delta;
                out.push(value);
                let rest = if code == 0 {
                    vec![delta.unsigned_abs(); count - 2]
                } else {
                    self.packed(count - 2, WIDTHS[code])
                };
                assert!(delta != 0 || rest.iter().all(|&d| d == 0), "a delta of 0 has no sign");
                for step in rest {
                    value += if delta < 0 { -(step as i64) } else { step as i64 };
                    out.push(value);
                }
            }
        }
    }

    fn patched(&mut self, count: usize, width: u32, widths: &[u32; 32], out: &mut Vec<i64>) {
        let third = self.byte();
        let fourth = self.byte();
        let (base_bytes, patch_width) = ((third >> 5) + 1, widths[(third & 31) as usize]);
        let (gap_width, patches) = ((fourth >> 5) as u32 + 1, (fourth & 31) as usize);
        assert!(patches > 0 && patch_width + gap_width <= 64);
        let base = self.big_endian(base_bytes);
        let sign = 1 << (base_bytes * 8 - 1);
        let base = if base & sign == 0 { base as i64 } else { -((base & !sign) as i64) };
        let mut values = self.packed(count, width);
        let mut at = 0;
        for entry in self.packed(patches, closest_width(patch_width + gap_width)) {
            at += (entry >> patch_width) as usize;
            values[at] |= (entry & ((1 << patch_width) - 1)) << width;
        }
        out.extend(values.into_iter().map(|v| base + v as i64));
    }
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

fn decoded(bytes: &[u8], signed: bool) -> (Vec<i64>, [usize; 4]) {
    let mut decoder = Decoder { bytes, signed, met: [0; 4] };
    let mut out = Vec::new();
    while !decoder.bytes.is_empty() {
        decoder.run(&mut out);
    }
    (out, decoder.met)
}

#[test]
fn writes_the_examples_of_the_specification() {
    assert_eq!(encoded(&[10_000; 5], false), [0x0a, 0x27, 0x10]);
    assert_eq!(
        encoded(&[23_713, 43_806, 57_005, 48_879], false),
        [0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef]
    );
    let mut values = vec![2030, 2000, 2020, 1_000_000];
    values.extend((2040..=2190).step_by(10));
    assert_eq!(
        encoded(&values, false),
        [
            0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a, 0x64, 0x6e,
            0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8
        ]
    );
    // The specification's delta example packs in four bits what three can hold.
    let primes = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29];
    assert_eq!(decoded(&[0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46], false).0, primes);
    assert_eq!(encoded(&primes, false), [0xc4, 0x09, 0x02, 0x02, 0x4a, 0x28, 0xa6]);
}

#[test]
fn chooses_runs_by_their_shape() {
    let met = |values: &[i64]| {
        let (got, met) = decoded(&encoded(values, true), true);
        assert_eq!(got, values);
        met
    };
    assert_eq!(met(&[7; 512]), [0, 0, 0, 1]);
    assert_eq!(met(&(0..512).map(|n| -3 * n).collect::<Vec<_>>()), [0, 0, 0, 1]);
    // Repeats within a rising run stay in it.
    assert_eq!(met(&(0..512).map(|n| 1_000_000 + n / 7).collect::<Vec<_>>()), [1, 0, 0, 1]);
    // Repeats among narrow values stay among them, repeats among wide ones do not.
    assert_eq!(met(&(0..512).map(|n| n / 5 * 7 % 3).collect::<Vec<_>>())[0], 0);
    assert!(met(&(0..510).map(|n| (n / 5) * 0x9e37_79b9 % 0xffff_fff1).collect::<Vec<_>>())[0] > 100);
    assert!(encoded(&[], true).is_empty());
}

#[test]
fn repeats_a_value() {
    for count in [0, 1, 2, 3, 10, 11, 511, 512, 513, 1025, 10_000] {
        for value in [0, 2, -9, 1 << 40] {
            let mut repeated = Vec::new();
            encode_repeated(value, count, true, &mut repeated);
            assert_eq!(decoded(&repeated, true).0, vec![value; count]);
        }
    }
}

#[test]
fn gives_back_what_went_in() {
    let mut random = StdRng::seed_from_u64(3);
    let mut met = [0; 4];
    for round in 0..4000 {
        let count = random.random_range(0..1200);
        let bits = random.random_range(0..64);
        let outliers = [0, 0, 1, 3, 8, 30][round % 6];
        let repeats = [1, 1, 2, 5, 40][round % 5];
        let sorted = round % 7 == 0;
        let signed = round % 3 > 0;
        let mut values = Vec::with_capacity(count);
        while values.len() < count {
            let outlier = random.random_range(0..100) < outliers;
            let bits = if outlier { random.random_range(bits..64) } else { bits };
            let value = (random.next_u64() >> (63 - bits)) as i64;
            let value = if signed && random.random_range(0..2) == 0 { value.wrapping_neg() } else { value };
            let value = if signed { value } else { value & i64::MAX };
            values.extend(std::iter::repeat_n(value, random.random_range(1..=repeats)));
        }
        if sorted {
            values.sort_unstable();
        }
        if round % 14 == 0 {
            values.reverse();
        }
        if round % 50 == 0 {
            values.extend([i64::MIN, i64::MAX, 0, i64::MIN, i64::MIN, i64::MAX].iter().filter(|&&v| signed || v >= 0));
        }
        let bytes = encoded(&values, signed);
        let (got, kinds) = decoded(&bytes, signed);
        assert_eq!(got, values, "round {round}");
        (0..4).for_each(|kind| met[kind] += kinds[kind]);
    }
    assert!(met.iter().all(|&count| count > 100), "{met:?}");
}
