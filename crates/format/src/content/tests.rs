#![allow(clippy::unwrap_used)]

use std::io::Write;

use super::DetectedContent;

use crate::{ARROW_IPC, CSV, EXCEL, JSON, JSON_LINES, ORC, PARQUET};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(text).unwrap();
    packer.finish().unwrap()
}

fn bzip2(text: &[u8]) -> Vec<u8> {
    let mut packer = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    packer.write_all(text).unwrap();
    packer.finish().unwrap()
}

fn xz(text: &[u8]) -> Vec<u8> {
    let mut packer = liblzma::write::XzEncoder::new(Vec::new(), 0);
    packer.write_all(text).unwrap();
    packer.finish().unwrap()
}

/// Each text plain and packed, with a byte order mark and blank lines in front.
fn everywhere(text: &[u8]) -> Vec<Vec<u8>> {
    let fronts: [&[u8]; 5] = [b"", b"\xef\xbb\xbf", b"\n", b"\r\n \t\n", b"\xef\xbb\xbf\n"];
    let texts = fronts.map(|front| [front, text].concat());
    texts
        .into_iter()
        .flat_map(|text| [gzip(&text), bzip2(&text), xz(&text), zstd::bulk::compress(&text, 3).unwrap(), text])
        .collect()
}

#[test]
fn text_is_told_by_its_content_however_it_is_packed() {
    let cases: [(&[u8], DetectedContent); 8] = [
        (b"{\"id\":1}\n{\"id\":2}\n", DetectedContent::Known(&JSON_LINES)),
        (b"{", DetectedContent::Known(&JSON_LINES)),
        (b"[{\"id\":1},\n{\"id\":2}]\n", DetectedContent::Known(&JSON)),
        (b"[\n  {\"id\":1}]", DetectedContent::Known(&JSON)),
        (b"[]", DetectedContent::Known(&JSON)),
        (b"[1,2]", DetectedContent::Known(&JSON)),
        (b"[id],[name]\n1,a\n", DetectedContent::Text),
        (b"id,name\n1,a\n", DetectedContent::Text),
    ];
    for (text, content) in cases {
        for bytes in everywhere(text) {
            assert_eq!(DetectedContent::detect(&bytes), content, "{:?}", String::from_utf8_lossy(&bytes));
        }
    }
}

#[test]
fn text_with_several_byte_order_marks_is_told_by_what_follows() {
    for marks in 2..5 {
        let front = b"\xef\xbb\xbf".repeat(marks);
        let of = |text: &[u8]| DetectedContent::detect(&[&front, text].concat());
        assert_eq!(of(b"{\"id\":1}\n"), DetectedContent::Known(&JSON_LINES), "{marks}");
        assert_eq!(of(b"[{\"id\":1}]"), DetectedContent::Known(&JSON), "{marks}");
        assert_eq!(of(b"id,name\n"), DetectedContent::Text, "{marks}");
        assert_eq!(of(b""), DetectedContent::Unclear, "{marks}");
    }
}

