//! Bloom filters of columns.

use parquet::basic::Type;
use parquet::bloom_filter::Sbbf;

/// The filter of a column, with both zeros of floats where it has one: readers ask for one of them, and mean both.
pub(crate) fn with_both_zeros(mut filter: Sbbf, physical: Type) -> Sbbf {
    match physical {
        Type::FLOAT if filter.check(&0.0f32) || filter.check(&-0.0f32) => {
            filter.insert(&0.0f32);
            filter.insert(&-0.0f32);
        }
        Type::DOUBLE if filter.check(&0.0f64) || filter.check(&-0.0f64) => {
            filter.insert(&0.0f64);
            filter.insert(&-0.0f64);
        }
        _ => {}
    }
    filter
}
