//! Conversion of byte ranges to requests: pure, printable, priced.
//!
//! A scan wants many small ranges (column chunks, pages, indexes). Each request costs a latency; each byte costs
//! bandwidth. Reading through a gap is cheaper than a second request if the gap is shorter than latency x bandwidth.
//! See [`plan_requests`].

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

mod merge;
mod price;

/// Ranges closer than this are read as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum MinSeekSize {
    /// The gap with the lowest price, from the observed latency and bandwidth of the path.
    #[default]
    Auto,
    /// A fixed gap in bytes: ranges with a smaller one between them are merged, so 1 merges ranges that touch; 0
    /// switches merging off.
    Bytes(u64),
}

/// The options by which wanted byte ranges become requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RangeOptions {
    /// Ranges closer than this become one request.
    pub min_seek_size: MinSeekSize,
    /// Longer spans are split into parallel requests of at most this many bytes. `None`: the size with the lowest
    /// price, from the path's own size on.
    pub max_request_bytes: Option<u64>,
    /// Limit of concurrent requests. `None`: the path's own number.
    pub max_requests_in_flight: Option<usize>,
    /// The fraction of the wanted bytes: where bytes read through and kept exceed it, the wanted bytes are copied out
    /// and the merged buffer is freed; below it the buffer is sliced without a copy. From a remote store only gaps below
    /// 64 KiB are kept.
    pub extra_bytes_tolerance: f64,
    /// Bytes that may be read ahead of decoding, over all files.
    pub prefetch_bytes: u64,
}

/// Bytes read ahead at most, by default: while a row group of 120 MiB is decoded, 15 requests of 24 MiB keep a path of 1.1 GB/s
/// busy at 80 MB/s each.
pub(crate) const PREFETCH_BYTES: u64 = 480 << 20;

/// The bytes that a copy prefetches: encoding is slower than decoding, and its input needs memory as well.
const COPY_PREFETCH_BYTES: u64 = 128 << 20;

impl RangeOptions {
    /// Makes the options of a job that writes what it reads.
    pub fn for_copy() -> Self {
        Self { prefetch_bytes: COPY_PREFETCH_BYTES, ..Self::default() }
    }
}

impl Default for RangeOptions {
    fn default() -> Self {
        Self {
            min_seek_size: MinSeekSize::Auto,
            max_request_bytes: None,
            max_requests_in_flight: None,
            extra_bytes_tolerance: 2.0,
            prefetch_bytes: PREFETCH_BYTES,
        }
    }
}

/// The cost of the path to a store in time and money.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PathProfile {
    /// The time from sending a request to its first byte.
    pub latency_ms: f64,
    /// The bandwidth of a connection.
    pub connection_bytes_per_second: f64,
    /// All connections' bandwidth together.
    pub total_bytes_per_second: f64,
    /// The most bytes a second that the reader takes: a faster path has no advantage.
    pub reader_bytes_per_second: f64,
    /// Concurrent requests that the path handles well.
    pub requests_in_flight: usize,
    /// The smallest request size at which one connection is used well.
    pub request_bytes: u64,
    /// The price of one GET, in US dollars.
    pub get_usd: f64,
    /// The price of a second of the machine that waits, in US dollars.
    pub second_usd: f64,
}

/// A range of one file that a scan needs, in the order of need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Index of the file in the plan.
    pub file: u32,
    /// Bytes of it.
    pub range: Range<u64>,
}

/// A request of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Index of the file in the plan.
    pub file: u32,
    /// Bytes of it.
    pub range: Range<u64>,
    /// The number of these bytes that are not wanted.
    pub read_through_bytes: u64,
    /// The places of the longer gaps, in order: from a remote store, their bytes are dropped as they arrive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<Range<u64>>,
}

impl Request {
    /// The bytes of [`Self::gaps`].
    pub fn gap_bytes(&self) -> u64 {
        self.gaps.iter().map(|gap| gap.end - gap.start).sum()
    }
}

/// Requests that cover all wanted ranges, in the order of need, and their predicted cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestPlan {
    /// The requests. They do not overlap.
    pub requests: Vec<Request>,
    /// Gaps smaller than this are read through.
    pub gap_bytes: u64,
    /// Bytes that were requested.
    pub wanted_bytes: u64,
    /// Bytes between them that are read as well.
    pub read_through_bytes: u64,
    /// Concurrent requests.
    pub requests_in_flight: usize,
    /// Predicted time, in seconds.
    pub seconds: f64,
    /// Predicted price, in US dollars.
    pub usd: f64,
}

impl RequestPlan {
    /// No requests at all.
    pub fn none() -> Self {
        Self {
            requests: Vec::new(),
            gap_bytes: 0,
            wanted_bytes: 0,
            read_through_bytes: 0,
            requests_in_flight: 0,
            seconds: 0.0,
            usd: 0.0,
        }
    }
}

impl FromStr for MinSeekSize {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.eq_ignore_ascii_case("auto") { Ok(Self::Auto) } else { parse_bytes(text).map(Self::Bytes) }
    }
}

impl fmt::Display for MinSeekSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Bytes(n) => write!(f, "{n}"),
        }
    }
}

