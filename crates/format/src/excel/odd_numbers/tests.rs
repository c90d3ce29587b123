#![allow(clippy::unwrap_used)]

use super::*;

fn mended(xml: &str) -> String {
    let job = Job::default();
    let mut out = Vec::new();
    mend("part", xml.as_bytes(), &mut out, &job).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(has_odd_numbers(xml.as_bytes(), &job).unwrap(), text != xml, "{xml}");
    // What is mended stays.
    assert!(!has_odd_numbers(text.as_bytes(), &job).unwrap(), "{text}");
    text
}

#[test]
fn numbers_become_plain_and_others_get_a_mark() {
    let odd = |text: &str| format!("<c r=\"A1\" s=\"1\" t=\"d\"><v>number:{text}</v></c>");
    let plain = |text: &str| format!("<c r=\"A1\" s=\"1\"><v>{text}</v></c>");
    let cases = [
        ("7", plain("7")),
        ("-7.5E-10", plain("-7.5E-10")),
        ("1e300", plain("1e300")),
        (" 7\n", plain("7")),
        ("+7", plain("7")),
        ("  ", "<c r=\"A1\" s=\"1\"><v></v></c>".to_owned()),
        ("&#55;", plain("7")),
        ("<![CDATA[7]]>", plain("7")),
        ("0x10", odd("0x10")),
        ("NaN", odd("NaN")),
        ("INF", odd("INF")),
        ("-inf", odd("-inf")),
        ("1e999", odd("1e999")),
        ("1.2.3", odd("1.2.3")),
        ("1,5", odd("1,5")),
        ("&lt;1", odd("&amp;lt;1")),
    ];
    for (text, expected) in cases {
        assert_eq!(mended(&plain(text)), expected);
        let flagged = may_be_odd(plain(text).as_bytes());
        assert!(flagged || expected == plain(text), "{text}");
        let typed = plain(text).replace("><v", " t=\"n\"><v");
        assert_eq!(mended(&typed).replace(" t=\"n\"", ""), expected);
    }
}

#[test]
fn other_cells_stay_as_they_are() {
    for xml in [
        "<c t=\"str\"><f>A1</f><v>0x10</v></c>",
        "<c t=\"b\"><v>true</v></c>",
        "<c t=\"e\"><v>#N/A</v></c>",
        "<c t=\"inlineStr\"><is><t> 7 </t></is></c>",
        "<c t=\"s\"><v>0</v></c>",
        "<x:c r=\"A1\"><x:f>1+1</x:f></x:c>",
        "<pt><v>text</v></pt>",
        "<?xml version=\"1.0\"?><!-- a --><a b='1'>&amp;</a>",
        "<c><v>x",
    ] {
        assert_eq!(mended(xml), xml);
    }
    assert_eq!(mended("<c t=\"s\"><v> 3 </v></c>"), "<c t=\"s\"><v>3</v></c>");
    assert_eq!(mended("<x:c t=\"s\"><x:v>x</x:v></x:c>"), "<x:c t=\"d\"><x:v>number:x</x:v></x:c>");
}

#[test]
fn plain_sheets_are_not_read_twice() {
    for (xml, flagged) in [
        ("<v>1</v><v>-0.5</v><v>1E-5</v><x:v>12</x:v>", false),
        ("<v>1", false),
        ("<v", false),
        ("<xmlns:v=\"x\"><v:shape>", false),
        ("<v></v>", true),
        ("<v>text</v>", true),
        ("<x:v>0x1</x:v>", true),
        ("<v xml:space=\"preserve\">1</v>", true),
        ("<v>1e-300</v>", true),
        ("<v>1234567890123456789012345678901234567890123</v>", true),
        ("<v>1234567890123456789012345678901234567890123", true),
    ] {
        assert_eq!(may_be_odd(xml.as_bytes()), flagged, "{xml}");
    }
}
