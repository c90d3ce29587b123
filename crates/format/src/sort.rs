//! Sorting rows in bounded memory: keys that are bytes, and runs on the local disk.

mod row_sorter;
pub mod spill;

pub use row_sorter::{RowSorter, SortedBatches};
