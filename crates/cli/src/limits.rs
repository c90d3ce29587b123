//! Limits that the system sets to a process, as the command takes them.

use lakerace::Result;
use lakerace_io::address_space::{self, JobSize};
use lakerace_io::open_files;

use crate::args::Command;

/// Raises the limit of open files to the user's maximum. If address space is short, limits the allocator of C libraries
/// to one arena for all threads: it reserves 64 MiB for each, used or not.
pub(crate) fn prepare() {
    open_files::raise_limit();
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if address_space::is_limited() {
        // SAFETY: the call changes a setting of the allocator, which is read when a thread first allocates.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

/// Checks that a command may take the address space that it needs.
pub(crate) fn check(command: &Command) -> Result<()> {
    match command {
        Command::Copy(_)
        | Command::Upsert(_)
        | Command::Update(_)
        | Command::Compact(_)
        | Command::Sync(_)
        | Command::Tpch(_) => address_space::check(JobSize::Writes),
        Command::Proxy(_)
        | Command::Files(_)
        | Command::Bench { .. }
        | Command::Config
        | Command::Completions(_)
        | Command::Man(_) => Ok(()),
        _ => address_space::check(JobSize::Reads),
    }
}
