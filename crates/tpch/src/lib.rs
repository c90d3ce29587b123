//! TPC-H tables, generated as streams of Arrow record batches. [`TpchSource`] is an ordinary source.
//!
//! The rows are those of the reference generator (dbgen), with the specification's types. The crate `tpchgen` has the words,
//! and rows as structs. This crate makes each column separately:
//!
//! - A column's random numbers depend on no other column and on no earlier row (`random.rs`). So a column that is not
//!   requested costs nothing, and any thread can make any range of rows.
//! - Comments are cut from a text. A thread makes a piece of this text when one of its comments needs it (`pool.rs`).
//! - Refresh streams insert ordinary rows, with numbers beyond the table's last row (`refresh.rs`).
//! - A [`Mode`] sets how much is copied on the way into arrays.
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
