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
    assert_eq!((nearest("ids", names), nearest("void", names)), (Some("id"), None));
}

#[test]
fn says_what_there_is() {
    let error = column_not_found("prise", ["price", "day"]);
    assert_eq!(error.kind(), lakerace_io::ErrorKind::NotFound);
    assert_eq!(error.to_string(), "there is no column \"prise\" (did you mean \"price\"?)");
    let error = column_not_found("nothing_like_it", ["a", "b"]);
    assert_eq!(error.to_string(), "there is no column \"nothing_like_it\" (the columns are \"a\", \"b\")");
}

#[test]
fn a_name_in_an_expression_may_be_meant_as_a_text() {
    let said =
        |name, known: &[&str]| column_or_text_not_found(name, known.iter().copied()).advice_text().unwrap().to_owned();
    assert_eq!(said("pride", &["price", "day"]), "did you mean \"price\", or the text 'pride'?");
    assert_eq!(said("o'b", &["price"]), "the columns are \"price\"; a text is written as 'o''b'");
    assert_eq!(said("x", &[]), "a text is written as 'x'");
}
