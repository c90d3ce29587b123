//! The eight tables: names, sizes and columns.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use lakerace_format::suggestions::nearest;
use lakerace_io::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::mode::Mode;
use crate::scale::Scale;

/// A table of TPC-H.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Table {
    Nation,
    Region,
    Part,
    Supplier,
    PartSupp,
    Customer,
    Orders,
    LineItem,
}

/// The kind of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// A key: int64.
    Key,
    /// A number: int32.
    Number,
    /// decimal(15,2).
    Decimal,
    /// A day: date32.
    Day,
    /// A text.
    Text,
    /// A word of few.
    Word,
}

use ColumnKind::{Day, Decimal, Key, Number, Text, Word};

impl Table {
    /// All of them, in the order of the specification's appendix.
    pub const ALL: [Self; 8] = [
        Self::Nation,
        Self::Region,
        Self::Part,
        Self::Supplier,
        Self::PartSupp,
        Self::Customer,
        Self::Orders,
        Self::LineItem,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nation => "nation",
            Self::Region => "region",
            Self::Part => "part",
            Self::Supplier => "supplier",
            Self::PartSupp => "partsupp",
            Self::Customer => "customer",
            Self::Orders => "orders",
            Self::LineItem => "lineitem",
        }
    }

    /// The columns of its primary key.
    pub fn key(self) -> &'static [&'static str] {
        match self {
            Self::Nation => &["n_nationkey"],
            Self::Region => &["r_regionkey"],
            Self::Part => &["p_partkey"],
            Self::Supplier => &["s_suppkey"],
            Self::PartSupp => &["ps_partkey", "ps_suppkey"],
            Self::Customer => &["c_custkey"],
            Self::Orders => &["o_orderkey"],
            Self::LineItem => &["l_orderkey", "l_linenumber"],
        }
    }

    /// The entities of its rows, at a scale: orders for `lineitem`, parts for `partsupp`, else its own rows.
    pub fn entities(self, scale: Scale) -> u64 {
        match self {
            Self::Nation => 25,
            Self::Region => 5,
            Self::Part | Self::PartSupp => scale.parts(),
            Self::Supplier => scale.suppliers(),
            Self::Customer => scale.customers(),
            Self::Orders | Self::LineItem => scale.orders(),
        }
    }

    /// Rows that an entity has; at most, for `lineitem`.
    pub(crate) fn rows_per_entity(self) -> u64 {
        match self {
            Self::PartSupp => 4,
            Self::LineItem => 7,
            _ => 1,
        }
    }

    /// The approximate size of the table as text, in bytes. Tables are ordered by it.
    pub fn text_bytes(self, scale: Scale) -> u64 {
        let (rows_of_each, row_bytes) = match self {
            Self::Nation => (1, 89),
            Self::Region => (1, 78),
            Self::Part => (1, 121),
            Self::Supplier => (1, 141),
            Self::PartSupp => (4, 149),
            Self::Customer => (1, 163),
            Self::Orders => (1, 115),
            Self::LineItem => (4, 127),
        };
        self.entities(scale) * rows_of_each * row_bytes
    }

    /// Its columns as a schema, of arrays as `mode` makes them. With `whole_quantities`, `l_quantity` is a whole number,
    /// as dbgen prints it, rather than the specification's decimal.
    pub(crate) fn schema(self, mode: Mode, whole_quantities: bool) -> SchemaRef {
        let field = |(name, kind): &(&str, ColumnKind)| {
            let data_type = match kind {
                Decimal if whole_quantities && *name == "l_quantity" => DataType::Int64,
                Key => DataType::Int64,
                Number => DataType::Int32,
                Decimal => DataType::Decimal128(15, 2),
                Day => DataType::Date32,
                Word if mode == Mode::TrueZeroCopy => {
                    DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Utf8View))
                }
                Text | Word => DataType::Utf8View,
            };
            Field::new(*name, data_type, false)
        };
        Arc::new(Schema::new(self.columns().iter().map(field).collect::<Vec<_>>()))
    }

    /// Its columns, in the specification's order.
    pub(crate) fn columns(self) -> &'static [(&'static str, ColumnKind)] {
        match self {
            Self::Nation => &[("n_nationkey", Key), ("n_name", Word), ("n_regionkey", Key), ("n_comment", Text)],
            Self::Region => &[("r_regionkey", Key), ("r_name", Word), ("r_comment", Text)],
            Self::Part => &[
                ("p_partkey", Key),
                ("p_name", Text),
                ("p_mfgr", Word),
                ("p_brand", Word),
                ("p_type", Word),
                ("p_size", Number),
                ("p_container", Word),
                ("p_retailprice", Decimal),
                ("p_comment", Text),
            ],
            Self::Supplier => &[
                ("s_suppkey", Key),
                ("s_name", Text),
                ("s_address", Text),
                ("s_nationkey", Key),
                ("s_phone", Text),
                ("s_acctbal", Decimal),
                ("s_comment", Text),
            ],
            Self::PartSupp => &[
                ("ps_partkey", Key),
                ("ps_suppkey", Key),
                ("ps_availqty", Number),
                ("ps_supplycost", Decimal),
                ("ps_comment", Text),
            ],
            Self::Customer => &[
                ("c_custkey", Key),
                ("c_name", Text),
                ("c_address", Text),
                ("c_nationkey", Key),
                ("c_phone", Text),
                ("c_acctbal", Decimal),
                ("c_mktsegment", Word),
                ("c_comment", Text),
            ],
            Self::Orders => &[
                ("o_orderkey", Key),
                ("o_custkey", Key),
                ("o_orderstatus", Word),
                ("o_totalprice", Decimal),
                ("o_orderdate", Day),
                ("o_orderpriority", Word),
                ("o_clerk", Text),
                ("o_shippriority", Number),
                ("o_comment", Text),
            ],
            Self::LineItem => &[
                ("l_orderkey", Key),
                ("l_partkey", Key),
                ("l_suppkey", Key),
                ("l_linenumber", Number),
                ("l_quantity", Decimal),
                ("l_extendedprice", Decimal),
                ("l_discount", Decimal),
                ("l_tax", Decimal),
                ("l_returnflag", Word),
                ("l_linestatus", Word),
                ("l_shipdate", Day),
                ("l_commitdate", Day),
                ("l_receiptdate", Day),
                ("l_shipinstruct", Word),
                ("l_shipmode", Word),
                ("l_comment", Text),
            ],
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Table {
    type Err = Error;

    /// By its name, in any case.
    ///
    /// # Errors
    /// `NotFound`, naming the nearest.
    fn from_str(text: &str) -> Result<Self> {
        if let Some(table) = Self::ALL.into_iter().find(|table| table.name().eq_ignore_ascii_case(text)) {
            return Ok(table);
        }
        let names = Self::ALL.map(Self::name);
        let advice = match nearest(text, names) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("the tables are {}", names.join(", ")),
        };
        Err(Error::not_found(format!("TPC-H has no table {text:?}")).advice(advice))
    }
}
