//! Sorting rows in bounded memory: keys that are bytes, and runs on the local disk.

mod keys;
mod row_sorter;
pub mod spill;
mod top_rows;

pub use keys::{SortKeys, SortTerm};
pub use row_sorter::{RowSorter, SortedBatches};
pub use top_rows::{FirstRows, TopRows};