#[test]
fn files_and_packings_are_told_by_their_marks() {
    let cases: [(&[u8], DetectedContent); 9] = [
        (b"PAR1...", DetectedContent::Known(&PARQUET)),
        (b"ORC...", DetectedContent::Known(&ORC)),
        (b"ARROW1\0\0", DetectedContent::Known(&ARROW_IPC)),
        (b"\xff\xff\xff\xff\x10\0\0\0", DetectedContent::Known(&ARROW_IPC)),
        (b"\x04\x22\x4d\x18", DetectedContent::Packed("lz4")),
        (b"BZh91,a\n", DetectedContent::Text),
        (b"", DetectedContent::Unclear),
        (b" \n", DetectedContent::Unclear),
        (b"\x01\0\x02", DetectedContent::Unknown),
    ];
    for (bytes, content) in cases {
        assert_eq!(DetectedContent::detect(bytes), content, "{bytes:?}");
    }
    for packed in [gzip(b"PAR1..."), bzip2(b"PAR1..."), xz(b"PAR1...")] {
        assert_eq!(DetectedContent::detect(&packed), DetectedContent::PackedFile(&PARQUET));
    }
    let zipped = |name: &str| {
        let mut header = b"PK\x03\x04".to_vec();
        header.resize(26, 0);
        header.extend((name.len() as u16).to_le_bytes());
        header.extend([0, 0]);
        header.extend(name.as_bytes());
        DetectedContent::detect(&header)
    };
    assert_eq!(zipped("a/rows.csv"), DetectedContent::Known(&CSV));
    assert_eq!(zipped("rows.parquet"), DetectedContent::PackedFile(&PARQUET));
    for part in ["[Content_Types].xml", "_rels/.rels", "docProps/app.xml", "xl/workbook.xml", "mimetype"] {
        assert_eq!(zipped(part), DetectedContent::Known(&EXCEL));
    }
    assert_eq!(zipped("xl/rows.csv"), DetectedContent::Known(&CSV));
    assert_eq!(zipped("rows.xlsx"), DetectedContent::PackedFile(&EXCEL));
    assert_eq!(zipped("rows.dat"), DetectedContent::Archive);
    // A block that is cut short tells nothing yet.
    let packed = zstd::bulk::compress(&b"{\"id\":1}\n".repeat(1000), 3).unwrap();
    assert_eq!(DetectedContent::detect(&packed[..8]), DetectedContent::Unclear);
}

#[test]
fn marks_that_frames_of_zstd_cut_are_told_by_more_bytes() {
    let lines = b"{\"id\":1}\n".repeat(30_000);
    let marked = [b"\xef\xbb\xbf", &lines[..]].concat();
    let array = [b"[ ", &lines[..]].concat();
    let texts = [
        (&lines, DetectedContent::Known(&JSON_LINES)),
        (&marked, DetectedContent::Known(&JSON_LINES)),
        (&array, DetectedContent::Known(&JSON)),
    ];
    for (text, content) in texts {
        for cut in 1..8 {
            let frames = [&text[..cut], &text[cut..]].map(|part| zstd::bulk::compress(part, 3).unwrap());
            // The front ends within the second frame.
            let told = DetectedContent::detect(&frames.concat()[..frames[0].len() + 12]);
            assert!(told == DetectedContent::Unclear || told == content, "{told:?} by {cut} bytes");
            assert_eq!(DetectedContent::detect(&frames.concat()), content, "{cut} bytes");
        }
    }
}

#[test]
fn blanks_and_skipped_frames_in_front_of_packed_text_are_passed() {
    let blanks = b"\n".repeat(70_000);
    for front in [&b""[..], b"\xef\xbb\xbf"] {
        let text = [front, &blanks, b"{\"id\":1}\n"].concat();
        for packed in [gzip(&text), zstd::bulk::compress(&text, 3).unwrap()] {
            assert_eq!(DetectedContent::detect(&packed), DetectedContent::Known(&JSON_LINES));
        }
    }
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 7, 7];
    let text = zstd::bulk::compress(b"{\"id\":1}\n", 3).unwrap();
    assert_eq!(DetectedContent::detect(&[&skipped[..], &text].concat()), DetectedContent::Known(&JSON_LINES));
}

#[test]
fn what_is_no_rows_is_refused_with_advice() {
    assert_eq!(DetectedContent::Text.format(Some(&CSV)).unwrap(), &CSV);
    for (content, word) in [
        (DetectedContent::Text, "`input_format`"),
        (DetectedContent::Unclear, "empty"),
        (DetectedContent::Archive, "`input_format`"),
        (DetectedContent::Packed("lz4"), "lz4"),
        (DetectedContent::PackedFile(&ORC), "ORC"),
        (DetectedContent::Unknown, "`input_format`"),
    ] {
        let error = content.format(None).unwrap_err();
        let text = format!("{error} {}", error.advice_text().unwrap_or_default());
        assert!(text.contains(word), "{text}");
    }
}
