//! A small HTTP/1.1 proxy between an S3 client and a local S3 server: it counts, and it makes the path slower.
//!
//! Benches need the requests and bytes of *every* contestant, in any language, on a path with a real network's latency
//! and bandwidth. Existing proxies either shape at the level of TCP (toxiproxy) and can't distinguish requests, or
//! count requests and can't shape. So this one does both:
//!
//! - `latency` is added in front of each response's first byte, after the server has answered;
//! - `bytes_per_second` bounds the bodies of each client connection, separately in each direction;
//! - requests are counted by method, listings apart, and the bytes of bodies each way;
//! - every n-th request can fail: with status 500, with a reset in the middle of its body, or by a stall there.
//!
//! Heads are passed on unchanged, `Host` included, because S3 signatures cover it. The client must therefore use the
//! proxy's address as its endpoint, and the server must accept that host name.
//!
//! `GET /__lakerace/counts` answers with the [`ProxyCounts`] as JSON, `POST /__lakerace/reset` sets them to zero; neither
//! is counted, delayed or failed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::error::{Error, Result};
use crate::runtime::start_runtime;

mod connection;
mod counts;
mod head;
#[cfg_attr(not(target_os = "linux"), path = "proxy/splice_none.rs")]
mod splice;

use counts::ProxyCounters;
pub use counts::ProxyCounts;

/// The options of a [`Proxy`].
#[derive(Debug, Clone, PartialEq)]
pub struct ProxyOptions {
    /// The address to listen at; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The server, as `host:port`.
    pub target: String,
    /// Added before each response.
    pub latency: Duration,
    /// Bound on the bodies of each client connection, each way. `None`: none.
    pub bytes_per_second: Option<f64>,
    /// The faults.
    pub faults: Faults,
}

impl ProxyOptions {
    /// A proxy to `target` (`host:port`) on a free port of this machine that only counts.
    pub fn to(target: impl Into<String>) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            target: target.into(),
            latency: Duration::ZERO,
            bytes_per_second: None,
            faults: Faults::default(),
        }
    }
}

/// The faults, and how often each happens: `Some(3)` is the third request, the sixth, and so on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// Answered with status 500 without asking the server.
    pub error_every: Option<u64>,
    /// The connection is reset in the middle of the response's body.
    pub reset_every: Option<u64>,
    /// The response stalls in the middle of its body until the client gives up.
    pub stall_every: Option<u64>,
}

/// A running proxy. Dropped, it stops.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    counters: Arc<ProxyCounters>,
    stop: watch::Sender<bool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// The shared state of all connections.
#[derive(Debug)]
struct ProxySetup {
    options: ProxyOptions,
    counters: Arc<ProxyCounters>,
}

impl Proxy {
    /// Starts listening on a separate thread.
    pub fn start(options: ProxyOptions) -> Result<Self> {
        let failed = |e: std::io::Error| Error::from(e).at(format!("proxy at {}", options.listen));
        let listener = std::net::TcpListener::bind(options.listen).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let runtime = start_runtime("lakerace-proxy", 2)?;
        let counters = Arc::new(ProxyCounters::default());
        let setup = Arc::new(ProxySetup { options: options.clone(), counters: Arc::clone(&counters) });
        let (stop, stopped) = watch::channel(false);
        let thread = std::thread::Builder::new()
            .name("lakerace-proxy".to_owned())
            .spawn(move || {
                runtime.block_on(accept(listener, setup, stopped));
                // Connections that stand still must not hold up the end.
                runtime.shutdown_background();
            })
            .map_err(failed)?;
        Ok(Self { address, counters, stop, thread: Some(thread) })
    }

    /// The address of the listener.
    pub fn addr(&self) -> SocketAddr {
        self.address
    }

    /// The counts so far.
    pub fn counts(&self) -> ProxyCounts {
        self.counters.read()
    }

    /// Sets the counts to zero.
    pub fn reset(&self) {
        self.counters.reset();
    }

    /// Stops listening, and aborts the requests under way.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs a proxy until standard input closes, having printed `{"address":"127.0.0.1:PORT"}` on standard output.
pub fn run_blocking(options: ProxyOptions) -> Result<()> {
    use std::io::{Read, Write};
    let proxy = Proxy::start(options)?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", serde_json::json!({ "address": proxy.addr().to_string() }))?;
    out.flush()?;
    let mut rest = [0; 1024];
    while std::io::stdin().read(&mut rest)? > 0 {}
    proxy.stop();
    Ok(())
}

async fn accept(listener: std::net::TcpListener, setup: Arc<ProxySetup>, mut stopped: watch::Receiver<bool>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    loop {
        tokio::select! {
            _ = stopped.changed() => return,
            accepted = listener.accept() => match accepted {
                Ok((client, _)) => {
                    let setup = Arc::clone(&setup);
                    // Errors of a connection concern only its client.
                    tokio::spawn(async move { connection::serve(client, &setup).await.ok() });
                }
                // Out of descriptors, say: some will be free soon.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }
}

#[cfg(test)]
mod tests;
