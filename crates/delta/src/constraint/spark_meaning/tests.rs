#![allow(clippy::unwrap_used)]

use arrow::array::{Array, ArrayRef, Float64Array, RecordBatch};
use arrow::datatypes::{Field, TimeUnit};
use lakerace_format::Predicate;

use super::*;

fn schema() -> Schema {
    let field = |name: &str, data_type| Field::new(name, data_type, true);
    Schema::new(vec![
        field("i", DataType::Int32),
        field("d", DataType::Decimal128(30, 10)),
        field("f", DataType::Float64),
        field("g", DataType::Float32),
        field("t", DataType::Utf8),
        field("day", DataType::Date32),
        field("at", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
    ])
}

fn column(name: &str) -> Box<Expr> {
    Box::new(Expr::Column(name.to_owned()))
}

fn compare(name: &str, op: CompareOp, literal: Literal) -> Expr {
    Expr::Compare { op, left: column(name), right: Box::new(Expr::Literal(literal)) }
}

fn number(digits: i128, scale: u8) -> Literal {
    Literal::Number { digits, scale }
}

#[test]
fn comparisons_of_floats_take_nan_for_the_greatest_number() {
    let nothing: [Option<f64>; 5] = [Some(f64::NAN), Some(1.0), Some(2.0), None, Some(-0.0)];
    let values: ArrayRef = std::sync::Arc::new(Float64Array::from(nothing.to_vec()));
    let batch = RecordBatch::try_from_iter_with_nullable([("f", values, true)]).unwrap();
    // As Spark 3.5 answers: NaN > 1 and NaN = NaN are true.
    for (op, expected) in [
        (CompareOp::Greater, [Some(true), Some(false), Some(true), None, Some(false)]),
        (CompareOp::GreaterOrEq, [Some(true), Some(true), Some(true), None, Some(false)]),
        (CompareOp::Less, [Some(false), Some(false), Some(false), None, Some(true)]),
        (CompareOp::LessOrEq, [Some(false), Some(true), Some(false), None, Some(true)]),
        (CompareOp::Eq, [Some(false), Some(true), Some(false), None, Some(false)]),
        (CompareOp::NotEq, [Some(true), Some(false), Some(true), None, Some(true)]),
    ] {
        for expr in [
            compare("f", op, number(1, 0)),
            Expr::Compare { op: flipped(op), left: Box::new(Expr::Literal(number(1, 0))), right: column("f") },
        ] {
            let expr = as_in_spark(&expr, &batch.schema(), false).unwrap();
            let found = Predicate::bind(&expr, &batch.schema()).unwrap().evaluate(&batch).unwrap();
            let found: Vec<Option<bool>> = (0..5).map(|row| found.is_valid(row).then(|| found.value(row))).collect();
            assert_eq!(found, expected, "{op:?}");
        }
    }
}

#[test]
fn constants_of_another_type_are_refused() {
    use CompareOp::Eq;
    let text = |text: &str| Literal::Text(text.to_owned());
    let at = |is_utc| Literal::Timestamp { nanoseconds: 1_000, is_utc };
    for (name, literal, is_same) in [
        ("i", number(15, 1), true),
        ("i", text("1"), false),
        ("i", Literal::Float(1e3), false),
        ("i", Literal::LongNumber("1e-400".to_owned()), false),
        ("d", number(1, 18), true),
        ("d", number(1, 19), false),
        ("f", number(1, 1), true),
        ("f", number(1_234_567_890_123_456, 1), false),
        ("f", Literal::Float(1e300), true),
        ("g", number(1, 1), false),
        ("g", number(16_777_216, 0), true),
        ("g", number(16_777_217, 0), false),
        ("t", text("a"), true),
        ("t", number(1, 0), false),
        ("day", Literal::Date(3), true),
        ("day", text("2024-02-29"), true),
        ("day", text("2024-2-29"), false),
        ("day", text("2023-02-29"), false),
        ("day", at(true), false),
        ("at", at(true), true),
        ("at", at(false), false),
        ("at", text("2024-02-29"), false),
        ("at", Literal::Date(3), false),
    ] {
        let found = as_in_spark(&compare(name, Eq, literal.clone()), &schema(), false);
        assert_eq!(found.is_ok(), is_same, "{name} = {literal:?}: {found:?}");
        let list = Expr::In { expr: column(name), list: vec![literal.clone()] };
        assert_eq!(as_in_spark(&list, &schema(), false).is_ok(), is_same, "{name} in {literal:?}");
    }
    let texts = compare("t", Eq, text("a"));
    assert!(as_in_spark(&texts, &schema(), true).is_err(), "a table with CHAR columns");
}

#[test]
fn expressions_outside_of_the_list_are_refused() {
    let call = |function, arguments| Expr::Call { function, arguments };
    let like = |pattern: &str, escape, case_insensitive| Expr::Like {
        expr: column("t"),
        pattern: pattern.to_owned(),
        escape,
        case_insensitive,
    };
    let equal = |left: Expr, right: Literal| Expr::Compare {
        op: CompareOp::Eq,
        left: Box::new(left),
        right: Box::new(Expr::Literal(right)),
    };
    let arithmetic = |op, name: &str, digits| Expr::Arithmetic {
        op,
        left: column(name),
        right: Box::new(Expr::Literal(number(digits, 0))),
    };
    let text = |text: &str| Literal::Text(text.to_owned());
    for (expr, is_same) in [
        (like("a%", None, false), true),
        (like("a%", None, true), false),
        (like("a\\%", None, false), false),
        (like("a/%", Some('/'), false), false),
        (equal(call(ScalarFunction::Length, vec![*column("t")]), number(3, 0)), true),
        (equal(call(ScalarFunction::Trim, vec![*column("t")]), text("a")), false),
        (equal(call(ScalarFunction::Concat, vec![*column("t"), *column("t")]), text("a")), false),
        (equal(call(ScalarFunction::Upper, vec![*column("t")]), text("A")), false),
        (equal(call(ScalarFunction::Coalesce, vec![*column("t"), Expr::Literal(text(""))]), text("a")), true),
        (equal(call(ScalarFunction::Coalesce, vec![*column("f"), Expr::Literal(number(0, 0))]), number(1, 0)), false),
        (equal(arithmetic(ArithmeticOp::Add, "i", 1), number(3, 0)), false),
        (equal(arithmetic(ArithmeticOp::Divide, "i", 2), number(3, 0)), false),
        (equal(arithmetic(ArithmeticOp::Modulo, "i", 2), number(1, 0)), true),
        (equal(arithmetic(ArithmeticOp::Modulo, "i", 0), number(1, 0)), false),
        (equal(arithmetic(ArithmeticOp::Modulo, "f", 2), number(1, 0)), false),
        (Expr::Compare { op: CompareOp::Eq, left: column("f"), right: column("f") }, false),
        (Expr::Compare { op: CompareOp::Less, left: column("i"), right: column("d") }, true),
        (equal(Expr::Cast { expr: column("i"), data_type: "text".to_owned(), is_lenient: false }, text("1")), false),
        (Expr::IsNull(column("f")), true),
    ] {
        let found = as_in_spark(&expr, &schema(), false);
        assert_eq!(found.is_ok(), is_same, "{expr:?}: {found:?}");
    }
}
