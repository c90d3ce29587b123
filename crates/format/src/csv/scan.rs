//! Ends of records, found in blocks of a file in any order.
//!
//! Whether a line feed ends a record depends on all quotes before it in the file. A block is therefore scanned under
//! both assumptions, that it starts outside quotes and that it starts inside, in one pass ([`SpeculativeScan::scan`], the
//! expensive part, in parallel). When the end of the block before it is known, [`SpeculativeScan::resolve`] picks one,
//! in order and in negligible time. Text with quotes in places that RFC 4180 does not allow (within a field) is
//! detected, and scanned byte by byte in that second step.

use super::bits::{STEP, chunk_at, low_bits, parity_prefix, positions};
use super::rules::DialectRules;

/// Between two bytes of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScanState {
    /// Before the first byte of a field.
    Start,
    /// In a field without quotes, or after the closing quote.
    Unquoted,
    /// Inside quotes.
    Quoted,
    /// Inside quotes, after the escape character.
    Escaped,
    /// After a quote inside quotes: it closes them, or the next one doubles it.
    Closed,
    /// At the start of a record, after this many bytes of the comment prefix.
    Prefix(u8),
    /// In a comment.
    Comment,
}

/// The result of scanning a block before the state at its start is known.
#[derive(Debug, Clone)]
pub(super) struct SpeculativeScan {
    /// Line feeds in the block, quoted or not.
    pub newlines: u64,
    guess: StateGuess,
}

#[derive(Debug, Clone)]
enum StateGuess {
    /// No quote or escape in the block; the end of the last record if the block starts outside quotes.
    Plain(Option<usize>),
    /// Quotes as in RFC 4180, under both assumptions.
    Quotes { outside: AssumedState, inside: AssumedState },
    /// To be scanned byte by byte.
    Unknown,
}

#[derive(Debug, Clone, Copy, Default)]
struct AssumedState {
    /// The end of the last record, after its line feed.
    last_end: Option<usize>,
    /// The block ends inside quotes.
    quoted_at_end: bool,
    /// A quote opens in the middle of a field: this assumption, or the text, does not follow RFC 4180.
    irregular: bool,
}

impl ScanState {
    /// Before the first byte of a record.
    pub fn record_start(rules: &DialectRules) -> Self {
        if rules.comment.is_some() { Self::Prefix(0) } else { Self::Start }
    }
}

impl SpeculativeScan {
    /// Looks at a block under every assumption.
    pub fn scan(block: &[u8], rules: &DialectRules) -> Self {
        let newlines = memchr::memchr_iter(b'\n', block).count() as u64;
        let special = match (rules.quote, rules.escape) {
            (None, _) => None,
            (Some(q), None) => memchr::memchr(q, block),
            (Some(q), Some(e)) => memchr::memchr2(q, e, block),
        };
        let guess = match (special, rules.quote, rules.escape) {
            // A quote in a comment is none.
            _ if rules.comment.is_some() => StateGuess::Unknown,
            (Some(_), Some(quote), None) => assume(block, quote, rules.delimiter),
            (Some(_), _, _) => StateGuess::Unknown,
            (None, ..) => StateGuess::Plain(memchr::memrchr(b'\n', block).map(|p| p + 1)),
        };
        Self { newlines, guess }
    }

    /// The end of the block's last record, and the state after the block, given the state before it.
    pub fn resolve(&self, state: ScanState, block: &[u8], rules: &DialectRules) -> (Option<usize>, ScanState) {
        let Some(last) = block.last() else { return (None, state) };
        let outside_end =
            if *last == b'\n' || *last == rules.delimiter { ScanState::Start } else { ScanState::Unquoted };
        match &self.guess {
            StateGuess::Plain(last_end) => match state {
                ScanState::Quoted | ScanState::Escaped => (None, ScanState::Quoted),
                _ => (*last_end, outside_end),
            },
            StateGuess::Quotes { outside, inside } => {
                let assumed = match state {
                    ScanState::Start | ScanState::Closed => outside,
                    ScanState::Unquoted if block.first() != rules.quote.as_ref() => outside,
                    ScanState::Quoted => inside,
                    _ => return walk(state, block, rules),
                };
                let end = match (assumed.quoted_at_end, Some(*last) == rules.quote) {
                    (true, _) => ScanState::Quoted,
                    (false, true) => ScanState::Closed,
                    (false, false) => outside_end,
                };
                if assumed.irregular { walk(state, block, rules) } else { (assumed.last_end, end) }
            }
            StateGuess::Unknown => walk(state, block, rules),
        }
    }
}