/// Parses a size such as `0`, `65536`, `64KiB`, `4MiB`, `1.5GB`. Binary units are powers of 1024,
/// decimal ones (`kB`, `MB`, `GB`) of 1000.
pub fn parse_bytes(text: &str) -> Result<u64> {
    let wrong = || Error::usage(format!("{text:?} is not a size")).advice("write it as 65536, 64KiB or 4MiB");
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kib" | "k" => 1024.0,
        "mib" | "m" => 1024.0 * 1024.0,
        "gib" | "g" => 1024.0 * 1024.0 * 1024.0,
        "tib" | "t" => 1024.0f64.powi(4),
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        _ => return Err(wrong()),
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let bytes = number * factor;
    if bytes.is_finite() && bytes < 9e18 { Ok(bytes as u64) } else { Err(wrong()) }
}

/// Turns wanted ranges into requests for a path with this profile. Costs `O(n log n)`.
///
/// Ranges of a file whose gap is smaller than `min_seek_size` become one span; overlapping ones always do. Spans
/// longer than `max_request_bytes` are cut, at the border of a wanted range where one lies in the last quarter of the
/// request. A request's place in the plan is that of the first wanted range in it.
///
/// With [`MinSeekSize::Auto`], plans with gaps of 0, 1 (ranges that touch), 64 KiB to 16 MiB and latency x bandwidth are
/// priced; without `max_request_bytes`, also plans with requests from an eighth of the path's own size up, and growing from
/// that to up to eight times as much. Those count that are predicted to end the read, from its footers on, at most 10 %
/// later than the fastest whose requests are not shorter than the path's own size; of them, the one is taken whose requests
/// and time cost least together.
///
/// ```
/// use lakerace_io::{MinSeekSize, RangeOptions, Wanted, plan_requests, profile::Observations};
/// let wanted = [0..1000, 5000..6000, 90_000_000..90_001_000].map(|range| Wanted { file: 0, range });
/// let plan = plan_requests(&wanted, &RangeOptions::default(), &Observations::s3());
/// assert_eq!(plan.requests.len(), 2);
/// assert_eq!((plan.requests[0].range.clone(), plan.read_through_bytes), (0..6000, 4000));
/// ```
pub fn plan_requests(wanted: &[Wanted], options: &RangeOptions, profile: &PathProfile) -> RequestPlan {
    let segments = merge::segments(wanted);
    let in_flight = options.max_requests_in_flight.unwrap_or(profile.requests_in_flight).max(1);
    let plan_with = |spans: &[&[merge::RangeSegment]], gap: u64, sizes: merge::RequestSizes| {
        let in_memory =
            |longest: u64, bytes: u64| under_way(options.prefetch_bytes, longest.min(sizes.max_bytes), bytes);
        price::priced(merge::requests(spans, sizes), gap, in_flight, in_memory, profile)
    };
    let gaps = match options.min_seek_size {
        MinSeekSize::Bytes(gap) => vec![gap],
        MinSeekSize::Auto => price::candidate_gaps(profile),
    };
    let own_bytes = options.max_request_bytes.unwrap_or(profile.request_bytes).max(1);
    let plans_with = |gaps: &[u64], sizes: &[merge::RequestSizes]| -> Vec<RequestPlan> {
        let of_gap = |gap: &u64| {
            let spans = merge::spans(&segments, *gap);
            sizes.iter().map(|sizes| plan_with(&spans, *gap, *sizes)).collect::<Vec<_>>()
        };
        gaps.iter().flat_map(of_gap).collect()
    };
    let choice = |plans: &[RequestPlan]| {
        price::PlanChoice::new(plans, price::opening_seconds(&segments, in_flight, profile), profile)
    };
    let mut plans = plans_with(&gaps, &[merge::RequestSizes::even(own_bytes)]);
    if options.max_request_bytes.is_some() {
        return choice(&plans).select(&plans).clone();
    }
    let gaps =
        if segments.len() <= SEGMENTS_FOR_ALL_PAIRS { gaps } else { vec![choice(&plans).select(&plans).gap_bytes] };
    let (shorter, longer) = price::other_sizes(own_bytes, profile);
    plans.extend(plans_with(&gaps, &longer));
    let choice = choice(&plans);
    if options.min_seek_size == MinSeekSize::Auto {
        // A fixed gap defines which ranges are one request: those are not split.
        plans.extend(plans_with(&gaps, &shorter));
    }
    choice.select(&plans).clone()
}

/// The limit of concurrent requests of up to `longest_bytes` if `prefetch_bytes` may be read ahead: none, if all bytes
/// of the read fit. Otherwise approximately a quarter of that memory is for the row group or stripe that is being
/// decoded, whose bytes stay until its end.
fn under_way(prefetch_bytes: u64, longest_bytes: u64, all_bytes: u64) -> u64 {
    if all_bytes <= prefetch_bytes { u64::MAX } else { prefetch_bytes / 4 * 3 / longest_bytes.max(1) }
}

/// Up to this number of ranges, all pairs of gap and request size are priced. Beyond it that would take long: the gap
/// is chosen at the path's own request size, then the size.
const SEGMENTS_FOR_ALL_PAIRS: usize = 500;

#[cfg(test)]
mod tests;
