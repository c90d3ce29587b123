use lakerace_database::{ELASTICSEARCH, MONGODB, SQLITE};

use super::*;

#[test]
fn a_name_says_what_kind_of_place_it_is() {
    for (location, kind) in [
        ("delta:lake/orders", LocationKind::Table { folder: "lake/orders" }),
        ("Delta:s3://lake/orders", LocationKind::Table { folder: "s3://lake/orders" }),
        ("tpch:lineitem?sf=1", LocationKind::Tpch),
        ("TPCH:orders", LocationKind::Tpch),
        ("mongodb://host/db/orders", LocationKind::Database(&MONGODB)),
        ("elasticsearch://host:9200/orders", LocationKind::Database(&ELASTICSEARCH)),
        ("sqlite:file.db#orders", LocationKind::Database(&SQLITE)),
        ("orders.parquet", LocationKind::Path),
        ("s3://lake/orders/", LocationKind::Path),
        ("delta", LocationKind::Path),
        ("délta:x", LocationKind::Path),
        ("-", LocationKind::Path),
    ] {
        assert_eq!(LocationKind::classify(location), kind, "{location}");
    }
}
