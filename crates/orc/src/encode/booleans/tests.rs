use arrow::buffer::BooleanBuffer;

use super::*;

#[test]
fn orders_bits_from_the_top() {
    let mut bits = BitCollector::default();
    bits.push_all(&BooleanBuffer::from(vec![true, false, false, false, false, false, false, false]));
    let mut out = Vec::new();
    bits.take_all(&mut out);
    // The specification's example.
    assert_eq!(out, [0xff, 0x80]);
}

#[test]
fn joins_pieces_of_any_length() {
    let bit = |n: usize| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61 != 0;
    for piece in [1, 3, 8, 63, 64, 65, 200] {
        let mut bits = BitCollector::default();
        let mut expected = Vec::new();
        for start in (0..1000).step_by(piece) {
            bits.push_all(&(start..start + piece).map(bit).collect::<BooleanBuffer>());
            expected.extend((start..start + piece).map(bit));
            bits.push_repeated(start % 2 == 0, piece / 2);
            expected.extend(std::iter::repeat_n(start % 2 == 0, piece / 2));
        }
        if bits.bits > 0 {
            bits.bytes.push(bits.partial);
        }
        let got: Vec<bool> = (0..expected.len()).map(|n| bits.bytes[n / 8] >> (7 - n % 8) & 1 == 1).collect();
        assert_eq!(got, expected, "pieces of {piece}");
        assert_eq!(bits.bytes.len(), expected.len().div_ceil(8));
    }
}

#[test]
fn keeps_the_bits_of_an_unfinished_byte() {
    let mut bits = BitCollector::default();
    bits.push_repeated(true, 27);
    let mut out = Vec::new();
    bits.take_full(&mut out);
    assert_eq!(bits.partial_bits(), 3);
    assert_eq!(out, [0, 0xff]);
    bits.push_repeated(false, 5);
    bits.take_all(&mut out);
    assert_eq!(out, [0, 0xff, 0xff, 0xe0]);
}
