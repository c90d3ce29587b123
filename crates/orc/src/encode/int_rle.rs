//! Integer run length encoding, version 2.
//!
//! Values are cut into runs of at most 512. Equal values become a short repeat or a delta run with zero deltas. Rising
//! or falling values are delta encoded if that is narrower than the values. Narrow values with a few outliers become a
//! patched base. All other values are packed directly.
//!
//! Where writers of the reference implementation end a run at three equal values, this one first checks whether the
//! repeat is longer than its cost: among values of a few bits, ending a run and starting another takes more than
//! packing a short repeat.

use super::bits::{bits_of, pack};
use super::varint::{put_signed, put_unsigned, zigzag};
use crate::widths::{closest_width, code_of_width};

const MAX_RUN: usize = 512;
const MIN_REPEAT: usize = 3;
const MAX_SHORT_REPEAT: usize = 10;
/// Repeats of at least this length end a rising or falling run, too.
const LONG_REPEAT: usize = 24;
/// Rising or falling runs shorter than this, the last of a row group excepted, are left to the run that follows them.
const MIN_MONOTONE: usize = 32;
/// The approximate bits that it takes to end a run, write a short repeat, and start another run.
const REPEAT_COST_BITS: u32 = 40;
/// Bases from this magnitude on have no room for their sign in eight bytes next to the limits of other readers.
const BASE_LIMIT: u64 = 1 << 56;

/// Appends `values`: signed ones, or unsigned ones below 2^63.
pub(crate) fn encode(values: &[i64], signed: bool, out: &mut Vec<u8>) {
    debug_assert!(signed || values.iter().all(|&v| v >= 0));
    let all = values.iter().fold(0, |all, &v| all | magnitude(v, signed));
    let min_repeat = (REPEAT_COST_BITS.div_ceil(bits_of(all)) as usize).clamp(MIN_REPEAT, LONG_REPEAT);
    let mut encoder = RunEncoder { signed, out, packed: [0; MAX_RUN] };
    let mut rest = values;
    while !rest.is_empty() {
        let taken = encoder.next_run(rest, min_repeat);
        rest = &rest[taken..];
    }
}

/// Appends `count` times the same value, as [`encode`] does.
pub(crate) fn encode_repeated(value: i64, count: usize, signed: bool, out: &mut Vec<u8>) {
    let mut encoder = RunEncoder { signed, out, packed: [0; MAX_RUN] };
    let mut left = count;
    while left > 0 {
        let run = left.min(MAX_RUN);
        if run < MIN_REPEAT {
            encoder.direct(&[value; MIN_REPEAT][..run]);
        } else {
            encoder.repeat(value, run);
        }
        left -= run;
    }
}

#[inline(always)]
fn magnitude(value: i64, signed: bool) -> u64 {
    if signed { zigzag(value) } else { value as u64 }
}

struct RunEncoder<'a> {
    signed: bool,
    out: &'a mut Vec<u8>,
    packed: [u64; MAX_RUN],
}

