use super::*;

#[test]
fn codes_are_those_of_the_specification() {
    let codes: Vec<u8> = [1, 2, 24, 26, 28, 30, 32, 40, 48, 56, 64].map(code_of_width).into();
    assert_eq!(codes, [0, 1, 23, 24, 25, 26, 27, 28, 29, 30, 31]);
    assert_eq!([0, 1, 25, 31, 33, 57, 65, u32::MAX].map(closest_width), [1, 1, 26, 32, 40, 64, 64, 64]);
    for code in 0..32 {
        assert_eq!(code_of_width(width_of_code(code)), code);
        assert_eq!(width_of_code(code | 0xe0), width_of_code(code));
    }
}
