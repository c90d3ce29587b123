//! Statistics of a column: of a row group, of a stripe, of the file.

use arrow::datatypes::i256;

use crate::proto;
use crate::schema::OrcKind;
use crate::skipped_days::TimeScale;
use crate::write::text_bounds::TextBounds;

/// The count of values, whether there are nulls, and further statistics by the kind of the column.
#[derive(Debug, Clone)]
pub(crate) struct Statistics {
    pub(crate) values: u64,
    pub(crate) has_null: bool,
    /// A struct around it is null in a row, which makes its value null to readers.
    pub(crate) null_above: bool,
    /// Compressed bytes of the column's streams; set for stripes and files.
    pub(crate) bytes_on_disk: u64,
    kind: StatisticsKind,
}

#[derive(Debug, Clone)]
enum StatisticsKind {
    /// Struct: the counts only.
    None,
    Int {
        range: Option<(i64, i64)>,
        /// Wider than any sum: whether it fits must not depend on the order in which parts were added.
        sum: i128,
    },
    Double {
        range: Option<(f64, f64)>,
        sum: f64,
        /// True if a value is NaN. The range covers only the other values.
        nan: bool,
    },
    Text {
        bounds: Option<Box<TextBounds>>,
        bytes: u64,
    },
    Boolean {
        trues: u64,
    },
    Decimal {
        scale: u8,
        range: Option<(i128, i128)>,
        sum: i256,
    },
    Date(Option<(i32, i32)>),
    Binary {
        bytes: u64,
    },
    /// Milliseconds and the nanoseconds below them.
    Timestamp(Option<(Instant, Instant)>),
    Collection {
        range: Option<(u64, u64)>,
        children: u64,
    },
}

/// A point in time: milliseconds since 1970, rounded down, and nanoseconds on top, below a million.
pub(crate) type Instant = (i64, u32);

/// A sum of decimals with more digits than this is left out.
const MAX_DECIMAL: u128 = 10u128.pow(38) - 1;

impl Statistics {
    /// Statistics of no values.
    pub(crate) fn new(kind: &OrcKind) -> Self {
        let kind = match kind {
            OrcKind::Byte | OrcKind::Short | OrcKind::Int | OrcKind::Long | OrcKind::Micros => {
                StatisticsKind::Int { range: None, sum: 0 }
            }
            OrcKind::Float | OrcKind::Double => StatisticsKind::Double { range: None, sum: 0.0, nan: false },
            OrcKind::String | OrcKind::Varchar(_) | OrcKind::Char(_) => StatisticsKind::Text { bounds: None, bytes: 0 },
            OrcKind::Boolean => StatisticsKind::Boolean { trues: 0 },
            OrcKind::Decimal { scale, .. } => StatisticsKind::Decimal { scale: *scale, range: None, sum: i256::ZERO },
            OrcKind::Date => StatisticsKind::Date(None),
            OrcKind::Binary | OrcKind::Geometry => StatisticsKind::Binary { bytes: 0 },
            OrcKind::Timestamp | OrcKind::TimestampInstant | OrcKind::ClockInstant => StatisticsKind::Timestamp(None),
            OrcKind::List(_) | OrcKind::Map(..) => StatisticsKind::Collection { range: None, children: 0 },
            OrcKind::Struct(_) | OrcKind::Union(_) => StatisticsKind::None,
        };
        Self { values: 0, has_null: false, null_above: false, bytes_on_disk: 0, kind }
    }

    /// Back to no values.
    pub(crate) fn clear(&mut self) {
        (self.values, self.has_null, self.null_above, self.bytes_on_disk) = (0, false, false, 0);
        match &mut self.kind {
            StatisticsKind::None => (),
            StatisticsKind::Int { range, sum } => (*range, *sum) = (None, 0),
            StatisticsKind::Double { range, sum, nan } => (*range, *sum, *nan) = (None, 0.0, false),
            StatisticsKind::Text { bounds, bytes } => (*bounds, *bytes) = (None, 0),
            StatisticsKind::Boolean { trues } => *trues = 0,
            StatisticsKind::Decimal { range, sum, .. } => (*range, *sum) = (None, i256::ZERO),
            StatisticsKind::Date(range) => *range = None,
            StatisticsKind::Binary { bytes } => *bytes = 0,
            StatisticsKind::Timestamp(range) => *range = None,
            StatisticsKind::Collection { range, children } => (*range, *children) = (None, 0),
        }
    }

    /// Takes in whole numbers, or days.
    pub(crate) fn add_ints(&mut self, values: &[i64]) {
        let Some(&first) = values.first() else { return };
        let (min, max) = values.iter().fold((first, first), |(min, max), &v| (min.min(v), max.max(v)));
        match &mut self.kind {
            StatisticsKind::Int { range, sum } => {
                widen(range, min, max);
                *sum += values.iter().map(|&v| i128::from(v)).sum::<i128>();
            }
            StatisticsKind::Date(range) => widen(range, min as i32, max as i32),
            _ => (),
        }
    }

