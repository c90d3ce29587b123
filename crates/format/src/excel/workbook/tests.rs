#![allow(clippy::unwrap_used)]

use lakerace_io::ErrorKind;

use super::*;
use crate::excel::tests::{SampleWorkbook, number, row, text};

fn sheet(value: &str) -> String {
    row(1, &[&text("A1", value)])
}

fn choose(workbook: &SampleWorkbook, wanted: Option<&str>) -> Result<(String, Vec<String>)> {
    let job = Job::default();
    let chosen = OpenWorkbook::open(&workbook.bytes(), "book", &job)?.choose_sheet(wanted, &job)?;
    Ok((chosen, job.warnings()))
}

#[test]
fn cells_have_names() {
    for (position, name) in
        [((0, 0), "A1"), ((6, 1), "B7"), ((9, 25), "Z10"), ((0, 26), "AA1"), ((1_048_575, 16_383), "XFD1048576")]
    {
        assert_eq!(cell_name(position), name);
    }
}

#[test]
fn the_first_shown_sheet_is_read_and_others_are_named() {
    let hidden = SampleWorkbook::default().hidden_sheet("Old", "state=\"hidden\"", &sheet("x"));
    let workbook = hidden.clone().sheet("Orders", &sheet("a")).sheet("Empty", "");
    assert_eq!(choose(&workbook, None).unwrap(), ("Orders".to_owned(), vec![]));
    let (chosen, warnings) = choose(&workbook.clone().sheet("Items", &sheet("b")), None).unwrap();
    assert_eq!(chosen, "Orders");
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains("only the first sheet, \"Orders\", is read; \"Items\" has values, too"),
        "{warnings:?}"
    );
    // The only sheet is read though it is hidden.
    assert_eq!(choose(&hidden, None).unwrap().0, "Old");
    let error = choose(&SampleWorkbook::default().sheet("Cover", "").sheet("Items", &sheet("b")), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("\"Cover\", is empty; \"Items\" has values"), "{error}");
}

#[test]
fn a_sheet_is_found_by_name() {
    let workbook = SampleWorkbook::default().sheet("Orders", &sheet("a")).sheet("Items", &sheet("b"));
    for name in ["Items", "items", "ITEMS"] {
        assert_eq!(choose(&workbook, Some(name)).unwrap(), ("Items".to_owned(), vec![]));
    }
    let error = choose(&workbook, Some("Order")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let text = error.to_string();
    assert!(text.contains("did you mean \"Orders\"? the sheets are \"Orders\" and \"Items\""), "{text}");
}

#[test]
fn changed_bytes_are_errors_and_never_panics() {
    let rows = sheet("id") + &row(2, &[&number("A2", "1", 0), &number("B2", "45351", 1)]);
    let bytes = SampleWorkbook::new(&rows).bytes();
    let job = Job::default();
    let mut outcomes = [0, 0];
    for at in 0..bytes.len() {
        for bit in [0x01, 0x10, 0x80] {
            let mut changed = bytes.to_vec();
            changed[at] ^= bit;
            let read = OpenWorkbook::open(&Bytes::from(changed), "book", &job).and_then(|mut workbook| {
                let sheet = workbook.choose_sheet(None, &job)?;
                workbook.visit_cells(&sheet, &job, |_| Ok(()))
            });
            outcomes[usize::from(read.is_err())] += 1;
        }
    }
    // Changes of times and attributes in the archive's directory change nothing.
    assert!(outcomes[1] > outcomes[0], "{outcomes:?}");
}

#[test]
fn changed_xml_is_an_error_or_a_sheet_and_never_panics() {
    let moment = "<c r=\"C2\" t=\"d\"><v>2024-02-29T12:30</v></c>";
    let rows = sheet("id")
        + &row(2, &[&number("A2", "1", 0), &number("B2", "45351", 1), moment, &number("D2", " 0x1&#55;", 0)]);
    let parts = SampleWorkbook::new(&rows).shared(&["a"]).parts();
    let job = Job::default();
    let mut errors = 0;
    for (part, (_, xml)) in parts.iter().enumerate() {
        for at in 0..xml.len() {
            for byte in [b'<', b'"', b'9', b' '] {
                let mut changed = xml.clone().into_bytes();
                changed[at] = byte;
                let mut parts = parts.clone();
                parts[part].1 = String::from_utf8(changed).unwrap();
                let bytes = crate::excel::tests::archive(&parts);
                let read = OpenWorkbook::open(&bytes, "book", &job).and_then(|mut workbook| {
                    let sheet = workbook.choose_sheet(None, &job)?;
                    workbook.visit_cells(&sheet, &job, |_| Ok(()))
                });
                errors += u32::from(read.is_err());
            }
        }
    }
    assert!(errors > 100, "{errors}");
}

#[test]
fn a_style_that_the_workbook_lacks_is_damage() {
    let read = |workbook: &SampleWorkbook, has_styles: bool| {
        let mut parts = workbook.parts();
        parts.retain(|(name, _)| has_styles || name != "xl/styles.xml");
        let mut workbook = OpenWorkbook::open(&crate::excel::tests::archive(&parts), "book", &Job::default())?;
        workbook.visit_cells("Sheet1", &Job::default(), |_| Ok(()))
    };
    let dates = SampleWorkbook::new(&(row(1, &[&text("A1", "day")]) + &row(2, &[&number("A2", "45351", 1)])));
    assert!(read(&dates, true).is_ok());
    // Without its style, the day would be a number.
    let lost = SampleWorkbook::new(&row(1, &[&number("A1", "45351", 99)]));
    for (workbook, has_styles, place) in [(&dates, false, "cell A2"), (&lost, true, "cell A1")] {
        let error = read(workbook, has_styles).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(error.to_string().contains(place) && error.advice_text().is_some(), "{error}");
    }
    let plain = SampleWorkbook::new(&row(1, &[&number("A1", "45351", 0)]));
    assert!(read(&plain, false).is_ok());
}
