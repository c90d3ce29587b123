use super::*;

fn merged(kind: &OrcKind, add: [fn(&mut Statistics); 2]) -> proto::ColumnStatistics {
    let mut all = Statistics::new(kind);
    for add in add {
        let mut part = Statistics::new(kind);
        add(&mut part);
        all.merge(&part);
    }
    let wire = all.to_proto();
    all.clear();
    assert_eq!(all.to_proto(), Statistics::new(kind).to_proto());
    wire
}

#[test]
fn whole_numbers_have_a_sum_until_it_overflows() {
    let wire = merged(&OrcKind::Long, [|s| s.add_ints(&[3, -5, 9]), |s| s.add_ints(&[100])]);
    let expected = proto::IntegerStatistics { minimum: Some(-5), maximum: Some(100), sum: Some(107) };
    assert_eq!(wire.int_statistics.as_deref(), Some(&expected));
    let wire = merged(&OrcKind::Long, [|s| s.add_ints(&[i64::MAX]), |s| s.add_ints(&[1])]);
    assert_eq!(wire.int_statistics.unwrap().sum, None);
    let wire = merged(&OrcKind::Date, [|s| s.add_ints(&[3]), |s| s.add_ints(&[-1])]);
    let expected = proto::DateStatistics { minimum: Some(-1), maximum: Some(3) };
    assert_eq!(wire.date_statistics.as_deref(), Some(&expected));
}

#[test]
fn a_sum_that_is_no_number_tells_of_nan() {
    let wire = merged(&OrcKind::Double, [|s| s.add_floats([1.5, -2.0].into_iter()), |_| ()]);
    let expected = proto::DoubleStatistics { minimum: Some(-2.0), maximum: Some(1.5), sum: Some(-0.5) };
    assert_eq!(wire.double_statistics.as_deref(), Some(&expected));
    let wire = merged(&OrcKind::Float, [|s| s.add_floats([1.5].into_iter()), |s| s.add_floats([f64::NAN].into_iter())]);
    let wire = wire.double_statistics.unwrap();
    assert_eq!((wire.minimum, wire.maximum), (Some(1.5), Some(1.5)));
    assert!(wire.sum.unwrap().is_nan());
    let nothing_else = merged(&OrcKind::Double, [|s| s.add_floats([f64::NAN].into_iter()), |_| ()]);
    let wire = nothing_else.double_statistics.unwrap();
    assert!([wire.minimum, wire.maximum, wire.sum].into_iter().all(|number| number.unwrap().is_nan()));
    let infinite = [f64::INFINITY, f64::NEG_INFINITY];
    let wire = merged(&OrcKind::Double, [|s| s.add_floats([f64::INFINITY, f64::NEG_INFINITY].into_iter()), |_| ()]);
    let wire = wire.double_statistics.unwrap();
    assert_eq!([wire.maximum, wire.minimum], infinite.map(Some));
    let nothing = merged(&OrcKind::Double, [|_| (), |_| ()]).double_statistics.unwrap();
    assert_eq!((nothing.minimum, nothing.maximum, nothing.sum), (None, None, Some(0.0)));
    let wire = merged(&OrcKind::Double, [|s| s.add_floats([0.0].into_iter()), |_| ()]).double_statistics.unwrap();
    assert!(wire.minimum.unwrap().is_sign_negative() && wire.maximum.unwrap().is_sign_positive());
}

#[test]
fn decimals_are_text() {
    assert_eq!(decimal_text(-5, 2), "-0.05");
    assert_eq!(decimal_text(12_345, 2), "123.45");
    assert_eq!(decimal_text(0, 0), "0");
    assert_eq!(decimal_text(i128::MIN, 38), "-1.70141183460469231731687303715884105728");
    let kind = OrcKind::Decimal { precision: 38, scale: 1 };
    let wire =
        merged(&kind, [|s| s.add_decimals(-7, 20, i256::from_i128(13)), |s| s.add_decimals(1, 1, i256::from_i128(1))]);
    let wire = wire.decimal_statistics.unwrap();
    assert_eq!(
        (wire.minimum.as_deref(), wire.maximum.as_deref(), wire.sum.as_deref()),
        (Some("-0.7"), Some("2.0"), Some("1.4"))
    );
    let wire = merged(
        &kind,
        [|s| s.add_decimals(1, 7, i256::from_i128(MAX_DECIMAL as i128)), |s| s.add_decimals(1, 1, i256::from_i128(1))],
    );
    assert_eq!(wire.decimal_statistics.unwrap().sum, None);
}