    /// Takes in floats.
    pub(crate) fn add_floats(&mut self, values: impl Iterator<Item = f64>) {
        let StatisticsKind::Double { range, sum, nan } = &mut self.kind else { return };
        let (mut min, mut max) = range.unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
        for value in values {
            *nan |= value.is_nan();
            // These leave NaN out.
            min = min.min(value);
            max = max.max(value);
            *sum += value;
        }
        if min <= max {
            *range = Some((min, max));
        }
    }

    /// Takes in a text's bounds; its length is counted by [`Self::add_bytes`].
    #[inline]
    pub(crate) fn add_text(&mut self, value: &[u8]) {
        if let StatisticsKind::Text { bounds, .. } = &mut self.kind {
            match bounds {
                Some(bounds) => bounds.add(value),
                None => *bounds = Some(Box::new(TextBounds::new(value))),
            }
        }
    }

    /// Takes in the total length of texts or byte strings.
    pub(crate) fn add_bytes(&mut self, count: u64) {
        if let StatisticsKind::Text { bytes, .. } | StatisticsKind::Binary { bytes } = &mut self.kind {
            *bytes += count;
        }
    }

    /// Takes in the count of values that are true.
    pub(crate) fn add_trues(&mut self, count: u64) {
        if let StatisticsKind::Boolean { trues } = &mut self.kind {
            *trues += count;
        }
    }

    /// Takes in the smallest, the largest and the sum of decimals.
    pub(crate) fn add_decimals(&mut self, min: i128, max: i128, added: i256) {
        if let StatisticsKind::Decimal { range, sum, .. } = &mut self.kind {
            widen(range, min, max);
            *sum = sum.wrapping_add(added);
        }
    }

    /// Takes in points in time from the earliest to the latest.
    pub(crate) fn add_instants(&mut self, min: Instant, max: Instant) {
        if let StatisticsKind::Timestamp(range) = &mut self.kind {
            widen(range, min, max);
        }
    }

    /// Takes in the lengths of lists or maps.
    pub(crate) fn add_lengths(&mut self, lengths: &[i64]) {
        let StatisticsKind::Collection { range, children } = &mut self.kind else { return };
        for &length in lengths {
            widen(range, length as u64, length as u64);
            *children += length as u64;
        }
    }

    /// Takes in statistics of the same kind.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.values += other.values;
        self.has_null |= other.has_null;
        self.null_above |= other.null_above;
        self.bytes_on_disk += other.bytes_on_disk;
        match (&mut self.kind, &other.kind) {
            (StatisticsKind::Int { range, sum }, StatisticsKind::Int { range: other, sum: added }) => {
                merge_range(range, *other);
                *sum += added;
            }
            (
                StatisticsKind::Double { range, sum, nan },
                StatisticsKind::Double { range: other, sum: added, nan: other_nan },
            ) => {
                *nan |= other_nan;
                *sum += added;
                *range = match (*range, *other) {
                    (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
                    (one, other) => one.or(other),
                };
            }
            (StatisticsKind::Text { bounds, bytes }, StatisticsKind::Text { bounds: other, bytes: added }) => {
                *bytes += added;
                match (bounds, other) {
                    (Some(bounds), Some(other)) => bounds.merge(other),
                    (bounds @ None, other) => *bounds = other.clone(),
                    (Some(_), None) => (),
                }
            }
            (StatisticsKind::Boolean { trues }, StatisticsKind::Boolean { trues: added }) => *trues += added,
            (StatisticsKind::Decimal { range, sum, .. }, StatisticsKind::Decimal { range: other, sum: added, .. }) => {
                merge_range(range, *other);
                *sum = sum.wrapping_add(*added);
            }
            (StatisticsKind::Date(range), StatisticsKind::Date(other)) => merge_range(range, *other),
            (StatisticsKind::Binary { bytes }, StatisticsKind::Binary { bytes: added }) => *bytes += added,
            (StatisticsKind::Timestamp(range), StatisticsKind::Timestamp(other)) => merge_range(range, *other),
            (
                StatisticsKind::Collection { range, children },
                StatisticsKind::Collection { range: other, children: added },
            ) => {
                merge_range(range, *other);
                *children += added;
            }
            _ => (),
        }
    }

    /// The message for the file's footer. Engines answer minima and maxima by it and filter by the others: a bound is exact or left out.
    pub(crate) fn to_file_proto(&self) -> proto::ColumnStatistics {
        let mut wire = self.to_proto();
        match &self.kind {
            // Engines disagree on the place of NaN. A message without bounds would say that there are no values.
            StatisticsKind::Double { nan: true, .. } => wire.double_statistics = None,
            StatisticsKind::Date(range) => {
                let (minimum, maximum) = range.unzip();
                wire.date_statistics = Some(Box::new(proto::DateStatistics { minimum, maximum }));
            }
            StatisticsKind::Timestamp(range) => wire.timestamp_statistics = Some(Box::new(timestamp_proto(*range))),
            _ => (),
        }
        wire
    }

