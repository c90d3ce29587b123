#![allow(clippy::unwrap_used)]

use lakerace_io::ErrorKind;

use super::*;
use crate::excel::tests::{SampleWorkbook, archive, number, row, text};

fn sample() -> SampleWorkbook {
    SampleWorkbook::new(&(row(1, &[&text("A1", "id")]) + &row(2, &[&number("A2", "1", 0)]))).shared(&["a", "b"])
}

fn check(bytes: &Bytes, limits: &PackageLimits) -> Result<bool> {
    check_package(bytes, limits, &Job::default()).map(|package| package.has_formulas)
}

/// The error of a sample one of whose parts is another one.
fn error_with(name: &str, change: impl Fn(&str) -> String, limits: &PackageLimits) -> Error {
    let mut parts = sample().parts();
    parts.iter_mut().filter(|part| part.0 == name).for_each(|part| part.1 = change(&part.1));
    check(&archive(&parts), limits).unwrap_err()
}

#[test]
fn formulas_are_seen_with_any_prefix() {
    assert!(!check(&sample().bytes(), &PackageLimits::default()).unwrap());
    for cell in ["<c r=\"A1\"><f>1+1</f></c>", "<x:c r=\"A1\"><x:f>1+1</x:f></x:c>"] {
        // The tag is cut between two steps at some length of the padding.
        for padding in [0, 1, STEP_BYTES - 200, STEP_BYTES - 150, STEP_BYTES - 130, STEP_BYTES - 100] {
            let rows = format!("{}{cell}", " ".repeat(padding));
            assert!(check(&SampleWorkbook::new(&rows).bytes(), &PackageLimits::default()).unwrap(), "{cell} {padding}");
        }
    }
}

#[test]
fn large_parts_are_refused_before_they_are_unpacked() {
    let small = PackageLimits {
        sheet_bytes: 300,
        text_bytes: 200,
        list_bytes: 2000,
        total_bytes: 5000,
        ..PackageLimits::default()
    };
    assert!(check(&sample().bytes(), &small).is_ok());
    let long = |text: &str| format!("{text}{}", " ".repeat(3000));
    for (name, limit) in [
        ("xl/worksheets/sheet1.xml", "300 bytes"),
        ("xl/sharedStrings.xml", "200 bytes"),
        ("xl/styles.xml", "2000 bytes"),
        ("xl/_rels/workbook.xml.rels", "2000 bytes"),
    ] {
        let error = error_with(name, long, &small);
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains(name) && error.to_string().contains(limit), "{error}");
    }
    let total = PackageLimits { total_bytes: 1000, ..PackageLimits::default() };
    assert!(
        check(&sample().bytes(), &total).unwrap_err().to_string().contains("the workbook has more than 1000 bytes")
    );
}

#[test]
fn a_part_that_is_longer_than_stated_is_damaged() {
    let bytes = sample().bytes();
    let size = sample().parts().iter().find(|part| part.0 == "xl/styles.xml").unwrap().1.len() as u32;
    // The sizes of the archive's directory are those that count.
    let places: Vec<usize> = memchr::memmem::find_iter(&bytes, &size.to_le_bytes()).collect();
    assert!(!places.is_empty());
    for stated in [size - 1, size + 1] {
        let mut changed = bytes.to_vec();
        places.iter().for_each(|at| changed[*at..*at + 4].copy_from_slice(&stated.to_le_bytes()));
        let error = check(&Bytes::from(changed), &PackageLimits::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{stated}");
        assert!(error.to_string().contains("xl/styles.xml"), "{error}");
    }
}

#[test]
fn counts_that_would_reserve_memory_are_refused() {
    let limits = PackageLimits::default();
    for count in ["99999999999", "99999999999999999999999", "+1000000", "1000"] {
        let lie = |text: &str| text.replace("uniqueCount=\"2\"", &format!("uniqueCount=\"{count}\""));
        let error = error_with("xl/sharedStrings.xml", lie, &limits);
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{count}");
        assert!(error.to_string().contains("more texts than it can have"), "{error}");
    }
    let long_name = format!("<fonts><font><name val=\"{}\"/></font></fonts><cellXfs", "A".repeat(1 << 20));
    let many =
        |text: &str| text.replace("<cellXfs", &long_name).replace("</cellXfs>", &("<xf/>".repeat(1000) + "</cellXfs>"));
    let error = error_with("xl/styles.xml", many, &limits);
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("too many styles"), "{error}");
}

