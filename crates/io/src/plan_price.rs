//! What a plan takes in seconds and dollars, and which of several to take.

use super::{PathProfile, Request, RequestPlan};

/// A cheaper plan is taken when it is predicted to be this much slower than the fastest at most.
const SLOWER_AT_MOST: f64 = 1.1;

/// The gaps worth pricing on a path: none, the powers of two around what readers are shipped with, and latency x
/// bandwidth of one connection.
pub(super) fn candidate_gaps(profile: &PathProfile) -> Vec<u64> {
    let product = profile.latency_ms / 1000.0 * profile.connection_bytes_per_second;
    // Ranges that touch are one in any case: a second request could only cost.
    let mut gaps = vec![1];
    gaps.extend((16..=24).map(|power| 1u64 << power));
    // Rounded, so that small differences of what was observed do not change plans.
    gaps.push((product as u64).clamp(1, 1 << 30).next_power_of_two());
    gaps.sort_unstable();
    gaps.dedup();
    gaps
}

/// Request sizes worth pricing on a path beside its own, as multiples of that in eighths. Smaller ones share a short
/// read among more connections.
const SIZE_EIGHTHS: [u64; 10] = [1, 2, 4, 12, 16, 24, 32, 40, 48, 64];

/// Larger requests cost less in all, but fewer of them fit into memory at once.
pub(super) fn other_sizes(profile: &PathProfile) -> Vec<u64> {
    if profile.get_usd <= 0.0 {
        // Nothing to be saved.
        return Vec::new();
    }
    SIZE_EIGHTHS.iter().map(|eighths| (profile.request_bytes.saturating_mul(*eighths) / 8).max(1)).collect()
}

/// Predicts time and price.
///
/// The model is a queue with `in_flight` servers, or as many as requests of the longest one's size fit `in_memory`
/// for reading ahead: a request holds one for the latency and for its bytes over one
/// connection. The time is the largest of three bounds: the servers' work shared evenly, the longest single request,
/// and all bytes over the path's whole bandwidth after one latency.
pub(super) fn priced(
    requests: Vec<Request>,
    gap: u64,
    in_flight: usize,
    in_memory: impl Fn(u64) -> u64,
    profile: &PathProfile,
) -> RequestPlan {
    let latency = profile.latency_ms.max(0.0) / 1000.0;
    let connection = profile.connection_bytes_per_second.max(1.0);
    let total = profile.total_bytes_per_second.max(connection);
    let (mut bytes, mut longest, mut read_through) = (0u64, 0u64, 0u64);
    for request in &requests {
        let len = request.range.end - request.range.start;
        bytes = bytes.saturating_add(len);
        longest = longest.max(len);
        read_through = read_through.saturating_add(request.read_through_bytes);
    }
    let count = requests.len();
    let servers = in_flight.min(count).min(usize::try_from(in_memory(longest)).unwrap_or(usize::MAX)).max(1);
    let seconds = if count == 0 {
        0.0
    } else {
        let work = count as f64 * latency + bytes as f64 / connection;
        let shared = work / servers as f64;
        let single = latency + longest as f64 / connection;
        let pipe = latency + bytes as f64 / total;
        shared.max(single).max(pipe)
    };
    RequestPlan {
        requests,
        gap_bytes: gap,
        wanted_bytes: bytes - read_through,
        read_through_bytes: read_through,
        requests_in_flight: in_flight,
        seconds,
        usd: count as f64 * profile.get_usd,
    }
}

/// The cheapest in dollars of those within 10 % of the fastest; between equals the faster, then the one that reads
/// less.
pub(super) fn choose(plans: impl Iterator<Item = RequestPlan>) -> RequestPlan {
    let plans: Vec<RequestPlan> = plans.collect();
    let fastest = plans.iter().map(|p| p.seconds).fold(f64::INFINITY, f64::min);
    let rank = |p: &RequestPlan| (p.usd, p.seconds, p.read_through_bytes as f64);
    let best = plans
        .into_iter()
        .filter(|p| p.seconds <= fastest * SLOWER_AT_MOST)
        .reduce(|best, next| if rank(&next) < rank(&best) { next } else { best });
    // There always is one: the fastest itself.
    best.unwrap_or_else(|| RequestPlan {
        requests: Vec::new(),
        gap_bytes: 0,
        wanted_bytes: 0,
        read_through_bytes: 0,
        requests_in_flight: 1,
        seconds: 0.0,
        usd: 0.0,
    })
}
