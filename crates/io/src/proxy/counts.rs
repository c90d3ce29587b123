//! Counts of the proxy.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

/// A reading of a proxy's counters. Requests are counted when their head has arrived, failed ones included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProxyCounts {
    /// All requests.
    pub requests: u64,
    /// GET, listings excluded.
    pub get: u64,
    /// PUT.
    pub put: u64,
    /// HEAD.
    pub head: u64,
    /// DELETE.
    pub delete: u64,
    /// POST: the start and end of a multipart upload, and removal of many objects.
    pub post: u64,
    /// GET of a bucket: listings of objects, versions or uploads.
    pub list: u64,
    /// Bytes of request bodies.
    pub bytes_from_client: u64,
    /// Bytes of response bodies.
    pub bytes_to_client: u64,
    /// Connections that clients opened.
    pub connections: u64,
    /// Faults injected.
    pub faults: u64,
}

macro_rules! counters {
    ($($name:ident),*) => {
        #[derive(Debug, Default)]
        pub(super) struct ProxyCounters {
            $(pub(super) $name: AtomicU64,)*
        }

        impl ProxyCounters {
            pub(super) fn read(&self) -> ProxyCounts {
                ProxyCounts { $($name: self.$name.load(Ordering::Relaxed),)* }
            }

            pub(super) fn reset(&self) {
                $(self.$name.store(0, Ordering::Relaxed);)*
            }
        }
    };
}

counters!(requests, get, put, head, delete, post, list, bytes_from_client, bytes_to_client, connections, faults);

impl ProxyCounters {
    /// Counts a request and gives its number, from 1.
    pub(super) fn request(&self, method: &str, target: &str) -> u64 {
        let kind = match method {
            "GET" if is_listing(target) => Some(&self.list),
            "GET" => Some(&self.get),
            "PUT" => Some(&self.put),
            "HEAD" => Some(&self.head),
            "DELETE" => Some(&self.delete),
            "POST" => Some(&self.post),
            _ => None,
        };
        if let Some(kind) = kind {
            add(kind, 1);
        }
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }
}

pub(super) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

/// Returns true if a GET asks for a listing: of the server's buckets, or of something in a bucket.
fn is_listing(target: &str) -> bool {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let key = path.trim_start_matches('/').split_once('/').map_or("", |(_, key)| key);
    key.is_empty() || query.split('&').any(|pair| pair.starts_with("list-type="))
}

#[cfg(test)]
mod tests;
