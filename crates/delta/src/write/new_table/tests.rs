#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use lakerace_io::{Error, ErrorKind};

use super::check_new_table;

fn field(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

fn outcome(fields: Vec<Field>, partition_by: &[&str], properties: &[(&str, &str)]) -> Result<(), Error> {
    let partition_by: Vec<String> = partition_by.iter().map(|name| (*name).to_owned()).collect();
    let properties: BTreeMap<_, _> = properties.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    check_new_table(&Schema::new(fields), &partition_by, &properties)
}

#[test]
fn names_have_no_characters_that_files_lack() {
    let mapped = [("delta.columnMapping.mode", "name")];
    for c in " ,;{}()\n\t=".chars() {
        let name = format!("a{c}b");
        let nested = DataType::Struct(vec![field(&name, DataType::Int64)].into());
        let list = DataType::List(Arc::new(field("element", nested.clone())));
        for data_type in [DataType::Int64, nested, list] {
            let column = if data_type == DataType::Int64 { name.as_str() } else { "s" };
            let fields = vec![field(column, data_type)];
            let error = outcome(fields.clone(), &[], &[]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
            assert!(error.to_string().contains(&format!("{name:?}")[1..3]), "{error}");
            assert_eq!(outcome(fields, &[], &mapped).is_ok(), c != '\n', "{name:?}");
        }
    }
    assert_eq!(outcome(vec![field("", DataType::Int64)], &[], &mapped).unwrap_err().kind(), ErrorKind::Invalid);
    assert!(outcome(vec![field("a.b-c/d", DataType::Int64)], &[], &[]).is_ok());
}

#[test]
fn files_are_divided_by_columns_with_texts_alone() {
    let fields = || {
        let list = DataType::List(Arc::new(field("element", DataType::Int64)));
        let types = [("id", DataType::Int64), ("x", DataType::Float64), ("b", DataType::Binary), ("l", list)];
        types.map(|(name, data_type)| field(name, data_type)).to_vec()
    };
    assert!(outcome(fields(), &["id", "x"], &[]).is_ok());
    for (partition_by, kind, says) in [
        (&["x", "x"][..], ErrorKind::Usage, "given twice"),
        (&["no"][..], ErrorKind::NotFound, "there is no column \"no\""),
        (&["ID"][..], ErrorKind::NotFound, "did you mean \"id\"?"),
        (&["b"][..], ErrorKind::Unsupported, "\"b\" of type binary"),
        (&["l"][..], ErrorKind::Unsupported, "nested"),
    ] {
        let error = outcome(fields(), partition_by, &[]).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(says), "{error}");
        assert!(error.to_string().starts_with(&format!("`partition_by={}`", partition_by.join(","))), "{error}");
    }
    let error = outcome(fields()[..2].to_vec(), &["x", "id"], &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
}

#[test]
fn a_change_data_feed_has_columns_of_its_own() {
    let fields = || vec![field("id", DataType::Int64), field("_Change_Type", DataType::Utf8)];
    assert!(outcome(fields(), &[], &[]).is_ok());
    let error = outcome(fields(), &[], &[("delta.enableChangeDataFeed", "true")]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}
