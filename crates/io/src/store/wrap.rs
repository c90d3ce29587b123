//! Behaviour added to a store by wrapping it: each wrapper is an [`ObjectStore`] itself.
//!
//! A remote store of a job is `Retrying(Metered(store))`: every attempt goes through the meter. In tests, [`Throttled`]
//! or [`Failing`] is innermost.

use std::ops::Range;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{GetOptions, OBJECT_STORE_COALESCE_DEFAULT, ObjectStore, Result, coalesce_ranges};

mod attempt;
mod conditional;
mod failing;
mod metered;
mod no_redirect;
pub(crate) mod rate_limit;
mod request_log;
mod retrying;
mod throttled;

pub(crate) use self::attempt::AttemptConnector;
pub(crate) use self::conditional::if_absent;
pub use self::failing::{Failing, FailingOptions, Operation};
pub use self::metered::Metered;
pub(crate) use self::no_redirect::{NoRedirectConnector, RefusedAnswer, bucket_region};
pub use self::retrying::{RetryPolicy, Retrying};
pub use self::throttled::{ThrottleOptions, Throttled};

/// Reads ranges by a wrapper's own `get_opts`, close ones together: the wrapped store's `get_ranges` would go past it.
pub(crate) async fn ranges_by_get(
    store: &impl ObjectStore,
    location: &Path,
    ranges: &[Range<u64>],
) -> Result<Vec<Bytes>> {
    let read = |range: Range<u64>| async move {
        let options = GetOptions { range: Some(range.into()), ..GetOptions::default() };
        store.get_opts(location, options).await?.bytes().await
    };
    coalesce_ranges(ranges, read, OBJECT_STORE_COALESCE_DEFAULT).await
}
