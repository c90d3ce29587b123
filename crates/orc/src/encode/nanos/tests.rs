use super::encode;

#[test]
fn writes_the_examples_of_the_specification() {
    assert_eq!(encode(1000), 0x0a);
    assert_eq!(encode(100_000), 0x0c);
}

#[test]
fn gives_back_what_went_in() {
    for nanos in [0, 1, 10, 99, 100, 120, 1_000_000, 123_000_000, 500_000_000, 900_000_000, 999_999_999] {
        let encoded = encode(nanos);
        let zeros = (encoded & 7) as u32;
        let decoded = (encoded >> 3) * if zeros == 0 { 1 } else { 10i64.pow(zeros + 1) };
        assert_eq!(decoded, i64::from(nanos));
    }
}
