//! Integers of either version of the run-length encoding.

use super::STEP;
use super::input::StreamInput;
use super::rle_v1::IntsV1;
use super::rle_v2::IntsV2;
use crate::error::{Error, Result};

/// A stream of integers.
pub(crate) enum IntReader {
    V1(IntsV1),
    V2(IntsV2),
}

impl IntReader {
    pub(crate) fn new(input: StreamInput, signed: bool, second_version: bool) -> Self {
        if second_version { Self::V2(IntsV2::new(input, signed)) } else { Self::V1(IntsV1::new(input, signed)) }
    }

    /// Fills `out`.
    pub(crate) fn read(&mut self, out: &mut [i64]) -> Result<()> {
        match self {
            Self::V1(ints) => ints.read(out),
            Self::V2(ints) => ints.read(out),
        }
    }

    /// Goes to a position of a row index.
    pub(crate) fn seek(&mut self, chunk: usize, offset: usize, values: usize) -> Result<()> {
        match self {
            Self::V1(ints) => {
                ints.forget();
                ints.input.seek(chunk, offset)?;
            }
            Self::V2(ints) => {
                ints.forget();
                ints.input.seek(chunk, offset)?;
            }
        }
        let mut scratch = [0; 512];
        let mut left = values;
        while left > 0 {
            let step = left.min(scratch.len());
            self.read(&mut scratch[..step])?;
            left -= step;
        }
        Ok(())
    }

    /// The next `count` integers; memory grows with the runs that are there.
    pub(crate) fn take<T: NarrowInteger>(&mut self, count: usize) -> Result<Vec<T>> {
        let mut out = Vec::with_capacity(count.min(STEP));
        while out.len() < count {
            let step = (count - out.len()).min(STEP);
            T::append(self, step, &mut out)?;
        }
        Ok(out)
    }
}

/// An integer type that columns are read as.
pub(crate) trait NarrowInteger: Sized {
    /// Appends the next `count` integers of `ints`.
    fn append(ints: &mut IntReader, count: usize, out: &mut Vec<Self>) -> Result<()>;
}

impl NarrowInteger for i64 {
    fn append(ints: &mut IntReader, count: usize, out: &mut Vec<Self>) -> Result<()> {
        let at = out.len();
        out.resize(at + count, 0);
        ints.read(&mut out[at..])
    }
}

macro_rules! narrow {
    ($($type:ty),*) => {$(
        impl NarrowInteger for $type {
            fn append(ints: &mut IntReader, mut count: usize, out: &mut Vec<Self>) -> Result<()> {
                let mut scratch = [0i64; 1024];
                while count > 0 {
                    let step = count.min(scratch.len());
                    let wide = &mut scratch[..step];
                    ints.read(wide)?;
                    // A single check for all values keeps the loop free of branches.
                    let odd = wide.iter().fold(0, |odd, value| odd | (*value ^ i64::from(*value as $type)));
                    if odd != 0 {
                        let value = wide.iter().find(|value| <$type>::try_from(**value).is_err()).copied();
                        return Err(out_of_range(value.unwrap_or_default(), stringify!($type)));
                    }
                    out.extend(wide.iter().map(|value| *value as $type));
                    count -= step;
                }
                Ok(())
            }
        }
    )*};
}

narrow!(i16, i32);

#[cold]
fn out_of_range(value: i64, name: &str) -> Error {
    Error::corrupt(format!("the value {value} doesn't fit the column's type, {name}"))
}
