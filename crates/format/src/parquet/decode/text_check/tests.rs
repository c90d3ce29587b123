#![allow(clippy::unwrap_used)]

use super::super::copied_text::LENGTH_BYTES;
use super::{check_each, check_utf8};

/// A text of `length` bytes with these bytes at a place in it.
fn text(length: usize, at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut text = vec![b'a'; length];
    text[at..at + bytes.len()].copy_from_slice(bytes);
    text
}

/// Texts as a page holds them, each with its length before it.
fn page(texts: &[Vec<u8>]) -> Vec<u8> {
    texts.iter().flat_map(|text| (text.len() as u32).to_le_bytes().into_iter().chain(text.iter().copied())).collect()
}

#[test]
fn every_place_of_a_text_is_checked_as_the_standard_library_does() {
    for length in 1..80 {
        for at in 0..length {
            for bytes in
                [&[0x80][..], &[0xff], &[0xc3, 0xa9], &[0xc3, b'a'], &[0xe2, 0x82, 0xac], &[0xf0, 0x9f, 0x8f, 0x81]]
            {
                if at + bytes.len() <= length {
                    let text = text(length, at, bytes);
                    assert_eq!(check_utf8(&text).is_ok(), std::str::from_utf8(&text).is_ok(), "{text:?}");
                }
            }
        }
    }
    assert!(check_utf8(&[]).is_ok());
}

#[test]
fn one_text_of_many_that_is_not_utf8_is_found() {
    for wrong in [0, 1, 62, 63, 64, 65, 127, 128, 199] {
        let texts = |bytes: &[u8]| -> Vec<Vec<u8>> {
            (0..200).map(|n| if n == wrong { text(n + 5, n, bytes) } else { vec![b'b'; n] }).collect()
        };
        let right = page(&texts(&[0xc3, 0xa9]));
        assert!(check_each(&right, 0, 200, None).is_ok());
        let torn = page(&texts(&[0xc3, b'a']));
        assert_eq!(check_each(&torn, 0, 200, None).unwrap_err().to_string(), "a text is not valid UTF-8");
        // The texts before it are right, and so are those after it.
        assert!(check_each(&torn, 0, wrong, None).is_ok());
        let start = texts(&[]).iter().take(wrong).map(|text| text.len() + LENGTH_BYTES).sum::<usize>();
        assert!(check_each(&torn, start, 1, None).is_err());
    }
}

#[test]
fn a_character_across_two_texts_is_an_error() {
    let halves = page(&[text(20, 19, &[0xc3]), text(20, 0, &[0xa9])]);
    assert!(check_each(&halves, 0, 2, None).is_err());
}

#[test]
fn a_length_beyond_the_page_is_an_error() {
    let mut short = page(&[vec![b'a'; 30], vec![b'a'; 30]]);
    short.truncate(60);
    assert!(check_each(&short, 0, 1, None).is_ok());
    assert!(check_each(&short, 0, 2, None).is_err());
}
