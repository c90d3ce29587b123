//! Dates of 64 bits, on their way into formats whose dates are days.

use arrow::array::{Array, ArrayData, AsArray, make_array};
use arrow::datatypes::{DataType, Date64Type};

const MILLISECONDS_OF_A_DAY: i64 = 86_400_000;

/// A date of 64 bits that is not a whole day, at any level.
pub(crate) fn odd_date(array: &dyn Array) -> Option<i64> {
    let in_data = |data: ArrayData| odd_date(make_array(data).as_ref());
    let has_values = |data_type: &DataType| {
        data_type.is_nested() || matches!(data_type, DataType::Dictionary(..) | DataType::RunEndEncoded(..))
    };
    match array.as_primitive_opt::<Date64Type>() {
        Some(dates) => dates.iter().flatten().find(|ms| ms % MILLISECONDS_OF_A_DAY != 0),
        None if has_values(array.data_type()) => array.to_data().child_data().iter().cloned().find_map(in_data),
        None => None,
    }
}
