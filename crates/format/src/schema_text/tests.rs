#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use lakerace_io::ErrorKind;

#[test]
fn reads_arrow_names_and_aliases() {
    let schema = parse_schema(
        "id int64, price decimal(15,2), day date32, at timestamp(us, UTC), \"a \"\"b\" utf8 not null, n INT, \
         b: bigint not  NULL, s string null, d double, t timestamp, z timestamptz(ms), w decimal(50, 3),",
    )
    .unwrap();
    let types: Vec<String> = schema.fields().iter().map(|f| print_type(f.data_type())).collect();
    assert_eq!(
        types,
        [
            "int64",
            "decimal(15,2)",
            "date32",
            "timestamp(us, UTC)",
            "utf8",
            "int32",
            "int64",
            "utf8_view",
            "float64",
            "timestamp(us)",
            "timestamp(ms, UTC)",
            "decimal256(50,3)"
        ]
    );
    assert_eq!(schema.field(4).name(), "a \"b");
    assert!(!schema.field(4).is_nullable() && !schema.field(6).is_nullable() && schema.field(7).is_nullable());
}

#[test]
fn what_is_printed_is_read_back() {
    let text = "id int64 not null, \"a,b\" large_utf8, t time64(ns), u uint8, f float16, x timestamp(ns, Europe/Berlin), \
                d decimal(38,10), e decimal256(76,76), bytes binary, v utf8_view, \"\" bool, k fixed_size_binary(3), \
                l list(list(int64)), m map(utf8, struct(a int64 not null, \"b c\" list(decimal(9,2)))), \
                n struct(), q dictionary(uint8, utf8), o fixed_size_list(float32, 3), p large_list(date32), r list_view(utf8), \
                s large_list_view(list_view(timestamp(us, UTC)))";
    let schema = parse_schema(text).unwrap();
    assert_eq!(print_schema(&schema), text);
    assert_eq!(parse_schema(&print_schema(&schema)).unwrap(), schema);
}

#[test]
fn errors_name_the_column_and_the_nearest_type() {
    for (text, said) in [
        ("a flaot64", "nearest is float64"),
        ("a", "type is missing"),
        ("a int64 b utf8", "where a comma should be"),
        ("a int64, a utf8", "twice"),
        ("\"a int64", "not closed"),
        ("a decimal(10,11)", "decimal"),
        ("a decimal(0)", "decimal"),
        ("a decimal", "decimal(p,s)"),
        ("a timestamp(years)", "time unit"),
        ("a time32(us)", "time64"),
        ("a utf8 not", "lacks its `null`"),
        ("a list", "lacks the types"),
        ("a map(utf8)", "lacks the types"),
        ("a struct(b int64", "lacks the types"),
        ("a struct(b)", "\"b\""),
        ("", "no column"),
        ("!x int", "double quotes"),
    ] {
        let error = parse_schema(text).expect_err(text);
        assert_eq!(error.kind(), ErrorKind::Usage, "{text}");
        assert!(error.to_string().contains(said), "{text}: {error}");
    }
    assert!(parse_schema("price dcimal(15,2)").unwrap_err().to_string().contains("\"price\""));
}

#[test]
fn time_zones_are_known_ones() {
    for zone in ["UTC", "Europe/Berlin", "+02:00", "America/Argentina/Buenos_Aires"] {
        parse_schema(&format!("a timestamp(us, {zone})")).unwrap();
    }
    for text in [
        "a timestamp(us, Mars/X)",
        "a list(struct(b map(utf8, timestamp(ms, Mars/X))))",
        "a dictionary(int8, timestamp(s, Mars/X))",
    ] {
        let error = parse_schema(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage, "{text}");
        let says = error.to_string();
        assert!(says.contains("there is no time zone \"Mars/X\"") && says.contains("column \"a\""), "{says}");
    }
    // What files and states name themselves stays.
    parse_type("timestamp(us, Mars/X)").unwrap();
}
