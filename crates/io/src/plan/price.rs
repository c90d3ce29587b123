//! The price of a plan in seconds and dollars, and the choice among several.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::merge::{RangeSegment, RequestSizes};
use super::{PathProfile, Request, RequestPlan};

/// A cheaper plan is taken when the whole read is predicted to take this much longer at most.
const LONGER_AT_MOST: f64 = 0.1;

/// The gaps that are priced on a path: none, ranges that touch, the powers of two near the defaults of other readers,
/// and latency x bandwidth of one connection.
pub(super) fn candidate_gaps(profile: &PathProfile) -> Vec<u64> {
    let product = profile.latency_ms / 1000.0 * profile.connection_bytes_per_second;
    // With 0, ranges that touch are separate: one connection may be slower than two.
    let mut gaps = vec![0, 1];
    gaps.extend((16..=24).map(|power| 1u64 << power));
    // Rounded, so that small differences of observations do not change plans.
    gaps.push((product as u64).clamp(1, 1 << 30).next_power_of_two());
    gaps.sort_unstable();
    gaps.dedup();
    gaps
}

/// Request sizes that are priced in addition to a path's own, as multiples of that in eighths. Shorter ones spread a
/// short read over more connections; longer ones have a lower total cost, but fewer of them fit into memory together.
const SHORTER_EIGHTHS: [u64; 7] = [1, 2, 3, 4, 5, 6, 7];
const LONGER_EIGHTHS: [u64; 8] = [10, 12, 16, 24, 32, 40, 48, 64];

/// The sizes shorter and longer than `own_bytes` that are priced.
pub(super) fn other_sizes(own_bytes: u64, profile: &PathProfile) -> (Vec<RequestSizes>, Vec<RequestSizes>) {
    if profile.get_usd <= 0.0 {
        // Nothing to be saved.
        return (Vec::new(), Vec::new());
    }
    let times = |eighths: &u64| (own_bytes.saturating_mul(*eighths) / 8).max(1);
    let grown = |longer: u64| RequestSizes { first_bytes: own_bytes, max_bytes: longer };
    let shorter = SHORTER_EIGHTHS.iter().map(times).map(RequestSizes::even).collect();
    (shorter, LONGER_EIGHTHS.iter().map(times).map(grown).collect())
}

/// The time before the first of these ranges is requested: every file's footer is read by one request. It is a part of
/// the user's waiting time, and so of the basis for the allowed slowdown of a plan.
pub(super) fn opening_seconds(segments: &[RangeSegment], in_flight: usize, profile: &PathProfile) -> f64 {
    let files = segments.chunk_by(|a, b| a.file == b.file).count();
    files.div_ceil(in_flight) as f64 * latency_seconds(profile)
}

fn latency_seconds(profile: &PathProfile) -> f64 {
    profile.latency_ms.max(0.0) / 1000.0
}

/// Predicts time and price.
///
/// The model is a queue with `in_flight` servers: a request holds one for the latency and for its bytes over one
/// connection. The time is the largest of four bounds: the queue's; its work shared evenly among as many servers as
/// `in_memory` says that requests of the longest one's size fit, of so many bytes in all; and, after one latency, all bytes
/// over the path's whole bandwidth, and the wanted bytes at the reader's own pace.
pub(super) fn priced(
    requests: Vec<Request>,
    gap: u64,
    in_flight: usize,
    in_memory: impl Fn(u64, u64) -> u64,
    profile: &PathProfile,
) -> RequestPlan {
    let latency = latency_seconds(profile);
    let connection = profile.connection_bytes_per_second.max(1.0);
    let total = profile.total_bytes_per_second.max(connection);
    let (mut bytes, mut longest, mut read_through) = (0u64, 0u64, 0u64);
    for request in &requests {
        let len = request.range.end - request.range.start;
        bytes = bytes.saturating_add(len);
        longest = longest.max(len);
        read_through = read_through.saturating_add(request.read_through_bytes);
    }
    let wanted = bytes - read_through;
    let seconds = if requests.is_empty() {
        0.0
    } else {
        let queue = queue_seconds(&requests, in_flight, |len| latency + len as f64 / connection);
        let work = requests.len() as f64 * latency + bytes as f64 / connection;
        let memory = work / in_memory(longest, bytes).clamp(1, requests.len() as u64) as f64;
        let pipe = latency + bytes as f64 / total;
        let reader = latency + wanted as f64 / profile.reader_bytes_per_second.max(1.0);
        queue.max(memory).max(pipe).max(reader)
    };
    RequestPlan {
        usd: requests.len() as f64 * profile.get_usd,
        requests,
        gap_bytes: gap,
        wanted_bytes: wanted,
        read_through_bytes: read_through,
        requests_in_flight: in_flight,
        seconds,
    }
}

/// Up to this number, requests are simulated one by one; with more, the unevenness of the last ones is negligible.
const SIMULATED_REQUESTS: usize = 1000;

/// The time when the last of the requests is answered by `servers` servers, each taking the next request when it is
/// done.
fn queue_seconds(requests: &[Request], servers: usize, seconds: impl Fn(u64) -> f64) -> f64 {
    let each = requests.iter().map(|r| seconds(r.range.end - r.range.start));
    if requests.len() <= servers {
        return each.fold(0.0, f64::max);
    }
    if requests.len() > SIMULATED_REQUESTS {
        let longest = each.clone().fold(0.0, f64::max);
        return (each.sum::<f64>() / servers as f64).max(longest);
    }
    // Whole nanoseconds, since floats have no order of their own.
    let mut free_at: BinaryHeap<Reverse<u64>> = std::iter::repeat_n(Reverse(0), servers).collect();
    let mut last = 0;
    for seconds in each {
        let Reverse(start) = free_at.pop().unwrap_or_default();
        let end = start.saturating_add((seconds * 1e9) as u64);
        last = last.max(end);
        free_at.push(Reverse(end));
    }
    last as f64 / 1e9
}

/// The choice among several plans.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlanChoice {
    /// Slower plans don't count.
    seconds_at_most: f64,
    second_usd: f64,
}

impl PlanChoice {
    /// Allows plans that make the read, which takes `opening_seconds` before, 10 % longer than the fastest of `plans` does.
    pub(super) fn new(plans: &[RequestPlan], opening_seconds: f64, profile: &PathProfile) -> Self {
        let fastest = plans.iter().map(|p| p.seconds).fold(f64::INFINITY, f64::min);
        Self { seconds_at_most: fastest + LONGER_AT_MOST * (opening_seconds + fastest), second_usd: profile.second_usd }
    }

    /// The plan whose requests and time cost least; between equals the faster, then the one that reads less, then the first.
    ///
    /// `plans` are those that this was made of, and any others: at least one is fast enough.
    pub(super) fn select(self, plans: &[RequestPlan]) -> &RequestPlan {
        let rank = |p: &RequestPlan| {
            let too_slow = p.seconds > self.seconds_at_most;
            (too_slow, p.usd + p.seconds * self.second_usd, p.seconds, p.read_through_bytes)
        };
        plans[1..].iter().fold(&plans[0], |best, next| if rank(next) < rank(best) { next } else { best })
    }
}
