//! Bloom filters of columns.

use parquet::basic::Type;
use parquet::bloom_filter::Sbbf;

/// The filter of a column of floats with the bits that readers look for: they ask for one of the zeros and mean both, and for
/// one NaN and mean all. NaN is always in it, as the filter does not tell of others.
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
