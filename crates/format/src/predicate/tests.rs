#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::cmp::Ordering;
use std::collections::HashMap;

use arrow::array::types::*;
use arrow::array::*;
use arrow::datatypes::{Field, Fields, i256};
use lakerace_io::ErrorKind;
use proptest::prelude::*;

use super::*;
use crate::{ArithmeticOp, CompareOp, Literal};

pub(super) fn column(name: &str) -> Box<Expr> {
    Box::new(Expr::Column(name.to_owned()))
}

pub(super) fn number(digits: i128, scale: u8) -> Literal {
    Literal::Number { digits, scale }
}

pub(super) fn compare(name: &str, op: CompareOp, literal: Literal) -> Expr {
    Expr::Compare { op, left: column(name), right: Box::new(Expr::Literal(literal)) }
}

pub(super) fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap()
}

fn rows(expr: &Expr, batch: &RecordBatch) -> Vec<Option<bool>> {
    evaluate::evaluate(&Predicate::bind(expr, &batch.schema()).unwrap().node, batch).unwrap().iter().collect()
}

pub(super) fn one(array: ArrayRef, op: CompareOp, literal: Literal) -> Vec<Option<bool>> {
    rows(&compare("x", op, literal), &batch(vec![("x", array)]))
}

pub(super) const T: Option<bool> = Some(true);
pub(super) const F: Option<bool> = Some(false);

#[test]
fn integers_against_any_number() {
    use CompareOp::*;
    let x: ArrayRef = Arc::new(Int8Array::from(vec![Some(-2), Some(-1), Some(1), Some(2), Some(127), None]));
    let check = |op, literal, expected: [bool; 5]| {
        let mut expected: Vec<Option<bool>> = expected.into_iter().map(Some).collect();
        expected.push(None);
        assert_eq!(one(Arc::clone(&x), op, literal), expected);
    };
    check(Less, number(15, 1), [true, true, true, false, false]);
    check(LessOrEq, number(-15, 1), [true, false, false, false, false]);
    check(Greater, number(-15, 1), [false, true, true, true, true]);
    check(Eq, number(15, 1), [false; 5]);
    check(NotEq, number(15, 1), [true; 5]);
    check(Eq, number(1000, 3), [false, false, true, false, false]);
    check(Less, number(i128::MAX, 0), [true; 5]);
    check(GreaterOrEq, number(128, 0), [false; 5]);
    check(LessOrEq, number(1275, 1), [true; 5]);
    check(Greater, number(i128::MIN, 0), [true; 5]);
    check(Eq, number(-1, 200), [false; 5]);
    check(Greater, number(-1, 200), [false, false, true, true, true]);
    check(Less, Literal::Float(1e300), [true; 5]);
    check(Eq, Literal::Float(2e0), [false, false, false, true, false]);
    check(Less, Literal::Float(15e-1), [true, true, true, false, false]);
    assert_eq!(one(x, Eq, Literal::Null), vec![None; 6]);
    let x: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
    assert_eq!(one(Arc::clone(&x), Eq, number(i128::from(u64::MAX), 0)), [T]);
    assert_eq!(one(x, Less, number(-1, 0)), [F]);
}

#[test]
fn decimals_against_any_number() {
    use CompareOp::*;
    let x: ArrayRef = Arc::new(Decimal128Array::from(vec![150, 151, -1]).with_precision_and_scale(15, 2).unwrap());
    assert_eq!(one(Arc::clone(&x), Eq, number(15, 1)), [T, F, F]);
    assert_eq!(one(Arc::clone(&x), Greater, number(1505, 3)), [F, T, F]);
    assert_eq!(one(Arc::clone(&x), Less, number(-5, 3)), [F, F, T]);
    assert_eq!(one(Arc::clone(&x), Eq, Literal::Float(151e-2)), [F, T, F]);
    let wide: ArrayRef =
        Arc::new(Decimal256Array::from(vec![i256::from_i128(7)]).with_precision_and_scale(76, 0).unwrap());
    assert_eq!(one(Arc::clone(&wide), Eq, number(70, 1)), [T]);
    assert_eq!(one(wide, Less, Literal::Float(1e70)), [T]);
    let thousands: ArrayRef = Arc::new(Decimal128Array::from(vec![3]).with_precision_and_scale(5, -3).unwrap());
    assert_eq!(one(Arc::clone(&thousands), Eq, number(3000, 0)), [T]);
    assert_eq!(one(thousands, Less, number(3001, 0)), [T]);
}

