//! Columns, limits and batches.

use arrow::array::RecordBatch;
use arrow::compute::{concat_batches, filter_record_batch};
use lakerace_format::{ArithmeticOp, CompareOp, Expr, Literal, Predicate, ReadRequest, Source};
use lakerace_io::{ErrorKind, Result};
use lakerace_tpch::Mode;

use crate::common::{columns, job, plain, read, read_with, source};

fn column(name: &str) -> Expr {
    Expr::Column(name.to_owned())
}

fn less(left: Expr, right: Expr) -> Expr {
    Expr::Compare { op: CompareOp::Less, left: Box::new(left), right: Box::new(right) }
}

#[test]
fn columns_come_alone_and_in_the_order_asked_for() {
    for mode in Mode::ALL {
        for table in ["lineitem", "orders", "part", "customer", "supplier", "partsupp", "nation", "region"] {
            let source = source(&format!("tpch:{table}?sf=0.002&mode={mode}"));
            let whole = read_with(&source, &ReadRequest::default());
            let schema = source.schema();
            let names: Vec<&str> = schema.fields().iter().rev().map(|field| field.name().as_str()).collect();
            let backwards = read_with(&source, &columns(&names));
            let order: Vec<usize> = (0..names.len()).rev().collect();
            assert_eq!(plain(&backwards), plain(&whole.project(&order).unwrap()));
            for (number, field) in schema.fields().iter().enumerate() {
                let alone = read_with(&source, &columns(&[field.name()]));
                assert_eq!(plain(&alone), plain(&whole.project(&[number]).unwrap()), "{table} {}", field.name());
            }
        }
    }
}

#[test]
fn a_column_may_be_asked_for_twice_and_none_at_all() {
    let source = source("tpch:region?sf=1");
    assert_eq!(read_with(&source, &columns(&["r_name", "r_name"])).num_columns(), 2);
    let none = read_with(&source, &columns(&[]));
    assert_eq!((none.num_columns(), none.num_rows()), (0, 5));
}

#[test]
fn an_unknown_column_names_the_nearest() {
    let error = source("tpch:orders?sf=1").plan(&columns(&["o_totalprise"])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("o_totalprice"), "{error}");
}

#[test]
fn filters_keep_what_a_filter_over_all_rows_keeps() {
    let discount = Expr::Arithmetic {
        op: ArithmeticOp::Multiply,
        left: Box::new(column("l_discount")),
        right: Box::new(Expr::Literal(Literal::Number { digits: 10, scale: 0 })),
    };
    let filters = [
        less(column("l_quantity"), Expr::Literal(Literal::Number { digits: 3, scale: 0 })),
        less(column("l_commitdate"), column("l_shipdate")),
        less(discount, column("l_tax")),
        Expr::Compare {
            op: CompareOp::Eq,
            left: Box::new(column("l_shipmode")),
            right: Box::new(Expr::Literal(Literal::Text("REG AIR".to_owned()))),
        },
        less(column("l_quantity"), Expr::Literal(Literal::Number { digits: 0, scale: 0 })),
    ];
    let whole = read("tpch:lineitem?sf=0.01");
    for (number, filter) in filters.into_iter().enumerate() {
        let keep = Predicate::bind(&filter, &whole.schema()).unwrap().evaluate(&whole).unwrap();
        let expected = filter_record_batch(&whole, &keep).unwrap().project(&[15, 0]).unwrap();
        assert_eq!(expected.num_rows() == 0, number == 4);
        for mode in Mode::ALL {
            let source = source(&format!("tpch:lineitem?sf=0.01&mode={mode}"));
            let request = ReadRequest { filter: Some(filter.clone()), ..columns(&["l_comment", "l_orderkey"]) };
            assert_eq!(read_with(&source, &request), expected, "{filter:?} {mode}");
            let limited = ReadRequest { limit: Some(11), ..request };
            assert_eq!(read_with(&source, &limited), expected.slice(0, expected.num_rows().min(11)));
        }
    }
}

#[test]
fn batches_have_the_size_asked_for_at_most() {
    let whole = read("tpch:lineitem?sf=0.002");
    let source = source("tpch:lineitem?sf=0.002");
    for rows in [1, 6, 7, 100, 5000, usize::MAX] {
        for limit in [None, Some(1), Some(6), Some(777), Some(1 << 40)] {
            let request = ReadRequest { batch_rows: Some(rows), limit, ..ReadRequest::default() };
            let plan = source.plan(&request).unwrap();
            let batches = source.read(&plan).unwrap().collect::<Result<Vec<RecordBatch>>>().unwrap();
            assert!(batches.iter().all(|batch| (1..=rows).contains(&batch.num_rows())));
            let wanted = limit.map_or(whole.num_rows(), |limit| whole.num_rows().min(limit as usize));
            assert_eq!(concat_batches(&whole.schema(), &batches).unwrap(), whole.slice(0, wanted));
        }
    }
    let none = ReadRequest { batch_rows: Some(0), ..ReadRequest::default() };
    assert_eq!(source.plan(&none).unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn a_cancelled_job_ends_the_read() {
    let job = job(2);
    let source = lakerace_tpch::TpchSource::new("tpch:lineitem?sf=1000".parse().unwrap(), &job);
    let plan = source.plan(&columns(&["l_orderkey"])).unwrap();
    let mut batches = source.read(&plan).unwrap();
    assert!(batches.next().unwrap().is_ok());
    job.cancel();
    assert_eq!(batches.next().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    assert!(batches.next().is_none());
}
