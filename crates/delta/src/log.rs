//! The log of a table: the folder as the kernel sees it, its files, and their cleanup.

pub(crate) mod cleanup;
pub(crate) mod completeness;
pub(crate) mod distrust;
pub(crate) mod entry;
pub(crate) mod exact_numbers;
pub(crate) mod file_change;
pub(crate) mod files;
pub(crate) mod json_object;
pub(crate) mod kept_versions;
mod listing;
pub(crate) mod recovery;
pub(crate) mod sidecars;
pub(crate) mod stated_files;
pub(crate) mod store;
mod version_times;
