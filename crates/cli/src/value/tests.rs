#![allow(clippy::unwrap_used, reason = "a test may panic")]

use super::*;

fn names(text: &str) -> Vec<String> {
    text.parse::<CommaList>().unwrap().0
}

#[test]
fn comma_lists_keep_order_and_quoted_commas() {
    assert_eq!(names("b,a"), ["b", "a"]);
    assert_eq!(names(r#""a,b",c"#), ["a,b", "c"]);
    assert_eq!(names(r#""a""b""#), [r#"a"b"#]);
    assert_eq!(names("größe, x"), ["größe", "x"]);
    assert_eq!(names(r#"" x", y"#), [" x", "y"]);
}

#[test]
fn comma_lists_with_missing_names_are_usage_errors() {
    for text in ["", "a,", ",a", "a,,b", r#""a"#, r#""a"b"#] {
        assert!(text.parse::<CommaList>().is_err(), "{text:?}");
    }
}

#[test]
fn numbers_are_bounded() {
    assert_eq!(positive("12").unwrap(), 12);
    for text in ["0", "-1", "1.5", "x", ""] {
        assert!(positive(text).is_err(), "{text:?}");
    }
    assert!("0".parse::<ThreadCount>().is_err());
    assert!("1025".parse::<ThreadCount>().is_err());
    assert_eq!("2".parse::<ThreadCount>().unwrap(), ThreadCount(2));
    for text in ["-0.1", "nan", "inf", "x"] {
        assert!(fraction(text).is_err(), "{text:?}");
    }
    assert_eq!(fraction("0.5").unwrap(), 0.5);
}

#[test]
fn batch_rows_may_be_all() {
    assert_eq!(batch_rows("ALL").unwrap(), BatchRowCount::All);
    assert_eq!(batch_rows("7").unwrap(), BatchRowCount::AtMost(7));
    assert!(batch_rows("0").is_err());
}

#[test]
fn characters_are_single_ascii() {
    assert_eq!(delimiter(r"\t").unwrap(), b'\t');
    assert_eq!(delimiter(";").unwrap(), b';');
    for text in ["", "ab", "é", "\n", "\0"] {
        assert!(delimiter(text).is_err(), "{text:?}");
    }
    assert_eq!(quote("none").unwrap(), QuoteCharacter(None));
    assert_eq!(quote("'").unwrap(), QuoteCharacter(Some(b'\'')));
}

#[test]
fn storage_options_keep_equal_signs_and_never_show_the_value() {
    assert_eq!(key_value("AWS_Key=a=b").unwrap(), ("aws_key".to_owned(), "a=b".to_owned()));
    let error = key_value("secret").unwrap_err().to_string();
    assert!(!error.contains("secret"), "{error}");
}

#[test]
fn merges_name_a_column_and_how() {
    assert_eq!(merge("price=sum").unwrap(), ("price".to_owned(), MergeOperator::Sum));
    assert_eq!(merge("a=b=last_not_null").unwrap(), ("a=b".to_owned(), MergeOperator::LastNotNull));
    assert_eq!(merge("log=concat:=").unwrap(), ("log".to_owned(), MergeOperator::Concat("=".to_owned())));
    for text in ["price", "=sum", "price=average"] {
        assert_eq!(merge(text).unwrap_err().kind(), lakerace::ErrorKind::Usage, "{text}");
    }
}
