//! Maintenance of a table: history, vacuum, compaction, restoring, and a log that does not grow for ever.

mod compact;
mod history;
pub(crate) mod restore;
pub(crate) mod vacuum;
mod zorder;

pub use compact::{CompactOptions, CompactPlan, Compacted, Layout, compact, compact_after_write, plan_compact};
pub use history::{HistoryEntry, history};
pub use restore::{Restored, restore};
pub use vacuum::{VacuumOptions, Vacuumed, vacuum};