#[test]
fn floats_as_ieee() {
    use CompareOp::*;
    let x: ArrayRef =
        Arc::new(Float64Array::from(vec![Some(f64::NAN), Some(-0.0), Some(0.1), Some(f64::INFINITY), None]));
    assert_eq!(one(Arc::clone(&x), Eq, number(0, 0)), [F, T, F, F, None]);
    assert_eq!(one(Arc::clone(&x), NotEq, number(0, 0)), [T, F, T, T, None]);
    assert_eq!(one(Arc::clone(&x), Eq, number(1, 1)), [F, F, T, F, None]);
    assert_eq!(one(Arc::clone(&x), Less, number(1, 0)), [F, T, T, F, None]);
    assert_eq!(one(Arc::clone(&x), GreaterOrEq, number(0, 0)), [F, T, T, T, None]);
    let x: ArrayRef = Arc::new(Float32Array::from(vec![0.1, f32::INFINITY, f32::MAX, f32::NAN]));
    assert_eq!(one(Arc::clone(&x), Eq, number(1, 1)), [T, F, F, F]);
    assert_eq!(one(Arc::clone(&x), LessOrEq, Literal::Float(1e300)), [T, F, T, F]);
    assert_eq!(one(Arc::clone(&x), Greater, Literal::Float(1e300)), [F, T, F, F]);
    assert_eq!(one(Arc::clone(&x), Greater, Literal::Float(-1e300)), [T, T, T, F]);
    assert_eq!(one(Arc::clone(&x), Less, Literal::Float(-1e300)), [F, F, F, F]);
    assert_eq!(one(x, NotEq, Literal::Float(1e300)), [T, T, T, T]);
}

#[test]
fn instants() {
    use CompareOp::*;
    let text = |t: &str| Literal::Text(t.to_owned());
    let day: ArrayRef = Arc::new(Date32Array::from(vec![19_782, 19_783]));
    assert_eq!(one(Arc::clone(&day), Eq, text("2024-02-29")), [T, F]);
    assert_eq!(one(Arc::clone(&day), LessOrEq, text("2024-02-29 12:00")), [T, F]);
    assert_eq!(one(Arc::clone(&day), Greater, Literal::Date(19_782)), [F, T]);
    let noon = 19_782 * 86_400_000 + 43_200_000;
    let at: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![noon]).with_timezone("Europe/Berlin"));
    assert_eq!(one(Arc::clone(&at), Eq, text("2024-02-29 12:00:00")), [T]);
    assert_eq!(one(Arc::clone(&at), Eq, text("2024-02-29T14:00:00+02:00")), [T]);
    assert_eq!(one(Arc::clone(&at), Less, text("2024-02-29 12:00:00.000001")), [T]);
    assert_eq!(one(at, Greater, Literal::Date(19_782)), [T]);
    let clock: ArrayRef = Arc::new(Time64MicrosecondArray::from(vec![3_600_000_000]));
    assert_eq!(one(clock, Eq, text("01:00")), [T]);
}