impl RunEncoder<'_> {
    /// Writes the run that `values` start with and says how long it is.
    fn next_run(&mut self, values: &[i64], min_repeat: usize) -> usize {
        let window = &values[..values.len().min(MAX_RUN)];
        let repeat = window.iter().take_while(|&&v| v == window[0]).count();
        if repeat >= LONG_REPEAT || (repeat == values.len() && repeat >= MIN_REPEAT) {
            self.repeat(window[0], repeat);
            return repeat;
        }
        if let Some(run) = MonotoneRun::find(window)
            && (run.len >= MIN_MONOTONE || run.len == values.len())
        {
            let wide = window[..run.len].iter().fold(0, |all, &v| all | magnitude(v, self.signed));
            if run.len > MIN_REPEAT && run.width() < closest_width(bits_of(wide)) {
                return self.monotone(&window[..run.len], &run);
            }
        }
        if repeat >= min_repeat {
            self.repeat(window[0], repeat);
            return repeat;
        }
        let run = find_repeat(values, repeat, min_repeat);
        self.literals(&values[..run]);
        run
    }

    fn repeat(&mut self, value: i64, count: usize) {
        if count > MAX_SHORT_REPEAT {
            self.header(3, 0, count);
            self.base(value);
            self.out.push(0);
            return;
        }
        let value = magnitude(value, self.signed);
        let bytes = bits_of(value).div_ceil(8) as usize;
        self.out.push(((bytes - 1) << 3 | (count - MIN_REPEAT)) as u8);
        self.out.extend_from_slice(&value.to_be_bytes()[8 - bytes..]);
    }

    /// Two bytes: encoding, five bits of `code`, nine bits of the length less one.
    fn header(&mut self, encoding: u8, code: u8, count: usize) {
        let length = count - 1;
        self.out.push(encoding << 6 | code << 1 | (length >> 8) as u8);
        self.out.push(length as u8);
    }

    fn base(&mut self, value: i64) {
        put_unsigned(magnitude(value, self.signed), self.out);
    }

    fn direct(&mut self, values: &[i64]) {
        let mut all = 0;
        for (to, &value) in self.packed.iter_mut().zip(values) {
            *to = magnitude(value, self.signed);
            all |= *to;
        }
        let width = closest_width(bits_of(all));
        self.header(1, code_of_width(width), values.len());
        pack(&self.packed[..values.len()], width, self.out);
    }

    fn monotone(&mut self, values: &[i64], run: &MonotoneRun) -> usize {
        if run.fixed {
            self.header(3, 0, run.len);
            self.base(values[0]);
            put_signed(values[1] - values[0], self.out);
            return run.len;
        }
        // The sign of the first delta decides whether the others are added or subtracted, so it must not be 0.
        let equal = values.iter().take_while(|&&v| v == values[0]).count();
        if equal > MIN_REPEAT {
            self.repeat(values[0], equal - 1);
            return equal - 1;
        }
        if equal > 1 {
            self.direct(&values[..equal - 1]);
            return equal - 1;
        }
        // A width of one bit has no code here: its code says that all deltas are equal.
        let width = run.width().max(2);
        self.header(3, code_of_width(width), run.len);
        self.base(values[0]);
        put_signed(values[1] - values[0], self.out);
        for (to, pair) in self.packed.iter_mut().zip(values[1..].windows(2)) {
            *to = pair[1].abs_diff(pair[0]);
        }
        pack(&self.packed[..values.len() - 2], width, self.out);
        run.len
    }

    fn literals(&mut self, values: &[i64]) {
        if values.len() > MIN_REPEAT && self.patched(values) {
            return;
        }
        self.direct(values);
    }

    /// Writes a patched base if at most a tenth of the values is at least two bits wider than the others, as the reference
    /// implementation does.
    fn patched(&mut self, values: &[i64]) -> bool {
        let all = values.iter().fold(0, |all, &v| all | magnitude(v, self.signed));
        let width = closest_width(bits_of(all));
        let Some(narrower) = (1..width - 1).rev().find(|&w| closest_width(w) == w) else { return false };
        let wide = values.iter().filter(|&&v| magnitude(v, self.signed) >> narrower != 0).count();
        if wide > values.len() / 10 {
            return false;
        }
        let (min, max) = values.iter().fold((i64::MAX, i64::MIN), |(min, max), &v| (min.min(v), max.max(v)));
        if min.unsigned_abs() >= BASE_LIMIT || max.checked_sub(min).is_none() {
            return false;
        }
        for (to, value) in self.packed.iter_mut().zip(values) {
            *to = (value - min) as u64;
        }
        let Some(patches) = PatchedBits::take(&mut self.packed[..values.len()]) else { return false };
        self.header(2, code_of_width(patches.width), values.len());
        let magnitude = min.unsigned_abs();
        // The sign takes one bit in addition to those of the number.
        let base_bytes = (closest_width(bits_of(magnitude)) + 1).div_ceil(8) as usize;
        let sign = u64::from(min < 0) << (base_bytes * 8 - 1);
        self.out.push(((base_bytes - 1) << 5) as u8 | code_of_width(patches.patch_width));
        self.out.push(((patches.gap_width - 1) << 5) as u8 | patches.list.len() as u8);
        self.out.extend_from_slice(&(magnitude | sign).to_be_bytes()[8 - base_bytes..]);
        pack(&self.packed[..values.len()], patches.width, self.out);
        pack(&patches.list, closest_width(patches.gap_width + patches.patch_width), self.out);
        true
    }
}

