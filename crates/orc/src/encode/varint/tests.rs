use super::*;

fn unsigned(value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    put_unsigned(value, &mut out);
    out
}

#[test]
fn writes_the_examples_of_the_specification() {
    assert_eq!(unsigned(0), [0x00]);
    assert_eq!(unsigned(1), [0x01]);
    assert_eq!(unsigned(127), [0x7f]);
    assert_eq!(unsigned(128), [0x80, 0x01]);
    assert_eq!(unsigned(129), [0x81, 0x01]);
    assert_eq!(unsigned(16_383), [0xff, 0x7f]);
    assert_eq!(unsigned(16_384), [0x80, 0x80, 0x01]);
    assert_eq!(unsigned(16_385), [0x81, 0x80, 0x01]);
    assert_eq!([0, -1, 1, -2, 2].map(zigzag), [0, 1, 2, 3, 4]);
}

#[test]
fn the_fast_path_agrees_with_the_simple_one() {
    let mut values: Vec<i128> = (0..127).flat_map(|bit| [-1, 0, 1].map(|d| (1i128 << bit) + d)).collect();
    values.extend(values.clone().into_iter().map(|v| -v));
    values.extend([i128::MAX, i128::MIN]);
    let mut fast = vec![9, 9];
    put_all_signed(&values, &mut fast);
    let mut slow = vec![9, 9];
    for &value in &values {
        let mut buffer = [0; LONGEST];
        let len = put_wide(zigzag_wide(value), &mut buffer);
        slow.extend_from_slice(&buffer[..len]);
    }
    assert_eq!(fast, slow);
    let narrow: Vec<i64> = values.iter().filter_map(|&v| v.try_into().ok()).collect();
    let wide: Vec<i128> = narrow.iter().map(|&v| v.into()).collect();
    let (mut from_narrow, mut from_wide) = (Vec::new(), Vec::new());
    put_all_signed_narrow(&narrow, &mut from_narrow);
    put_all_signed(&wide, &mut from_wide);
    assert_eq!(from_narrow, from_wide);
    let mut short = Vec::new();
    put_all_signed_narrow(&[5, -3], &mut short);
    assert_eq!(short, [10, 5]);
}