#[test]
fn text_and_bytes_in_every_layout() {
    use CompareOp::*;
    let values = vec![Some("a"), Some("bb"), None, Some("bb")];
    let dictionary: DictionaryArray<Int8Type> = values.clone().into_iter().collect();
    let layouts: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(values.clone())),
        Arc::new(LargeStringArray::from(values.clone())),
        Arc::new(StringViewArray::from(values)),
        Arc::new(dictionary),
    ];
    for array in layouts {
        let literal = || Literal::Text("bb".to_owned());
        assert_eq!(one(Arc::clone(&array), Eq, literal()), [F, T, None, T]);
        assert_eq!(one(Arc::clone(&array), Less, literal()), [T, F, None, F]);
        let b = batch(vec![("x", array)]);
        let like = |pattern: &str| Expr::Like {
            expr: column("x"),
            pattern: pattern.into(),
            escape: None,
            case_insensitive: false,
        };
        assert_eq!(rows(&like("b%"), &b), [F, T, None, T]);
        let many: Vec<Literal> = ["bb", "c", "d", "e", "f"].iter().map(|t| Literal::Text((*t).into())).collect();
        assert_eq!(rows(&Expr::In { expr: column("x"), list: many.clone() }, &b), [F, T, None, T]);
        let with_null = [many, vec![Literal::Null]].concat();
        assert_eq!(rows(&Expr::In { expr: column("x"), list: with_null }, &b), [None, T, None, T]);
    }
    let fixed = FixedSizeBinaryArray::try_from_iter([[1u8, 2], [3, 4]].into_iter()).unwrap();
    let layouts: Vec<ArrayRef> = vec![Arc::new(BinaryArray::from_vec(vec![&[1, 2], &[3, 4]])), Arc::new(fixed)];
    for array in layouts {
        assert_eq!(one(Arc::clone(&array), Eq, Literal::Binary(vec![3, 4])), [F, T]);
        assert_eq!(one(array, Less, Literal::Binary(vec![3])), [T, F]);
    }
}

#[test]
fn structs_by_dots() {
    let inner: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(2), Some(3)]));
    let fields = Fields::from(vec![Field::new("b", inner.data_type().clone(), true)]);
    let nulls = Some(vec![true, false, true].into());
    let b = batch(vec![("a", Arc::new(StructArray::new(fields, vec![inner], nulls)) as ArrayRef)]);
    assert_eq!(rows(&compare("a.b", CompareOp::Greater, number(1, 0)), &b), [F, None, T]);
    let bound = Predicate::bind(&compare("a.b", CompareOp::Eq, number(1, 0)), &b.schema()).unwrap();
    assert_eq!(bound.columns(), [0]);
    assert_eq!(bound.column_refs().next().unwrap().path, ["a", "b"]);
    let error = Predicate::bind(&compare("a.bb", CompareOp::Eq, number(1, 0)), &b.schema()).unwrap_err();
    assert_eq!(error.to_string(), "there is no column \"a.bb\" (did you mean \"a.b\"?)");
}

