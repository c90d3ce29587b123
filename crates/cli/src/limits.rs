//! Limits that the system sets to a process, as the command takes them.

use lakerace_io::open_files;

/// Has as many open files as the user may have.
pub(crate) fn prepare() {
    open_files::raise_limit();
}
