use super::in_order;

fn sorted(names: &[&str]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..names.len()).collect();
    order.sort_by_key(|at| names[*at]);
    order
}

#[test]
fn the_order_is_that_of_the_bytes_and_of_equal_names_the_first_is_first() {
    let cases: [&[&str]; 7] = [
        &[],
        &["a"],
        &["b", "a", "b", "a", ""],
        &["folder/12345678b", "folder/12345678a", "folder/12345678", "folder/1234567"],
        &["same", "same", "same"],
        &["x\0", "x", "x\u{1}", "é", "z", "\u{10ffff}"],
        &["prefix", "prefix/longer than eight bytes b", "prefix/longer than eight bytes a", "prefi"],
    ];
    for names in cases {
        assert_eq!(in_order(names), sorted(names), "{names:?}");
    }
}

#[test]
fn many_names_are_in_the_order_of_their_bytes() {
    let names: Vec<String> =
        (0..5_000_u64).map(|at| format!("d/{:x}", at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(in_order(&names), sorted(&names));
}