#[test]
fn arithmetic_and_columns_against_columns() {
    let b = batch(vec![
        ("i", Arc::new(Int32Array::from(vec![Some(1), Some(5), None])) as ArrayRef),
        ("u", Arc::new(UInt64Array::from(vec![1, u64::MAX, 3]))),
        ("f", Arc::new(Float64Array::from(vec![1.0, f64::NAN, 0.5]))),
        ("d", Arc::new(Decimal128Array::from(vec![100, 501, 0]).with_precision_and_scale(9, 2).unwrap())),
        ("day", Arc::new(Date32Array::from(vec![10, 20, 30]))),
        ("at", Arc::new(TimestampSecondArray::from(vec![864_000, 0, 0]))),
    ]);
    let pair = |op, left: &str, right: &str| Expr::Compare { op, left: column(left), right: column(right) };
    assert_eq!(rows(&pair(CompareOp::Eq, "i", "u"), &b), [T, F, None]);
    assert_eq!(rows(&pair(CompareOp::Less, "i", "d"), &b), [F, T, None]);
    assert_eq!(rows(&pair(CompareOp::NotEq, "f", "i"), &b), [F, T, None]);
    assert_eq!(rows(&pair(CompareOp::Eq, "day", "at"), &b), [T, F, F]);
    let calculate = |op, left: &str, digits, scale| Expr::Arithmetic {
        op,
        left: column(left),
        right: Box::new(Expr::Literal(number(digits, scale))),
    };
    let is = |left: Expr, literal| Expr::Compare {
        op: CompareOp::Eq,
        left: Box::new(left),
        right: Box::new(Expr::Literal(literal)),
    };
    assert_eq!(rows(&is(calculate(ArithmeticOp::Divide, "i", 2, 0), number(25, 1)), &b), [F, T, None]);
    assert_eq!(rows(&is(calculate(ArithmeticOp::Divide, "i", 0, 0), number(1, 0)), &b), [None; 3]);
    assert_eq!(rows(&is(calculate(ArithmeticOp::Modulo, "i", 2, 0), number(1, 0)), &b), [T, T, None]);
    assert_eq!(rows(&is(calculate(ArithmeticOp::Multiply, "d", 15, 1), number(15, 1)), &b), [T, F, F]);
    assert_eq!(rows(&is(calculate(ArithmeticOp::Add, "day", 5, 0), Literal::Text("1970-01-16".into())), &b), [T, F, F]);
    let error =
        Predicate::bind(&is(calculate(ArithmeticOp::Add, "i", i128::from(i64::MAX), 0), number(1, 0)), &b.schema())
            .unwrap()
            .evaluate(&b)
            .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[test]
fn wrong_types_and_names() {
    let schema = Schema::new(vec![
        Field::new("price", DataType::Int64, true),
        Field::new("name", DataType::Utf8, true),
        Field::new("day", DataType::Date32, true),
        Field::new("list", DataType::new_list(DataType::Int32, true), true),
    ]);
    let error = |expr: Expr| Predicate::bind(&expr, &schema).unwrap_err();
    let text = || Literal::Text("x".into());
    let e = error(compare("prise", CompareOp::Eq, number(1, 0)));
    assert_eq!(
        (e.kind(), e.to_string()),
        (ErrorKind::NotFound, "there is no column \"prise\" (did you mean \"price\", or the text 'prise'?)".into())
    );
    let e = error(compare("price", CompareOp::Eq, text()));
    assert_eq!(e.kind(), ErrorKind::Invalid);
    assert_eq!(e.to_string(), "column \"price\": it is int64 and can't be compared with the text 'x'");
    assert!(
        error(compare("name", CompareOp::Eq, number(15, 1)))
            .to_string()
            .contains("utf8 and can't be compared with the number 1.5")
    );
    assert!(error(compare("day", CompareOp::Eq, text())).to_string().contains("'x' is not a date"));
    assert_eq!(error(compare("list", CompareOp::Eq, number(1, 0))).kind(), ErrorKind::Invalid);
    assert_eq!(error(Expr::Column("price".into())).kind(), ErrorKind::Invalid);
    let pair = Expr::Compare { op: CompareOp::Eq, left: column("price"), right: column("name") };
    assert!(error(pair).to_string().contains("column \"price\" (int64) can't be compared with column \"name\" (utf8)"));
    let mut deep = compare("price", CompareOp::Eq, number(1, 0));
    for _ in 0..300 {
        deep = Expr::Not(Box::new(deep));
    }
    assert_eq!(error(deep).kind(), ErrorKind::Unsupported);
}

#[derive(Default)]
struct Known {
    rows: Option<u64>,
    columns: HashMap<String, Bounds>,
}

impl ColumnStatistics for Known {
    fn row_count(&self) -> Option<u64> {
        self.rows
    }
    fn bounds(&self, column: &ColumnRef) -> Bounds {
        self.columns.get(&column.name()).cloned().unwrap_or_default()
    }
}

fn integer(i: i128) -> Value {
    Value::Integer(i256::from_i128(i))
}

#[test]
fn says_why_it_prunes() {
    let schema = Schema::new(vec![
        Field::new("price", DataType::Decimal128(15, 2), true),
        Field::new("f", DataType::Float64, true),
        Field::new("name", DataType::Utf8, true),
    ]);
    let bounds = |min, max, nulls| Bounds { min: Some(min), max: Some(max), null_count: Some(nulls) };
    let text = |t: &str| Value::Bytes(t.into());
    let known = Known {
        rows: Some(10),
        columns: HashMap::from([
            ("price".to_owned(), bounds(integer(1000), integer(5000), 0)),
            ("f".to_owned(), bounds(Value::Float(1.0), Value::Float(1.0), 0)),
            ("name".to_owned(), bounds(text("b"), text("d"), 0)),
        ]),
    };
    let reason = |expr: &Expr| Predicate::bind(expr, &schema).unwrap().can_match(&known).err();
    use CompareOp::*;
    assert_eq!(reason(&compare("price", Greater, number(60, 0))).unwrap(), "statistics: price max 50.00 < 60.00");
    assert_eq!(reason(&compare("price", Greater, number(50, 0))).unwrap(), "statistics: price max 50.00 = 50.00");
    assert_eq!(reason(&compare("price", Less, number(10, 0))).unwrap(), "statistics: price min 10.00 = 10.00");
    assert_eq!(reason(&compare("price", GreaterOrEq, number(50, 0))), None);
    assert_eq!(reason(&Expr::IsNull(column("price"))).unwrap(), "statistics: price has no nulls");
    let not = |expr| Expr::Not(Box::new(expr));
    assert!(reason(&not(compare("price", Less, number(60, 0)))).unwrap().contains("price max 50.00 < 60.00"));
    assert_eq!(reason(&not(compare("f", Eq, number(1, 0)))), None, "NaN may be among them");
    assert!(reason(&compare("f", Eq, number(2, 0))).is_some());
    let like = |p: &str| Expr::Like { expr: column("name"), pattern: p.into(), escape: None, case_insensitive: false };
    assert!(reason(&like("a%")).is_some() && reason(&like("e_")).is_some() && reason(&like("c%")).is_none());
    assert!(reason(&like("b%")).is_none() && reason(&like("d%")).is_none() && reason(&like("%a")).is_none());
    let any = Expr::In { expr: column("price"), list: vec![number(1, 0), number(99, 0)] };
    assert_eq!(reason(&any).unwrap(), "statistics: none of the 2 values is within price min 10.00 to max 50.00");
    let either = Expr::Or(vec![compare("price", Less, number(1, 0)), like("x%")]);
    assert_eq!(reason(&either).unwrap(), "statistics: price min 10.00 > 1.00; statistics: name max 'd' < 'x'");
}

#[test]
fn equalities_for_bloom_filters() {
    let schema = Schema::new(vec![Field::new("a", DataType::Int32, true), Field::new("b", DataType::Float64, true)]);
    let equal = |name: &str, n| compare(name, CompareOp::Eq, number(n, 0));
    let found = |expr: Expr| -> Vec<(String, usize)> {
        let bound = Predicate::bind(&expr, &schema).unwrap();
        bound.equalities().into_iter().map(|(c, v)| (c.name(), v.len())).collect()
    };
    assert_eq!(found(Expr::And(vec![equal("a", 1), equal("b", 0)])), [("a".into(), 1), ("b".into(), 2)]);
    assert_eq!(found(Expr::Or(vec![equal("a", 1), equal("a", 2)])), [("a".into(), 2)]);
    assert!(found(Expr::Or(vec![equal("a", 1), equal("b", 2)])).is_empty());
    assert!(found(Expr::Not(Box::new(equal("a", 1)))).is_empty());
    let both = Expr::And(vec![equal("a", 1), compare("b", CompareOp::Less, number(1, 0))]);
    assert!(found(Expr::Or(vec![both, equal("a", 2)])).is_empty());
}

// ---- properties: against a row-by-row evaluator that knows only the definitions ----

#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Null,
    /// Unscaled by 1000, so that all literals below are whole.
    Milli(i128),
    Float(f64),
    Text(String),
    Truth(bool),
}

