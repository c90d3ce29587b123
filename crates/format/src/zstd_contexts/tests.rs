#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn a_context_is_used_again_after_frames_of_other_levels_and_damage() {
    for (turn, level) in [Some(1), None, Some(19), Some(3)].into_iter().enumerate() {
        let plain: Vec<u8> = (0..50_000 * (turn + 1)).map(|at| (at * at % 251) as u8).collect();
        let packed = compress(&plain, level).unwrap();
        let alone = zstd::bulk::compress(&plain, level.unwrap_or(zstd::DEFAULT_COMPRESSION_LEVEL)).unwrap();
        assert_eq!(packed, alone);
        let mut target = vec![0; plain.len()];
        assert!(decompress_into(&packed[..packed.len() / 2], &mut target).is_err());
        assert!(decompress_into(b"no frame", &mut target).is_err());
        assert!(decompress_into(&packed, &mut target[..plain.len() - 1]).is_err());
        assert_eq!(decompress_into(&packed, &mut target).unwrap(), plain.len());
        assert_eq!(target, plain);
    }
}
