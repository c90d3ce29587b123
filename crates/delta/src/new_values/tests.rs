#![allow(clippy::unwrap_used)]

use arrow::array::{AsArray, Float64Array, Int64Array, StringViewArray};
use arrow::datatypes::{Decimal128Type, Float64Type, Int32Type, TimeUnit};
use lakerace_format::{ArithmeticOp, Literal};
use lakerace_io::ErrorKind;

use super::*;

fn table() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("qty", DataType::Int32, true),
        Field::new("price", DataType::Float64, true),
        Field::new("amount", DataType::Decimal128(6, 2), true),
        Field::new("name", DataType::Utf8View, true),
        Field::new("at", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true),
        Field::new("is_so", DataType::Boolean, true),
        Field::new("place", DataType::Struct(vec![Field::new("city", DataType::Utf8, true)].into()), true),
    ]))
}

fn input() -> RecordBatch {
    let schema = Schema::new(table().fields()[..5].to_vec());
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![1, 2])),
        Arc::new(arrow::array::Int32Array::from(vec![Some(3), None])),
        Arc::new(Float64Array::from(vec![7.9, -7.9])),
        Arc::new(arrow::array::Decimal128Array::from(vec![125, 1]).with_precision_and_scale(6, 2).unwrap()),
        Arc::new(StringViewArray::from(vec![Some("12"), Some("x")])),
    ];
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

fn column(name: &str) -> Expr {
    Expr::Column(name.to_owned())
}

fn number(digits: i128, scale: u8) -> Expr {
    Expr::Literal(Literal::Number { digits, scale })
}

fn times(left: Expr, right: Expr) -> Expr {
    Expr::Arithmetic { op: ArithmeticOp::Multiply, left: Box::new(left), right: Box::new(right) }
}

fn bound(assignments: &[(&str, Expr)]) -> Result<NewValues> {
    let one = |(column, value): &(&str, Expr)| ColumnAssignment {
        column: (*column).to_owned(),
        value: value.clone(),
        text: format!("{column} = …"),
    };
    let assignments: Vec<ColumnAssignment> = assignments.iter().map(one).collect();
    let names = input().schema();
    let kept = |name: &str| names.index_of(name).is_ok().then(|| name.to_owned());
    NewValues::bind(&assignments, &names, (&table(), "lake/t"), &kept)
}

fn rows(assignments: &[(&str, Expr)]) -> Result<RecordBatch> {
    bound(assignments)?.rows(&input())
}

#[test]
fn values_get_the_types_of_their_columns() {
    let made =
        rows(&[("qty", column("price")), ("price", column("qty")), ("amount", times(column("amount"), number(11, 1)))]);
    let made = made.unwrap();
    assert_eq!(made.column(1).as_primitive::<Int32Type>().values(), &[7, -7]);
    assert_eq!(made.column(2).as_primitive::<Float64Type>().iter().collect::<Vec<_>>(), [Some(3.0), None]);
    // 1.375 and 0.011.
    assert_eq!(made.column(3).as_primitive::<Decimal128Type>().values(), &[138, 1]);
    assert_eq!(made.column(0), input().column(0));
    assert_eq!(made.column(5).null_count(), 2);
    let made = rows(&[("name", column("id")), ("at", Expr::Literal(Literal::Text("2024-01-02".to_owned())))]).unwrap();
    assert_eq!(made.column(4).as_string_view().iter().collect::<Vec<_>>(), [Some("1"), Some("2")]);
    assert_eq!(made.column(5).null_count(), 0);
}

#[test]
fn columns_that_are_needed_are_known() {
    let names = |assignments: &[(&str, Expr)]| bound(assignments).unwrap().needed().to_vec();
    assert_eq!(names(&[]), ["amount", "id", "name", "price", "qty"]);
    assert_eq!(names(&[("price", column("qty"))]), ["amount", "id", "name", "qty"]);
    assert_eq!(names(&[("name", Expr::Literal(Literal::Null))]), ["amount", "id", "price", "qty"]);
}

#[test]
fn values_that_do_not_fit_are_errors() {
    let large = times(column("id"), number(3_000_000_000, 0));
    for (name, value) in [
        ("qty", large),
        ("amount", number(1_000_000, 0)),
        ("qty", column("name")),
        ("id", Expr::Literal(Literal::Null)),
        ("id", column("qty")),
        ("qty", Expr::Literal(Literal::Date(3))),
        ("is_so", column("qty")),
        ("price", Expr::Literal(Literal::Boolean(true))),
        ("place", column("name")),
    ] {
        let error = rows(&[(name, value)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{name}: {error}");
        let place = error.location().unwrap_or_default();
        assert!(place.contains(&format!("{name} = …")) || error.message().contains("NOT NULL"), "{error}");
    }
}

#[test]
fn columns_are_set_once_and_as_a_whole() {
    let kind = |assignments: &[(&str, Expr)]| bound(assignments).err().map(|error| error.kind());
    assert_eq!(kind(&[("gone", number(1, 0))]), Some(ErrorKind::NotFound));
    assert_eq!(kind(&[("qty", column("gone"))]), Some(ErrorKind::NotFound));
    assert_eq!(kind(&[("qty", number(1, 0)), ("qty", number(2, 0))]), Some(ErrorKind::Usage));
    assert_eq!(kind(&[("place.city", number(1, 0))]), Some(ErrorKind::Unsupported));
    assert_eq!(kind(&[("place", Expr::Literal(Literal::Null))]), None);
}
