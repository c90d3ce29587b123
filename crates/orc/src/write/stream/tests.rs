use super::*;
use crate::compress::Codec;

#[test]
fn positions_name_block_and_byte() {
    for codec in [Codec::None, Codec::Zlib] {
        let mut compressor = BlockCompressor::new(codec, None, 4).unwrap();
        let mut stream = StreamWriter::new(StreamKind::Data, StreamCoding::Plain);
        for bytes in [3, 5, 4, 0] {
            stream.start_group();
            stream.bytes.resize(stream.bytes.len() + bytes, 1);
            stream.end_group(&mut compressor).unwrap();
        }
        stream.close(&mut compressor).unwrap();
        let mut positions = Vec::new();
        (0..5).for_each(|group| stream.push_position(group, &compressor, &mut positions));
        // Blocks of four bytes do not shrink: each takes seven with its header.
        let compressed = codec != Codec::None;
        let expected: &[u64] = if compressed { &[0, 0, 0, 3, 14, 0, 21, 0] } else { &[0, 3, 8, 12] };
        assert_eq!(positions, expected);
        assert_eq!(stream.take().bytes.len(), if compressed { 21 } else { 12 });
        assert_eq!(stream.encoded_bytes(), 0);
    }
}

#[test]
fn positions_in_runs_and_bits_end_with_what_is_to_be_skipped() {
    let mut compressor = BlockCompressor::new(Codec::None, None, 1024).unwrap();
    let mut numbers = StreamWriter::new(StreamKind::Data, StreamCoding::Ints { signed: true });
    let mut bits = StreamWriter::new(StreamKind::Present, StreamCoding::Bits);
    let mut whole = StreamWriter::unindexed(StreamKind::DictionaryData, StreamCoding::Plain);
    for group in 0..3 {
        for stream in [&mut numbers, &mut bits, &mut whole] {
            stream.start_group();
        }
        numbers.numbers.extend([group; 5]);
        bits.bits.push_repeated(true, 11);
        whole.bytes.push(7);
        for stream in [&mut numbers, &mut bits, &mut whole] {
            stream.end_group(&mut compressor).unwrap();
        }
    }
    let position = |stream: &StreamWriter, group| {
        let mut positions = Vec::new();
        stream.push_position(group, &compressor, &mut positions);
        positions
    };
    // A short repeat takes two bytes, a literal byte two with its header.
    assert_eq!([0, 1, 2].map(|group| position(&numbers, group)), [[0, 0], [2, 0], [4, 0]]);
    assert_eq!([0, 1, 2].map(|group| position(&bits, group)), [[0, 0, 0], [2, 0, 3], [4, 0, 6]]);
    assert!(position(&whole, 1).is_empty());
}

#[test]
fn numbers_do_not_wait_without_bound() {
    let mut compressor = BlockCompressor::new(Codec::None, None, 1024).unwrap();
    let mut stream = StreamWriter::new(StreamKind::Length, StreamCoding::Ints { signed: false });
    stream.numbers.extend(0..3 * MAX_WAITING as i64 + 5);
    stream.relieve(&mut compressor).unwrap();
    assert_eq!(stream.numbers, (3 * MAX_WAITING as i64..).take(5).collect::<Vec<_>>());
    assert!(!stream.bytes.is_empty());
}
