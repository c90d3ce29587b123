//! The rows are those of the reference, in every mode and part.

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use lakerace_tpch::{Mode, Table};
use tpchgen::generators::{LineItemGenerator, OrderGenerator, PartGenerator, SupplierGenerator};

use crate::common::read;

fn assert_equal(found: &RecordBatch, expected: &RecordBatch, what: &str) {
    assert_eq!(found.schema(), expected.schema(), "{what}");
    assert_eq!(found.num_rows(), expected.num_rows(), "{what}");
    for (field, (found, expected)) in found.schema().fields().iter().zip(found.columns().iter().zip(expected.columns()))
    {
        assert!(found == expected, "{what}: {} differs", field.name());
    }
}

#[test]
fn every_mode_has_the_rows_of_the_reference() {
    for table in Table::ALL {
        for sf in ["0.001", "0.013"] {
            let expected = read(&format!("tpch:{table}?sf={sf}&mode=baseline"));
            for mode in [Mode::ZeroCopy, Mode::TrueZeroCopy] {
                let name = format!("tpch:{table}?sf={sf}&mode={mode}");
                assert_equal(&read(&name), &expected, &name);
            }
        }
    }
}

#[test]
fn quantities_are_whole_on_request_in_every_mode() {
    let expected = read("tpch:lineitem?sf=0.001&mode=baseline&quantity=integer");
    assert_eq!(expected.schema().field(4).data_type(), &arrow::datatypes::DataType::Int64);
    for mode in [Mode::ZeroCopy, Mode::TrueZeroCopy] {
        let name = format!("tpch:lineitem?sf=0.001&quantity=integer&mode={mode}");
        assert_equal(&read(&name), &expected, &name);
    }
}

#[test]
fn parts_are_the_references_and_make_up_the_table() {
    for table in Table::ALL {
        let whole = read(&format!("tpch:{table}?sf=0.01"));
        for count in [2, 7] {
            for mode in Mode::ALL {
                let part = |number| read(&format!("tpch:{table}?sf=0.01&part={number}/{count}&mode={mode}"));
                let parts: Vec<RecordBatch> = (1..=count).map(part).collect();
                let joined = concat_batches(&whole.schema(), &parts).unwrap();
                assert_equal(&joined, &whole, &format!("{table} in {count} parts, {mode}"));
            }
        }
    }
}

#[test]
fn keys_of_the_largest_tables_are_the_references() {
    for table in [Table::LineItem, Table::Orders, Table::PartSupp, Table::Customer] {
        for sf in ["3", "1000", "10000"] {
            let part = if sf == "3" { "1234/1234" } else { "777777/1000000" };
            let name = |mode| format!("tpch:{table}?sf={sf}&part={part}&mode={mode}");
            let expected = read(&name(Mode::Baseline));
            assert!(expected.num_rows() > 100);
            assert_equal(&read(&name(Mode::ZeroCopy)), &expected, &name(Mode::ZeroCopy));
        }
    }
}

/// The reference's own text of rows, which is dbgen's.
#[test]
fn first_rows_are_the_references() {
    fn check<T: std::fmt::Display>(table: Table, rows: impl Iterator<Item = T>) {
        let quantity = if table == Table::LineItem { "&quantity=integer" } else { "" };
        let batch = read(&format!("tpch:{table}?sf=0.001{quantity}"));
        let options = FormatOptions::new();
        let columns = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap());
        let columns: Vec<_> = columns.collect();
        let mut found = 0;
        for (row, expected) in rows.enumerate() {
            let text: String = columns.iter().map(|column| format!("{}|", column.value(row))).collect();
            assert_eq!(text, expected.to_string());
            found += 1;
        }
        assert_eq!(found, batch.num_rows());
    }
    check(Table::LineItem, LineItemGenerator::new(0.001, 1, 1).iter());
    check(Table::Orders, OrderGenerator::new(0.001, 1, 1).iter());
    check(Table::Part, PartGenerator::new(0.001, 1, 1).iter());
    check(Table::Supplier, SupplierGenerator::new(0.001, 1, 1).iter());
}

/// One supplier of a thousand has a word of praise or complaint in the comment, which is not in the pool.
#[test]
fn comments_of_the_better_business_bureau_are_the_references() {
    let expected = read("tpch:supplier?sf=1&part=1/3&mode=baseline");
    for mode in [Mode::ZeroCopy, Mode::TrueZeroCopy] {
        let name = format!("tpch:supplier?sf=1&part=1/3&mode={mode}");
        assert_equal(&read(&name), &expected, &name);
    }
}
