//! XML of the parts of a workbook.

use std::io::BufRead;

use lakerace_io::Error;
use quick_xml::Reader;

/// A reader with the settings of calamine's.
pub(super) fn xml_reader<R: BufRead>(xml: R) -> Reader<R> {
    let mut reader = Reader::from_reader(xml);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.check_comments = false;
    config.expand_empty_elements = true;
    reader
}

/// The error of a part.
pub(super) fn broken_part(name: &str, why: &str) -> Error {
    Error::corrupt(format!("the part {name:?} of the workbook is damaged: {why}"))
        .advice("download or create the file again")
}
