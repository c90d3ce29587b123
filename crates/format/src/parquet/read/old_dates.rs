//! Days and times of the old calendar as those of today's calendar with the same name, as Spark reads them.

use std::cell::RefCell;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Date32Array, PrimitiveArray, make_array};
use arrow::datatypes::{
    ArrowTimestampType, DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use lakerace_io::option::COLUMNS;
use lakerace_io::{Error, Result};
use lakerace_orc::read::{FIRST_AGREED_SECOND, FIRST_GREGORIAN_DAY, JavaClock, day_of_same_name};

use crate::parquet::footer::FileMeta;
use crate::parquet::footer::old_calendar::CalendarCount;

/// The arrays of one root column, some of whose leaf columns are of the old calendar.
pub(crate) struct OldDates {
    /// The counts of the leaf columns that are read, in their order.
    leaves: Vec<Option<CalendarCount>>,
    clock: Result<JavaClock, String>,
}

impl OldDates {
    /// Reads the counts of some leaf columns of a file; `None` where none of them is of the old calendar.
    pub fn for_file(file: &FileMeta, leaves: &[usize]) -> Option<Self> {
        let old = file.old_calendar.as_ref()?;
        let leaves: Vec<Option<CalendarCount>> = leaves.iter().map(|leaf| old.counted(*leaf)).collect();
        leaves.iter().any(Option::is_some).then(|| Self { leaves, clock: old.clock().clone() })
    }

    /// The array with days and times of today's calendar.
    pub fn mended(&mut self, array: &ArrayRef) -> Result<ArrayRef> {
        let mut next = 0;
        let mended = self.below(array, &mut next)?;
        if next != self.leaves.len() {
            return Err(Error::internal("an array has other leaf columns than the file"));
        }
        Ok(mended)
    }

    fn below(&mut self, array: &ArrayRef, next: &mut usize) -> Result<ArrayRef> {
        if !array.data_type().is_nested() {
            let leaf = *next;
            *next += 1;
            return match self.leaves.get(leaf).copied().flatten() {
                None => Ok(Arc::clone(array)),
                Some(CalendarCount::Days) => days(array),
                Some(CalendarCount::Instants(units)) => self.instants(array, units),
            };
        }
        let data = array.to_data();
        let mut children = Vec::with_capacity(data.child_data().len());
        for child in data.child_data() {
            children.push(self.below(&make_array(child.clone()), next)?.to_data());
        }
        let mended = data.into_builder().child_data(children).build();
        mended.map(make_array).map_err(Error::unexpected)
    }

    fn instants(&mut self, array: &ArrayRef, units: i64) -> Result<ArrayRef> {
        match array.data_type() {
            DataType::Timestamp(TimeUnit::Second, _) => self.instants_of::<TimestampSecondType>(array, units),
            DataType::Timestamp(TimeUnit::Millisecond, _) => self.instants_of::<TimestampMillisecondType>(array, units),
            DataType::Timestamp(TimeUnit::Microsecond, _) => self.instants_of::<TimestampMicrosecondType>(array, units),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => self.instants_of::<TimestampNanosecondType>(array, units),
            other => Err(Error::internal(format!("instants have the type {other}"))),
        }
    }

    fn instants_of<T: ArrowTimestampType>(&mut self, array: &ArrayRef, units: i64) -> Result<ArrayRef> {
        let array: &PrimitiveArray<T> = array.as_primitive();
        let is_old = |instant: i64| instant.div_euclid(units) < FIRST_AGREED_SECOND;
        if !array.iter().flatten().any(is_old) {
            return Ok(Arc::new(array.clone()));
        }
        let clock = RefCell::new(self.clock.as_mut().map_err(|reason| unknown(reason))?);
        let mend = |instant: i64| {
            let (seconds, rest) = (instant.div_euclid(units), instant.rem_euclid(units));
            let mended =
                clock.borrow_mut().instant(seconds).and_then(|seconds| seconds.checked_mul(units)?.checked_add(rest));
            mended
                .ok_or_else(|| Error::unsupported(format!("the instant {instant} exceeds 64 bits in today's calendar")))
        };
        let mended: PrimitiveArray<T> = array.try_unary(mend)?;
        Ok(Arc::new(mended.with_data_type(array.data_type().clone())))
    }
}

/// The error for a time before 1900 whose clock isn't known.
fn unknown(reason: &str) -> Error {
    Error::unsupported(format!("a time before 1900 is stored in the calendar of old Java versions, but {reason}"))
        .advice(format!(
            "exclude the column with {COLUMNS}, or write the file again with Spark's \
             spark.sql.parquet.datetimeRebaseModeInWrite and int96RebaseModeInWrite set to CORRECTED"
        ))
}

fn days(array: &ArrayRef) -> Result<ArrayRef> {
    let array: &Date32Array = array.as_primitive();
    if !array.iter().flatten().any(|day| i64::from(day) < FIRST_GREGORIAN_DAY) {
        return Ok(Arc::new(array.clone()));
    }
    let mend = |day: i32| {
        let mended = i32::try_from(day_of_same_name(i64::from(day)));
        mended.map_err(|_| Error::unsupported(format!("the day {day} exceeds 32 bits in today's calendar")))
    };
    let mended: Date32Array = array.try_unary(mend)?;
    Ok(Arc::new(mended))
}
