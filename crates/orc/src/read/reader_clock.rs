//! Timestamps as Java programs such as Spark interpret them: the time that the writer's clock showed is an instant by
//! the reader's clock.
//!
//! Source: ORC Java, `TreeReaderFactory.TimestampTreeReader` and `SerializationUtils.convertBetweenTimezones`.

use super::calendar::to_julian;
use super::java_clock::JavaClock;
use super::writer_kind::WriterSoftware;
use super::zone::WriterZone;
use crate::error::{Error, Result};

const DAY_SECONDS: i64 = 86_400;
/// Before it, Java's clocks and calendars are others than today's.
const FIRST_AGREED_SECOND: i64 = super::java_clock::FIRST_AGREED_SECOND;

/// The clock of a reader in Java, in the zone of its virtual machine. Where the writer had the same zone, timestamps are the
/// instants that were written, and otherwise those at which the reader's clock shows the same.
#[derive(Debug, Clone)]
pub struct ReaderClock {
    name: String,
    zone: WriterZone,
    /// The zone before 1900, or why it isn't known.
    old: std::result::Result<JavaClock, String>,
}

impl ReaderClock {
    /// The clock in a zone, whose name is that of a place, such as `Europe/Berlin`, or an offset such as `GMT+8`.
    ///
    /// # Errors
    /// The zone is not known.
    pub fn in_zone(name: &str) -> Result<Self> {
        let zone = WriterZone::named(name, WriterSoftware::Java)?;
        let old = JavaClock::in_zone(name).map_err(|error| error.to_string());
        Ok(Self { name: name.to_owned(), zone, old })
    }

    /// The zone of a stripe's writer as Java knows it; the reader's own where the stripe names none.
    pub(super) fn writer_zone(&self, name: Option<&str>) -> Result<WriterZone> {
        match name {
            Some(name) if !name.is_empty() && name != self.name => WriterZone::named(name, WriterSoftware::Java),
            _ => Ok(self.zone.clone()),
        }
    }

    /// The instant that the reader makes of one by the writer's clock, both in seconds since 1970 in UTC. `julian` says that the
    /// file's calendar is the one that changed in 1582. `None` where 64 bits do not hold it.
    pub(super) fn instant(&mut self, writer: &mut WriterZone, seconds: i64, julian: bool) -> Result<Option<i64>> {
        let Some(moved) = self.moved(writer, seconds) else { return Ok(None) };
        if moved >= FIRST_AGREED_SECOND {
            return Ok(Some(moved));
        }
        let day = moved.div_euclid(DAY_SECONDS);
        let shift = if julian { 0 } else { to_julian(day) - day };
        let Some(old) = shift.checked_mul(DAY_SECONDS).and_then(|shift| moved.checked_add(shift)) else {
            return Ok(None);
        };
        match &mut self.old {
            Ok(clock) => Ok(clock.instant(old)),
            Err(message) => Err(Error::unsupported(format!("a time is before 1900, but {message}"))),
        }
    }

    /// An instant at which the reader's clock shows the same as the writer's at `seconds`.
    fn moved(&mut self, writer: &mut WriterZone, seconds: i64) -> Option<i64> {
        let first = seconds.checked_add(self.difference(writer, seconds)?)?;
        if self.zone.offset(seconds) == self.zone.offset(first) {
            return Some(first);
        }
        seconds.checked_add(self.difference(writer, first)?)
    }

    /// The seconds that the writer's clock is ahead of the reader's, at `seconds` of the writer's.
    fn difference(&mut self, writer: &mut WriterZone, seconds: i64) -> Option<i64> {
        let ahead = writer.offset(seconds);
        let about = seconds.checked_add(ahead - self.zone.offset(seconds))?;
        Some(ahead - self.zone.offset(about))
    }
}

#[cfg(test)]
mod tests;
