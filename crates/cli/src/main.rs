//! The `lakerace` command as cargo installs it.

use lakerace_cli::{Host, keep_freed_memory, run};

/// Decoders allocate and free large buffers on several threads; the system's allocator is slow at that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    keep_freed_memory();
    std::process::exit(run(std::env::args_os(), &Host::default()).into());
}
