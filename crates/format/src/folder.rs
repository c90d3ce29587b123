//! Folders of files as a [`Sink`](crate::Sink): every file of a copy appears at once, or none.
//!
//! A copy into a folder makes files `part-00000-RANDOM.EXTENSION`, a new one whenever the last has
//! [`WriteOptions::file_bytes`](crate::WriteOptions::file_bytes), about: see [`FileCut`].
//!
//! **A new local folder, or a local folder that is replaced** (`staged`). All files go to a hidden folder
//! `.NAME.lakerace-RANDOM.tmp` next to the target, which is renamed at the end, or exchanged with the old folder, which is
//! then removed. Both are one step for every reader. A copy that fails removes the hidden folder; one that is killed
//! leaves it behind, hidden.
//!
//! **Appending to a local folder, and every copy to an object store** (`marked`). All files are sent, but not made
//! visible; then a [`marker`] names them as not to be counted; then they are made visible; then one PUT says that they
//! count and that the files they replace do not; then those are removed, and at last the marker. Every reader that knows
//! markers ([`list`]) sees the old files until that PUT, and the new ones from then on. Other readers see the
//! files themselves: during the fraction of a second between the first file made visible and the last one removed, they
//! may see old and new files together. A copy that fails before the PUT removes what it made; one that is killed there
//! may leave files and a pending marker behind, which [`list`] leaves out and other readers do not. Removing the files
//! that a pending marker names, then the marker, tidies up.
//!
//! Two copies that append at once both take effect. Of two that replace together both may: each removes what it found.

mod commit;
mod cut;
mod files;
mod listing;
pub mod marker;
mod partitioned;
mod sink;
mod staged;

pub use cut::FileCut;
pub use files::MakeSink;
pub use listing::{list, list_unless};
pub use marker::visible;
pub use partitioned::{PartitionColumns, PartitionedSink};
pub use sink::FolderSink;
