//! Bloom filters of columns.

use arrow::datatypes::{ArrowNativeType, ToByteSlice};
use lakerace_orc::skipped_days::TimeScale;
use parquet::basic::Type;
use parquet::bloom_filter::Sbbf;

/// Adds numbers, and the values that readers look for in place of days and times that are counted by `scale`.
pub(crate) fn insert_numbers<N: ArrowNativeType>(filter: &mut Sbbf, values: &[N], scale: Option<TimeScale>) {
    values.iter().for_each(|value| filter.insert(std::slice::from_ref(value).to_byte_slice()));
    if let Some(scale) = scale {
        values
            .iter()
            .filter_map(|value| value.to_i64())
            .for_each(|value| insert_others(filter, value, scale, size_of::<N>()));
    }
}

/// Adds the values that readers look for in place of a day or time of this many bytes.
pub(crate) fn insert_others(filter: &mut Sbbf, value: i64, scale: TimeScale, bytes: usize) {
    scale.others(value).for_each(|other| filter.insert(&other.to_le_bytes()[..bytes]));
}

/// The filter of a column of floats with the bits that readers look for: they look for one of the zeros for both, and
/// for one NaN for all. NaN is always in it, because the filter can't show if it has other NaNs.
pub(crate) fn with_other_floats(mut filter: Sbbf, physical: Type) -> Sbbf {
    match physical {
        Type::FLOAT => {
            filter.insert(&f32::NAN);
            if filter.check(&0.0f32) || filter.check(&-0.0f32) {
                filter.insert(&0.0f32);
                filter.insert(&-0.0f32);
            }
        }
        Type::DOUBLE => {
            filter.insert(&f64::NAN);
            if filter.check(&0.0f64) || filter.check(&-0.0f64) {
                filter.insert(&0.0f64);
                filter.insert(&-0.0f64);
            }
        }
        _ => {}
    }
    filter
}
