#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use super::*;

fn like(text: &str, pattern: &str) -> bool {
    LikePattern::new(pattern, None, false).unwrap().matches(text)
}

#[test]
fn matches_wildcards() {
    assert!(like("abc", "abc") && like("abc", "a%") && like("abc", "%c") && like("abc", "%b%") && like("", "%"));
    assert!(like("abc", "a_c") && like("aXbXc", "a%b%c") && like("añc", "a_c") && like("", ""));
    assert!(!like("abc", "ab") && !like("abc", "_") && !like("", "_") && !like("ABC", "abc"));
    assert!(like("a%", "a%") && like("mississippi", "m%iss%pi") && !like("mississippi", "m%iss%px"));
}

#[test]
fn escapes_and_ignores_case() {
    let pattern = LikePattern::new("10!%%", Some('!'), false).unwrap();
    assert!(pattern.matches("10% off") && !pattern.matches("100"));
    assert_eq!(pattern.prefix(), "10%");
    assert!(LikePattern::new("x!", Some('!'), false).is_err());
    let pattern = LikePattern::new("Straß%", None, true).unwrap();
    assert!(pattern.matches("STRAßE"));
    assert_eq!(pattern.prefix(), "");
}

fn naive(pattern: &[char], text: &[char]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some(('%', rest)) => (0..=text.len()).any(|n| naive(rest, &text[n..])),
        Some(('_', rest)) => !text.is_empty() && naive(rest, &text[1..]),
        Some((c, rest)) => text.first() == Some(c) && naive(rest, &text[1..]),
    }
}

proptest! {
    #[test]
    fn agrees_with_the_definition(pattern in "[ab%_]{0,8}", text in "[ab]{0,10}") {
        let (p, t): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
        prop_assert_eq!(like(&text, &pattern), naive(&p, &t));
    }
}
