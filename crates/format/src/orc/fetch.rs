//! Reading footers and indexes of stripes by planned requests, all that are needed together.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow::datatypes::FieldRef;
use bytes::Bytes;
use lakerace_io::{Error, Fetcher, Job, Result, Wanted, plan_requests};

use super::error::named;
use super::file::OrcFile;
use super::unit::StripeUnit;
use crate::columns::roots;
use crate::files::profile;

/// A stripe's footer above this is refused: many may be in memory, and decoded they take several times as much.
const STRIPE_FOOTER_BYTES_AT_MOST: u64 = 64 << 20;

/// Reads ranges, and gives `take` the bytes of each with its number, in order. Errors name the file.
pub(crate) fn fetch(
    places: &[(&StripeUnit, Range<u64>)],
    job: &Job,
    mut take: impl FnMut(usize, Bytes) -> Result<()>,
) -> Result<()> {
    if places.is_empty() {
        return Ok(());
    }
    let mut files: Vec<Arc<OrcFile>> = Vec::new();
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut wanted = Vec::with_capacity(places.len());
    for (unit, range) in places {
        let file = *numbers.entry(unit.file.url.as_str()).or_insert_with(|| {
            files.push(Arc::clone(&unit.file));
            files.len() as u32 - 1
        });
        wanted.push(Wanted { file, range: range.clone() });
    }
    let is_asked_for = |wanted: &&Wanted| files[wanted.file as usize].object.whole.is_none();
    let asked: Vec<Wanted> = wanted.iter().filter(is_asked_for).cloned().collect();
    let requests = plan_requests(&asked, &job.options().ranges, &profile(&files));
    let fetcher = Fetcher::start(files.iter().map(|file| file.object.clone()).collect(), &requests, job)?;
    for (nth, (Wanted { file, range }, (unit, _))) in wanted.into_iter().zip(places).enumerate() {
        job.check()?;
        let bytes = fetcher.bytes(file, range.clone()).and_then(|bytes| take(nth, bytes));
        bytes.map_err(|e| named(e, &unit.file.url))?;
        fetcher.release(file, range);
    }
    Ok(())
}

/// The place of a stripe's footer.
pub(crate) fn footer_range(unit: &StripeUnit) -> Result<Range<u64>> {
    let (at, length) = unit.file.tail.stripes()[unit.stripe].footer_range();
    if length > STRIPE_FOOTER_BYTES_AT_MOST {
        let message = format!("the footer of stripe {} has {length} bytes", unit.stripe);
        return Err(Error::corrupt(message).at(&unit.file.url));
    }
    Ok(at..at + length)
}

/// Reads the footers of stripes that are not known yet. Files without any of `fields` are left out: nothing of them is read.
pub(crate) fn read_stripe_footers(units: &[StripeUnit], fields: &[FieldRef], job: &Job) -> Result<()> {
    let mut places = Vec::new();
    for unit in units.iter().filter(|unit| unit.file.stripe(unit.stripe).is_none()) {
        if roots(&unit.file.schema, fields).iter().any(Option::is_some) {
            places.push((unit, footer_range(unit)?));
        }
    }
    fetch(&places, job, |nth, footer| places[nth].0.file.note_footer(places[nth].0.stripe, &footer))
}
