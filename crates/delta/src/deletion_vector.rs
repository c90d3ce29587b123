//! Deletion vectors: the rows of files that are not the table's any more.

pub(crate) mod bitmap;
pub(crate) mod commit;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use delta_kernel::Engine;
use delta_kernel::actions::deletion_vector::{DeletionVectorDescriptor, DeletionVectorStorageType};
use lakerace_format::{DeletedRows, uuid_text};
use lakerace_io::{Error, Fetcher, IfExists, Object, Output, Result, Wanted, plan_requests};
use roaring::RoaringTreemap;
use url::Url;

use crate::kernel::error::from_kernel;
use crate::paths::ROOT;
use crate::snapshot::files::TableFile;
use crate::table::Table;

/// Number and bitmap follow; the protocol's "portable" format.
const MAGIC: u32 = 1_681_511_377;
/// The format of the protocol's first draft, which no released writer uses.
const NATIVE_MAGIC: u32 = 1_681_511_376;
/// The one version of files with vectors.
const FILE_VERSION: u8 = 1;
/// Length in front of a vector, checksum after it.
const FRAME_BYTES: u64 = 4;
/// Hidden rows take a bit for each row of their file. One that does not say how many rows it has may have this many.
const UNKNOWN_ROWS: u64 = 1 << 31;

/// The location of a file's vector.
struct VectorLocation {
    /// The file, among those asked for.
    file: usize,
    /// The object, among those with vectors.
    object: u32,
    /// Its first byte: that of the length in front of it.
    start: u64,
    length: u64,
}

/// The hidden rows of these files, as their readers take them.
pub(crate) fn load(table: &Table, files: &[&TableFile]) -> Result<Vec<Option<Arc<DeletedRows>>>> {
    each(table, files, |file, vector, stored| {
        let file_rows = file.rows.unwrap_or(UNKNOWN_ROWS);
        let bits = bitmap::bits(stored, file_rows)?;
        let hidden = DeletedRows::from_bits(bits, file_rows).map_err(|error| error.at(file.object.url()))?;
        counted(hidden.count(), vector)?;
        Ok(Arc::new(hidden))
    })
}

/// The hidden rows of these files.
pub(crate) fn treemaps(table: &Table, files: &[&TableFile]) -> Result<Vec<Option<RoaringTreemap>>> {
    each(table, files, |_, vector, stored| {
        let rows = RoaringTreemap::deserialize_from(stored)
            .map_err(|e| Error::corrupt("its bitmap can't be read").because(e))?;
        counted(rows.len(), vector)?;
        Ok(rows)
    })
}

/// Applies a function to each stored bitmap of hidden rows. Vectors are fetched in as few requests as one read of all
/// their files.
fn each<T: Clone>(
    table: &Table,
    files: &[&TableFile],
    make: impl Fn(&TableFile, &DeletionVectorDescriptor, &[u8]) -> Result<T>,
) -> Result<Vec<Option<T>>> {
    let mut loaded: Vec<Option<T>> = vec![None; files.len()];
    let (mut objects, mut numbers) = (Vec::new(), HashMap::new());
    let mut places = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let Some(vector) = &file.vector else { continue };
        let named = |error: Error| error.at(file.object.url());
        let Some(object) = object(table, vector).map_err(named)? else {
            let stored = inline(table, vector).map_err(named)?;
            loaded[number] = Some(make(file, vector, &stored).map_err(named)?);
            continue;
        };
        let object = *numbers.entry(object.url()).or_insert_with(|| {
            objects.push(object);
            objects.len() as u32 - 1
        });
        // A vector without an offset is the only one in its file, after the byte of the version.
        let start = vector.offset.map_or(1, |offset| offset.max(0) as u64);
        places.push(VectorLocation { file: number, object, start, length: vector.size_in_bytes.max(0) as u64 });
    }
    if places.is_empty() {
        return Ok(loaded);
    }
    let fetcher = fetch(table, &objects, &places)?;
    for place in places {
        table.job().check()?;
        let (file, object) = (files[place.file], &objects[place.object as usize]);
        let Some(vector) = &file.vector else { continue };
        let rows = framed(&fetcher, &place).and_then(|frame| make(file, vector, body(&frame, &place)?));
        loaded[place.file] = Some(rows.map_err(|error| match error.location() {
            Some(_) => error,
            None => error.at(format!("{}: the deletion vector at {}", object.url(), place.start)),
        })?);
    }
    Ok(loaded)
}

/// The file with a vector; `None` for a vector that is inline in the log.
pub(crate) fn object(table: &Table, vector: &DeletionVectorDescriptor) -> Result<Option<Object>> {
    match vector.storage_type {
        DeletionVectorStorageType::Inline => Ok(None),
        DeletionVectorStorageType::PersistedAbsolute => table.object(&vector.path_or_inline_dv).map(Some),
        DeletionVectorStorageType::PersistedRelative => {
            let root = Url::parse(ROOT).map_err(Error::unexpected)?;
            let url = vector.absolute_path(&root).map_err(from_kernel)?;
            let url = url.ok_or_else(|| Error::internal("a stored deletion vector has no path"))?;
            table.object(url.path().trim_start_matches('/')).map(Some)
        }
    }
}

/// The bitmap of a vector that the log itself has.
fn inline(table: &Table, vector: &DeletionVectorDescriptor) -> Result<Vec<u8>> {
    let root = Url::parse(ROOT).map_err(Error::unexpected)?;
    let rows = table.kernel(|engine| vector.read(engine.storage_handler(), &root))?;
    let mut stored = Vec::with_capacity(rows.serialized_size());
    rows.serialize_into(&mut stored).map_err(Error::unexpected)?;
    Ok(stored)
}

