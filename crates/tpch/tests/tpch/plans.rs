//! What is known before a row is made.

use arrow::compute::concat_batches;
use lakerace_format::{CompareOp, Expr, Literal, ReadPlan, ReadRequest, Source};
use lakerace_io::{ErrorKind, Result};
use lakerace_tpch::{Spec, Table, TpchSource};

use crate::common::{columns, job, read_with, source};

/// Specification 4.2.5.1, and dbgen for `lineitem`.
#[test]
fn tables_have_as_many_rows_as_the_specification_says() {
    let expected = [
        (Table::Nation, 25, 25),
        (Table::Region, 5, 5),
        (Table::Part, 200_000, 2_000_000),
        (Table::Supplier, 10_000, 100_000),
        (Table::PartSupp, 800_000, 8_000_000),
        (Table::Customer, 150_000, 1_500_000),
        (Table::Orders, 1_500_000, 15_000_000),
        (Table::LineItem, 6_001_215, 59_986_052),
    ];
    for (table, one, ten) in expected {
        assert_eq!(source(&format!("tpch:{table}?sf=1")).info().rows, Some(one), "{table}");
        let source = source(&format!("tpch:{table}?sf=10"));
        assert_eq!(source.info().rows, Some(ten), "{table}");
        let plan = source.plan(&ReadRequest::default()).unwrap();
        assert_eq!(plan.rows_at_most(), Some(ten), "{table}");
        assert_eq!(source.info().units, Some(plan.files[0].units.len() as u64));
    }
}

#[test]
fn rows_of_parts_and_of_fractions_are_exact() {
    for name in ["tpch:lineitem?sf=0.0371&part=3/5", "tpch:orders?sf=0.0371&part=5/5", "tpch:partsupp?sf=0.0011"] {
        let source = source(name);
        let rows = read_with(&source, &columns(&[])).num_rows() as u64;
        assert_eq!(source.info().rows, Some(rows), "{name}");
    }
}

#[test]
fn the_plan_of_a_huge_table_is_small_and_made_at_once() {
    let source = source("tpch:lineitem?sf=10000");
    let plan = source.plan(&ReadRequest::default()).unwrap();
    assert!(plan.files[0].units.len() <= 4096);
    assert_eq!(plan.rows_at_most(), None);
    // The first rows of it need no more than themselves.
    let request = ReadRequest { limit: Some(100), ..columns(&["l_orderkey", "l_comment"]) };
    assert_eq!(read_with(&source, &request).num_rows(), 100);
}

#[test]
fn tasks_travel_and_together_make_the_table() {
    let whole = source("tpch:lineitem?sf=0.2");
    let request = columns(&["l_orderkey", "l_linenumber", "l_shipmode"]);
    let plan = whole.plan(&request).unwrap();
    assert_eq!(plan.files[0].units.len(), 9);
    let tasks = plan.split(4);
    assert_eq!(tasks.len(), 4);
    let mut batches = Vec::new();
    for task in tasks {
        let task: ReadPlan = serde_json::from_str(&serde_json::to_string(&task).unwrap()).unwrap();
        let elsewhere = source("tpch:lineitem?sf=0.2");
        batches.extend(elsewhere.read(&task).unwrap().collect::<Result<Vec<_>>>().unwrap());
    }
    let joined = concat_batches(&plan.schema, &batches).unwrap();
    assert_eq!(joined, read_with(&whole, &request));
}

#[test]
fn a_plan_of_another_table_is_refused() {
    let plan = source("tpch:orders?sf=0.01").plan(&ReadRequest::default()).unwrap();
    let error = source("tpch:orders?sf=0.02").read(&plan).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[test]
fn filters_on_keys_prune_units() {
    let source = source("tpch:orders?sf=1");
    let filter = Expr::Compare {
        op: CompareOp::Less,
        left: Box::new(Expr::Column("o_orderkey".to_owned())),
        right: Box::new(Expr::Literal(Literal::Number { digits: 100, scale: 0 })),
    };
    let request = ReadRequest { filter: Some(filter), ..ReadRequest::default() };
    let plan = source.plan(&request).unwrap();
    let kept: Vec<_> = plan.files[0].units.iter().filter(|unit| unit.pruned.is_none()).collect();
    assert_eq!(kept.len(), 1);
    let reason = plan.files[0].units[1].pruned.clone().unwrap();
    assert!(reason.starts_with("keys: o_orderkey min "), "{reason}");
    // 8 of 32 numbers are in use: 1 to 7, 32 to 39, 64 to 71, 96 to 99.
    assert_eq!(read_with(&source, &request).num_rows(), 7 + 8 + 8 + 4);
}

#[test]
fn threads_change_nothing() {
    let spec: Spec = "tpch:customer?sf=0.5".parse().unwrap();
    let read = |threads| read_with(&TpchSource::new(spec, &job(threads)), &ReadRequest::default());
    let one = read(1);
    assert_eq!(one, read(2));
    assert_eq!(one, read(7));
}
