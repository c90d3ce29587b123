//! Whole numbers of 8 to 64 bits, and days.

use arrow::array::{ArrayRef, ArrowPrimitiveType};
use arrow::datatypes::{
    DataType, Date32Type, Date64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
};

use crate::error::{Error, Result};
use crate::proto::StreamKind;
use crate::write::stream::{StreamCoding, StreamWriter};
use crate::write::values::{ValueStreams, ValueTarget, WrittenRows};

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// Tinyint, in byte runs; smallint, int, bigint and date, in integer runs.
pub(crate) struct IntegerWriter(pub(crate) StreamCoding);

impl ValueStreams for IntegerWriter {
    fn streams(&self) -> Vec<StreamWriter> {
        vec![StreamWriter::new(StreamKind::Data, self.0)]
    }

    fn append(&mut self, rows: &WrittenRows<'_>, out: &mut ValueTarget<'_>) -> Result<Vec<ArrayRef>> {
        let ([data], digest) = out.parts()?;
        let numbers = &mut data.numbers;
        let before = numbers.len();
        match rows.array.data_type() {
            DataType::Int8 => extend::<Int8Type>(rows, numbers)?,
            DataType::Int16 => extend::<Int16Type>(rows, numbers)?,
            DataType::Int32 => extend::<Int32Type>(rows, numbers)?,
            DataType::Int64 => extend::<Int64Type>(rows, numbers)?,
            DataType::UInt8 => extend::<UInt8Type>(rows, numbers)?,
            DataType::UInt16 => extend::<UInt16Type>(rows, numbers)?,
            DataType::UInt32 => extend::<UInt32Type>(rows, numbers)?,
            DataType::Date32 => extend::<Date32Type>(rows, numbers)?,
            DataType::Date64 => {
                extend::<Date64Type>(rows, numbers)?;
                for value in &mut numbers[before..] {
                    if *value % DAY != 0 {
                        return Err(Error::invalid(format!(
                            "the date64 value {value} ms is not a whole day, but ORC's dates are days; cast the column \
                             to a timestamp"
                        )));
                    }
                    *value = i32::try_from(value.div_euclid(DAY))
                        .map_err(|_| Error::invalid(format!("the date {value} ms after 1970 is out of range")))?
                        .into();
                }
            }
            other => return Err(Error::internal(format!("{other} is not an integer type"))),
        }
        if matches!(rows.array.data_type(), DataType::Date32 | DataType::Date64) {
            digest.add_days(&numbers[before..]);
        } else {
            digest.add_ints(&numbers[before..]);
        }
        Ok(Vec::new())
    }
}

fn extend<T: ArrowPrimitiveType<Native: Into<i64>>>(rows: &WrittenRows<'_>, numbers: &mut Vec<i64>) -> Result<()> {
    rows.extend::<T, _>(numbers, Into::into)
}
