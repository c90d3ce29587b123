use super::*;

fn encoded(values: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    encode(values, &mut out);
    out
}

fn decoded(mut bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let [control, rest @ ..] = bytes {
        if *control < 0x80 {
            out.extend(std::iter::repeat_n(rest[0], usize::from(*control) + 3));
            bytes = &rest[1..];
        } else {
            let count = 256 - usize::from(*control);
            out.extend(&rest[..count]);
            bytes = &rest[count..];
        }
    }
    out
}

#[test]
fn writes_the_examples_of_the_specification() {
    assert_eq!(encoded(&[0; 100]), [0x61, 0x00]);
    assert_eq!(encoded(&[0x44, 0x45]), [0xfe, 0x44, 0x45]);
}

#[test]
fn gives_back_what_went_in() {
    for pattern in 0..64u64 {
        let values: Vec<u8> = (0..pattern * 13)
            .flat_map(|n| {
                let byte = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
                std::iter::repeat_n(byte as u8, (byte % (pattern + 1)) as usize * 9 % 300)
            })
            .collect();
        assert_eq!(decoded(&encoded(&values)), values, "pattern {pattern}");
    }
    let distinct: Vec<u8> = (0..=255).collect();
    assert_eq!(encoded(&distinct).len(), 258);
    assert_eq!(decoded(&encoded(&distinct)), distinct);
}
