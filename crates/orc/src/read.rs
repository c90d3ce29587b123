//! From the bytes of a file to record batches.
//!
//! 1. [`FileTail::parse`] takes the last bytes of the file: schema, stripes, statistics.
//! 2. [`Stripe::new`] takes a stripe's footer: where its streams lie, for the columns of a [`Projection`].
//! 3. Where row groups are to be skipped, [`Stripe::index_ranges`] (or [`Stripe::position_ranges`]) and [`Stripe::set_index`] read
//!    the row indexes and bloom filters.
//! 4. [`Stripe::read_all`] or [`Stripe::read_groups`] names the ranges of the data, [`StripeRead::read`] takes their bytes and makes batches.

mod batch;
mod bloom;
mod calendar;
mod column;
mod groups;
mod index;
mod input;
mod ints;
mod java_clock;
mod options;
mod projection;
mod reader_clock;
mod rle_byte;
mod rle_v1;
mod rle_v2;
mod statistics;
mod stripe;
mod tail;
#[cfg(test)]
mod testing;
pub(crate) mod unpack;
mod varint;
mod wire;
mod writer_kind;
mod zone;

pub use batch::BatchReader;
pub use bloom::BloomFilter;
// For other crates, whose formats have files with such clocks, too.
#[doc(hidden)]
pub use calendar::FIRST_GREGORIAN_DAY;
#[doc(hidden)]
pub use java_clock::{FIRST_AGREED_SECOND, JavaClock, day_of_same_name};
pub use options::ReadOptions;

pub use projection::Projection;
pub use reader_clock::ReaderClock;
pub use statistics::{Bounds, ColumnStats};
pub use stripe::{Range, Stripe, StripeRead};
pub use tail::{FileTail, StripeInfo, TailStep};
pub use writer_kind::WriterSoftware;

/// The most values that are decoded in a piece, so that the memory is bounded by the content of the streams, not by a
/// damaged count.
const STEP: usize = 1 << 16;

/// The most bytes of strings that one column has in a batch: a damaged or hostile file can say that there are more than memory
/// holds, and compress them to nothing.
pub const MAX_BATCH_TEXT: usize = 1 << 30;

/// The most items that the lists (or pairs that the maps) of one column have in a batch.
pub const MAX_BATCH_ITEMS: usize = 1 << 26;

/// The most values that a dictionary has.
pub const MAX_DICTIONARY: usize = 1 << 24;
