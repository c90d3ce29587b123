#![allow(clippy::unwrap_used)]

use std::io::{Cursor, Read};

use lakerace_io::Error;

use super::{TextEncoding, Utf8Reader};

fn utf8(bytes: &[u8], encoding: &str) -> Result<String, Error> {
    let mut text = String::new();
    let mut reader = Utf8Reader::new(Box::new(Cursor::new(bytes.to_vec())), encoding.parse().unwrap());
    match reader.read_to_string(&mut text) {
        Ok(_) => Ok(text),
        Err(error) => Err(error.get_ref().unwrap().downcast_ref::<Error>().unwrap().clone()),
    }
}

#[test]
fn names_are_those_of_other_tools() {
    for name in ["latin1", "ISO-8859-1", "iso8859-1", "Latin-1", "iso_8859_1", "l1", "cp819", "iso-ir-100", "8859"] {
        assert_eq!(name.parse::<TextEncoding>().unwrap(), TextEncoding::Latin1, "{name}");
    }
    for name in ["ascii", "US-ASCII", "us_ascii", "ansi_x3.4-1968"] {
        assert_eq!(name.parse::<TextEncoding>().unwrap(), TextEncoding::Ascii, "{name}");
    }
    for name in ["windows-1252", "cp1252", "CP1252", "windows_1252"] {
        assert_eq!(name.parse::<TextEncoding>().unwrap(), TextEncoding::Known(encoding_rs::WINDOWS_1252), "{name}");
    }
    assert!("UTF-8".parse::<TextEncoding>().unwrap().is_utf8() && "utf8".parse::<TextEncoding>().unwrap().is_utf8());
    assert!("utf_16".parse::<TextEncoding>().unwrap() == TextEncoding::Utf16);
    assert!("utf_8_sig".parse::<TextEncoding>().unwrap().is_utf8());
    let korean = "ks_c_5601-1987".parse::<TextEncoding>().unwrap();
    assert_eq!(korean, TextEncoding::Known(encoding_rs::EUC_KR));
    for name in ["", "utf-32", "klingon", "replacement"] {
        assert!(name.parse::<TextEncoding>().is_err(), "{name}");
    }
}

#[test]
fn all_bytes_of_latin1_are_characters_of_their_number() {
    let bytes: Vec<u8> = (0..=255).cycle().take(200_000).collect();
    let expected: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    assert_eq!(utf8(&bytes, "latin1").unwrap(), expected);
}

#[test]
fn utf16_is_read_in_both_orders_with_and_without_its_mark() {
    let text: String = "naïve,日本,𝄞\n".repeat(20_000);
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_eq!(utf8(&little, "utf-16").unwrap(), text);
    assert_eq!(utf8(&[&[0xff, 0xfe][..], &little].concat(), "utf-16").unwrap(), text);
    assert_eq!(utf8(&[&[0xfe, 0xff][..], &big].concat(), "utf-16").unwrap(), text);
    assert_eq!(utf8(&big, "utf-16be").unwrap(), text);
    assert_eq!(utf8(&little, "utf-16le").unwrap(), text);
}

#[test]
fn bytes_that_are_no_character_are_an_error_with_their_place() {
    let mut bytes: Vec<u8> = "a\n".repeat(100_000).encode_utf16().flat_map(u16::to_le_bytes).collect();
    // Half of a pair of surrogates.
    bytes.extend([0x00, 0xd8, b'b', 0]);
    let error = utf8(&bytes, "utf-16").unwrap_err();
    assert!(error.message().contains("in line 100001"), "{error}");
    let error = utf8(b"a\nb\n\xff\xff", "shift_jis").unwrap_err();
    assert!(error.message().contains("byte 4 in line 3"), "{error}");
    // A text of an odd number of bytes is cut short.
    assert!(utf8(b"a\0b", "utf-16").is_err());
}

#[test]
fn a_byte_that_is_not_ascii_is_an_error_with_its_place() {
    let mut bytes = b"a line\n".repeat(20_000);
    assert_eq!(utf8(&bytes, "ascii").unwrap().as_bytes(), bytes);
    bytes[139_990] = 0x80;
    let error = utf8(&bytes, "ascii").unwrap_err().to_string();
    assert!(error.contains("ASCII: byte 139990 in line 19999 "), "{error}");
}
