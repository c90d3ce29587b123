//! Damage of a store on an object store.

use bytes::Bytes;
use lakerace_io::{Error, ErrorKind, Result};
use xxhash_rust::xxh3::Xxh3Default;

use super::names::{Named, StoreNames};
use super::read::decode;
use super::shared::{PackStore, alike};
use crate::home::{ContentSink, Damage, Progress, VerifyOutcome};
use crate::index::IndexEntry;
use crate::stream::go_on;

/// Stored bytes that are fetched together.
const FETCH_BYTES: u64 = 32 << 20;

/// Files that are fetched together.
const FETCH_FILES: usize = 10_000;

/// Reads every content. Long ones are held whole.
pub(super) fn verify(shared: &PackStore, progress: Progress<'_>) -> Result<VerifyOutcome> {
    let names = shared.names();
    let mut verified = VerifyOutcome::default();
    let (mut group, mut bytes) = (Vec::new(), 0);
    names.by_place(&mut |named| {
        let own = named.1.segments.iter().map(|segment| u64::from(segment.len)).sum::<u64>();
        if !group.is_empty() && (bytes + own > FETCH_BYTES || group.len() >= FETCH_FILES) {
            fetched(shared, &names, &group, &mut verified)?;
            go_on(progress(verified.files, verified.bytes))?;
            group.clear();
            bytes = 0;
        }
        bytes += own;
        group.push(named);
        Ok(())
    })?;
    fetched(shared, &names, &group, &mut verified)?;
    verified.damage.sort_by(|a, b| a.name.cmp(&b.name));
    verified.alike.sort();
    Ok(verified)
}

/// Fetches contents together and looks at each.
fn fetched(shared: &PackStore, names: &StoreNames, group: &[Named], verified: &mut VerifyOutcome) -> Result<()> {
    shared.store.job.check()?;
    let segments: Vec<_> = group.iter().flat_map(|(_, entry)| entry.segments.iter().copied()).collect();
    // If one content is damaged, each is checked separately.
    let together = shared.fetch(&segments).ok();
    let mut at = 0;
    for (name, entry) in group {
        let own = at..at + entry.segments.len();
        at = own.end;
        let stored = match &together {
            Some(all) => Ok(all[own].to_vec()),
            None => shared.fetch(&entry.segments),
        };
        one(shared, name, entry, stored, verified)?;
        verified.alike.extend(alike(names, name)?.map(|composed| (name.to_string(), composed)));
    }
    Ok(())
}

fn one(
    shared: &PackStore,
    name: &str,
    entry: &IndexEntry,
    stored: Result<Vec<Bytes>>,
    verified: &mut VerifyOutcome,
) -> Result<()> {
    verified.files += 1;
    match stored.and_then(|stored| is_whole(shared, entry, &stored)) {
        Ok(true) => verified.bytes += entry.size,
        Ok(false) => verified.undecoded += 1,
        Err(e) if matches!(e.kind(), ErrorKind::Corrupt | ErrorKind::NotFound | ErrorKind::Conflict) => {
            let damage = Damage { name: Some(name.to_owned()), between: None, problem: e.to_string() };
            verified.damage.push(damage);
        }
        Err(e) => return Err(e),
    }
    Ok(())
}

/// Checks that a content is unchanged; false where the check lacks a key or a transform.
fn is_whole(shared: &PackStore, entry: &IndexEntry, stored: &[Bytes]) -> Result<bool> {
    let encoding = match shared.encoding(&entry.encoding) {
        Ok(encoding) => encoding,
        Err(e) if matches!(e.kind(), ErrorKind::Usage | ErrorKind::Invalid) => return Ok(false),
        Err(e) => return Err(e),
    };
    let size = usize::try_from(entry.size).map_err(|_| Error::unsupported("the content does not fit into memory"))?;
    let mut content = Vec::new();
    decode(shared, entry, stored, content.begin(size)?)?;
    // SAFETY: decoding has written all of it.
    unsafe { content.set_len(size) };
    let mut hash = Xxh3Default::new();
    match encoding.chain.is_empty() {
        true => hash.update(&content),
        false => stored.iter().for_each(|stored| hash.update(stored)),
    }
    match hash.digest() == entry.checksum {
        true => Ok(true),
        false => Err(Error::corrupt("the content differs from what was written")),
    }
}
