use super::*;

#[test]
fn orders_texts_by_their_bytes() {
    let texts = ["b", "", "a\0", "a", "abcdefgh", "abcdefghi", "ß", "漢字", "abcdefgh\0"];
    let mut sorted = texts;
    sorted.sort_unstable();
    for first in texts {
        let mut bounds = TextBounds::new(first.as_bytes());
        texts.iter().for_each(|text| bounds.add(text.as_bytes()));
        assert_eq!(bounds.min, sorted[0].as_bytes());
        assert_eq!(bounds.max, sorted[8].as_bytes());
        let wire = bounds.to_proto();
        assert_eq!((wire.minimum, wire.maximum), (Some(bounds.min), Some(bounds.max)));
    }
}

#[test]
fn long_texts_become_bounds() {
    // The 1,024th byte is the middle of a character.
    let long = format!("{}ßx{}", "z".repeat(1023), "y".repeat(100));
    let wire = TextBounds::new(long.as_bytes()).to_proto();
    assert_eq!((wire.minimum, wire.maximum), (None, None));
    assert_eq!(wire.lower_bound, Some("z".repeat(1023).into_bytes()));
    assert_eq!(wire.upper_bound, Some(format!("{}{{", "z".repeat(1022)).into_bytes()));
}

#[test]
fn bounds_step_over_the_last_characters() {
    assert_eq!(above("a\u{10ffff}".as_bytes()), Some(b"b".to_vec()));
    assert_eq!(above("\u{10ffff}".as_bytes()), None);
    assert_eq!(above("\u{d7ff}".as_bytes()), Some("\u{e000}".as_bytes().to_vec()));
    assert_eq!(above("\u{7f}".as_bytes()), Some("\u{80}".as_bytes().to_vec()));
}
