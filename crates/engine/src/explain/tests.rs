#![allow(clippy::unwrap_used)]
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use lakerace_format::ReadRequest;

use super::*;

#[test]
fn numbers_for_people() {
    assert_eq!([count(0), count(999), count(1000), count(1_234_567)], ["0", "999", "1,000", "1,234,567"]);
    assert_eq!([size(0), size(999), size(1000), size(1_250_000)], ["0 B", "999 B", "1.0 kB", "1.2 MB"]);
    assert_eq!([size(999_960), size(u64::MAX)], ["1.0 MB", "18.4 EB"]);
}

/// Two row groups are read of three, 3 MB apart.
fn explain(setting: MinSeekSize) -> Explain {
    let wanted = vec![Wanted { file: 0, range: 0..1_000_000 }, Wanted { file: 0, range: 4_000_000..5_000_000 }];
    let profile = PathProfile {
        latency_ms: 20.0,
        connection_bytes_per_second: 1e8,
        total_bytes_per_second: 1e9,
        reader_bytes_per_second: 1e9,
        requests_in_flight: 16,
        request_bytes: 8 << 20,
        get_usd: 4e-7,
        second_usd: 3e-5,
    };
    let ranges = RangeOptions { min_seek_size: setting, ..RangeOptions::default() };
    let unit = |index, pruned: Option<&str>| UnitPlan {
        index,
        rows: Some(1000),
        wanted_bytes: if pruned.is_some() { 0 } else { 1_000_000 },
        pruned: pruned.map(str::to_owned),
        ..UnitPlan::default()
    };
    let why = "statistics: price max 50 < 60";
    let file = FilePlan {
        url: "s3://b/x.parquet".to_owned(),
        size_bytes: 6_000_000,
        e_tag: None,
        units: vec![unit(0, None), unit(1, Some(why)), unit(2, None)],
    };
    let plan = ReadPlan {
        request: ReadRequest { columns: Some(vec!["price".to_owned()]), ..ReadRequest::default() },
        schema: Arc::new(Schema::new(vec![Field::new("price", DataType::Int64, true)])),
        files: vec![file],
        requests: plan_requests(&wanted, &ranges, &profile),
    };
    Explain::new(plan, Some("price > 60".to_owned()), Some((wanted, profile)), &ranges)
}

#[test]
fn tells_what_is_read_and_why_not() {
    let text = explain(MinSeekSize::Bytes(0)).to_string();
    for line in [
        "columns   price",
        "where     price > 60",
        "files     1, 6.0 MB; 2 of 3 parts are read",
        "s3://b/x.parquet  6.0 MB, 2 of 3 parts",
        "  0         1,000 rows         read: 1.0 MB",
        "  1         1,000 rows         not read: statistics: price max 50 < 60",
        "path      20.0 ms, 100.0 MB/s a connection, 1.0 GB/s in total",
        "* this plan",
    ] {
        assert!(text.lines().any(|l| l.trim_end() == line), "{line:?} is not in\n{text}");
    }
}

#[test]
fn prices_alternatives() {
    let explain = explain(MinSeekSize::Bytes(0));
    let settings: Vec<(&str, bool, u64)> =
        explain.alternatives.iter().map(|a| (a.min_seek_size.as_str(), a.chosen, a.requests)).collect();
    assert_eq!(settings[0], ("0", true, 2));
    assert_eq!(settings[1].0, "auto");
    assert_eq!(settings[2], ("4194304", false, 1));
    assert_eq!(explain.alternatives[2].read_through_bytes, 3_000_000);
    let json = serde_json::to_value(&explain).unwrap();
    assert_eq!(json["plan"]["files"][0]["units"][1]["pruned"], "statistics: price max 50 < 60");
    assert_eq!(json["alternatives"][2]["requests"], 1);
}
