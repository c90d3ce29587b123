#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn finds_case_and_typing_errors() {
    let names = ["l_orderkey", "l_quantity", "Price", "id"];
    assert_eq!(nearest("L_QUANTITY", names), Some("l_quantity"));
    assert_eq!(nearest("l_quanitty", names), Some("l_quantity"));
    assert_eq!(nearest("prise", names), Some("Price"));
    assert_eq!(nearest("zz", names), None);
    assert_eq!(nearest("customer", names), None);
    assert_eq!(nearest("", names), None);
}

#[test]
fn says_what_there_is() {
    let error = column_not_found("prise", ["price", "day"]);
    assert_eq!(error.kind(), lakerace_io::ErrorKind::NotFound);
    assert_eq!(error.to_string(), "there is no column \"prise\" (did you mean \"price\"?)");
    let error = column_not_found("nothing_like_it", ["a", "b"]);
    assert_eq!(error.to_string(), "there is no column \"nothing_like_it\" (the columns are \"a\", \"b\")");
}
