//! Timestamps: seconds since 2015 and nanoseconds.

use arrow::array::{Array, AsArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};

use crate::encode::codec::Compressor;
use crate::encode::nanos;
use crate::proto::StreamKind;
use crate::write::integers::RunStream;
use crate::write::statistics::Instant;
use crate::write::stream::{Shape, Stream};
use crate::write::values::{Digest, Values, extend_valid};
use crate::{Error, Result};

/// Seconds from 1970 to 2015, in UTC, which is the zone that the writer states.
const BASE: i64 = 1_420_070_400;
const NANOS: i64 = 1_000_000_000;
/// Nanoseconds of a millisecond.
const MILLI: u32 = 1_000_000;
/// Readers count milliseconds in 64 bits.
const MAX_SECONDS: i64 = i64::MAX / 1000 - 1;

/// Timestamps with and without a zone.
///
/// Before 1970, readers take one second away where the nanoseconds are a millisecond or more: the reference implementation
/// has always rounded seconds towards 1970. The same rounding is written here. Nothing in the file can then stand for the
/// last 999 milliseconds before 1970 but their first nanoseconds: readers take any of them for a time in 1970. They are
/// refused.
pub(crate) struct Timestamps {
    /// Ticks of the array at hand.
    scratch: Vec<i64>,
    seconds: RunStream,
    nanos: RunStream,
    /// Seconds, nanoseconds.
    streams: [Stream; 2],
}

impl Timestamps {
    pub(crate) fn new(block_size: usize) -> Self {
        let seconds = Stream::new(StreamKind::Data, Shape::Runs, block_size);
        let nanos = Stream::new(StreamKind::Secondary, Shape::Runs, block_size);
        Self {
            scratch: Vec::new(),
            seconds: RunStream::new(true),
            nanos: RunStream::new(false),
            streams: [seconds, nanos],
        }
    }

    /// Takes in the ticks of the scratch buffer, so many a second.
    fn split<const TICKS: i64>(&mut self) -> Result<()> {
        for &ticks in &self.scratch {
            let (second, nano) = (ticks.div_euclid(TICKS), (ticks.rem_euclid(TICKS) * (NANOS / TICKS)) as u32);
            if !(-MAX_SECONDS..=MAX_SECONDS).contains(&second) {
                return Err(Error::invalid(format!(
                    "the timestamp {second} s from 1970 is out of ORC's range; filter or clamp such values first"
                )));
            }
            let rounded = second + i64::from(second < 0 && nano >= MILLI);
            if rounded == 0 && second < 0 {
                return Err(Error::invalid(format!(
                    "the timestamp {} ns before 1970-01-01 UTC can't be told from one after it by readers of ORC, as can none \
                     from 1969-12-31 23:59:59.001 on; filter or round such values first",
                    NANOS - i64::from(nano)
                )));
            }
            self.seconds.waiting.push(rounded - BASE);
            self.nanos.waiting.push(nanos::encode(nano));
        }
        Ok(())
    }
}

/// The milliseconds, and nanoseconds below them, of so many ticks.
fn instant(ticks: i64, unit: TimeUnit) -> Instant {
    match unit {
        // In range: the seconds have been checked.
        TimeUnit::Second => (ticks * 1000, 0),
        TimeUnit::Millisecond => (ticks, 0),
        TimeUnit::Microsecond => (ticks.div_euclid(1000), ticks.rem_euclid(1000) as u32 * 1000),
        TimeUnit::Nanosecond => (ticks.div_euclid(MILLI.into()), ticks.rem_euclid(MILLI.into()) as u32),
    }
}

impl Values for Timestamps {
    fn append(
        &mut self,
        array: &dyn Array,
        nulls: Option<&NullBuffer>,
        digest: &mut Digest<'_>,
        compressor: &mut Compressor,
    ) -> Result<()> {
        let DataType::Timestamp(unit, _) = array.data_type() else {
            return Err(Error::internal(format!("{} is not a timestamp", array.data_type())));
        };
        let ticks = match unit {
            TimeUnit::Second => array.as_primitive::<TimestampSecondType>().values(),
            TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().values(),
            TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().values(),
            TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().values(),
        };
        self.scratch.clear();
        extend_valid(&mut self.scratch, ticks, nulls, |v| v);
        match unit {
            TimeUnit::Second => self.split::<1>(),
            TimeUnit::Millisecond => self.split::<1000>(),
            TimeUnit::Microsecond => self.split::<1_000_000>(),
            TimeUnit::Nanosecond => self.split::<NANOS>(),
        }?;
        if let Some(min) = self.scratch.iter().min()
            && let Some(max) = self.scratch.iter().max()
        {
            digest.statistics.add_instants(instant(*min, *unit), instant(*max, *unit));
        }
        if let Some(bloom) = &mut digest.bloom {
            self.scratch.iter().for_each(|&ticks| bloom.add_int(instant(ticks, *unit).0));
        }
        self.seconds.relieve(&mut self.streams[0], compressor)?;
        self.nanos.relieve(&mut self.streams[1], compressor)
    }

    fn end_group(&mut self, compressor: &mut Compressor) -> Result<()> {
        self.seconds.end_group(&mut self.streams[0], compressor)?;
        self.nanos.end_group(&mut self.streams[1], compressor)
    }

    fn streams(&self) -> &[Stream] {
        &self.streams
    }

    fn streams_mut(&mut self) -> &mut [Stream] {
        &mut self.streams
    }

    fn waiting_bytes(&self) -> usize {
        self.seconds.waiting_bytes() + self.nanos.waiting_bytes()
    }

    fn memory_bytes(&self) -> usize {
        self.scratch.capacity() * 8 + self.seconds.memory_bytes() + self.nanos.memory_bytes()
    }
}
