//! The files of refresh streams: their contents and names.

use lakerace_format::{FileFormat, ReadRequest, WriteOptions};
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

    /// The name for people.
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

    /// The name of the file, with the extension of its format, none for a table: `orders.u1.parquet`,
    /// `delete.1.parquet`; dbgen's own format has dbgen's names: `orders.tbl.u1`, `delete.1`.
    pub fn name(self, stream: u32, format: Option<&FileFormat>, options: &WriteOptions) -> String {
        let (title, letter) = (self.title(), if self == Self::Deleted { "" } else { "u" });
        let Some(format) = format else { return format!("{title}.{letter}{stream}") };
        let ending = format.ending(options);
        if !format.is_dbgen {
            return format!("{title}.{letter}{stream}.{ending}");
        }
        let (own, codec) = ending.split_at(ending.find('.').unwrap_or(ending.len()));
        match self {
            Self::Deleted => format!("{title}.{stream}{codec}"),
            Self::Orders | Self::Lines => format!("{title}.{own}.u{stream}{codec}"),
        }
    }
}

#[cfg(test)]
mod tests;
