#![allow(clippy::unwrap_used)]

use arrow::datatypes::{DataType, Field, Schema};
use lakerace_io::ErrorKind;

use super::{PartitionColumns, escape};

fn schema() -> Schema {
    let list = DataType::new_list(DataType::Int64, true);
    Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new("kind", DataType::Utf8View, true),
        Field::new("bytes", DataType::Binary, true),
        Field::new("list", list, true),
    ])
}

#[test]
fn names_are_escaped_as_spark_does() {
    let mut name = String::new();
    escape("a b/c=d%e:\u{1}\"#'*?\\{[]^\u{7f}é", &mut name);
    assert_eq!(name, "a b%2Fc%3Dd%25e%3A%01%22%23%27%2A%3F%5C%7B%5B%5D%5E%7Fé");
}

#[test]
fn columns_that_name_no_folders_are_refused() {
    let of = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        PartitionColumns::new(&schema(), &names).unwrap_err().kind()
    };
    assert_eq!(of(&["kin"]), ErrorKind::NotFound);
    assert_eq!(of(&["kind", "kind"]), ErrorKind::Usage);
    assert_eq!(of(&["bytes"]), ErrorKind::Unsupported);
    assert_eq!(of(&["list"]), ErrorKind::Unsupported);
    let two = Schema::new(schema().fields()[..2].to_vec());
    let all = PartitionColumns::new(&two, &["id".to_owned(), "kind".to_owned()]).unwrap_err();
    assert_eq!(all.kind(), ErrorKind::Usage);
    let columns = PartitionColumns::new(&two, &["id".to_owned()]).unwrap();
    assert_eq!(columns.file_schema().field(0).name(), "kind");
}
