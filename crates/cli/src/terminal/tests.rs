#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn escaped(pieces: &[&[u8]]) -> String {
    let mut out = EscapedWriter::new(Vec::new());
    pieces.iter().for_each(|piece| assert_eq!(out.write(piece).unwrap(), piece.len()));
    out.flush().unwrap();
    String::from_utf8(out.inner).unwrap()
}

#[test]
fn rows_on_a_terminal_hold_no_escape_sequences() {
    let text = "a\u{1b}]0;x\u{7},\u{9b}31m é ¢\u{7f}\n\t\"日本\"\n";
    let expected = "a\\u001b]0;x\\u0007,\\u009b31m é ¢\\u007f\n\t\"日本\"\n";
    assert_eq!(escaped(&[text.as_bytes()]), expected);
    // However it is cut.
    let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
    assert_eq!(escaped(&bytes), expected);
}
