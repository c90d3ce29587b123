use super::*;
use crate::compress::Codec;

#[test]
fn positions_name_block_and_byte() {
    for (codec, compressed) in [(Codec::None, false), (Codec::Zlib, true)] {
        let mut compressor = Compressor::new(codec, None).unwrap();
        let mut stream = Stream::new(StreamKind::Present, Shape::Bits, 4);
        for (group, bytes) in [3, 5, 4].into_iter().enumerate() {
            stream.mark(group as u8);
            stream.raw.resize(stream.raw.len() + bytes, 1);
            stream.drain(&mut compressor).unwrap();
        }
        stream.mark(7);
        stream.close(&mut compressor).unwrap();
        let mut positions = Vec::new();
        (0..4).for_each(|group| stream.push_position(group, compressed, &mut positions));
        // Blocks of four bytes do not shrink: each takes seven with its header.
        let expected: &[u64] = if compressed {
            &[0, 0, 0, 0, 0, 3, 0, 1, 14, 0, 0, 2, 21, 0, 0, 7]
        } else {
            &[0, 0, 0, 3, 0, 1, 8, 0, 2, 12, 0, 7]
        };
        assert_eq!(positions, expected);
        assert_eq!(stream.take().bytes.len(), if compressed { 21 } else { 12 });
        assert_eq!(stream.encoded_bytes(), 0);
    }
}
