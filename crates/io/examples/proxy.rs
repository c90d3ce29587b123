//! `proxy TARGET [LATENCY_MS [BYTES_PER_SECOND]]`: a counting, shaping proxy to `TARGET` (`host:port`). Prints its
//! address as JSON and ends when standard input closes.

use std::time::Duration;

use lakerace_io::proxy::{ProxyOptions, run_blocking};
use lakerace_io::{Error, Result};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, rest @ ..] = arguments.as_slice() else {
        return Err(Error::usage("name the server as host:port"));
    };
    let number = |text: &String| text.parse::<f64>().map_err(|_| Error::usage(format!("{text:?} is not a number")));
    let mut options = ProxyOptions::to(target);
    options.latency = Duration::from_secs_f64(rest.first().map(number).transpose()?.unwrap_or(0.0) / 1000.0);
    options.bytes_per_second = rest.get(1).map(number).transpose()?;
    run_blocking(options)
}
