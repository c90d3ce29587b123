#![allow(clippy::unwrap_used, clippy::panic)]

use arrow::datatypes::{DataType, Field};
use lakerace_io::ErrorKind;

use super::*;

fn resolved(name: &str, rows: ClauseRows) -> Result<String, ErrorKind> {
    let column = |name: &str| Field::new(name, DataType::Int64, true);
    let place = Field::new("place", DataType::Struct(vec![column("city")].into()), true);
    let target = Schema::new(vec![column("id"), column("price"), place]);
    let source = Schema::new(vec![column("id"), column("new.price")]);
    let names = MergeNames { target: &target, target_alias: "t", source: &source, source_alias: "s" };
    let expr = Expr::IsNull(Box::new(Expr::Column(name.to_owned())));
    match names.resolved(&expr, rows).map_err(|error| error.kind())? {
        Expr::IsNull(column) => match *column {
            Expr::Column(name) => Ok(name),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

#[test]
fn names_of_one_side_need_no_alias() {
    let of_pairs = |name| resolved(name, ClauseRows::Pairs);
    assert_eq!(of_pairs("t.id").unwrap(), "t.id");
    assert_eq!(of_pairs("s.id").unwrap(), "s.id");
    assert_eq!(of_pairs("price").unwrap(), "t.price");
    assert_eq!(of_pairs("place.city").unwrap(), "t.place.city");
    assert_eq!(of_pairs("new.price").unwrap(), "s.new.price");
    assert_eq!(of_pairs("id"), Err(ErrorKind::Usage));
    for name in ["gone", "t.gone", "s.gone", "place.gone.more", "s.price"] {
        assert!(matches!(of_pairs(name), Err(ErrorKind::NotFound)) || name.starts_with("place"), "{name}");
    }
}

#[test]
fn clauses_of_one_side_name_that_side_alone() {
    assert_eq!(resolved("id", ClauseRows::Source).unwrap(), "s.id");
    assert_eq!(resolved("t.id", ClauseRows::Source), Err(ErrorKind::Usage));
    assert_eq!(resolved("price", ClauseRows::Source), Err(ErrorKind::NotFound));
    // The rows of the table have its own names.
    assert_eq!(resolved("id", ClauseRows::Target).unwrap(), "id");
    assert_eq!(resolved("t.place.city", ClauseRows::Target).unwrap(), "place.city");
    assert_eq!(resolved("s.id", ClauseRows::Target), Err(ErrorKind::Usage));
}
