#![allow(clippy::unwrap_used)]

use std::io::Write;

use lakerace_io::ErrorKind;

use super::{BlockCodec, NAMES};
use crate::{Codec, Compression, WriteOptions};

fn text() -> Vec<u8> {
    b"some text that is packed well, ".repeat(100)
}

fn packed(codec: BlockCodec) -> Vec<u8> {
    match codec {
        BlockCodec::Bzip2 => {
            let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
            packer.write_all(&text()).unwrap();
            packer.finish().unwrap()
        }
        BlockCodec::Xz => {
            let mut packer = liblzma::write::XzEncoder::new(Vec::new(), 1);
            packer.write_all(&text()).unwrap();
            packer.finish().unwrap()
        }
        other => other.pack(text(), None).unwrap(),
    }
}

#[test]
fn each_codec_unpacks_what_it_packs() {
    for (codec, name) in NAMES {
        assert_eq!(BlockCodec::named(Some(name.as_bytes())).unwrap(), codec);
        assert_eq!(codec.name(), name);
        let packed = packed(codec);
        assert_eq!(packed.len() < text().len() / 2, codec != BlockCodec::Null);
        assert_eq!(codec.unpack(packed).unwrap(), text());
    }
    assert_eq!(BlockCodec::named(None).unwrap(), BlockCodec::Null);
    let error = BlockCodec::named(Some(b"lzo")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("lzo"), "{error}");
}

#[test]
fn damaged_blocks_are_errors_that_name_the_codec() {
    for (codec, name) in NAMES.into_iter().filter(|(codec, _)| *codec != BlockCodec::Null) {
        let whole = packed(codec);
        for bytes in [b"no block of a codec".to_vec(), whole[..whole.len() / 2].to_vec()] {
            let error = codec.unpack(bytes).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}");
            assert!(error.to_string().contains(name) || codec == BlockCodec::Snappy, "{error}");
        }
    }
}

#[test]
fn the_checksum_and_the_length_of_snappy_are_checked() {
    let mut wrong = packed(BlockCodec::Snappy);
    *wrong.last_mut().unwrap() ^= 1;
    let error = BlockCodec::Snappy.unpack(wrong).unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");
    let error = BlockCodec::Snappy.unpack(vec![1, 2, 3]).unwrap_err();
    assert!(error.to_string().contains("too short"), "{error}");
    // A length of 512 MiB in front of one byte, and one of 4 GiB.
    let error = BlockCodec::Snappy.unpack(b"\x80\x80\x80\x80\x02\x00crc!".to_vec()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    let error = BlockCodec::Snappy.unpack(b"\xff\xff\xff\xff\x0f\x00crc!".to_vec()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn options_choose_the_codecs_that_avro_has() {
    let of = |codec| {
        let compression = Some(Compression::new(codec));
        BlockCodec::of_options(&WriteOptions { compression, ..WriteOptions::default() })
    };
    assert_eq!(BlockCodec::of_options(&WriteOptions::default()).unwrap(), BlockCodec::Deflate);
    for (asked, codec) in [
        (Codec::None, BlockCodec::Null),
        (Codec::Gzip, BlockCodec::Deflate),
        (Codec::Snappy, BlockCodec::Snappy),
        (Codec::Zstd, BlockCodec::Zstandard),
    ] {
        assert_eq!(of(asked).unwrap(), codec);
    }
    for refused in [Codec::Lz4, Codec::Brotli] {
        assert_eq!(of(refused).unwrap_err().kind(), ErrorKind::Usage);
    }
}
