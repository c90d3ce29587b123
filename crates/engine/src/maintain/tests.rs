#![allow(clippy::unwrap_used)]

use lakerace_delta::Layout;

use super::{layout, parse_duration};

#[test]
fn times_have_units() {
    for (text, seconds) in [("90s", 90), ("30m", 1800), ("12h", 43_200), (" 7 d", 604_800), ("2w", 1_209_600), ("0", 0)]
    {
        assert_eq!(parse_duration(text).unwrap().as_secs(), seconds, "{text}");
    }
    for text in ["", "7", "d", "-1d", "1.5h", "7x", "99999999999999999999d", "99999999999999999w"] {
        assert!(parse_duration(text).is_err(), "{text}");
    }
}

#[test]
fn rows_have_one_order() {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(layout(names(&[]), names(&[])).unwrap(), Layout::AsIs);
    assert_eq!(layout(names(&["a"]), names(&[])).unwrap(), Layout::SortBy(names(&["a"])));
    assert_eq!(layout(names(&[]), names(&["a", "b"])).unwrap(), Layout::ZOrder(names(&["a", "b"])));
    assert!(layout(names(&["a"]), names(&["b"])).is_err());
}
