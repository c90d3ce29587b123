#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use parquet::schema::types::ColumnPath;

use super::*;

fn bounds(min: impl Into<Vec<u8>>, max: impl Into<Vec<u8>>) -> ValueBounds {
    ValueBounds { min_max: Some((min.into(), max.into())), nans: 0 }
}

/// A column of byte arrays.
fn column(logical: Option<LogicalType>) -> ColumnDescriptor {
    let leaf = parquet::schema::types::Type::primitive_type_builder("c", Type::BYTE_ARRAY);
    let leaf = Arc::new(leaf.with_logical_type(logical).build().unwrap());
    ColumnDescriptor::new(leaf, 0, 0, ColumnPath::from("c"))
}

#[test]
fn integers_signed_and_unsigned() {
    let values = [5, -1, 0, i32::MIN];
    assert_eq!(i32::min_max(&values, ValueOrder::Signed32), bounds(i32::MIN.to_le_bytes(), 5i32.to_le_bytes()));
    assert_eq!(i32::min_max(&values, ValueOrder::Unsigned32), bounds(0u32.to_le_bytes(), u32::MAX.to_le_bytes()));
    let values = [5, -1, 0, i64::MAX];
    assert_eq!(i64::min_max(&values, ValueOrder::Signed64), bounds((-1i64).to_le_bytes(), i64::MAX.to_le_bytes()));
    assert_eq!(i64::min_max(&values, ValueOrder::Unsigned64), bounds(0u64.to_le_bytes(), u64::MAX.to_le_bytes()));
    assert_eq!(i64::min_max(&[], ValueOrder::Signed64), ValueBounds::default());
}

#[test]
fn floats_leave_nans_out() {
    let found = f64::min_max(&[f64::NAN, 0.0, -0.0, -2.5, f64::INFINITY, -f64::NAN], ValueOrder::Float64);
    assert_eq!(found.nans, 2);
    assert_eq!(found.min_max, Some(((-2.5f64).to_le_bytes().to_vec(), f64::INFINITY.to_le_bytes().to_vec())));
    let zeros = f32::min_max(&[0.0, -0.0], ValueOrder::Float32);
    assert_eq!(zeros.min_max, Some(((-0.0f32).to_le_bytes().to_vec(), 0.0f32.to_le_bytes().to_vec())));
    for zeros in [&[0.0f32][..], &[-0.0]] {
        let found = f32::min_max(zeros, ValueOrder::Float32);
        assert_eq!(found.min_max, Some(((-0.0f32).to_le_bytes().to_vec(), 0.0f32.to_le_bytes().to_vec())));
    }
    assert_eq!(f64::min_max(&[f64::NAN, -f64::NAN], ValueOrder::Float64), ValueBounds { min_max: None, nans: 2 });
}

#[test]
fn bounds_of_nothing_but_nans_change_no_others() {
    let mut all = f64::min_max(&[f64::NAN], ValueOrder::Float64);
    all.merge(&f64::min_max(&[1.0, 2.0], ValueOrder::Float64), ValueOrder::Float64);
    all.merge(&f64::min_max(&[f64::NAN], ValueOrder::Float64), ValueOrder::Float64);
    all.merge(&f64::min_max(&[0.5], ValueOrder::Float64), ValueOrder::Float64);
    assert_eq!(all.nans, 2);
    assert_eq!(all.min_max, Some((0.5f64.to_le_bytes().to_vec(), 2.0f64.to_le_bytes().to_vec())));
}

#[test]
fn half_floats_have_bounds_by_the_same_rules() {
    let bytes = |bits: u16| bits.to_le_bytes().to_vec();
    let (one, zero, minus_zero, nan) = (0x3c00, 0x0000, 0x8000, 0x7e01);
    let order = ValueOrder::Float16;
    assert_eq!(order.float_bounds(bytes(zero), bytes(one)), Some((bytes(minus_zero), bytes(one))));
    assert_eq!(order.float_bounds(bytes(minus_zero), bytes(minus_zero)), Some((bytes(minus_zero), bytes(zero))));
    assert_eq!(order.float_bounds(bytes(nan), bytes(nan)), None);
}

#[test]
fn decimals_order_as_signed() {
    let order = ValueOrder::SignedBytes;
    let bytes = |v: i128| v.to_be_bytes();
    for (a, b) in [(-5, 3), (-5, -4), (1, 2), (i128::MIN, i128::MAX), (-1, 0)] {
        assert_eq!(order.compare(&bytes(a), &bytes(b)), Ordering::Less, "{a} {b}");
        assert_eq!(order.compare(&bytes(b), &bytes(a)), Ordering::Greater, "{a} {b}");
    }
}

#[test]
fn long_bounds_are_shortened_outwards() {
    let long = "é".repeat(50);
    let short =
        bounds(long.as_bytes(), long.as_bytes()).stored(ValueOrder::Bytes, &column(Some(LogicalType::String))).unwrap();
    assert!(!short.min_is_exact && !short.max_is_exact);
    let (min, max) = (String::from_utf8(short.min).unwrap(), String::from_utf8(short.max.unwrap()).unwrap());
    assert_eq!(min, "é".repeat(32));
    assert!(min.as_str() < long.as_str() && max.as_str() > long.as_str() && max.len() <= BOUND_BYTES);

    let odd = format!("a{long}");
    let short =
        bounds(odd.as_bytes(), odd.as_bytes()).stored(ValueOrder::Bytes, &column(Some(LogicalType::String))).unwrap();
    assert_eq!(short.min.len(), 63);

    let top = [0xff; 100];
    let short = bounds(top, top).stored(ValueOrder::Bytes, &column(None)).unwrap();
    assert_eq!(short.max, None);
    let top = "\u{10ffff}".repeat(40);
    assert_eq!(
        bounds(top.as_bytes(), top.as_bytes())
            .stored(ValueOrder::Bytes, &column(Some(LogicalType::String)))
            .unwrap()
            .max,
        None
    );
    let near = [vec![7], vec![0xff; 99]].concat();
    assert_eq!(bounds(near.clone(), near).stored(ValueOrder::Bytes, &column(None)).unwrap().max, Some(vec![8]));
}