/// The state after `byte`, and whether it ended a record.
#[inline]
pub(super) fn step(state: ScanState, byte: u8, rules: &DialectRules) -> (ScanState, bool) {
    match state {
        ScanState::Comment if byte == b'\n' => (ScanState::Prefix(0), true),
        ScanState::Comment => (ScanState::Comment, false),
        ScanState::Prefix(matched) => {
            let comment = rules.comment.as_deref().unwrap_or(&[]);
            match comment.get(usize::from(matched)) {
                Some(wanted) if *wanted == byte && usize::from(matched) + 1 == comment.len() => {
                    (ScanState::Comment, false)
                }
                Some(wanted) if *wanted == byte => (ScanState::Prefix(matched + 1), false),
                // The bytes that matched the start of a comment contain neither a delimiter nor a quote.
                _ => step(if matched == 0 { ScanState::Start } else { ScanState::Unquoted }, byte, rules),
            }
        }
        ScanState::Escaped => (ScanState::Quoted, false),
        ScanState::Quoted if Some(byte) == rules.quote => (ScanState::Closed, false),
        ScanState::Quoted if Some(byte) == rules.escape => (ScanState::Escaped, false),
        ScanState::Quoted => (ScanState::Quoted, false),
        ScanState::Closed | ScanState::Start if Some(byte) == rules.quote => (ScanState::Quoted, false),
        ScanState::Start | ScanState::Unquoted | ScanState::Closed if byte == b'\n' => {
            (ScanState::record_start(rules), true)
        }
        ScanState::Start | ScanState::Unquoted | ScanState::Closed if byte == rules.delimiter => {
            (ScanState::Start, false)
        }
        ScanState::Start | ScanState::Unquoted | ScanState::Closed => (ScanState::Unquoted, false),
    }
}

/// The end of the first record, after its line feed.
pub(super) fn first_end(mut state: ScanState, text: &[u8], rules: &DialectRules) -> Option<usize> {
    for (i, byte) in text.iter().enumerate() {
        let (next, ended) = step(state, *byte, rules);
        if ended {
            return Some(i + 1);
        }
        state = next;
    }
    None
}

/// The position of the quote that is open at the end of `record`, which starts at the start of a record.
pub(super) fn open_quote(record: &[u8], rules: &DialectRules) -> Option<usize> {
    let mut state = ScanState::record_start(rules);
    let mut opened = None;
    for (i, byte) in record.iter().enumerate() {
        let before = state;
        state = step(state, *byte, rules).0;
        if matches!(before, ScanState::Start | ScanState::Prefix(0)) && state == ScanState::Quoted {
            opened = Some(i);
        }
    }
    if matches!(state, ScanState::Quoted | ScanState::Escaped) { opened } else { None }
}

fn walk(mut state: ScanState, block: &[u8], rules: &DialectRules) -> (Option<usize>, ScanState) {
    let mut last_end = None;
    for (i, byte) in block.iter().enumerate() {
        let (next, ended) = step(state, *byte, rules);
        if ended {
            last_end = Some(i + 1);
        }
        state = next;
    }
    (last_end, state)
}

/// Scans a block under both assumptions: a quote switches between inside and outside, so one result is the complement
/// of the other.
fn assume(block: &[u8], quote: u8, delimiter: u8) -> StateGuess {
    let (mut outside, mut inside) = (AssumedState::default(), AssumedState::default());
    // All ones when an odd number of quotes was seen.
    let mut odd = 0u64;
    // The byte before the block is checked later, so a quote at the first byte is allowed here.
    let mut before = 1u64;
    for at in (0..block.len()).step_by(STEP) {
        let (chunk, len) = chunk_at(block, at);
        let valid = low_bits(len);
        let quotes = positions(&chunk, quote) & valid;
        let newlines = positions(&chunk, b'\n') & valid;
        let delimiters = positions(&chunk, delimiter) & valid;
        let quoted = parity_prefix(quotes) ^ odd;
        odd = ((quoted as i64) >> 63) as u64;
        // An opening quote follows a delimiter, a line end or (doubled) a quote.
        let opens_anywhere = quotes | newlines | delimiters;
        let may_open = opens_anywhere << 1 | before;
        before = opens_anywhere >> 63;
        outside.look(at, newlines & !quoted, quotes & quoted & !may_open);
        inside.look(at, newlines & quoted, quotes & !quoted & !may_open);
    }
    outside.quoted_at_end = odd != 0;
    inside.quoted_at_end = odd == 0;
    StateGuess::Quotes { outside, inside }
}

impl AssumedState {
    #[inline(always)]
    fn look(&mut self, at: usize, ends: u64, misplaced: u64) {
        if ends != 0 {
            self.last_end = Some(at + STEP - ends.leading_zeros() as usize);
        }
        self.irregular |= misplaced != 0;
    }
}

#[cfg(test)]
mod tests;