fn fetch(table: &Table, objects: &[Object], places: &[VectorLocation]) -> Result<Fetcher> {
    let mut wanted: Vec<Wanted> =
        (0..objects.len() as u32).map(|file| Wanted { file, range: 0..u64::from(FILE_VERSION) }).collect();
    wanted.extend(places.iter().map(|place| Wanted { file: place.object, range: place.range() }));
    wanted.sort_by_key(|wanted| (wanted.file, wanted.range.start));
    let profile = objects.first().map(|object| object.store.profile());
    let profile = profile.ok_or_else(|| Error::internal("there is no deletion vector to fetch"))?;
    let plan = plan_requests(&wanted, &table.job().options().ranges, &profile);
    Fetcher::start(objects.to_vec(), &plan, table.job())
}

impl VectorLocation {
    fn range(&self) -> std::ops::Range<u64> {
        self.start..self.start + self.length + 2 * FRAME_BYTES
    }
}

/// The bytes of the vector at a place, with the length before it and the checksum after it.
fn framed(fetcher: &Fetcher, place: &VectorLocation) -> Result<Bytes> {
    let version = fetcher.bytes(place.object, 0..u64::from(FILE_VERSION))?;
    match version.first() {
        Some(&FILE_VERSION) => fetcher.bytes(place.object, place.range()),
        // No version is zero: the bytes of the file are lost.
        None | Some(0) => Err(Error::corrupt("its file does not start with a version")),
        Some(version) => Err(Error::unsupported(format!("a file of deletion vectors of version {version}"))),
    }
}

/// The bitmap of a vector, after its length and magic number and before its checksum.
fn body<'a>(bytes: &'a [u8], place: &VectorLocation) -> Result<&'a [u8]> {
    let number = |at: usize| -> Result<[u8; 4]> {
        let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
        four.ok_or_else(|| Error::corrupt("it is too short"))
    };
    let length = u32::from_be_bytes(number(0)?);
    if u64::from(length) != place.length {
        return Err(Error::corrupt(format!("it has {length} bytes, but the log states {}", place.length)));
    }
    let end = FRAME_BYTES as usize + length as usize;
    let body = bytes.get(FRAME_BYTES as usize..end).ok_or_else(|| Error::corrupt("it is too short"))?;
    let (stated, found) = (u32::from_be_bytes(number(end)?), checksum(body));
    if stated != found {
        return Err(Error::corrupt(format!("its checksum is {found:08x}, but {stated:08x} is stored with it")));
    }
    let magic = u32::from_le_bytes(number(FRAME_BYTES as usize)?);
    match magic {
        MAGIC => Ok(body.get(4..).unwrap_or_default()),
        NATIVE_MAGIC => Err(Error::unsupported("a deletion vector of the native format")),
        _ => {
            Err(Error::corrupt(format!("it starts with {magic:08x}, which is not a known format of deletion vectors")))
        }
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// An error unless a vector hides as many rows as the log says.
fn counted(count: u64, vector: &DeletionVectorDescriptor) -> Result<()> {
    if i64::try_from(count) != Ok(vector.cardinality) {
        return Err(Error::corrupt(format!(
            "the deletion vector hides {count} rows, but the log states {}",
            vector.cardinality
        )));
    }
    Ok(())
}

/// Vectors in one file.
pub(crate) struct PackedVectors {
    /// The file's name, in the table's folder.
    pub name: String,
    pub bytes: Bytes,
    /// The descriptors, one for each vector.
    pub descriptors: Vec<DeletionVectorDescriptor>,
}

/// Packs vectors into a file of a name that no one else has.
pub(crate) fn pack(vectors: &[RoaringTreemap]) -> Result<PackedVectors> {
    let id: [u8; 16] = rand::random();
    let target = z85::encode(id);
    let mut bytes = vec![FILE_VERSION];
    let mut descriptors = Vec::with_capacity(vectors.len());
    for vector in vectors {
        let mut body = MAGIC.to_le_bytes().to_vec();
        vector.serialize_into(&mut body).map_err(Error::unexpected)?;
        let too_long = |_| Error::unsupported("deletion vectors of more than 2 GiB in one commit");
        let offset = i32::try_from(bytes.len()).map_err(too_long)?;
        let size = i32::try_from(body.len()).map_err(too_long)?;
        bytes.extend(size.to_be_bytes());
        bytes.extend_from_slice(&body);
        bytes.extend(checksum(&body).to_be_bytes());
        let cardinality = i64::try_from(vector.len()).map_err(too_long)?;
        let kind = DeletionVectorStorageType::PersistedRelative;
        let descriptor = DeletionVectorDescriptor::try_new(kind, target.clone(), Some(offset), size, cardinality);
        descriptors.push(descriptor.map_err(from_kernel)?);
    }
    Ok(PackedVectors { name: format!("deletion_vector_{}.bin", uuid_text(&id)), bytes: bytes.into(), descriptors })
}

/// Writes vectors into one file, which is no part of the table until its log names it; returns the file, and the place
/// of each vector.
pub(crate) fn store(table: &Table, vectors: &[RoaringTreemap]) -> Result<(Object, Vec<DeletionVectorDescriptor>)> {
    let PackedVectors { name, bytes, descriptors } = pack(vectors)?;
    let object = table.object(&name)?;
    let mut output = Output::create(&object.store, &object.path, IfExists::ErrorAtEnd)?;
    let deferred = output.defer();
    output.write(bytes)?;
    output.finish()?;
    let output = deferred.take().ok_or_else(|| Error::internal("a file of deletion vectors was not finished"))?;
    // The entry of the log that names it syncs the folder first.
    output.publish_in_group()?;
    Ok((object, descriptors))
}
