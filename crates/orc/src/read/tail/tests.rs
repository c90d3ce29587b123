#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::ErrorKind;

/// A file without rows or compression, of these messages.
fn file(postscript: &proto::PostScript, footer: &proto::Footer) -> Vec<u8> {
    let footer = footer.encode_to_vec();
    let mut postscript = postscript.clone();
    postscript.footer_length = postscript.footer_length.or(Some(footer.len() as u64));
    let postscript = postscript.encode_to_vec();
    [b"ORC", &footer[..], &postscript[..], &[postscript.len() as u8]].concat()
}

fn parts() -> (proto::PostScript, proto::Footer) {
    let kind = |kind: proto::TypeKind| Some(kind as i32);
    let types = vec![
        proto::Type {
            kind: kind(proto::TypeKind::Struct),
            subtypes: vec![1],
            field_names: vec!["a".to_owned()],
            ..Default::default()
        },
        proto::Type { kind: kind(proto::TypeKind::Long), ..Default::default() },
    ];
    let postscript = proto::PostScript { magic: Some("ORC".to_owned()), version: vec![0, 12], ..Default::default() };
    (postscript, proto::Footer { types, number_of_rows: Some(0), ..Default::default() })
}

fn parse(file: &[u8]) -> Result<Box<FileTail>> {
    match FileTail::parse(file, file.len() as u64)? {
        TailStep::Done(tail) => Ok(tail),
        TailStep::Need(needed) => panic!("{needed} bytes of {}", file.len()),
    }
}

#[test]
fn says_how_many_bytes_it_needs() {
    let (postscript, footer) = parts();
    let file = file(&postscript, &footer);
    let mut given = 0;
    for _ in 0..4 {
        match FileTail::parse(&file[file.len() - given..], file.len() as u64).unwrap() {
            TailStep::Need(needed) => {
                assert!(needed as usize > given && needed <= file.len() as u64);
                given = needed as usize;
            }
            TailStep::Done(tail) => {
                assert_eq!((tail.rows(), tail.version(), tail.writer()), (0, (0, 12), WriterSoftware::Java));
                return;
            }
        }
    }
    panic!("never had enough");
}

#[test]
fn nonsense_is_an_error() {
    let (postscript, footer) = parts();
    let corrupt = |postscript: &proto::PostScript, footer: &proto::Footer, words: &str| {
        let error = parse(&file(postscript, footer)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains(words), "{error}");
    };
    corrupt(&proto::PostScript { magic: Some("PAR".to_owned()), ..postscript.clone() }, &footer, "isn't an ORC file");
    corrupt(&proto::PostScript { footer_length: Some(u64::MAX), ..postscript.clone() }, &footer, "in a file of");
    corrupt(&proto::PostScript { metadata_length: Some(1 << 40), ..postscript.clone() }, &footer, "in a file of");
    corrupt(
        &proto::PostScript { compression: Some(1), compression_block_size: Some(1 << 40), ..postscript.clone() },
        &footer,
        "compression block size",
    );
    let statistics = vec![proto::ColumnStatistics::default(); 3];
    corrupt(&postscript, &proto::Footer { statistics, ..footer.clone() }, "statistics of 3 columns");
    let stripes = vec![proto::StripeInformation { offset: Some(3), data_length: Some(1 << 40), ..Default::default() }];
    corrupt(&postscript, &proto::Footer { stripes, ..footer.clone() }, "doesn't lie within the file");
    corrupt(&postscript, &proto::Footer { number_of_rows: Some(7), ..footer.clone() }, "states 7 rows");
    for file in [&b""[..], b"ORC", b"plain text without an end\n", &[0; 100]] {
        assert_eq!(parse(file).unwrap_err().kind(), ErrorKind::Corrupt);
    }
    let variants = vec![proto::EncryptionVariant { root: Some(1), ..Default::default() }];
    let encryption = Some(Box::new(proto::Encryption { variants, ..Default::default() }));
    let error = parse(&file(&postscript, &proto::Footer { encryption, ..footer })).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("encrypted"), "{error}");
}
