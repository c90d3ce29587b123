//! Behaviour added to a store by wrapping it: each wrapper is an [`ObjectStore`](object_store::ObjectStore) itself.
//!
//! A remote store of a job is `Retrying(Metered(store))`: every attempt goes through the meter. Tests put
//! [`Throttled`] or [`Failing`] innermost.

mod conditional;
mod failing;
mod metered;
mod retrying;
mod throttled;

pub(crate) use conditional::{ConditionalConnector, if_absent};
pub use failing::{Failing, FailingOptions, Operation};
pub use metered::Metered;
pub use retrying::{RetryPolicy, Retrying};
pub use throttled::{ThrottleOptions, Throttled};
