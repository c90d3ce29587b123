//! Errors of damaged pages.

use lakerace_io::Error;

/// The error for values that go beyond the page's bytes.
pub(crate) fn page_ends() -> Error {
    Error::corrupt("a page ends before its values do")
}
