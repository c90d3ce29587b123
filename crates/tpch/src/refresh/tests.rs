#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn streams_are_thousandths_of_the_orders() {
    let one = Scale::new(1.0).unwrap();
    assert_eq!(Refresh::Delete(1).orders(one), 0..1500);
    assert_eq!(Refresh::Delete(3).orders(one), 3000..4500);
    assert_eq!(Refresh::Insert(3).orders(one), 1_503_000..1_504_500);
    assert_eq!(Refresh::Delete(MAX_STREAMS).orders(one).end, 1_498_500);
    // SF x 1500, cut off; one at least at the smallest scale.
    assert_eq!(Refresh::Insert(2).orders(Scale::new(0.0371).unwrap()), 55_650 + 55..55_650 + 110);
    assert_eq!(Refresh::Delete(1).orders(Scale::new(Scale::MIN).unwrap()), 0..1);
}

#[test]
fn keys_are_told_apart_and_never_meet() {
    let scale = Scale::new(0.01).unwrap();
    let mut keys = std::collections::HashSet::new();
    for place in 0..2 * scale.orders() {
        let key = order_key(scale, place);
        assert!(keys.insert(key), "{place}");
        let expected = match place.checked_sub(scale.orders()) {
            None => OrderKey::Table(place + 1),
            Some(inserted) => OrderKey::Inserted(inserted + 1),
        };
        assert_eq!(OrderKey::decode(key), Some(expected));
    }
    for key in [i64::MIN, -1, 0, 8, 16, 31, i64::MAX] {
        assert_eq!(OrderKey::decode(key), None, "{key}");
    }
    assert_eq!((order_key(scale, 7), order_key(scale, 15_000), order_key(scale, 15_007)), (32, 9, 40));
}

#[test]
fn what_has_no_stream_is_named() {
    for refresh in [Refresh::Insert(0), Refresh::Delete(MAX_STREAMS + 1)] {
        let error = refresh.check(Table::Orders).unwrap_err();
        assert!(error.to_string().contains("choose 1 to 999"), "{error}");
    }
    let error = Refresh::Insert(1).check(Table::Part).unwrap_err();
    assert!(error.to_string().contains("not part"), "{error}");
}