const COLUMNS: [&str; 8] = ["i", "u", "d", "f", "s", "t", "b", "v"];

fn random_batch() -> impl Strategy<Value = RecordBatch> {
    let row = (
        proptest::option::weighted(0.8, -3i16..4),
        proptest::option::weighted(0.8, 0u64..4),
        proptest::option::weighted(0.8, -30i128..40),
        proptest::option::weighted(0.8, prop_oneof![-3.0f32..3.0, Just(f32::NAN), Just(-0.0), Just(1.0), Just(0.5)]),
        proptest::option::weighted(0.8, "[ab]{0,2}"),
        proptest::option::weighted(0.8, -3i64..4),
        proptest::option::weighted(0.8, any::<bool>()),
        proptest::option::weighted(0.8, "[ab]{0,2}"),
    );
    proptest::collection::vec(row, 1..40).prop_map(|rows| {
        let dictionary: DictionaryArray<Int32Type> = rows.iter().map(|r| r.7.as_deref()).collect();
        batch(vec![
            ("i", Arc::new(rows.iter().map(|r| r.0).collect::<Int16Array>()) as ArrayRef),
            ("u", Arc::new(rows.iter().map(|r| r.1).collect::<UInt64Array>())),
            (
                "d",
                Arc::new(rows.iter().map(|r| r.2).collect::<Decimal128Array>().with_precision_and_scale(9, 1).unwrap()),
            ),
            ("f", Arc::new(rows.iter().map(|r| r.3).collect::<Float32Array>())),
            ("s", Arc::new(rows.iter().map(|r| r.4.clone()).collect::<StringViewArray>())),
            ("t", Arc::new(rows.iter().map(|r| r.5).collect::<TimestampMicrosecondArray>())),
            ("b", Arc::new(rows.iter().map(|r| r.6).collect::<BooleanArray>())),
            ("v", Arc::new(dictionary)),
        ])
    })
}

