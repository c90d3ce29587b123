#![allow(clippy::unwrap_used)]

use lakerace_io::ErrorKind;
use proptest::prelude::*;

use super::{REACH, decompress};

fn decoded(input: &[u8], length: usize) -> lakerace_io::Result<Vec<u8>> {
    let mut output = vec![0xaa; length + REACH];
    decompress(input, &mut output, length)?;
    assert!(output[length..].len() == REACH);
    output.truncate(length);
    Ok(output)
}

/// Bytes that compress into all kinds of elements: runs, near and far repetitions, noise.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        (any::<u8>(), 1usize..300).prop_map(|(byte, count)| vec![byte; count]),
        prop::collection::vec(any::<u8>(), 1..200),
        (prop::collection::vec(any::<u8>(), 1..20), 1usize..30).prop_map(|(word, count)| word.repeat(count)),
        Just(b"the quick brown fox jumps over the lazy dog ".to_vec()),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn gives_what_was_compressed(bytes in bytes()) {
        let packed = snap::raw::Encoder::new().compress_vec(&bytes).unwrap();
        prop_assert_eq!(decoded(&packed, bytes.len()).unwrap(), bytes);
    }

    #[test]
    fn agrees_with_another_decoder_on_damage(bytes in bytes(), at in any::<prop::sample::Index>(), flip in 1u8..) {
        let mut packed = snap::raw::Encoder::new().compress_vec(&bytes).unwrap();
        let at = at.index(packed.len());
        packed[at] ^= flip;
        let Ok(length) = snap::raw::decompress_len(&packed) else { return Ok(()) };
        prop_assume!(length < 1 << 20);
        let theirs = snap::raw::Decoder::new().decompress_vec(&packed);
        prop_assert_eq!(decoded(&packed, length).ok(), theirs.ok());
    }

    #[test]
    fn noise_does_no_harm(noise in prop::collection::vec(any::<u8>(), 0..400), length in 0usize..2000) {
        let mut input = vec![length as u8 & 0x7f | 0x80, (length >> 7) as u8];
        input.extend(noise);
        if let Err(error) = decoded(&input, length) {
            prop_assert_eq!(error.kind(), ErrorKind::Corrupt);
        }
    }
}
