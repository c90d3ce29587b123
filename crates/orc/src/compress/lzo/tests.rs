#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

const END: [u8; 3] = [0x11, 0, 0];

fn unpack(chunk: &[u8], room: usize) -> Result<Option<Vec<u8>>> {
    let mut out = vec![0; room];
    Ok(decompress(chunk, &mut out)?.map(|made| out[..made].to_vec()))
}

#[test]
fn every_instruction_does_what_it_says() {
    // Four literals, then two bytes from one behind (`code >= 64` has lengths from 3).
    let mut chunk = vec![17 + 4];
    chunk.extend(b"abcd");
    // Length 3, distance 2, one literal behind.
    chunk.extend([(2 << 5) | (1 << 2) | 1, 0, b'X']);
    // One literal came before: two bytes from distance 1.
    chunk.extend([0, 0]);
    chunk.extend(END);
    assert_eq!(unpack(&chunk, 64).unwrap().unwrap(), b"abcdcdcXXX");
    assert_eq!(unpack(&chunk, 5).unwrap(), None);

    // A long run of literals, then a long copy.
    let text: Vec<u8> = (0..600).map(|i| (i % 251) as u8).collect();
    let mut chunk = vec![0, 0, 0, (600 - 18 - 2 * 255) as u8];
    chunk.extend(&text);
    chunk.extend([32, 0, 10]); // 31 + 255 + 10 + 2 = 298 bytes
    chunk.extend(((599u16) << 2).to_le_bytes()); // from 600 behind
    chunk.extend(END);
    let mut expected = text.clone();
    expected.extend(&text[..298]);
    assert_eq!(unpack(&chunk, 2000).unwrap().unwrap(), expected);

    // After a run of literals, short codes copy three bytes from beyond 2,048.
    let mut chunk = vec![0];
    chunk.extend([0; 8]);
    chunk.push((2100 - 18 - 8 * 255) as u8);
    let text: Vec<u8> = (0..2100).map(|i| (i % 253) as u8).collect();
    chunk.extend(&text);
    chunk.extend([0, 0]);
    chunk.extend(END);
    assert_eq!(&unpack(&chunk, 3000).unwrap().unwrap()[2100..], &text[51..54]);
}

#[test]
fn damage_is_an_error() {
    let good = [17 + 4, b'a', b'b', b'c', b'd', 64 | 4, 0, 0x11, 0, 0];
    assert!(unpack(&good, 64).unwrap().is_some());
    for chunk in
        [&good[..3], &good[..6], &good[..8], &[21, 1, 2, 3, 4, 64, 200][..], &[32, 0, 0, 0][..], &[17, 0, 0, 1][..]]
    {
        assert!(unpack(chunk, 64).is_err(), "{chunk:?}");
    }
}
