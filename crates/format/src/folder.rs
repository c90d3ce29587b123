//! Folders of files as a [`Sink`](crate::Sink): all files of a copy appear together, or none.
//!
//! A copy into a folder makes files `part-00000-RANDOM.EXTENSION`, a new one whenever the last has approximately
//! [`WriteOptions::file_bytes`](crate::WriteOptions::file_bytes): see [`FileCut`].
//!
//! **A new local folder, or a local folder that is replaced** (`staged`). All files go to a hidden folder
//! `.NAME.lakerace-RANDOM.tmp` next to the target. At the end the hidden folder is renamed, or exchanged with the old
//! folder, which is then removed. Both are one step for every reader. A copy that fails removes the hidden folder; a
//! copy that is killed leaves the hidden folder in place.
//!
//! **Appending to a local folder, and every copy to an object store** (`marked`). First, all files are sent, but not
//! made visible. Then a [`marker`] lists them as not part of the folder, and they are made visible. One PUT then
//! declares that they are part of the folder and that the files they replace are not. Last, the replaced files are
//! removed, then the marker. Every reader that knows markers ([`list`]) sees the old files until that PUT, and the new
//! ones from then on. Other readers see the files themselves: during the fraction of a second between the first file
//! made visible and the last one removed, they may see old and new files together. A copy that fails before the PUT
//! removes the files that it made. A copy that is killed before the PUT may leave files and a pending marker, which
//! [`list`] leaves out and other readers do not. To clean up, remove the files that the pending marker lists, then the
//! marker.
//!
//! Two concurrent copies that append both take effect. Two that replace may both take effect: each removes the files
//! that it found.

mod commit;
mod cut;
mod files;
mod listing;
pub mod marker;
mod partitioned;
mod sink;
mod staged;

pub use cut::FileCut;
pub use files::{MakeSink, check_folder};
pub use listing::{list, list_unless};
pub use marker::visible;
pub use partitioned::{NULL_FOLDER, PartitionColumns, PartitionedSink};
pub use sink::FolderSink;
