#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use super::{DatabasePlace, TableRelation};

fn parsed(location: &str) -> (PathBuf, TableRelation) {
    let place = DatabasePlace::parse(location).unwrap();
    (place.path, place.relation)
}

#[test]
fn only_a_url_is_decoded() {
    let query = |text: &str| TableRelation::Query(text.to_owned());
    let table = |text: &str| TableRelation::Table(text.to_owned());
    let sql = "SELECT * FROM t WHERE x LIKE '%20%' OR y = '%C3%A4#1'";
    assert_eq!(parsed(&format!("sqlite:a%20b.db?query={sql}")), ("a%20b.db".into(), query(sql)));
    assert_eq!(parsed("sqlite:a%20b.db#t%23"), ("a%20b.db".into(), table("t%23")));
    let url = "sqlite:///d/a%20b.db?query=SELECT%20'%25%C3%A4'";
    assert_eq!(parsed(url), ("/d/a b.db".into(), query("SELECT '%ä'")));
    assert_eq!(parsed("sqlite:///d/a%20b.db#t%23"), ("/d/a b.db".into(), table("t#")));
}
