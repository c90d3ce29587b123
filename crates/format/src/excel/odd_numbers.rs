//! Cells with numbers that calamine does not read as such: they are found, and written in a form that it reads.
//!
//! calamine makes the text of `<v>0x10</v>` a text and of `<v>NaN</v>` a number, keeps blanks, and leaves out references to
//! characters. Numbers among these become plain; the others become cells of moments with [`ODD_NUMBER`], which nothing
//! else makes.

use std::io::{BufRead, Write};

use lakerace_io::{Job, Result};
use quick_xml::events::{BytesStart, BytesText, Event};
use quick_xml::{Reader, Writer};

use super::xml_parts::{broken_part, xml_reader};

/// The start of the text of a cell whose number is none.
pub(super) const ODD_NUMBER: &str = "number:";

/// Bytes of the longest number that is plain.
pub(super) const PLAIN_BYTES: usize = 40;

/// Events of a cell at most. One with more is no number.
const CELL_EVENTS: usize = 20_000;

/// Events between two looks at the job.
const EVENTS_OF_STEP: u64 = 65_536;

/// Returns true if a piece of a part may have a cell with an odd number. Numbers that the end cuts are left out.
pub(super) fn may_be_odd(xml: &[u8]) -> bool {
    let starts = memchr::memmem::find_iter(xml, b"<v").chain(memchr::memmem::find_iter(xml, b":v"));
    for start in starts {
        let after = &xml[start + 2..];
        match after.first() {
            Some(b'>') => {}
            Some(b' ' | b'\t' | b'\r' | b'\n') => return true,
            _ => continue,
        }
        let text = &after[1..];
        match memchr::memchr(b'<', text) {
            Some(end) if is_plain(&text[..end]) => {}
            None if text.len() <= PLAIN_BYTES => {}
            _ => return true,
        }
    }
    false
}

/// Returns true for numbers that all readers take, and that have no more than two digits of an exponent.
fn is_plain(text: &[u8]) -> bool {
    let are_digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let (number, exponent) = match memchr::memchr2(b'e', b'E', text) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let (whole, fraction) = match memchr::memchr(b'.', number) {
        Some(at) => (&number[..at], Some(&number[at + 1..])),
        None => (number, None),
    };
    let is_small = |exponent: &[u8]| {
        let digits = exponent.strip_prefix(b"-").or_else(|| exponent.strip_prefix(b"+")).unwrap_or(exponent);
        digits.len() <= 2 && are_digits(digits)
    };
    text.len() <= PLAIN_BYTES && are_digits(whole) && fraction.is_none_or(are_digits) && exponent.is_none_or(is_small)
}

/// A verdict on the text of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
enum NumberJudgement {
    /// It stays.
    Plain,
    /// It is this number.
    Number(String),
    /// It is no number.
    Odd,
}

/// Judges the text of a cell with a number, or with the number of a shared text. `is_simple`: the part has this text without escapes.
fn judge(text: &str, is_shared: bool, is_simple: bool) -> NumberJudgement {
    let trimmed = text.trim_matches([' ', '\t', '\r', '\n']);
    let is_number = if is_shared {
        trimmed.bytes().all(|byte| byte.is_ascii_digit())
    } else {
        let characters = trimmed.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
        trimmed.is_empty() || characters && trimmed.parse::<f64>().is_ok_and(f64::is_finite)
    };
    let plain = trimmed.strip_prefix('+').unwrap_or(trimmed);
    match is_number {
        true if is_simple && plain == text => NumberJudgement::Plain,
        true => NumberJudgement::Number(plain.to_owned()),
        false => NumberJudgement::Odd,
    }
}

/// The events of a cell with a number, up to its end.
struct NumberCell {
    events: Vec<Event<'static>>,
    is_shared: bool,
}

impl NumberCell {
    /// The positions of its value's events, without the tags; the judgement of them, and the text.
    fn judged(&self) -> Option<(std::ops::Range<usize>, NumberJudgement, String)> {
        let is_start = |event: &Event<'_>| matches!(event, Event::Start(tag) if tag.local_name().as_ref() == "v");
        let is_end = |event: &Event<'_>| matches!(event, Event::End(tag) if tag.local_name().as_ref() == "v");
        let start = self.events.iter().position(is_start)? + 1;
        let end = start + self.events[start..].iter().position(is_end)?;
        let mut text = String::new();
        for event in &self.events[start..end] {
            match event {
                Event::Text(part) => text.push_str(&part.xml10_content()),
                Event::CData(part) => text.push_str(&part.xml10_content()),
                Event::GeneralRef(name) => match name.resolve_char_ref() {
                    Ok(Some(character)) => text.push(character),
                    _ => text.extend(["&", &name.xml10_content(), ";"]),
                },
                _ => {}
            }
        }
        let is_simple = matches!(&self.events[start..end], [] | [Event::Text(_)]);
        let judgement = judge(&text, self.is_shared, is_simple);
        Some((start..end, judgement, text))
    }