#[test]
fn other_files_say_what_to_do() {
    let part = |name: &str| (name.to_owned(), String::new());
    let packed = |names: &[&str]| archive(&names.iter().map(|name| part(name)).collect::<Vec<_>>());
    let mut encrypted = COMPOUND_FILE_MAGIC.to_vec();
    encrypted.extend("EncryptedPackage".encode_utf16().flat_map(u16::to_le_bytes));
    let cases = [
        (Bytes::new(), "the file is empty", ErrorKind::Invalid),
        (Bytes::from_static(b"id,name\n"), "not an Excel workbook", ErrorKind::Invalid),
        (Bytes::from_static(COMPOUND_FILE_MAGIC), "(.xls), which is not supported", ErrorKind::Unsupported),
        (Bytes::from(encrypted), "encrypted by a password", ErrorKind::Unsupported),
        (packed(&["xl/workbook.bin"]), "(.xlsb), which is not supported", ErrorKind::Unsupported),
        (packed(&["mimetype", "content.xml"]), "(.ods), which is not supported", ErrorKind::Unsupported),
        (packed(&["[Content_Types].xml", "word/document.xml"]), "has no xl/workbook.xml", ErrorKind::Invalid),
    ];
    for (bytes, message, kind) in cases {
        let error = check(&bytes, &PackageLimits::default()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn truncated_archives_are_damaged_at_each_length() {
    let bytes = sample().bytes();
    for length in 2..bytes.len() {
        let error = check(&bytes.slice(..length), &PackageLimits::default()).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported), "{length}: {error}");
    }
}

#[test]
fn parts_in_other_encodings_are_decoded() {
    let wide = |text: &str| -> Vec<u8> {
        let text = format!("\u{feff}<?xml version=\"1.0\" encoding=\"UTF-16\"?>{text}");
        text.encode_utf16().flat_map(u16::to_be_bytes).collect()
    };
    let named = |label: &str, text: &str| format!("<?xml version=\"1.0\" encoding=\"{label}\"?>{text}").into_bytes();
    let with = |encode: &dyn Fn(&str) -> Vec<u8>, workbook: &SampleWorkbook| {
        archive(&workbook.parts().into_iter().map(|(name, text)| (name, encode(&text))).collect::<Vec<_>>())
    };
    let formula = SampleWorkbook::new("<c r=\"A1\"><f>1+1</f></c>");
    let limits = PackageLimits::default();
    for encode in [&wide as &dyn Fn(&str) -> Vec<u8>, &|text| named("ISO-8859-1", text)] {
        assert!(!check(&with(encode, &sample()), &limits).unwrap());
        assert!(check(&with(encode, &formula), &limits).unwrap());
        // Counts are looked at in the decoded text.
        let lie = |text: &str| encode(&text.replace("uniqueCount=\"2\"", "uniqueCount=\"99999999\""));
        let error = check(&with(&lie, &sample()), &limits).unwrap_err();
        assert!(error.to_string().contains("more texts than it can have"), "{error}");
    }
    let error = check(&with(&|text| named("EBCDIC", text), &sample()), &limits).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("has the encoding \"EBCDIC\" (open it in Excel"), "{error}");
    let cut = |text: &str| wide(text)[..wide(text).len() - 1].to_vec();
    let error = check(&with(&cut, &sample()), &limits).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("it is not in its encoding UTF-16BE"), "{error}");
}

#[test]
fn odd_numbers_are_found_between_steps() {
    let job = Job::default();
    for padding in [0, 1, STEP_BYTES - 200, STEP_BYTES - 150, STEP_BYTES - 140, STEP_BYTES - 120, STEP_BYTES - 100] {
        let rows = format!("{}<c r=\"A1\"><v>0x10</v></c>", " ".repeat(padding));
        let bytes = SampleWorkbook::new(&rows).bytes();
        let package = check_package(&bytes, &PackageLimits::default(), &job).unwrap();
        assert_ne!(package.bytes, bytes, "{padding}");
        let again = check_package(&package.bytes, &PackageLimits::default(), &job).unwrap();
        assert_eq!(again.bytes, package.bytes, "{padding}");
    }
    let bytes = sample().bytes();
    assert_eq!(check_package(&bytes, &PackageLimits::default(), &job).unwrap().bytes, bytes);
}