fn cell(batch: &RecordBatch, name: &str, row: usize) -> Cell {
    let array = batch.column_by_name(name).unwrap();
    match Value::from_array(array, row) {
        None => Cell::Null,
        Some(Value::Boolean(b)) => Cell::Truth(b),
        Some(Value::Float(f)) => Cell::Float(f),
        Some(Value::Bytes(b)) => Cell::Text(String::from_utf8(b).unwrap()),
        Some(Value::Integer(i)) => Cell::Milli(i.as_i128() * if name == "d" { 100 } else { 1000 }),
    }
}

fn literal_for(name: &'static str) -> BoxedStrategy<Literal> {
    match name {
        "s" | "v" => prop_oneof!["[ab]{0,2}".prop_map(Literal::Text), Just(Literal::Null)].boxed(),
        "b" => any::<bool>().prop_map(Literal::Boolean).boxed(),
        // Nanoseconds: a third of them between the column's microseconds.
        "t" => (-4000i128..4000).prop_map(|n| Literal::Timestamp { nanoseconds: n / 500 * 500, is_utc: false }).boxed(),
        _ => prop_oneof![
            8 => (-40i128..40, 0u8..3).prop_map(|(n, s)| number(n * 5, s)),
            1 => Just(Literal::Float(5e-1)),
            1 => Just(number(i128::MAX, 0)),
            1 => Just(Literal::Null),
        ]
        .boxed(),
    }
}

fn any_op() -> impl Strategy<Value = CompareOp> {
    use CompareOp::*;
    prop_oneof![Just(Eq), Just(NotEq), Just(Less), Just(LessOrEq), Just(Greater), Just(GreaterOrEq)]
}

