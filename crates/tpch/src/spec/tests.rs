#![allow(clippy::unwrap_used)]

use lakerace_io::ErrorKind;

use super::*;

fn error(text: &str) -> (ErrorKind, String) {
    let error = text.parse::<Spec>().unwrap_err();
    (error.kind(), error.to_string())
}

#[test]
fn names_are_read_and_written() {
    for text in [
        "tpch:lineitem?sf=1",
        "tpch:nation?sf=0.01",
        "tpch:orders?sf=2.5&part=3/7",
        "tpch:part?sf=1&mode=true-zero-copy",
        "tpch:orders?sf=1&insert=1",
        "tpch:lineitem?sf=0.1&delete=999&part=1/2&mode=baseline",
        "tpch:lineitem?sf=10000&part=1/1000000&mode=baseline&quantity=integer",
    ] {
        assert_eq!(text.parse::<Spec>().unwrap().to_string(), text);
    }
    let spec: Spec = "TPCH:LineItem?part=2/2&sf=1.0".parse().unwrap();
    assert_eq!((spec.table, spec.part), (Table::LineItem, Part { number: 2, count: 2 }));
    assert_eq!(spec.to_string(), "tpch:lineitem?sf=1&part=2/2");
}

#[test]
fn what_is_wrong_is_named() {
    for (text, kind, needle) in [
        ("tpch:lineitm?sf=1", ErrorKind::NotFound, "did you mean lineitem?"),
        ("tpch:?sf=1", ErrorKind::NotFound, "the tables are nation,"),
        ("tpch:lineitem", ErrorKind::Usage, "write tpch:lineitem?sf=1"),
        ("tpch:lineitem?sf=0", ErrorKind::Usage, "choose 0.001 to 10000;"),
        ("tpch:lineitem?sf=-1", ErrorKind::Usage, "a scale factor of -1"),
        ("tpch:lineitem?sf=NaN", ErrorKind::Usage, "a scale factor of NaN"),
        ("tpch:lineitem?sf=inf", ErrorKind::Usage, "a scale factor of inf"),
        ("tpch:lineitem?sf=1e9", ErrorKind::Usage, "is too large (choose 0.001 to 10000"),
        ("tpch:lineitem?sf=one", ErrorKind::Usage, "\"one\" is not a scale factor"),
        ("tpch:lineitem?sf=1&sf=2", ErrorKind::Usage, "twice"),
        ("tpch:lineitem?sf=1&parts=2", ErrorKind::Usage, "did you mean part?"),
        ("tpch:lineitem?sf=1&colour=2", ErrorKind::Usage, "the options are sf, part"),
        ("tpch:lineitem?sf=1&part=0/4", ErrorKind::Usage, "no part 0 of 4"),
        ("tpch:lineitem?sf=1&part=5/4", ErrorKind::Usage, "no part 5 of 4"),
        ("tpch:lineitem?sf=1&part=1/0", ErrorKind::Usage, "no part 1 of 0"),
        ("tpch:lineitem?sf=1&part=1", ErrorKind::Usage, "write it as 1/4"),
        ("tpch:lineitem?sf=1&part=1/9999999", ErrorKind::Usage, "at most 1000000"),
        ("tpch:lineitem?sf=1&mode=zerocopy", ErrorKind::Usage, "did you mean zero-copy?"),
        ("tpch:orders?sf=1&insert=0", ErrorKind::Usage, "choose 1 to 999"),
        ("tpch:orders?sf=1&delete=1000", ErrorKind::Usage, "choose 1 to 999"),
        ("tpch:orders?sf=1&insert=-1", ErrorKind::Usage, "\"-1\" is not a number of a refresh stream"),
        ("tpch:part?sf=1&insert=1", ErrorKind::Usage, "change orders and lineitem, not part"),
        ("tpch:orders?sf=1&insert=1&delete=1", ErrorKind::Usage, "choose insert or delete"),
        ("tpch:lineitem?sf=1&quantity=float", ErrorKind::Usage, "decimal or integer"),
    ] {
        let (found, message) = error(text);
        assert_eq!(found, kind, "{message}");
        assert!(message.contains(needle) && message.starts_with(text), "{message}");
    }
}

#[test]
fn parts_make_up_the_whole() {
    for (total, count) in [(25, 4), (25, 1), (3, 7), (1_500_000, 7), (0, 3)] {
        let mut next = 0;
        for number in 1..=count {
            let range = Part::new(number, count).unwrap().share(total);
            assert_eq!(range.start, next);
            next = range.end;
        }
        assert_eq!(next, total);
    }
}
