#![allow(clippy::unwrap_used)]

use lakerace_io::Result;
use proptest::prelude::*;

use super::{HybridDecoder, ValueRuns, unpack, unpack_one};

/// Packs values as bits, the lowest first.
fn pack(values: &[u32], width: u32) -> Vec<u8> {
    let mut bytes = vec![0u8; (values.len() * width as usize).div_ceil(8)];
    for (number, value) in values.iter().enumerate() {
        for bit in 0..width as usize {
            let at = number * width as usize + bit;
            bytes[at / 8] |= ((value >> bit & 1) as u8) << (at % 8);
        }
    }
    bytes
}

struct Collect(Vec<u32>, u32);

impl ValueRuns for Collect {
    fn repeated(&mut self, value: u32, count: usize) -> Result<()> {
        // Runs of damaged data may be long.
        self.0.extend(std::iter::repeat_n(value, count.min(10_000)));
        Ok(())
    }

    fn packed(&mut self, bytes: &[u8], bit: usize, count: usize) -> Result<()> {
        let mut values = vec![0; count];
        unpack(bytes, bit, self.1, &mut values);
        self.0.extend(values);
        Ok(())
    }
}

fn varint(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

proptest! {
    #[test]
    fn unpacks_from_any_bit(width in 1u32..=32, values in prop::collection::vec(any::<u32>(), 1..200), skip in 0usize..200) {
        let values: Vec<u32> = values.iter().map(|v| if width == 32 { *v } else { v & ((1 << width) - 1) }).collect();
        let bytes = pack(&values, width);
        let skip = skip.min(values.len() - 1);
        let mut unpacked = vec![7; values.len() - skip];
        unpack(&bytes, skip * width as usize, width, &mut unpacked);
        prop_assert_eq!(&unpacked, &values[skip..]);
        prop_assert_eq!(unpack_one(&bytes, skip * width as usize, width), values[skip]);
    }

    #[test]
    fn runs_come_back_however_they_are_taken(
        width in 1u32..=20, runs in prop::collection::vec((any::<u32>(), 1usize..60, any::<bool>()), 1..20),
        takes in prop::collection::vec(1usize..50, 1..20),
    ) {
        let (mut data, mut wanted) = (vec![0xee], Vec::new());
        for (value, count, is_packed) in runs {
            let cut = |value: u32| value & ((1 << width) - 1);
            if is_packed {
                let values: Vec<u32> = (0..count.div_ceil(8) * 8).map(|i| cut(value.wrapping_mul(i as u32 | 1))).collect();
                data.extend(varint((values.len() / 8) << 1 | 1));
                data.extend(pack(&values, width));
                wanted.extend(values);
            } else {
                data.extend(varint(count << 1));
                data.extend(&cut(value).to_le_bytes()[..width.div_ceil(8) as usize]);
                wanted.extend(std::iter::repeat_n(cut(value), count));
            }
        }
        let mut hybrid = HybridDecoder::new(width, 1).unwrap();
        let mut found = Collect(Vec::new(), width);
        let mut at = 0;
        for (number, take) in takes.iter().cycle().enumerate() {
            let take = (*take).min(wanted.len() - at);
            if take == 0 {
                break;
            }
            if number % 3 == 2 {
                hybrid.skip(&data, take).unwrap();
                found.0.extend(&wanted[at..at + take]);
            } else {
                hybrid.take(&data, take, &mut found).unwrap();
            }
            at += take;
        }
        prop_assert_eq!(&found.0, &wanted);
        prop_assert!(hybrid.take(&data, 1, &mut found).is_err());
    }

    #[test]
    fn noise_does_no_harm(width in 0u32..=40, noise in prop::collection::vec(any::<u8>(), 1..100), count in 0usize..1000) {
        if let Ok(mut hybrid) = HybridDecoder::new(width, 0) {
            let _ = hybrid.take(&noise, count, &mut Collect(Vec::new(), width));
        }
    }
}
