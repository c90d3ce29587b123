#![allow(clippy::unwrap_used)]

use std::io::Write;

use parquet::basic::CompressionCodec;

use super::{MemoryPool, decompress};

fn plain(codec: CompressionCodec, stored: &[u8], length: usize) -> lakerace_io::Result<Vec<u8>> {
    let pool = MemoryPool::new();
    decompress(codec, stored, length, &pool).map(|block| block[..length].to_vec())
}

/// Hadoop's frames: for each, the blocks of its bytes.
fn hadoop(frames: &[&[&[u8]]]) -> Vec<u8> {
    let mut stored = Vec::new();
    for blocks in frames {
        let length: usize = blocks.iter().map(|block| block.len()).sum();
        stored.extend((length as u32).to_be_bytes());
        for block in *blocks {
            let packed = lz4_flex::block::compress(block);
            stored.extend((packed.len() as u32).to_be_bytes());
            stored.extend(packed);
        }
    }
    stored
}

#[test]
fn lz4_of_hadoop_has_frames_of_any_number_of_blocks() {
    let text: Vec<u8> = (0..300_000_u32).flat_map(|n| (n / 3).to_le_bytes()).collect();
    let (one, rest) = text.split_at(400_000);
    let (two, three) = rest.split_at(400_001);
    let stored = [
        hadoop(&[&[&text]]),
        hadoop(&[&[one, two, three]]),
        hadoop(&[&[one, two], &[three]]),
        hadoop(&[&[one], &[two], &[three]]),
    ];
    for stored in stored {
        assert_eq!(plain(CompressionCodec::LZ4, &stored, text.len()).unwrap(), text);
        plain(CompressionCodec::LZ4, &stored, text.len() - 1).unwrap_err();
        plain(CompressionCodec::LZ4, &stored[..stored.len() - 1], text.len()).unwrap_err();
    }
}

#[test]
fn lz4_may_be_a_frame_of_its_own_or_a_bare_block() {
    let text = b"some text, some text, some text".repeat(5000);
    let mut frame = lz4_flex::frame::FrameEncoder::new(Vec::new());
    frame.write_all(&text).unwrap();
    for stored in [frame.finish().unwrap(), lz4_flex::block::compress(&text)] {
        assert_eq!(plain(CompressionCodec::LZ4, &stored, text.len()).unwrap(), text);
    }
}

#[test]
fn brotli_packs_zeros_to_almost_nothing() {
    let zeros = vec![0; 64 << 20];
    let mut packer = brotli::CompressorWriter::new(Vec::new(), 1 << 20, 9, 22);
    packer.write_all(&zeros).unwrap();
    let stored = packer.into_inner();
    assert!(stored.len() < zeros.len() >> 17, "{} bytes", stored.len());
    assert_eq!(plain(CompressionCodec::BROTLI, &stored, zeros.len()).unwrap(), zeros);
}

#[test]
fn lz4_of_hadoop_may_have_frames_without_bytes() {
    // Hadoop writes the length alone, the crate `parquet` an empty block after it.
    let (alone, with_block) = (0_u32.to_be_bytes(), hadoop(&[&[b""]]));
    let text = b"some text, some text, some text".repeat(50);
    let full = hadoop(&[&[&text]]);
    for front in [&alone[..], &with_block] {
        assert_eq!(plain(CompressionCodec::LZ4, front, 0).unwrap(), b"");
        assert_eq!(plain(CompressionCodec::LZ4, &[front, &full].concat(), text.len()).unwrap(), text);
        assert_eq!(plain(CompressionCodec::LZ4, &[&full, front].concat(), text.len()).unwrap(), text);
    }
}
