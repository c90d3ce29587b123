//! The files of refresh streams: what is in them, and their names.

use lakerace_format::ReadRequest;
use lakerace_tpch::{Refresh, Spec, Table};

/// A kind of file that every stream has one of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StreamFile {
    /// The orders that are inserted.
    Orders,
    /// Their lines.
    Lines,
    /// The keys of the orders that are deleted, with their lines.
    Deleted,
}

impl StreamFile {
    pub const ALL: [Self; 3] = [Self::Orders, Self::Lines, Self::Deleted];

    /// What it is called where people look.
    pub fn title(self) -> &'static str {
        match self {
            Self::Orders => "orders",
            Self::Lines => "lineitem",
            Self::Deleted => "delete",
        }
    }

    /// The table that its columns are those of.
    pub fn table(self) -> Table {
        match self {
            Self::Orders | Self::Deleted => Table::Orders,
            Self::Lines => Table::LineItem,
        }
    }

    /// Its rows, given those of the whole table.
    pub fn spec(self, table: Spec, stream: u32) -> Spec {
        let refresh = match self {
            Self::Orders | Self::Lines => Refresh::Insert(stream),
            Self::Deleted => Refresh::Delete(stream),
        };
        Spec { refresh: Some(refresh), ..table }
    }

    /// Its columns.
    pub fn request(self) -> ReadRequest {
        let keys = || self.table().key().iter().map(|name| (*name).to_owned()).collect();
        ReadRequest { columns: (self == Self::Deleted).then(keys), ..ReadRequest::default() }
    }

    /// Its name, with the ending of its format, none for a table: `orders.u1.parquet`, `delete.1.parquet`, but dbgen's own
    /// for dbgen's own format: `orders.tbl.u1`, `delete.1`.
    pub fn name(self, stream: u32, ending: &str) -> String {
        let title = self.title();
        match (ending.strip_prefix("tbl"), self) {
            (Some(codec), Self::Deleted) => format!("{title}.{stream}{codec}"),
            (Some(codec), _) => format!("{title}.tbl.u{stream}{codec}"),
            (None, _) => {
                let dot = if ending.is_empty() { "" } else { "." };
                let letter = if self == Self::Deleted { "" } else { "u" };
                format!("{title}.{letter}{stream}{dot}{ending}")
            }
        }
    }
}

#[cfg(test)]
mod tests;
