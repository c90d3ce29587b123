#![allow(clippy::unwrap_used, reason = "a test may panic")]

use lakerace_io::ErrorKind;
use proptest::prelude::*;

use super::*;

fn toolbox(key: Option<&[u8]>, encrypt: bool, base64: bool) -> EncodingContext {
    let transforms = if base64 { vec![<dyn Transform>::named("base64").unwrap()] } else { Vec::new() };
    let key = key.map(|key| SecretKey::new(key).unwrap());
    EncodingContext::new(&Options { key, encrypt, transforms, ..Options::default() }).unwrap()
}

fn round_trip(encoding: &Encoding, level: i32, data: &[u8]) -> usize {
    let mut stored = Vec::new();
    encoding.encode(7, data, level, &mut stored).unwrap();
    let mut out: Vec<u8> = Vec::with_capacity(data.len());
    encoding.decode(7, &stored, &mut out.spare_capacity_mut()[..data.len()]).unwrap();
    // SAFETY: a decoding that succeeds has written all of it.
    unsafe { out.set_len(data.len()) };
    assert_eq!(out, data);
    stored.len()
}

const ALL: [&str; 10] = ["none", "zstd", "zstd:19", "zstd:-5", "lz4", "snappy", "gzip", "bz2", "xz", "brotli"];

#[test]
fn every_codec_gives_back_what_it_took_and_no_more_is_stored() {
    let text = b"the same words again and again, ".repeat(3_000);
    let noise: Vec<u8> = (0..70_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for name in ALL {
        let compression: Compression = name.parse().unwrap();
        let encoding = toolbox(None, false, false).encoding(compression, None);
        for data in [&text[..], &noise, b"", b"x", &text[..65]] {
            assert!(round_trip(&encoding, compression.level, data) <= data.len(), "{name}");
        }
        if name != "none" {
            assert!(round_trip(&encoding, compression.level, &text) < text.len() / 20, "{name}");
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_come_back_through_every_chain(data: Vec<u8>, codec in 0..ALL.len(), encrypt: bool, base64: bool) {
        let compression: Compression = ALL[codec].parse().unwrap();
        let encoding = toolbox(Some(&[7; 32]), encrypt, base64).encoding(compression, None);
        round_trip(&encoding, compression.level, &data);
    }

    #[test]
    fn damaged_bytes_never_panic(mut data: Vec<u8>, codec in 1..ALL.len(), at: usize, bit in 0..8_u32, length in 0..300_usize) {
        let compression: Compression = ALL[codec].parse().unwrap();
        let encoding = toolbox(None, false, false).encoding(compression, None);
        data.extend([1; 100]);
        let mut stored = Vec::new();
        encoding.encode(0, &data, compression.level, &mut stored).unwrap();
        let at = at % stored.len();
        stored[at] ^= 1_u8 << bit;
        let mut out: Vec<u8> = Vec::with_capacity(length);
        let _ = encoding.decode(0, &stored, &mut out.spare_capacity_mut()[..length]);
    }
}

#[test]
fn a_dictionary_halves_small_documents() {
    let document = |i: usize| {
        format!(
            "{{\"id\":{},\"kind\":\"reading\",\"unit\":\"celsius\",\"site\":\"plant-{}\",\"value\":{}.{}}}",
            i * 7919,
            i % 13,
            i % 40,
            i % 10
        )
    };
    let mut samples = TrainingSamples::default();
    (0..3_000).for_each(|i| samples.add(document(i).as_bytes()));
    assert!(samples.is_enough());
    let dictionary = Arc::new(TrainedDictionary::new(1, samples.train().unwrap()).unwrap());
    let zstd: Compression = "zstd".parse().unwrap();
    let toolbox = toolbox(None, false, false);
    let trained = toolbox.encoding(zstd, Some(Arc::clone(&dictionary)));
    let plain = toolbox.encoding(zstd, None);
    assert_eq!(trained.text, "zstd dictionary=1");
    let stored =
        |encoding: &Encoding| (5_000..6_000).map(|i| round_trip(encoding, 3, document(i).as_bytes())).sum::<usize>();
    let (with, without) = (stored(&trained), stored(&plain));
    assert!(with * 2 < without, "{with} of {without}");
    let parsed = toolbox.parse(&trained.text, &mut |id| {
        assert_eq!(id, 1);
        Ok(Arc::clone(&dictionary))
    });
    assert_eq!(parsed.unwrap().text, trained.text);
}

#[test]
fn training_needs_samples() {
    assert_eq!(TrainingSamples::default().train().map_err(|e| e.kind()), Err(ErrorKind::Invalid));
}

#[test]
fn equal_contents_encrypt_to_different_bytes_that_only_the_key_opens() {
    let none = Compression::default();
    let encoding = toolbox(Some(&[1; 32]), true, false).encoding(none, None);
    let (mut one, mut two) = (Vec::new(), Vec::new());
    encoding.encode(0, b"secret", 0, &mut one).unwrap();
    encoding.encode(0, b"secret", 0, &mut two).unwrap();
    assert_ne!(one, two);
    assert_eq!(one.len(), 16 + 6 + 16);
    let mut out = [MaybeUninit::uninit(); 6];
    assert!(encoding.decode(0, &one, &mut out).is_ok());
    for (piece, flip) in [(1, None), (0, Some(0)), (0, Some(17)), (0, Some(37))] {
        let mut stored = one.clone();
        flip.into_iter().for_each(|at: usize| stored[at] ^= 1);
        assert_eq!(encoding.decode(piece, &stored, &mut out).map_err(|e| e.kind()), Err(ErrorKind::Corrupt));
    }
    let mut none = |_| Err(Error::internal("no dictionary"));
    let kind = |toolbox: EncodingContext, none: &mut dyn FnMut(u32) -> Result<Arc<TrainedDictionary>>| {
        toolbox.parse(&encoding.text, none).map(|_| ()).map_err(|e| e.kind())
    };
    assert_eq!(kind(toolbox(Some(&[1; 32]), false, false), &mut none), Ok(()));
    assert_eq!(kind(toolbox(Some(&[2; 32]), false, false), &mut none), Err(ErrorKind::Invalid));
    assert_eq!(kind(toolbox(None, false, false), &mut none), Err(ErrorKind::Usage));
}

#[test]
fn unknown_codecs_and_transforms_are_named() {
    let toolbox = toolbox(None, false, false);
    let mut none = |_| Err(Error::not_found("no dictionary"));
    let mut kind = |text: &str| toolbox.parse(text, &mut none).map(|_| ()).map_err(|e| e.kind());
    assert_eq!(kind("none; base64"), Ok(()));
    assert_eq!(kind("lzo"), Err(ErrorKind::Unsupported));
    assert_eq!(kind("zstd window=3"), Err(ErrorKind::Unsupported));
    assert_eq!(kind("none; rot13"), Err(ErrorKind::Usage));
    assert_eq!(kind("zstd dictionary=4"), Err(ErrorKind::NotFound));
}
