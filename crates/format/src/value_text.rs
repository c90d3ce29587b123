//! Values in messages.

use arrow::array::{Array, ArrayRef};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};

use crate::csv::moment_texts;

/// The text of a value for people: days and timestamps of any year, too.
///
/// # Errors
/// The arrow crate's, for values that have no text.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow::array::{ArrayRef, Date32Array};
/// let days: ArrayRef = Arc::new(Date32Array::from(vec![i32::MAX]));
/// assert_eq!(lakerace_format::value_text(&days, 0).unwrap(), "+5881580-07-11");
/// ```
pub fn value_text(array: &ArrayRef, row: usize) -> Result<String, ArrowError> {
    // By default, the arrow crate gives the error as the text.
    let options = FormatOptions::default().with_display_error(false);
    let text = ArrayFormatter::try_new(array, &options).and_then(|texts| texts.value(row).try_to_string());
    text.or_else(|error| {
        let texts = moment_texts(&array.slice(row, 1)).filter(|texts| texts.is_valid(0));
        texts.map(|texts| texts.value(0).to_owned()).ok_or(error)
    })
}