/// The end of the literals before the next repeat of at least `min_repeat` values, or of the window. The first `from`
/// values are known to be no such repeat.
fn find_repeat(values: &[i64], from: usize, min_repeat: usize) -> usize {
    let window = &values[..values.len().min(MAX_RUN)];
    let mut equal = 1;
    for at in from.max(1)..window.len() {
        if window[at] == window[at - 1] {
            equal += 1;
            if equal == min_repeat {
                return at + 1 - min_repeat;
            }
        } else {
            equal = 1;
        }
    }
    window.len()
}

/// How far values only rise, or only fall.
struct MonotoneRun {
    len: usize,
    /// The largest delta except the first, which is stored separately.
    max_delta: u64,
    /// All deltas are equal.
    fixed: bool,
}

impl MonotoneRun {
    fn find(values: &[i64]) -> Option<Self> {
        let first = values.get(1)?.checked_sub(values[0])?;
        let (mut sign, mut max_delta, mut fixed, mut equal) = (first.signum(), 0, true, 0);
        let mut len = 2;
        for pair in values[1..].windows(2) {
            let Some(delta) = pair[1].checked_sub(pair[0]) else { break };
            if delta.signum() * sign < 0 || delta == i64::MIN {
                break;
            }
            equal = if delta == 0 { equal + 1 } else { 0 };
            if equal == LONG_REPEAT {
                len -= LONG_REPEAT - 1;
                break;
            }
            sign |= delta.signum();
            fixed &= delta == first;
            max_delta = max_delta.max(delta.unsigned_abs());
            len += 1;
        }
        (first != i64::MIN).then_some(Self { len, max_delta, fixed })
    }

    /// Bits of one delta, 0 where all are equal.
    fn width(&self) -> u32 {
        if self.fixed { 0 } else { closest_width(bits_of(self.max_delta)) }
    }
}

/// The upper bits of the few values that are wider than the others.
struct PatchedBits {
    width: u32,
    patch_width: u32,
    gap_width: u32,
    list: Vec<u64>,
}

impl PatchedBits {
    /// Largest gap that one entry can hold; longer ones are several entries, all but the last with an empty patch.
    const MAX_GAP: usize = 255;

    /// Takes the patches out of `values`, so that the remaining bits fit the width of 95 % of the values.
    fn take(values: &mut [u64]) -> Option<Self> {
        let mut by_bits = [0usize; 65];
        values.iter().for_each(|&v| by_bits[closest_width(bits_of(v)) as usize] += 1);
        let widest = (1..65).rev().find(|&bits| by_bits[bits] > 0)? as u32;
        let allowed = values.len() / 20;
        let mut wider = 0;
        let mut width = (1..65)
            .rev()
            .find(|&bits| {
                wider += by_bits[bits];
                wider > allowed
            })
            .unwrap_or(1) as u32;
        if width == widest {
            return None;
        }
        let mut patch_width = closest_width(widest - width);
        if patch_width == 64 {
            // Gap and patch must fit one word.
            (patch_width, width) = (56, 8);
        }
        let mut gaps = Vec::with_capacity(allowed);
        let mut last = 0;
        for (at, value) in values.iter_mut().enumerate() {
            if *value >> width != 0 {
                gaps.push((at - last, *value >> width));
                *value &= (1 << width) - 1;
                last = at;
            }
        }
        let widest_gap = gaps.iter().map(|&(gap, _)| gap).max()?.min(Self::MAX_GAP);
        let gap_width = bits_of(widest_gap as u64);
        let mut list = Vec::with_capacity(gaps.len() + 2);
        for (mut gap, patch) in gaps {
            while gap > Self::MAX_GAP {
                list.push((Self::MAX_GAP as u64) << patch_width);
                gap -= Self::MAX_GAP;
            }
            list.push((gap as u64) << patch_width | patch);
        }
        // Five bits hold the number of entries, three the width of a gap.
        (list.len() <= 31).then_some(Self { width, patch_width, gap_width, list })
    }
}

#[cfg(test)]
mod tests;
