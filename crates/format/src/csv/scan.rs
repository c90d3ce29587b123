//! Ends of records, found in blocks of a file in any order.
//!
//! Whether a line end is one depends on the quotes before it, back to the start of the file. A block is therefore
//! looked at under both assumptions, "begins outside quotes" and "begins inside", at once ([`SpeculativeScan::of`], the
//! expensive part, in parallel); when the block before it is known, [`SpeculativeScan::resolve`] picks one, in order and in no
//! time. Text that uses quotes otherwise than RFC 4180 does (within a field) is noticed, and walked through byte by
//! byte when its turn comes.

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
    /// At the start of a record, after so many bytes of what comments begin with.
    Prefix(u8),
    /// In a comment.
    Comment,
}

/// The known facts about a block before the state at its start is known.
#[derive(Debug, Clone)]
pub(super) struct SpeculativeScan {
    /// Line feeds in the block, quoted or not.
    pub newlines: u64,
    guess: StateGuess,
}

#[derive(Debug, Clone)]
enum StateGuess {
    /// Neither quote nor escape in it; the end of the last record if it begins outside quotes.
    Plain(Option<usize>),
    /// Quotes as RFC 4180 has them, under both assumptions.
    Quotes { outside: AssumedState, inside: AssumedState },
    /// To be walked through.
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
    pub fn of(block: &[u8], rules: &DialectRules) -> Self {
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
                // Neither a delimiter nor a quote stands in what was taken for the front of a comment.
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

/// The position of the quote that is open at the end of `record`, which begins at a record's start.
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

/// Both assumptions at once: a quote flips inside and outside, so one is the other's complement.
fn assume(block: &[u8], quote: u8, delimiter: u8) -> StateGuess {
    let (mut outside, mut inside) = (AssumedState::default(), AssumedState::default());
    // All ones when an odd number of quotes was seen.
    let mut odd = 0u64;
    // What precedes the block is looked at when it is known, so nothing is held against its first byte.
    let mut before = 1u64;
    for at in (0..block.len()).step_by(STEP) {
        let (chunk, len) = chunk_at(block, at);
        let valid = low_bits(len);
        let quotes = positions(&chunk, quote) & valid;
        let newlines = positions(&chunk, b'\n') & valid;
        let delimiters = positions(&chunk, delimiter) & valid;
        let quoted = parity_prefix(quotes) ^ odd;
        odd = ((quoted as i64) >> 63) as u64;
        // An opening quote stands after a delimiter, a line end or (doubled) a quote.
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
