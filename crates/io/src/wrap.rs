//! Behaviour added to a store by wrapping it: each wrapper is an [`ObjectStore`](object_store::ObjectStore) itself.
//!
//! A remote store of a job is `Retrying(Metered(store))`: every attempt goes through the meter. Tests put `Throttled`
//! or `Failing` innermost.

mod metered;
mod retrying;

pub(crate) use metered::CountingConnector;
pub use metered::Metered;
pub use retrying::{RetryPolicy, Retrying};