fn random_expr() -> impl Strategy<Value = Expr> {
    let name = proptest::sample::select(COLUMNS.to_vec());
    let leaf = prop_oneof![
        6 => (name.clone(), any_op()).prop_flat_map(|(n, op)| literal_for(n).prop_map(move |l| compare(n, op, l))),
        2 => name.clone().prop_flat_map(|n| proptest::collection::vec(literal_for(n), 0..8)
            .prop_map(move |list| Expr::In { expr: column(n), list })),
        1 => name.prop_map(|n| Expr::IsNull(column(n))),
        1 => Just(Expr::Column("b".into())),
        1 => "[ab%_]{0,3}".prop_map(|pattern| Expr::Like {
            expr: column("s"), pattern, escape: None, case_insensitive: false,
        }),
        1 => any_op().prop_map(|op| Expr::Compare { op, left: column("i"), right: column("d") }),
        1 => any_op().prop_map(|op| Expr::Compare { op, left: column("u"), right: column("f") }),
        1 => any_op().prop_map(|op| Expr::Compare { op, left: column("s"), right: column("v") }),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 1..4).prop_map(Expr::And),
            proptest::collection::vec(inner.clone(), 1..4).prop_map(Expr::Or),
            inner.prop_map(|e| Expr::Not(Box::new(e))),
        ]
    })
}

/// A literal beside a column: numbers are rounded to f32 beside the float column.
fn literal_cell(literal: &Literal, name: &str) -> Cell {
    match literal {
        Literal::Null => Cell::Null,
        Literal::Boolean(b) => Cell::Truth(*b),
        Literal::Text(t) => Cell::Text(t.clone()),
        Literal::Number { digits, scale } if name == "f" => {
            Cell::Float(f64::from((*digits as f64 / 10f64.powi(i32::from(*scale))) as f32))
        }
        Literal::Float(f) if name == "f" => Cell::Float(*f),
        Literal::Number { digits, scale } => Cell::Milli((*digits).saturating_mul(10i128.pow(3 - u32::from(*scale)))),
        Literal::Float(f) => Cell::Milli((f * 1000.0) as i128),
        Literal::Timestamp { nanoseconds, .. } => Cell::Milli(*nanoseconds),
        other => panic!("{other:?}"),
    }
}

fn naive_compare(op: CompareOp, left: &Cell, right: &Cell) -> Option<bool> {
    let order: Option<Ordering> = match (left, right) {
        (Cell::Null, _) | (_, Cell::Null) => return None,
        (Cell::Milli(a), Cell::Milli(b)) => Some(a.cmp(b)),
        (Cell::Float(a), Cell::Float(b)) => a.partial_cmp(b),
        (Cell::Milli(a), Cell::Float(b)) => (*a as f64 / 1000.0).partial_cmp(b),
        (Cell::Text(a), Cell::Text(b)) => Some(a.cmp(b)),
        (Cell::Truth(a), Cell::Truth(b)) => Some(a.cmp(b)),
        other => panic!("{other:?}"),
    };
    Some(match op {
        CompareOp::Eq => order == Some(Ordering::Equal),
        CompareOp::NotEq => order != Some(Ordering::Equal),
        CompareOp::Less => order == Some(Ordering::Less),
        CompareOp::LessOrEq => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        CompareOp::Greater => order == Some(Ordering::Greater),
        CompareOp::GreaterOrEq => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    })
}

fn naive(expr: &Expr, batch: &RecordBatch, row: usize) -> Option<bool> {
    let name_of = |e: &Expr| if let Expr::Column(n) = e { n.clone() } else { panic!() };
    match expr {
        Expr::Column(name) => match cell(batch, name, row) {
            Cell::Truth(b) => Some(b),
            _ => None,
        },
        Expr::Compare { op, left, right } => {
            let name = name_of(left);
            let right = match right.as_ref() {
                Expr::Literal(literal) => literal_cell(literal, &name),
                other => cell(batch, &name_of(other), row),
            };
            naive_compare(*op, &cell(batch, &name, row), &right)
        }
        Expr::In { expr, list } => {
            let name = name_of(expr);
            let left = cell(batch, &name, row);
            let all = list.iter().map(|l| naive_compare(CompareOp::Eq, &left, &literal_cell(l, &name)));
            // Null IN an empty list: the value is compared with nothing; this engine keeps null.
            if left == Cell::Null { None } else { any_of(all) }
        }
        Expr::IsNull(inner) => Some(cell(batch, &name_of(inner), row) == Cell::Null),
        Expr::Like { expr, pattern, .. } => match cell(batch, &name_of(expr), row) {
            Cell::Text(text) => Some(like::LikePattern::new(pattern, None, false).unwrap().matches(&text)),
            _ => None,
        },
        Expr::And(all) => any_of(all.iter().map(|e| naive(e, batch, row).map(|v| !v))).map(|v| !v),
        Expr::Or(any) => any_of(any.iter().map(|e| naive(e, batch, row))),
        Expr::Not(inner) => naive(inner, batch, row).map(|v| !v),
        other => panic!("{other:?}"),
    }
}

