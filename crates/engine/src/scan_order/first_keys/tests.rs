use arrow::array::BinaryArray;

use super::FirstKeys;

fn keys(texts: &[&str]) -> BinaryArray {
    BinaryArray::from_iter_values(texts)
}

#[test]
fn the_bound_is_the_last_of_the_first_keys() {
    let mut first = FirstKeys::new(3, 1 << 20);
    first.push(&keys(&["m", "z"]));
    assert_eq!(first.bound(), None);
    first.push(&keys(&["q", "a"]));
    assert_eq!(first.bound(), Some(&b"q"[..]));
    first.push(&keys(&["q", "q", "x"]));
    assert_eq!(first.bound(), Some(&b"q"[..]));
    first.push(&keys(&["b", "", "c"]));
    assert_eq!(first.bound(), Some(&b"b"[..]));
}

#[test]
fn keys_that_take_too_much_memory_give_no_bound() {
    let long = "k".repeat(1000);
    let mut first = FirstKeys::new(10, 5000);
    for _ in 0..20 {
        first.push(&keys(&[&long]));
        assert_eq!(first.bound(), None);
    }
    first.push(&keys(&["a"; 20]));
    assert_eq!(first.bound(), None);
}

#[test]
fn keys_that_are_replaced_take_no_memory() {
    let mut first = FirstKeys::new(2, 5000);
    for number in (0..100).rev() {
        first.push(&keys(&[&format!("{number:01000}")]));
    }
    assert_eq!(first.bound(), Some(format!("{:01000}", 1).as_bytes()));
}
