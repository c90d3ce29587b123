//! TPC-H tables, generated as streams of Arrow record batches: [`TpchSource`] is a source like any other.
//!
//! The rows are those of the reference generator (dbgen), with the specification's types. Words, and rows as structs, are
//! the `tpchgen` crate's; columns are made here, each for itself:
//!
//! - A column's random numbers depend on no other column and on no row before (`random.rs`). So a column that is not
//!   asked for costs nothing, and any range of rows can be made by any thread.
//! - The text that comments are cut from is made piecewise, when a comment needs it, by all threads (`pool.rs`).
//! - Rows that refresh streams insert are rows like any others, with numbers beyond the table's last (`refresh.rs`).
//! - A [`Mode`] says how much is copied on the way into arrays.
//!
//! ```
//! use lakerace_format::{ReadRequest, Source};
//! use lakerace_io::Job;
//! use lakerace_tpch::TpchSource;
//!
//! let source = TpchSource::new("tpch:nation?sf=1".parse()?, &Job::default());
//! let plan = source.plan(&ReadRequest::default())?;
//! let rows: usize = source.read(&plan)?.map(|batch| batch.map_or(0, |batch| batch.num_rows())).sum();
//! assert_eq!(rows, 25);
//! # Ok::<(), lakerace_io::Error>(())
//! ```

mod baseline;
mod columns;
mod grammar;
mod mode;
mod pool;
mod pool_seeds;
mod random;
mod refresh;
mod scale;
mod source;
mod spec;
mod table;
mod texts;
mod words;

pub use mode::Mode;
pub use refresh::{MAX_STREAMS, OrderKey, Refresh, check_streams, stream_orders};
pub use scale::Scale;
pub use source::TpchSource;
pub use spec::{FORMAT, Part, SCHEME, Spec};
pub use table::Table;
