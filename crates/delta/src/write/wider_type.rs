//! Types that hold the values of two.

use arrow::datatypes::DataType;

/// The type that holds the values of both, if it differs from the table's and the table may change to it.
pub(crate) fn wider(table: &DataType, source: &DataType) -> Option<DataType> {
    use DataType as T;
    let rank = |data_type: &T| match data_type {
        T::Int8 => Some(3),
        T::Int16 => Some(5),
        T::Int32 => Some(10),
        T::Int64 => Some(20),
        _ => None,
    };
    let decimal = |precision: i16, scale: i16| match (u8::try_from(precision), i8::try_from(scale)) {
        (Ok(precision), Ok(scale)) if precision <= 38 => Some(T::Decimal128(precision, scale)),
        _ => None,
    };
    match (table, source) {
        (T::Int8 | T::Int16 | T::Int32, T::Int8 | T::Int16 | T::Int32 | T::Int64) => {
            (rank(table) < rank(source)).then(|| source.clone())
        }
        (T::Float32, T::Float64) => Some(T::Float64),
        (T::Int8 | T::Int16 | T::Int32, T::Float32 | T::Float64) => Some(T::Float64),
        (T::Decimal128(p, s), T::Decimal128(other_p, other_s)) => {
            let scale = i16::from(*s).max(i16::from(*other_s));
            let whole = (i16::from(*p) - i16::from(*s)).max(i16::from(*other_p) - i16::from(*other_s));
            decimal(whole + scale, scale).filter(|wider| wider != table)
        }
        // Whole numbers of 32 bits have 10 digits, those of 64 bits 20, by the protocol.
        (T::Int8 | T::Int16 | T::Int32, T::Decimal128(p, s)) => {
            decimal(10.max(i16::from(*p) - i16::from(*s)) + i16::from(*s), i16::from(*s))
        }
        (T::Int64, T::Decimal128(p, s)) => {
            decimal(20.max(i16::from(*p) - i16::from(*s)) + i16::from(*s), i16::from(*s))
        }
        _ => None,
    }
}
