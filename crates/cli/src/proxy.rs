//! `lakerace proxy`, hidden: the counting and shaping proxy of the bench and the tests.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use lakerace::{Error, Result};
use lakerace_io::proxy::{Faults, ProxyOptions, run_blocking};

use crate::value::{count, fraction};

#[derive(Debug, Args)]
pub(crate) struct ProxyArgs {
    /// The address to listen on; port 0 takes a free one. The address is printed as JSON.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The S3 server.
    #[arg(long, value_name = "HOST:PORT")]
    target: String,
    /// Latency to add before each response.
    #[arg(long, value_name = "MS", default_value_t = 0.0, value_parser = fraction)]
    latency_ms: f64,
    /// Maximum bandwidth of each connection, in each direction.
    #[arg(long, value_name = "N", value_parser = fraction)]
    bytes_per_second: Option<f64>,
    /// Answer every n-th request with status 500.
    #[arg(long, value_name = "N", value_parser = count)]
    error_every: Option<u64>,
    /// Reset the connection in the middle of every n-th response's body.
    #[arg(long, value_name = "N", value_parser = count)]
    reset_every: Option<u64>,
    /// Stall in the middle of every n-th response's body.
    #[arg(long, value_name = "N", value_parser = count)]
    stall_every: Option<u64>,
}

/// Runs the proxy until standard input closes.
pub(crate) fn run(args: &ProxyArgs) -> Result<()> {
    let latency = Duration::try_from_secs_f64(args.latency_ms / 1000.0);
    run_blocking(ProxyOptions {
        listen: args.listen,
        target: args.target.clone(),
        latency: latency.map_err(|e| Error::usage(format!("--latency-ms: {e}")))?,
        bytes_per_second: args.bytes_per_second,
        faults: Faults { error_every: args.error_every, reset_every: args.reset_every, stall_every: args.stall_every },
    })
}
