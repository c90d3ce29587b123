//! The rows of refresh streams.

use std::collections::HashSet;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::Int64Type;
use lakerace_format::{CompareOp, Expr, Literal, ReadRequest, Source};
use lakerace_tpch::{Mode, OrderKey, Table};

use crate::common::{read, read_with, source};

fn order_keys(batch: &RecordBatch) -> Vec<i64> {
    batch.column(0).as_primitive::<Int64Type>().values().to_vec()
}

#[test]
fn every_mode_has_the_rows_of_the_reference() {
    for table in [Table::Orders, Table::LineItem] {
        for sf in ["0.001", "0.0371", "0.2"] {
            for refresh in ["insert=1", "insert=7", "insert=999", "delete=1", "delete=999"] {
                let name = |mode| format!("tpch:{table}?sf={sf}&{refresh}&mode={mode}");
                let expected = read(&name(Mode::Baseline));
                let rows = source(&name(Mode::Baseline)).info().rows;
                assert_eq!(rows, Some(expected.num_rows() as u64));
                for mode in [Mode::ZeroCopy, Mode::TrueZeroCopy] {
                    assert_eq!(read(&name(mode)), expected, "{}", name(mode));
                }
            }
        }
    }
}

#[test]
fn deleted_rows_are_the_tables_first_ones_and_inserted_ones_are_new() {
    let whole = read("tpch:orders?sf=0.02");
    let all: HashSet<i64> = order_keys(&whole).into_iter().collect();
    let stream = |refresh: &str, n: u32| read(&format!("tpch:orders?sf=0.02&{refresh}={n}"));
    let deleted: Vec<RecordBatch> = (1..=4).map(|n| stream("delete", n)).collect();
    assert_eq!(concat_batches(&whole.schema(), &deleted).unwrap(), whole.slice(0, 120));
    let mut inserted = HashSet::new();
    for n in 1..=4 {
        for key in order_keys(&stream("insert", n)) {
            assert!(!all.contains(&key) && inserted.insert(key), "{key}");
            assert!(matches!(OrderKey::decode(key), Some(OrderKey::Inserted(_))));
        }
        let lines = order_keys(&read(&format!("tpch:lineitem?sf=0.02&insert={n}")));
        let orders: HashSet<i64> = order_keys(&stream("insert", n)).into_iter().collect();
        assert_eq!(lines.into_iter().collect::<HashSet<_>>(), orders, "every order has lines");
    }
    assert_eq!(inserted.len(), 120);
}

#[test]
fn parts_and_filters_of_streams_are_those_of_tables() {
    let whole = read("tpch:lineitem?sf=0.1&insert=3");
    let parts: Vec<RecordBatch> = (1..=4).map(|n| read(&format!("tpch:lineitem?sf=0.1&insert=3&part={n}/4"))).collect();
    assert_eq!(concat_batches(&whole.schema(), &parts).unwrap(), whole);
    let orders = source("tpch:orders?sf=0.1&insert=3");
    let keys = order_keys(&read("tpch:orders?sf=0.1&insert=3"));
    let below = |key: i64| ReadRequest {
        filter: Some(Expr::Compare {
            op: CompareOp::Less,
            left: Box::new(Expr::Column("o_orderkey".to_owned())),
            right: Box::new(Expr::Literal(Literal::Number { digits: key.into(), scale: 0 })),
        }),
        ..ReadRequest::default()
    };
    assert_eq!(read_with(&orders, &below(keys[10])).num_rows(), 10);
    let none = orders.plan(&below(keys[0])).unwrap();
    assert!(none.files[0].units.iter().all(|unit| unit.pruned.is_some()));
}
