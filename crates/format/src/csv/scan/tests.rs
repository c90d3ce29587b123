#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::CsvOptions;
use crate::csv::rules::Dialect;

const STATES: [ScanState; 5] =
    [ScanState::Start, ScanState::Unquoted, ScanState::Quoted, ScanState::Escaped, ScanState::Closed];

fn rules(escape: Option<u8>, quote: Option<u8>) -> DialectRules {
    DialectRules::new(Dialect::Csv, &CsvOptions { escape, quote: Some(quote), ..CsvOptions::default() }).unwrap()
}

fn random_text(random: &mut StdRng, alphabet: &[u8], len: usize) -> Vec<u8> {
    (0..len).map(|_| alphabet[random.random_range(0..alphabet.len())]).collect()
}

/// From every state a text can be in, a guess made without knowing it is what walking through gives.
#[test]
fn guesses_agree_with_walking() {
    let mut random = StdRng::seed_from_u64(1);
    let dialects = [rules(None, Some(b'"')), rules(Some(b'\\'), Some(b'"')), rules(None, None)];
    for round in 0..20_000 {
        let rules = &dialects[round % 3];
        let alphabet: &[u8] = if random.random_bool(0.5) { b"\",\nxxxxxxxxx\\" } else { b"\"\",\n" };
        let len = random.random_range(0..200);
        let text = random_text(&mut random, alphabet, len);
        let outlook = SpeculativeScan::scan(&text, rules);
        assert_eq!(outlook.newlines, text.iter().filter(|b| **b == b'\n').count() as u64);
        for state in STATES {
            let reachable = match state {
                ScanState::Escaped => rules.escape.is_some(),
                ScanState::Quoted | ScanState::Closed => rules.quote.is_some(),
                _ => true,
            };
            if reachable {
                assert_eq!(
                    outlook.resolve(state, &text, rules),
                    walk(state, &text, rules),
                    "{state:?} {:?}",
                    String::from_utf8_lossy(&text)
                );
            }
        }
    }
}

/// Text that follows RFC 4180 needs no walk, wherever it is cut.
#[test]
fn regular_text_is_guessed() {
    let rules = rules(None, Some(b'"'));
    let text = b"a,\"b\nc\",\"\"\n\"d \"\"e\"\" \n\",f,\"\"\"\"\n".repeat(20);
    for at in 0..text.len() {
        let (front, back) = text.split_at(at);
        let (_, state) = walk(ScanState::Start, front, &rules);
        let StateGuess::Quotes { outside, inside } = SpeculativeScan::scan(back, &rules).guess else { continue };
        let assumed = if state == ScanState::Quoted { inside } else { outside };
        assert!(!assumed.irregular, "{at}");
    }
}

#[test]
fn open_quotes_are_found() {
    let rules = rules(None, Some(b'"'));
    assert_eq!(open_quote(b"a,\"b\n", &rules), Some(2));
    assert_eq!(open_quote(b"\"a\",\"b\"\"\n", &rules), Some(4));
    assert_eq!(open_quote(b"a\"b,\"c\"", &rules), None);
}
