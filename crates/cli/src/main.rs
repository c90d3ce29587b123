//! The `lakerace` command as cargo installs it.

use lakerace_cli::{Host, run};

/// Decoders allocate and free large buffers on several threads; the system's allocator is slow at that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    lakerace_cli::allocator::register();
    std::process::exit(run(std::env::args_os(), &Host::default()).into());
}
