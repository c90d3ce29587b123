//! Workbooks for tests, from the XML of their sheets.
#![allow(clippy::unwrap_used)]

use std::io::{Cursor, Write};

use bytes::Bytes;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The namespaces of the parts.
const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const DOCUMENT: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006/relationships";

/// The parts of a workbook.
#[derive(Debug, Clone, Default)]
pub(super) struct SampleWorkbook {
    /// Names of sheets, the rest of their elements' attributes, and the rows.
    sheets: Vec<(String, String, String)>,
    shared_texts: Vec<String>,
    is_1904: bool,
}

impl SampleWorkbook {
    /// A workbook with one sheet of these rows.
    pub fn new(rows: &str) -> Self {
        Self::default().sheet("Sheet1", rows)
    }

    /// With another sheet.
    pub fn sheet(self, name: &str, rows: &str) -> Self {
        self.hidden_sheet(name, "", rows)
    }

    /// With another sheet, whose element has these attributes.
    pub fn hidden_sheet(mut self, name: &str, attributes: &str, rows: &str) -> Self {
        self.sheets.push((name.to_owned(), attributes.to_owned(), rows.to_owned()));
        self
    }

    /// With texts that cells refer to by number.
    pub fn shared(mut self, texts: &[&str]) -> Self {
        self.shared_texts = texts.iter().map(|text| (*text).to_owned()).collect();
        self
    }

    /// With dates that count from 1904.
    pub fn since_1904(mut self) -> Self {
        self.is_1904 = true;
        self
    }

    /// The names and contents of its parts.
    pub fn parts(&self) -> Vec<(String, String)> {
        let part = |name: &str, text: String| (name.to_owned(), text);
        let numbered = || (1..).zip(&self.sheets);
        let sheets: String = numbered()
            .map(|(n, (name, attributes, _))| {
                format!(r#"<sheet name="{name}" sheetId="{n}" r:id="rId{n}" {attributes}/>"#)
            })
            .collect();
        let ids: String = numbered()
            .map(|(n, _)| {
                format!(r#"<Relationship Id="rId{n}" Type="{DOCUMENT}/worksheet" Target="worksheets/sheet{n}.xml"/>"#)
            })
            .collect();
        let texts: String = self.shared_texts.iter().map(|text| format!("<si><t>{text}</t></si>")).collect();
        let count = self.shared_texts.len();
        let mut parts = vec![
            part(
                "_rels/.rels",
                format!(
                    r#"<Relationships xmlns="{PACKAGE}"><Relationship Id="r" Type="{DOCUMENT}/officeDocument" Target="xl/workbook.xml"/></Relationships>"#
                ),
            ),
            part(
                "xl/workbook.xml",
                format!(
                    r#"<workbook xmlns="{MAIN}" xmlns:r="{DOCUMENT}"><workbookPr date1904="{}"/><sheets>{sheets}</sheets></workbook>"#,
                    u8::from(self.is_1904)
                ),
            ),
            part("xl/_rels/workbook.xml.rels", format!(r#"<Relationships xmlns="{PACKAGE}">{ids}</Relationships>"#)),
            part(
                "xl/sharedStrings.xml",
                format!(r#"<sst xmlns="{MAIN}" count="{count}" uniqueCount="{count}">{texts}</sst>"#),
            ),
            part("xl/styles.xml", styles()),
        ];
        parts.extend(numbered().map(|(n, (_, _, rows))| {
            let xml = format!(r#"<worksheet xmlns="{MAIN}"><sheetData>{rows}</sheetData></worksheet>"#);
            (format!("xl/worksheets/sheet{n}.xml"), xml)
        }));
        parts
    }

    /// The file.
    pub fn bytes(&self) -> Bytes {
        archive(&self.parts())
    }
}

/// The number formats of cells, by their style.
pub(super) const STYLES: [&str; 5] = ["General", "yyyy-mm-dd", "yyyy-mm-dd h:mm", "h:mm:ss", "[h]:mm:ss"];

fn styles() -> String {
    let formats: String =
        (164..).zip(STYLES).map(|(id, code)| format!(r#"<numFmt numFmtId="{id}" formatCode="{code}"/>"#)).collect();
    let cells: String = (164..).zip(STYLES).map(|(id, _)| format!(r#"<xf numFmtId="{id}"/>"#)).collect();
    format!(r#"<styleSheet xmlns="{MAIN}"><numFmts>{formats}</numFmts><cellXfs>{cells}</cellXfs></styleSheet>"#)
}

/// A zip archive of these parts.
pub(super) fn archive(parts: &[(String, impl AsRef<[u8]>)]) -> Bytes {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, content) in parts {
        writer.start_file(name.as_str(), options).unwrap();
        writer.write_all(content.as_ref()).unwrap();
    }
    Bytes::from(writer.finish().unwrap().into_inner())
}

/// A row of cells, from their XML.
pub(super) fn row(number: u32, cells: &[&str]) -> String {
    format!(r#"<row r="{number}">{}</row>"#, cells.concat())
}

/// A cell with a text.
pub(super) fn text(name: &str, text: &str) -> String {
    format!(r#"<c r="{name}" t="inlineStr"><is><t>{text}</t></is></c>"#)
}

/// A cell with a number, in one of [`STYLES`].
pub(super) fn number(name: &str, value: &str, style: usize) -> String {
    format!(r#"<c r="{name}" s="{style}"><v>{value}</v></c>"#)
}
