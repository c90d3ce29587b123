//! Merging ranges by their gaps and cutting the spans to size.

use std::ops::Range;

use super::{Request, Wanted};

/// Wanted bytes without overlap, by file and position, with the place of the first range in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RangeSegment {
    pub(super) file: u32,
    pub(super) range: Range<u64>,
    pub(super) order: usize,
}

/// Sorts the wanted ranges and joins those that overlap. Empty ones are left out.
pub(super) fn segments(wanted: &[Wanted]) -> Vec<RangeSegment> {
    let mut sorted: Vec<RangeSegment> = wanted
        .iter()
        .enumerate()
        .filter(|(_, w)| w.range.start < w.range.end)
        .map(|(order, w)| RangeSegment { file: w.file, range: w.range.clone(), order })
        .collect();
    sorted.sort_unstable_by_key(|s| (s.file, s.range.start, s.range.end, s.order));
    let mut joined: Vec<RangeSegment> = Vec::with_capacity(sorted.len());
    for segment in sorted {
        match joined.last_mut() {
            Some(last) if last.file == segment.file && segment.range.start < last.range.end => {
                last.range.end = last.range.end.max(segment.range.end);
                last.order = last.order.min(segment.order);
            }
            _ => joined.push(segment),
        }
    }
    joined
}

/// Groups segments with gaps below `gap` between them.
pub(super) fn spans(segments: &[RangeSegment], gap: u64) -> Vec<&[RangeSegment]> {
    let mut spans = Vec::new();
    let mut rest = segments;
    while !rest.is_empty() {
        let merged =
            |pair: &[RangeSegment]| pair[0].file == pair[1].file && pair[1].range.start - pair[0].range.end < gap;
        let span = 1 + rest.windows(2).take_while(|pair| merged(pair)).count();
        spans.push(&rest[..span]);
        rest = &rest[span..];
    }
    spans
}

/// The limits of requests' lengths.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestSizes {
    /// The first ones. A reader starts when the first bytes of every column have arrived: after the bytes of other
    /// columns in one long request, they come late.
    pub(super) first_bytes: u64,
    /// The later ones.
    pub(super) max_bytes: u64,
}

impl RequestSizes {
    /// All the same.
    pub(super) fn even(max_bytes: u64) -> Self {
        Self { first_bytes: max_bytes, max_bytes }
    }

    /// That of a request which follows on `before` bytes: half of those, so that few requests are short.
    fn after(self, before: u64) -> u64 {
        (before / 2).clamp(self.first_bytes.min(self.max_bytes), self.max_bytes)
    }
}

/// Requests of these sizes for all spans, in the order of need.
pub(super) fn requests(spans: &[&[RangeSegment]], sizes: RequestSizes) -> Vec<Request> {
    let mut requests = Vec::with_capacity(spans.len());
    let mut before = 0;
    for span in spans {
        before = cut(span, sizes, before, &mut requests);
    }
    // Pieces of one long range share its place: they are needed from its start on.
    requests.sort_by_key(|(order, request): &(usize, Request)| (*order, request.range.start));
    requests.into_iter().map(|(_, request)| request).collect()
}

/// Shorter gaps are kept: dropping them would cost more than the memory they take.
const DROPPED_GAP_BYTES: u64 = 64 << 10;

/// Cuts one span of segments into requests of at most the size for their place, and of at least approximately half of
/// that.
/// Takes and gives the bytes of all requests so far.
fn cut(span: &[RangeSegment], sizes: RequestSizes, mut before: u64, requests: &mut Vec<(usize, Request)>) -> u64 {
    let (Some(first), Some(last)) = (span.first(), span.last()) else { return before };
    let (file, end) = (first.file, last.range.end);
    let mut start = first.range.start;
    let mut at = 0;
    while start < end {
        let max_bytes = sizes.after(before);
        let stop = if end - start <= max_bytes { end } else { stop_of_piece(&span[at..], start, end, max_bytes) };
        let mut piece = Request { file, range: start..stop, read_through_bytes: 0, gaps: Vec::new() };
        let (mut order, mut wanted) = (usize::MAX, 0);
        let mut used = start;
        while let Some(segment) = span.get(at).filter(|s| s.range.start < stop) {
            if segment.range.start.saturating_sub(used) >= DROPPED_GAP_BYTES {
                piece.gaps.push(used..segment.range.start);
            }
            let upper = segment.range.end.min(stop);
            wanted += upper - segment.range.start.max(start);
            order = order.min(segment.order);
            used = upper;
            if segment.range.end > stop {
                break;
            }
            at += 1;
        }
        // A gap at the cut is read by neither side.
        piece.range.end = used;
        piece.read_through_bytes = used - start - wanted;
        before = before.saturating_add(used - start);
        start = span.get(at).map_or(end, |s| s.range.start.max(used));
        requests.push((order, piece));
    }
    before
}

/// The end of a piece that starts at `start` and can't reach to `end`: at a border between segments in its last
/// quarter, or else in the middle of a segment; the rest is at least half a request.
fn stop_of_piece(segments: &[RangeSegment], start: u64, end: u64, max_bytes: u64) -> u64 {
    let half = max_bytes.div_ceil(2);
    let latest = start.saturating_add(max_bytes).min(end - half.min(end - start)).max(start + 1);
    let earliest = start + (latest - start).div_ceil(4) * 3;
    let fits = segments.partition_point(|s| s.range.end <= latest);
    match segments[..fits].last() {
        Some(segment) if segment.range.end >= earliest => segment.range.end,
        _ => latest,
    }
}