#[test]
fn times_carry_their_nanoseconds() {
    let wire =
        merged(&OrcKind::Timestamp, [|s| s.add_instants((-1, 5), (7, 999_999)), |s| s.add_instants((0, 0), (0, 0))]);
    let expected = proto::TimestampStatistics {
        minimum: Some(-1),
        maximum: Some(7),
        minimum_utc: Some(-1),
        maximum_utc: Some(7),
        minimum_nanos: Some(6),
        maximum_nanos: None,
    };
    assert_eq!(wire.timestamp_statistics.as_deref(), Some(&expected));
}

#[test]
fn bounds_include_days_that_stand_for_skipped_ones() {
    const FIRST: i64 = -141_427; // 1582-10-15
    let date = |day: i64| {
        let mut statistics = Statistics::new(&OrcKind::Date);
        statistics.add_ints(&[day]);
        let wire = statistics.to_proto().date_statistics.unwrap();
        assert_eq!(wire.minimum.map(i64::from), Some(day));
        i64::from(wire.maximum.unwrap())
    };
    assert_eq!([FIRST - 11, FIRST + 10].map(date), [FIRST - 11, FIRST + 10]);
    assert_eq!([FIRST - 10, FIRST - 1, FIRST, FIRST + 9].map(date), [FIRST + 10; 4]);
    let latest = |day: i64| {
        let mut statistics = Statistics::new(&OrcKind::Timestamp);
        statistics.add_instants((day * 86_400_000, 5), (day * 86_400_000, 5));
        let wire = statistics.to_proto().timestamp_statistics.unwrap();
        assert_eq!((wire.minimum, wire.minimum_nanos), (Some(day * 86_400_000), Some(6)));
        wire.maximum_utc.unwrap() / 86_400_000
    };
    assert_eq!([FIRST - 12, FIRST + 11].map(latest), [FIRST - 12, FIRST + 11]);
    assert_eq!([FIRST - 11, FIRST - 1, FIRST + 10].map(latest), [FIRST + 11; 3]);
}

#[test]
fn bounds_of_a_file_are_exact_or_left_out() {
    const FIRST: i64 = -141_427; // 1582-10-15
    let mut days = Statistics::new(&OrcKind::Date);
    days.add_ints(&[FIRST - 5, FIRST]);
    let wire = days.to_file_proto().date_statistics.unwrap();
    assert_eq!((wire.minimum.map(i64::from), wire.maximum.map(i64::from)), (Some(FIRST - 5), Some(FIRST)));
    let instant = (FIRST * 86_400_000, 5);
    for kind in [OrcKind::Timestamp, OrcKind::TimestampInstant] {
        let mut times = Statistics::new(&kind);
        times.add_instants(instant, instant);
        let wire = times.to_file_proto().timestamp_statistics.unwrap();
        assert_eq!((wire.minimum_utc, wire.maximum_utc), (Some(instant.0), Some(instant.0)));
        assert_eq!((wire.minimum_nanos, wire.maximum_nanos), (Some(6), Some(6)));
    }
    for values in [&[1.5, f64::NAN][..], &[f64::NAN][..]] {
        let mut floats = Statistics::new(&OrcKind::Double);
        floats.add_floats(values.iter().copied());
        assert_eq!(floats.to_file_proto().double_statistics, None);
    }
    let mut numbers = Statistics::new(&OrcKind::Double);
    numbers.add_floats([1.5].into_iter());
    assert_eq!(numbers.to_file_proto(), numbers.to_proto());
    let nothing = Statistics::new(&OrcKind::Double);
    assert_eq!(nothing.to_file_proto(), nothing.to_proto());
}

#[test]
fn lengths_and_counts_add_up() {
    let wire = merged(&OrcKind::Boolean, [|s| s.add_trues(3), |s| s.add_trues(4)]);
    assert_eq!(wire.bucket_statistics.unwrap().count, [7]);
    let wire = merged(&OrcKind::Binary, [|s| s.add_bytes(3), |s| s.add_bytes(4)]);
    assert_eq!(wire.binary_statistics.unwrap().sum, Some(7));
    let wire = merged(&OrcKind::String, [|s| s.add_text(b"b"), |s| (s.add_text(b"a"), s.add_bytes(2)).0]);
    let text = wire.string_statistics.unwrap();
    assert_eq!(
        (text.minimum.as_deref(), text.maximum.as_deref(), text.sum),
        (Some(&b"a"[..]), Some(&b"b"[..]), Some(2))
    );
    let map = OrcKind::Map(Box::new(leaf(1)), Box::new(leaf(2)));
    let wire = merged(&map, [|s| s.add_lengths(&[0, 3]), |s| s.add_lengths(&[9])]).collection_statistics.unwrap();
    assert_eq!((wire.min_children, wire.max_children, wire.total_children), (Some(0), Some(9), Some(12)));
}

fn leaf(id: u32) -> crate::schema::OrcType {
    crate::schema::OrcType { id, last_id: id, kind: OrcKind::Int, attributes: Vec::new() }
}