    /// The message for a row index or a stripe, by which engines filter: bounds include the days and times that engines
    /// search for.
    pub(crate) fn to_proto(&self) -> proto::ColumnStatistics {
        let mut wire = proto::ColumnStatistics {
            number_of_values: Some(self.values),
            has_null: Some(self.has_null || self.null_above),
            bytes_on_disk: (self.bytes_on_disk > 0).then_some(self.bytes_on_disk),
            ..Default::default()
        };
        match &self.kind {
            StatisticsKind::None => (),
            StatisticsKind::Int { range, sum } => {
                let (minimum, maximum) = range.unzip();
                let sum = i64::try_from(*sum).ok();
                wire.int_statistics = Some(Box::new(proto::IntegerStatistics { minimum, maximum, sum }));
            }
            StatisticsKind::Double { range, sum, nan } => {
                // Both zeros lie between the bounds, for either order of zeros that a reader uses.
                let zero = |bound: f64, zero: f64| if bound == 0.0 { zero } else { bound };
                let range = range.map(|(min, max)| (zero(min, -0.0), zero(max, 0.0)));
                // The reference implementation reads missing bounds as bounds that contain no value. If the sum is NaN,
                // it and other readers ignore the bounds.
                let (minimum, maximum) = range.or(nan.then_some((f64::NAN, f64::NAN))).unzip();
                let sum = Some(if *nan { f64::NAN } else { *sum });
                wire.double_statistics = Some(Box::new(proto::DoubleStatistics { minimum, maximum, sum }));
            }
            StatisticsKind::Text { bounds, bytes } => {
                let mut text = bounds.as_ref().map(|b| b.to_proto()).unwrap_or_default();
                text.sum = i64::try_from(*bytes).ok();
                wire.string_statistics = Some(Box::new(text));
            }
            StatisticsKind::Boolean { trues } => {
                wire.bucket_statistics = Some(Box::new(proto::BucketStatistics { count: vec![*trues] }));
            }
            StatisticsKind::Decimal { scale, range, sum } => {
                let (min, max) = range.unzip();
                let text = |value: i128| decimal_text(value, *scale);
                wire.decimal_statistics = Some(Box::new(proto::DecimalStatistics {
                    minimum: min.map(text),
                    maximum: max.map(text),
                    sum: sum.to_i128().filter(|sum| sum.unsigned_abs() <= MAX_DECIMAL).map(text),
                }));
            }
            StatisticsKind::Date(range) => {
                let (minimum, maximum) =
                    range.map(|(min, max)| (min, TimeScale::DAYS.outward(max.into()) as i32)).unzip();
                wire.date_statistics = Some(Box::new(proto::DateStatistics { minimum, maximum }));
            }
            StatisticsKind::Binary { bytes } => {
                wire.binary_statistics = Some(Box::new(proto::BinaryStatistics { sum: i64::try_from(*bytes).ok() }));
            }
            StatisticsKind::Timestamp(range) => {
                let widened = range.map(|(min, max)| (min, outward(max)));
                wire.timestamp_statistics = Some(Box::new(timestamp_proto(widened)));
            }
            StatisticsKind::Collection { range, children } => {
                let (min_children, max_children) = range.unzip();
                wire.collection_statistics = Some(Box::new(proto::CollectionStatistics {
                    min_children,
                    max_children,
                    total_children: Some(*children),
                }));
            }
        }
        wire
    }
}

/// Local and UTC bounds are the same, as the writer's zone is UTC. Nanoseconds are stored plus one, and left out where
/// they equal the value that readers use for missing ones: none in the minimum, all in the maximum.
fn timestamp_proto(range: Option<(Instant, Instant)>) -> proto::TimestampStatistics {
    const ALL: u32 = 999_999;
    let (min, max) = range.unzip();
    proto::TimestampStatistics {
        minimum: min.map(|(millis, _)| millis),
        maximum: max.map(|(millis, _)| millis),
        minimum_utc: min.map(|(millis, _)| millis),
        maximum_utc: max.map(|(millis, _)| millis),
        minimum_nanos: min.filter(|&(_, nanos)| nanos != 0).map(|(_, nanos)| nanos as i32 + 1),
        maximum_nanos: max.filter(|&(_, nanos)| nanos != ALL).map(|(_, nanos)| nanos as i32 + 1),
    }
}

/// The latest point in time as a bound.
fn outward((millis, nanos): Instant) -> Instant {
    let bound = TimeScale::MILLISECONDS.outward(millis);
    (bound, if bound == millis { nanos } else { 0 })
}

fn widen<T: PartialOrd + Copy>(range: &mut Option<(T, T)>, min: T, max: T) {
    let (low, high) = range.get_or_insert((min, max));
    if min < *low {
        *low = min;
    }
    if max > *high {
        *high = max;
    }
}

fn merge_range<T: PartialOrd + Copy>(range: &mut Option<(T, T)>, other: Option<(T, T)>) {
    if let Some((min, max)) = other {
        widen(range, min, max);
    }
}

/// The number as text, with as many digits after the point as its scale says.
pub(crate) fn decimal_text(value: i128, scale: u8) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let scale = usize::from(scale);
    let digits = format!("{:0>width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") }
}

#[cfg(test)]
mod tests;