    /// The events of the cell as calamine reads it.
    fn mended(mut self) -> Vec<Event<'static>> {
        let (value, text) = match self.judged() {
            None | Some((_, NumberJudgement::Plain, _)) => return self.events,
            Some((value, NumberJudgement::Number(number), _)) => (value, number),
            Some((value, NumberJudgement::Odd, text)) => {
                if let Some(Event::Start(cell)) = self.events.first_mut() {
                    *cell = with_type_of_moments(cell);
                }
                (value, format!("{ODD_NUMBER}{text}"))
            }
        };
        let text = (!text.is_empty()).then(|| Event::Text(BytesText::new(&text).into_owned()));
        self.events.splice(value, text);
        self.events
    }
}

/// The tag of a cell, with another type.
fn with_type_of_moments(cell: &BytesStart<'_>) -> BytesStart<'static> {
    let mut changed = cell.to_owned();
    changed.clear_attributes();
    for attribute in cell.attributes().with_checks(false).flatten() {
        if attribute.key.as_ref() != "t" {
            changed.push_attribute(attribute);
        }
    }
    changed.push_attribute(("t", "d"));
    changed
}

/// A cell with a number, or another event.
enum XmlPiece {
    Cell(NumberCell),
    /// Events that are copied unchanged.
    Others(Vec<Event<'static>>),
}

/// The next events; `None` at the end.
fn next_piece<R: BufRead>(reader: &mut Reader<R>, buffer: &mut Vec<u8>) -> quick_xml::Result<Option<XmlPiece>> {
    buffer.clear();
    let event = reader.read_event_into(buffer)?.into_owned();
    let Event::Start(cell) = &event else {
        return Ok(if matches!(event, Event::Eof) { None } else { Some(XmlPiece::Others(vec![event])) });
    };
    if cell.local_name().as_ref() != "c" {
        return Ok(Some(XmlPiece::Others(vec![event])));
    }
    // Checks for duplicates would take a time that is quadratic in the attributes.
    let type_name = cell.attributes().with_checks(false).flatten().find(|attribute| attribute.key.as_ref() == "t");
    let is_shared = match type_name.as_ref().map(|attribute| attribute.value.as_ref()) {
        None | Some("n") => false,
        Some("s") => true,
        Some(_) => return Ok(Some(XmlPiece::Others(vec![event]))),
    };
    let mut events = vec![event];
    while events.len() < CELL_EVENTS {
        buffer.clear();
        let event = reader.read_event_into(buffer)?.into_owned();
        if matches!(event, Event::Eof) {
            return Ok(Some(XmlPiece::Others(events)));
        }
        let is_end = matches!(&event, Event::End(tag) if tag.local_name().as_ref() == "c");
        events.push(event);
        if is_end {
            return Ok(Some(XmlPiece::Cell(NumberCell { events, is_shared })));
        }
    }
    Ok(Some(XmlPiece::Others(events)))
}

/// Returns true if a part has a cell that [`mend`] changes. Damage is left to the reader of the sheet.
pub(super) fn has_odd_numbers(xml: impl BufRead, job: &Job) -> Result<bool> {
    let (mut reader, mut buffer, mut seen) = (xml_reader(xml), Vec::new(), 0u64);
    while let Ok(Some(piece)) = next_piece(&mut reader, &mut buffer) {
        seen += 1;
        if seen.is_multiple_of(EVENTS_OF_STEP) {
            job.check()?;
        }
        if let XmlPiece::Cell(cell) = piece
            && cell.judged().is_some_and(|(_, judgement, _)| judgement != NumberJudgement::Plain)
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Copies a part, with all numbers in a form that calamine reads.
///
/// # Errors
/// `Corrupt` for damaged XML; those of the writer.
pub(super) fn mend(name: &str, xml: impl BufRead, out: impl Write, job: &Job) -> Result<()> {
    let (mut reader, mut buffer, mut seen) = (xml_reader(xml), Vec::new(), 0u64);
    let mut writer = Writer::new(out);
    while let Some(piece) =
        next_piece(&mut reader, &mut buffer).map_err(|error| broken_part(name, &error.to_string()))?
    {
        seen += 1;
        if seen.is_multiple_of(EVENTS_OF_STEP) {
            job.check()?;
        }
        let events = match piece {
            XmlPiece::Cell(cell) => cell.mended(),
            XmlPiece::Others(events) => events,
        };
        for event in events {
            writer.write_event(event).map_err(|error| broken_part(name, &error.to_string()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
