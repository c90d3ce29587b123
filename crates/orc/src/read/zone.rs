//! The time zone of a writer: timestamps without a zone are stored as its clock showed them, counted from its 2015-01-01.

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::writer_kind::WriterSoftware;
use crate::error::{Error, Result};

/// Seconds from 1970 to 2015 in UTC: timestamps are counted from there.
pub(crate) const BASE_SECONDS: i64 = 1_420_070_400;

/// Java's zones start at 1900-01-01 00:00:00 UTC.
pub(crate) const JAVA_FIRST_SECOND: i64 = -2_208_988_800;
/// The end of 2037: each zone is at its last rule then.
const LAST_RULE_SECOND: i64 = 2_145_916_799;

/// The length of the cycle of the calendar, and with it of the rules of zones: 400 years, in seconds.
const CYCLE_SECONDS: i64 = 146_097 * 86_400;
/// 9000-01-01, in seconds since 1970: after it, times are looked up in an earlier cycle.
const FAR_SECOND: i64 = 221_845_392_000;
/// 4000 BC, before all changes of any zone.
const EARLIEST_SECOND: i64 = -188_395_113_600;

/// Offsets are looked up by blocks of 2 to this power seconds (18 hours): no zone changes twice in a block.
const BLOCK_BITS: u32 = 16;

/// The zone of a stripe's writer.
#[derive(Debug, Clone)]
pub(crate) struct WriterZone {
    rules: ZoneRules,
    /// The offset before 1900, where the writer knew one only.
    ancient: Option<i64>,
    /// The start of 2015 in the zone, in seconds since 1970 in UTC.
    pub(crate) base: i64,
    /// A block of time, and the offset that holds within all of it.
    memo: Option<(i64, i64)>,
}

#[derive(Debug, Clone)]
enum ZoneRules {
    Fixed(i64),
    Named(TimeZone),
}

impl WriterZone {
    /// UTC, also for files whose writer doesn't say: then its clock is taken as it was.
    pub(crate) fn utc() -> Self {
        Self { rules: ZoneRules::Fixed(0), ancient: None, base: BASE_SECONDS, memo: None }
    }

    /// The zone that a writer names.
    ///
    /// Java's zones start in 1900: for earlier times, Java's clock shows the standard time of the last rule. Other
    /// writers use the local mean time of the place.
    pub(crate) fn named(name: &str, writer: WriterSoftware) -> Result<Self> {
        let rules = match name {
            "" | "UTC" | "GMT" | "Z" | "Etc/UTC" | "Etc/GMT" => return Ok(Self::utc()),
            _ => match fixed(name) {
                Some(seconds) => ZoneRules::Fixed(seconds),
                None => ZoneRules::Named(
                    TimeZoneDatabase::bundled()
                        .get(name)
                        .map_err(|_| Error::unsupported(format!("the writer's time zone {name:?} isn't known")))?,
                ),
            },
        };
        let mut zone = Self { rules, ancient: None, base: 0, memo: None };
        zone.base = BASE_SECONDS - zone.look_up(BASE_SECONDS);
        zone.base = BASE_SECONDS - zone.look_up(zone.base);
        if writer == WriterSoftware::Java {
            zone.ancient = zone.standard_offset(LAST_RULE_SECOND);
        }
        Ok(zone)
    }

    /// Extends the standard time of the year that ends here to all times before 1900.
    pub(crate) fn with_ancient_of(mut self, year_end: i64) -> Self {
        self.ancient = self.standard_offset(year_end);
        self
    }

    /// The standard time in the year before: summer time is ahead of it.
    fn standard_offset(&self, year_end: i64) -> Option<i64> {
        (0..12).map(|month| self.look_up(year_end - month * (30 * 86_400))).min()
    }

    /// Returns true if the zone's clock is UTC's at any time.
    pub(crate) fn is_utc(&self) -> bool {
        matches!(self.rules, ZoneRules::Fixed(0))
    }

    /// The seconds that the zone's clock is ahead of UTC, at `seconds` since 1970 in UTC.
    #[inline]
    pub(crate) fn offset(&mut self, seconds: i64) -> i64 {
        let block = seconds >> BLOCK_BITS;
        match self.memo {
            Some((known, offset)) if known == block => offset,
            _ => self.find(seconds),
        }
    }

    fn find(&mut self, seconds: i64) -> i64 {
        let block = seconds >> BLOCK_BITS;
        let first = self.look_up(block << BLOCK_BITS);
        if first == self.look_up((block << BLOCK_BITS) + ((1 << BLOCK_BITS) - 1)) {
            self.memo = Some((block, first));
            return first;
        }
        self.look_up(seconds)
    }

    /// After the last change that is known, the last rule continues for ever, as in Java's zones and POSIX's.
    fn look_up(&self, seconds: i64) -> i64 {
        match (&self.rules, self.ancient) {
            (ZoneRules::Fixed(offset), _) => *offset,
            (ZoneRules::Named(_), Some(offset)) if seconds < JAVA_FIRST_SECOND => offset,
            (ZoneRules::Named(zone), _) => {
                let in_cycle = if seconds < FAR_SECOND {
                    seconds.max(EARLIEST_SECOND)
                } else {
                    FAR_SECOND - CYCLE_SECONDS + (seconds - FAR_SECOND) % CYCLE_SECONDS
                };
                let offset = |time: Timestamp| i64::from(zone.to_offset(time).seconds());
                Timestamp::from_second(in_cycle).map(offset).unwrap_or_default()
            }
        }
    }
}

/// The offset of Java's names for fixed zones, such as `GMT+08:00`, `UTC-3` or `+05:30`.
fn fixed(name: &str) -> Option<i64> {
    let rest = ["GMT", "UTC", "UT"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    let (sign, rest) = match rest.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = match rest.split_once(':') {
        Some(parts) => parts,
        None if rest.len() == 4 => rest.split_at_checked(2)?,
        None => (rest, "0"),
    };
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    let valid = (0..=18).contains(&hours) && (0..60).contains(&minutes);
    valid.then_some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests;
