//! Duplicate keys, and rows without a key.
//!
//! Keys are hashed to 128 bits. Where the hashes of all rows do not fit into memory, the key columns are read several times, each
//! time for a part of the hashes.

use std::collections::{BTreeMap, HashSet};

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use arrow::row::{RowConverter, SortField};
use lakerace_format::suggestions::column_not_found;
use lakerace_format::value_text;
use lakerace_io::{Error, Result};
use xxhash_rust::xxh3::xxh3_128;

use super::finding::{Finding, Subject};
use crate::row_ids::read::read_with_ids;
use crate::row_ids::{FILE_COLUMN, POSITION_COLUMN};
use crate::snapshot::Snapshot;
use crate::snapshot::files::TableFile;

/// Files whose key columns are read together.
const FILES_AT_ONCE: usize = 64;
/// Bytes of a hash.
const HASH_BYTES: u64 = 16;
/// Keys that are named.
const EXAMPLES: usize = 10;

/// Returns an error where the table lacks a column of the key.
pub(super) fn check_names(snapshot: &Snapshot, key: &[String]) -> Result<()> {
    let schema = snapshot.schema();
    let Some(name) = key.iter().find(|name| schema.field_with_name(name).is_err()) else { return Ok(()) };
    let names = schema.fields().iter().map(|field| field.name().as_str());
    Err(column_not_found(name, names).at(snapshot.table().location()))
}

/// Searches for duplicate and null keys in these files.
///
/// # Errors
/// Those of reading the key's columns.
pub(super) fn check(
    snapshot: &Snapshot,
    files: &[TableFile],
    key: &[String],
    memory_bytes: u64,
    findings: &mut Vec<Finding>,
) -> Result<()> {
    let rows: u64 = files.iter().filter_map(TableFile::visible_rows).sum();
    let parts = u128::from((rows * HASH_BYTES).div_ceil(memory_bytes.max(HASH_BYTES)).max(1));
    let keys = SeenKeys { snapshot, files, key };
    let (mut doubles, mut examples) = (0u64, HashSet::new());
    let mut without_key = KeyPlaces::default();
    for part in 0..parts {
        let mut hashes = Vec::with_capacity(usize::try_from(u128::from(rows) / parts).unwrap_or(0));
        keys.each(&mut |hash, batch, row| match hash {
            Some(hash) => hashes.extend((hash % parts == part).then_some(hash)),
            None if part == 0 => without_key.add(batch, row),
            None => {}
        })?;
        hashes.sort_unstable();
        for group in hashes.chunk_by(|a, b| a == b).filter(|group| group.len() > 1) {
            doubles += 1;
            if examples.len() < EXAMPLES {
                examples.insert(group[0]);
            }
        }
    }
    if doubles > 0 {
        findings.push(keys.doubles(doubles, &examples)?);
    }
    if without_key.rows > 0 {
        findings.push(keys.without_key(&without_key));
    }
    Ok(())
}

/// The places of a key's rows, some of which are named.
#[derive(Default)]
struct KeyPlaces {
    rows: u64,
    named: Vec<String>,
}

impl KeyPlaces {
    fn add(&mut self, batch: &RecordBatch, row: usize) {
        let file = batch.column_by_name(FILE_COLUMN).and_then(|column| column.as_string_opt::<i32>());
        let position = batch.column_by_name(POSITION_COLUMN).and_then(|column| column.as_primitive_opt::<Int64Type>());
        let (Some(file), Some(position)) = (file, position) else { return };
        self.rows += 1;
        if self.named.len() < EXAMPLES {
            self.named.push(format!("{} row {}", file.value(row), position.value(row)));
        }
    }

    fn text(&self) -> String {
        match self.rows - self.named.len() as u64 {
            0 => self.named.join(" and "),
            more => format!("{} and {more} more", self.named.join(" and ")),
        }
    }
}

struct SeenKeys<'a> {
    snapshot: &'a Snapshot,
    files: &'a [TableFile],
    key: &'a [String],
}

impl SeenKeys<'_> {
    /// Calls `take` with the hash of the key, the batch and the row of each row. A key with a null is none.
    fn each(&self, take: &mut dyn FnMut(Option<u128>, &RecordBatch, usize)) -> Result<()> {
        let schema = self.snapshot.schema();
        let fields = self.key.iter().map(|name| Ok(schema.field_with_name(name)?.data_type().clone()));
        let fields = fields.collect::<Result<Vec<_>, arrow::error::ArrowError>>().map_err(Error::unexpected)?;
        let fields = fields.into_iter().map(SortField::new).collect();
        let converter = RowConverter::new(fields).map_err(Error::unexpected)?;
        for chunk in self.files.chunks(FILES_AT_ONCE) {
            let names: Vec<String> = chunk.iter().map(|file| file.path.clone()).collect();
            for batch in read_with_ids(self.snapshot, &names, self.key, None)? {
                self.snapshot.table().job().check()?;
                let batch = batch?;
                let columns: Vec<ArrayRef> = batch.columns()[..self.key.len()].to_vec();
                let rows = converter.convert_columns(&columns).map_err(Error::unexpected)?;
                for row in 0..batch.num_rows() {
                    let has_key = columns.iter().all(|column| column.is_valid(row));
                    take(has_key.then(|| xxh3_128(rows.row(row).as_ref())), &batch, row);
                }
            }
        }
        Ok(())
    }

    /// Names some of the keys with the places of their rows.
    fn doubles(&self, doubles: u64, examples: &HashSet<u128>) -> Result<Finding> {
        let mut places: BTreeMap<String, KeyPlaces> = BTreeMap::new();
        self.each(&mut |hash, batch, row| {
            if !hash.is_some_and(|hash| examples.contains(&hash)) {
                return;
            }
            let value = |(name, column): (&String, &ArrayRef)| {
                format!("{name}={}", value_text(column, row).unwrap_or_default())
            };
            let text: Vec<String> = self.key.iter().zip(batch.columns()).map(value).collect();
            places.entry(text.join(", ")).or_default().add(batch, row);
        })?;
        let named = places.iter().map(|(key, places)| format!("{key} in {}", places.text()));
        let problem = format!(
            "{doubles} {} in more than one row: {}",
            if doubles == 1 { "key stands" } else { "keys stand" },
            named.collect::<Vec<_>>().join("; ")
        );
        let advice =
            "upsert the right row of each of these keys (`lakerace upsert`, Table.upsert): it replaces all others";
        Ok(Finding::new(Subject::Key, self.checked_version(), problem, advice))
    }

    fn without_key(&self, places: &KeyPlaces) -> Finding {
        let rows = if places.rows == 1 { "1 row has" } else { &format!("{} rows have", places.rows) };
        let problem = format!("{rows} no key ({} is null): {}", self.key.join(" or "), places.text());
        let advice = "no upsert finds such rows: give them keys (`lakerace update`, Table.update), or delete them \
                      (`lakerace delete`, Table.delete)";
        Finding::new(Subject::Key, self.checked_version(), problem, advice)
    }

    fn checked_version(&self) -> String {
        format!("{}: version {}", self.snapshot.table().location(), self.snapshot.version())
    }
}
