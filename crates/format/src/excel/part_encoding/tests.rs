#![allow(clippy::unwrap_used)]

use encoding_rs::WINDOWS_1252;

use super::*;

#[test]
fn the_first_bytes_tell_the_encoding() {
    let unknown = |label: &str| Some(PartEncoding::Unknown(label.to_owned()));
    let cases: [(&[u8], Option<PartEncoding>); 14] = [
        (b"", None),
        (b"<a/>", None),
        (b"\xef\xbb\xbf<?xml version=\"1.0\"?><a/>", None),
        (b"<?xml version='1.0' encoding='utf-8'?>", None),
        (b"<?xml version=\"1.0\" encoding=\"UTF-16\"?><a/>", None),
        (b"<?xml version=\"1.0\" encoding=\"", None),
        (b"<a>encoding=\"latin1\"</a>", None),
        (b"<?xml version=\"1.0\"?><a encoding=\"latin1\"/>", None),
        (b"<?xml version=\"1.0\" encoding = 'ISO-8859-1' ?><a>\xe9", Some(PartEncoding::Known(WINDOWS_1252))),
        (b"<?xml version=\"1.0\" encoding=\"EBCDIC\"?><a/>", unknown("EBCDIC")),
        (b"\xff\xfe<\0", Some(PartEncoding::Known(UTF_16LE))),
        (b"\0<\0?\0x", Some(PartEncoding::Known(UTF_16BE))),
        (b"\xfe\xff\0<", Some(PartEncoding::Known(UTF_16BE))),
        (b"\xff\xfe\0\0<\0\0\0", unknown("UTF-32")),
    ];
    for (start, expected) in cases {
        assert_eq!(PartEncoding::of_start(start), expected, "{:?}", String::from_utf8_lossy(start));
    }
}

#[test]
fn texts_lose_their_declaration() {
    assert_eq!(decoded(b"<?xml version=\"1.0\" encoding=\"latin1\"?><a>\xe9</a>", WINDOWS_1252).unwrap(), "<a>é</a>");
    let wide: Vec<u8> = "\u{feff}<?xml version=\"1.0\"?><a>😀</a>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(decoded(&wide, UTF_16LE).unwrap(), "<a>😀</a>");
    assert_eq!(decoded(&wide[..wide.len() - 1], UTF_16LE), None);
}
