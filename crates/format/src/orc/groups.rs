//! Row groups of stripes: which of them a filter excludes, by the statistics of the row index and by bloom filters.

use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::{FieldRef, i256};
use bytes::Bytes;
use lakerace_io::{Job, PathProfile, Result};
use lakerace_orc::StreamKind;
use lakerace_orc::read::{BloomFilter, Range as OrcRange, Stripe};
use lakerace_orc::schema::OrcKind;

use super::error::{from_orc, named};
use super::fetch::{fetch, footer_range};
use super::row_groups::StripeRowGroups;
use super::statistics::{column_of, excludes_group};
use super::unit::StripeUnit;
use crate::expr::Expr;
use crate::files::profile;
use crate::plan::RowGroupsPlan;
use crate::predicate::{Predicate, Value};

/// Row indexes and bloom filters of a stripe above this are not read: the data they could save is hardly larger.
const INDEX_BYTES_AT_MOST: u64 = 64 << 20;

/// The part of a stripe that a filter leaves.
pub(crate) enum StripeRemainder {
    /// All of it.
    Whole,
    /// Some of its row groups.
    Some(Arc<StripeRowGroups>),
    /// Nothing, and why.
    Nothing(String),
}

/// A filter, and the columns that are decoded.
pub(crate) struct GroupFilter<'a> {
    /// The filter.
    pub predicate: &'a Predicate,
    /// The filter of the request.
    pub filter: &'a Expr,
    /// The decoded columns, those of the filter among them.
    pub fields: &'a [FieldRef],
}

/// A stripe whose row groups may be excluded.
struct StripeCandidate<'a> {
    nth: usize,
    unit: &'a StripeUnit,
    /// The ids of its decoded columns.
    columns: Vec<u32>,
    /// Its bytes from the first index to the footer, where a single request read these.
    region: Option<Bytes>,
    found: Vec<(OrcRange, Bytes)>,
}

impl GroupFilter<'_> {
    /// Determines which part of each stripe the filter leaves. Planned requests read the indexes of all stripes,
    /// together with the footers where a second round of requests would take longer than it saves.
    pub fn ask(&self, units: &[StripeUnit], job: &Job) -> Result<Vec<StripeRemainder>> {
        let mut left: Vec<StripeRemainder> = units.iter().map(|_| StripeRemainder::Whole).collect();
        let mut candidates = Vec::new();
        for (nth, unit) in units.iter().enumerate() {
            let columns = self.columns(unit);
            match unit.file.known_groups(unit.stripe).filter(|known| known.serves(self.filter, &columns)) {
                Some(known) => left[nth] = StripeRemainder::Some(known),
                None if self.can_be_decided(unit) => {
                    candidates.push(StripeCandidate { nth, unit, columns, region: None, found: Vec::new() });
                }
                None => {}
            }
        }
        read_footers(&mut candidates, job)?;
        self.read_indexes(&mut candidates, job)?;
        for candidate in candidates {
            job.check()?;
            let (nth, unit) = (candidate.nth, candidate.unit);
            left[nth] = self.judge(candidate).map_err(|e| named(e, &unit.file.url))?;
            if let StripeRemainder::Some(groups) = &left[nth] {
                unit.file.keep_groups(unit.stripe, groups);
            }
        }
        Ok(left)
    }

    fn columns(&self, unit: &StripeUnit) -> Vec<u32> {
        self.fields.iter().flat_map(|field| unit.file.columns(field)).collect()
    }

    /// Returns true if the statistics of a column that the file has can decide the filter.
    fn can_be_decided(&self, unit: &StripeUnit) -> bool {
        let has_groups = unit.file.tail.row_group_rows().is_some() && unit.rows() > 0;
        has_groups && self.predicate.decided_by().iter().any(|column| column_of(&unit.file, &column.path).is_some())
    }

    /// Reads the indexes that decide the filter, and those with the starts of the row groups of the decoded columns.
    fn read_indexes(&self, candidates: &mut [StripeCandidate<'_>], job: &Job) -> Result<()> {
        let mut wanted = Vec::new();
        for (nth, candidate) in candidates.iter_mut().enumerate() {
            let unit = candidate.unit;
            let ranges = self.ranges(unit, &candidate.columns).map_err(|e| named(e, &unit.file.url))?;
            let start = unit.file.tail.stripes()[unit.stripe].offset;
            for range in ranges {
                let place = range.offset..range.offset + range.length;
                let part = (place.start - start) as usize..(place.end - start) as usize;
                match candidate.region.as_ref().filter(|region| part.end <= region.len()) {
                    Some(region) => candidate.found.push((range, region.slice(part))),
                    None => wanted.push((nth, range, unit, place)),
                }
            }
        }
        let places: Vec<(&StripeUnit, Range<u64>)> =
            wanted.iter().map(|(_, _, unit, place)| (*unit, place.clone())).collect();
        fetch(&places, job, |at, bytes| {
            let (nth, range, _, _) = &wanted[at];
            candidates[*nth].found.push((*range, bytes));
            Ok(())
        })
    }

    /// The index streams of a stripe that are needed; none if its row groups can't be distinguished.
    fn ranges(&self, unit: &StripeUnit, columns: &[u32]) -> Result<Vec<OrcRange>> {
        let stripe = unit.file.columns_of_stripe(unit.stripe, columns)?;
        let groups = stripe.row_groups();
        let Some(mut ranges) = stripe.position_ranges() else { return Ok(Vec::new()) };
        let equal: Vec<u32> = self.equal(unit).iter().map(|equal| equal.id).collect();
        let blooms = stripe.index_ranges(&equal, true);
        ranges.extend(blooms.into_iter().filter(|range| range.kind == StreamKind::BloomFilterUtf8));
        // The statistics of the only row group are those of the stripe.
        let tells = groups > 1 || ranges.iter().any(|range| range.kind == StreamKind::BloomFilterUtf8);
        let bytes: u64 = ranges.iter().map(|range| range.length).sum();
        Ok(if tells && bytes <= INDEX_BYTES_AT_MOST { ranges } else { Vec::new() })
    }

    /// Judges a stripe by its indexes.
    fn judge(&self, candidate: StripeCandidate<'_>) -> Result<StripeRemainder> {
        let StripeCandidate { unit, columns, found, .. } = candidate;
        if found.is_empty() {
            return Ok(StripeRemainder::Whole);
        }
        let mut stripe = unit.file.columns_of_stripe(unit.stripe, &columns)?;
        for (range, bytes) in &found {
            stripe.set_index(range, bytes).map_err(from_orc)?;
        }
        let groups = stripe.row_groups();
        let equal = self.equal(unit);
        let mut kept = Vec::with_capacity(groups);
        let mut reason = None;
        for group in 0..groups {
            let why = match excludes_group(unit, &stripe, group, self.predicate) {
                Some(why) => Some(why),
                None => excluded_by_bloom_filter(&equal, &stripe, group),
            };
            kept.push(why.is_none());
            reason = reason.or(why);
        }
        let Some(reason) = reason else { return Ok(StripeRemainder::Whole) };
        let count = kept.iter().filter(|kept| **kept).count();
        if count == 0 {
            return Ok(StripeRemainder::Nothing(if groups == 1 {
                reason
            } else {
                format!("no row group can match: {reason}")
            }));
        }
        if !stripe.has_usable_positions().map_err(from_orc)? {
            return Ok(StripeRemainder::Whole);
        }
        let plan = RowGroupsPlan { all: groups as u64, kept: count as u64, reason };
        Ok(StripeRemainder::Some(Arc::new(StripeRowGroups {
            filter: self.filter.clone(),
            columns,
            stripe,
            kept,
            plan,
        })))
    }

    /// The columns that must have one of some values.
    fn equal(&self, unit: &StripeUnit) -> Vec<EqualColumn> {
        let equalities = self.predicate.equalities().into_iter();
        let known = equalities.filter_map(|(column, values)| {
            let node = column_of(&unit.file, &column.path)?;
            // Writers differ in the padding of the char texts in the filters.
            let can_be_asked = !matches!(node.kind, OrcKind::Char(_));
            can_be_asked.then(|| EqualColumn { id: node.id, name: column.name(), values })
        });
        known.collect()
    }
}

