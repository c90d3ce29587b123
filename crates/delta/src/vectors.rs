//! Deletion vectors: the rows of files that are not the table's any more.

use std::collections::HashMap;
use std::sync::Arc;

use crc::{CRC_32_ISO_HDLC, Crc};
use delta_kernel::Engine;
use delta_kernel::actions::deletion_vector::{DeletionVectorDescriptor, DeletionVectorStorageType};
use lakerace_format::HiddenRows;
use lakerace_io::{Error, Fetcher, Object, Result, Wanted, plan_requests};
use roaring::RoaringTreemap;
use url::Url;

use crate::Table;
use crate::engine::ROOT;
use crate::error::from_kernel;
use crate::files::TableFile;

/// Number and bitmap follow; the protocol's "portable" format.
const MAGIC: u32 = 1_681_511_377;
/// The one version of files with vectors.
const FILE_VERSION: u8 = 1;
/// Length in front of a vector, checksum behind it.
const FRAME_BYTES: u64 = 4;
/// Hidden rows take a bit for each row of their file. One that does not say how many rows it has may have this many.
const UNKNOWN_ROWS: u64 = 1 << 31;

/// Where the vector of a file is.
struct Place {
    /// The file, among those asked for.
    file: usize,
    /// The object, among those with vectors.
    object: u32,
    /// Its first byte: that of the length in front of it.
    start: u64,
    length: u64,
}

/// The hidden rows of these files. Vectors are fetched in as few requests as one read of their files would take.
pub(crate) fn load(table: &Table, files: &[&TableFile]) -> Result<Vec<Option<Arc<HiddenRows>>>> {
    let mut loaded: Vec<Option<Arc<HiddenRows>>> = vec![None; files.len()];
    let (mut objects, mut numbers) = (Vec::new(), HashMap::new());
    let mut places = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let Some(vector) = &file.vector else { continue };
        let named = |error: Error| error.at(file.object.url());
        let Some(object) = object(table, vector).map_err(named)? else {
            loaded[number] = Some(hidden(inline(table, vector).map_err(named)?, file, vector).map_err(named)?);
            continue;
        };
        let object = *numbers.entry(object.url()).or_insert_with(|| {
            objects.push(object);
            objects.len() as u32 - 1
        });
        // Without an offset the vector stands alone, behind the version.
        let start = vector.offset.map_or(1, |offset| offset.max(0) as u64);
        places.push(Place { file: number, object, start, length: vector.size_in_bytes.max(0) as u64 });
    }
    if places.is_empty() {
        return Ok(loaded);
    }
    let fetcher = fetch(table, &objects, &places)?;
    for place in places {
        table.job().check()?;
        let file = files[place.file];
        let (Some(vector), object) = (&file.vector, &objects[place.object as usize]) else { continue };
        let rows = read(&fetcher, &place).map_err(|error| match error.place() {
            Some(_) => error,
            None => error.at(format!("{}: the deletion vector at {}", object.url(), place.start)),
        })?;
        loaded[place.file] = Some(hidden(rows, file, vector).map_err(|error| error.at(object.url()))?);
    }
    Ok(loaded)
}

/// The file with a vector; `None` where the log itself has it.
fn object(table: &Table, vector: &DeletionVectorDescriptor) -> Result<Option<Object>> {
    match vector.storage_type {
        DeletionVectorStorageType::Inline => Ok(None),
        DeletionVectorStorageType::PersistedAbsolute => table.object(&vector.path_or_inline_dv).map(Some),
        DeletionVectorStorageType::PersistedRelative => {
            let root = Url::parse(ROOT).map_err(|e| Error::internal(e.to_string()))?;
            let url = vector.absolute_path(&root).map_err(from_kernel)?;
            let url = url.ok_or_else(|| Error::internal("a stored deletion vector has no path"))?;
            table.object(url.path().trim_start_matches('/')).map(Some)
        }
    }
}

fn inline(table: &Table, vector: &DeletionVectorDescriptor) -> Result<RoaringTreemap> {
    let root = Url::parse(ROOT).map_err(|e| Error::internal(e.to_string()))?;
    table.kernel(|engine| vector.read(engine.storage_handler(), &root))
}

fn fetch(table: &Table, objects: &[Object], places: &[Place]) -> Result<Fetcher> {
    let mut wanted: Vec<Wanted> =
        (0..objects.len() as u32).map(|file| Wanted { file, range: 0..u64::from(FILE_VERSION) }).collect();
    wanted.extend(places.iter().map(|place| Wanted { file: place.object, range: place.range() }));
    wanted.sort_by_key(|wanted| (wanted.file, wanted.range.start));
    let profile = objects.first().map(|object| object.store.profile());
    let profile = profile.ok_or_else(|| Error::internal("no deletion vector is to be fetched"))?;
    let plan = plan_requests(&wanted, &table.job().options().ranges, &profile);
    Fetcher::start(objects.to_vec(), &plan, table.job())
}

impl Place {
    fn range(&self) -> std::ops::Range<u64> {
        self.start..self.start + self.length + 2 * FRAME_BYTES
    }
}

/// The vector at a place: its length, magic number, bitmap and checksum.
fn read(fetcher: &Fetcher, place: &Place) -> Result<RoaringTreemap> {
    let version = fetcher.bytes(place.object, 0..u64::from(FILE_VERSION))?;
    if version.first() != Some(&FILE_VERSION) {
        return Err(Error::unsupported(format!("a file of deletion vectors of version {version:?}")));
    }
    let bytes = fetcher.bytes(place.object, place.range())?;
    let number = |at: usize| -> Result<[u8; 4]> {
        let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
        four.ok_or_else(|| Error::corrupt("it is too short"))
    };
    let length = u32::from_be_bytes(number(0)?);
    if u64::from(length) != place.length {
        return Err(Error::corrupt(format!("it has {length} bytes, and the log says {}", place.length)));
    }
    let end = FRAME_BYTES as usize + length as usize;
    let body = bytes.get(FRAME_BYTES as usize..end).ok_or_else(|| Error::corrupt("it is too short"))?;
    let (stated, found) = (u32::from_be_bytes(number(end)?), Crc::<u32>::new(&CRC_32_ISO_HDLC).checksum(body));
    if stated != found {
        return Err(Error::corrupt(format!("its checksum is {found:08x}, and {stated:08x} is stored with it")));
    }
    let magic = u32::from_le_bytes(number(FRAME_BYTES as usize)?);
    if magic != MAGIC {
        return Err(Error::unsupported(format!("a deletion vector of format {magic}")));
    }
    let bitmap = body.get(4..).unwrap_or_default();
    RoaringTreemap::deserialize_from(bitmap).map_err(|e| Error::corrupt(format!("its bitmap can't be read: {e}")))
}

fn hidden(rows: RoaringTreemap, file: &TableFile, vector: &DeletionVectorDescriptor) -> Result<Arc<HiddenRows>> {
    let count = rows.len();
    if i64::try_from(count) != Ok(vector.cardinality) {
        return Err(Error::corrupt(format!(
            "the deletion vector hides {count} rows, and the log says {}",
            vector.cardinality
        )));
    }
    let last = rows.max();
    Ok(Arc::new(HiddenRows::new(rows, last, file.rows.unwrap_or(UNKNOWN_ROWS))?))
}
