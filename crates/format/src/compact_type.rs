//! Types that hold the same values in fewer bytes.

use arrow::datatypes::DataType;

use crate::text_dictionary::text_key_type;

/// The most digits of a decimal that fits into 64 bits.
const DIGITS_64: u8 = 18;

/// The type of fewer bytes for values of a type: keys of a dictionary ([`text_key_type`]) for texts as views, and 64 bits for
/// decimals of up to 18 digits in 128 bits. `None` for other types.
///
/// # Examples
/// ```
/// use arrow::datatypes::DataType;
/// use lakerace_format::compact_type;
///
/// assert_eq!(compact_type(&DataType::Decimal128(15, 2)), Some(DataType::Decimal64(15, 2)));
/// assert_eq!(compact_type(&DataType::Int64), None);
/// ```
pub fn compact_type(of: &DataType) -> Option<DataType> {
    match of {
        DataType::Utf8View => Some(text_key_type()),
        DataType::Decimal128(digits, scale) if *digits <= DIGITS_64 => Some(DataType::Decimal64(*digits, *scale)),
        _ => None,
    }
}