/// A column that must have one of these values.
struct EqualColumn {
    id: u32,
    name: String,
    values: Vec<Value>,
}

/// Why the bloom filters of a row group exclude it.
fn excluded_by_bloom_filter(equal: &[EqualColumn], stripe: &Stripe, group: usize) -> Option<String> {
    equal.iter().find_map(|EqualColumn { id, name, values }| {
        let filter = stripe.bloom_filter(*id, group)?;
        let may_contain = values.iter().any(|value| may_contain(filter, value));
        (!may_contain).then(|| format!("bloom filter: {name} has none of the values"))
    })
}

fn may_contain(filter: &BloomFilter, value: &Value) -> bool {
    match value {
        // A value that no column of 64 bits can hold is in no filter.
        Value::Integer(value) => {
            let value = (*value >= i256::from_i128(i64::MIN.into()) && *value <= i256::from_i128(i64::MAX.into()))
                .then(|| value.as_i128() as i64);
            value.is_some_and(|value| filter.may_contain_integer(value))
        }
        Value::Float(value) => filter.may_contain_double(*value),
        Value::Bytes(value) => filter.may_contain_bytes(value),
        Value::Boolean(_) => true,
    }
}

/// Reads the footers that are not known yet, and all indexes with them if that is cheaper than another round of
/// requests.
fn read_footers(candidates: &mut [StripeCandidate<'_>], job: &Job) -> Result<()> {
    let index_bytes = |unit: &StripeUnit| unit.file.tail.stripes()[unit.stripe].index_bytes;
    let files: Vec<_> = candidates.iter().take(1).map(|candidate| Arc::clone(&candidate.unit.file)).collect();
    let bytes: u64 = candidates.iter().map(|candidate| index_bytes(candidate.unit)).sum();
    let is_known = |candidate: &StripeCandidate<'_>| candidate.unit.file.stripe(candidate.unit.stripe).is_some();
    let at_once = bytes <= round_trip_bytes(&profile(&files)) && !candidates.iter().all(is_known);
    // For each stripe, the region of its indexes, if wanted, and then its footer.
    let (mut places, mut numbers) = (Vec::new(), Vec::new());
    for (nth, candidate) in candidates.iter().enumerate() {
        let unit = candidate.unit;
        if at_once && index_bytes(unit) > 0 {
            let start = unit.file.tail.stripes()[unit.stripe].offset;
            places.push((unit, start..start + index_bytes(unit)));
            numbers.push((nth, true));
        }
        if !is_known(candidate) {
            places.push((unit, footer_range(unit)?));
            numbers.push((nth, false));
        }
    }
    fetch(&places, job, |at, bytes| {
        let (nth, is_region) = numbers[at];
        let candidate = &mut candidates[nth];
        match is_region {
            true => candidate.region = Some(bytes),
            false => candidate.unit.file.note_footer(candidate.unit.stripe, &bytes)?,
        }
        Ok(())
    })
}

/// Bytes that take as long as one more round of requests.
fn round_trip_bytes(path: &PathProfile) -> u64 {
    let bytes = path.latency_ms / 1000.0 * path.total_bytes_per_second;
    (bytes as u64).min(INDEX_BYTES_AT_MOST)
}