fn any_of(values: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    // Three-valued OR: unlike `try_fold`, it goes on behind a null, for a true may follow.
    #[allow(clippy::manual_try_fold)]
    values.fold(Some(false), |so_far, next| match (so_far, next) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (None, _) | (_, None) => None,
        _ => Some(false),
    })
}

/// Statistics as a file would have them, loosened by up to `slack`, some of them missing.
fn statistics(batch: &RecordBatch, slack: i128, missing: usize) -> Known {
    let mut known = Known { rows: Some(batch.num_rows() as u64), ..Known::default() };
    for (index, name) in COLUMNS.iter().enumerate() {
        let array = batch.column_by_name(name).unwrap();
        let values: Vec<Value> = (0..array.len())
            .filter_map(|i| Value::from_array(array, i))
            .filter(|v| !matches!(v, Value::Float(f) if f.is_nan()))
            .collect();
        let by = |a: &&Value, b: &&Value| a.compare(b).unwrap();
        let loosened = |v: &Value, by: i128| match v {
            Value::Integer(i) => Value::Integer(*i + i256::from_i128(by)),
            other => other.clone(),
        };
        if index == missing {
            continue;
        }
        let bounds = Bounds {
            min: values.iter().min_by(by).map(|v| loosened(v, -slack)),
            max: values.iter().max_by(by).map(|v| loosened(v, slack)),
            null_count: Some(array.logical_null_count() as u64),
        };
        known.columns.insert((*name).to_owned(), bounds);
    }
    known
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn agrees_with_the_definitions(batch in random_batch(), expr in random_expr()) {
        let expected: Vec<Option<bool>> = (0..batch.num_rows()).map(|row| naive(&expr, &batch, row)).collect();
        prop_assert_eq!(rows(&expr, &batch), expected);
    }

    #[test]
    fn is_true_among_some_rows_as_among_all(
        batch in random_batch(),
        expr in random_expr(),
        among in proptest::collection::vec(any::<bool>(), 64),
    ) {
        let found = rows(&expr, &batch);
        let asked = BooleanBuffer::collect_bool(found.len(), |row| among[row % among.len()]);
        let expected = BooleanBuffer::collect_bool(found.len(), |row| asked.value(row) && found[row] == T);
        let bound = Predicate::bind(&expr, &batch.schema()).unwrap();
        prop_assert_eq!(bound.true_among(&batch, &asked).unwrap(), expected);
    }

    #[test]
    fn never_prunes_a_match(batch in random_batch(), expr in random_expr(), slack in 0i128..3, missing in 0usize..20) {
        let bound = Predicate::bind(&expr, &batch.schema()).unwrap();
        if let Err(reason) = bound.can_match(&statistics(&batch, slack, missing)) {
            let matches = bound.evaluate(&batch).unwrap().true_count();
            prop_assert_eq!(matches, 0, "excluded by {}", reason);
        }
    }

    #[test]
    fn equalities_hold_for_every_match(batch in random_batch(), expr in random_expr()) {
        let bound = Predicate::bind(&expr, &batch.schema()).unwrap();
        let kept = bound.evaluate(&batch).unwrap();
        for (column, values) in bound.equalities() {
            let array = batch.column(column.root);
            for row in (0..batch.num_rows()).filter(|row| kept.is_valid(*row) && kept.value(*row)) {
                let value = Value::from_array(array, row).unwrap();
                prop_assert!(values.contains(&value), "{value:?} of {} is not in {values:?}", column.name());
            }
        }
    }
}
