//! Opening a file: one tail read, the footer, and the checks that everything later relies on.

mod depth;
pub(super) mod empty_groups;
pub(super) mod mend;
pub(super) mod narrow;
pub(super) mod old_calendar;
pub(super) mod page_index;
pub(super) mod schema;

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef, TimeUnit};
use bytes::{Bytes, BytesMut};
use lakerace_io::option::COLUMNS;
use lakerace_io::{Error, Object, Result};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
    ParquetStatisticsPolicy, RowGroupMetaData,
};

use self::depth::is_too_deep;
use self::empty_groups::without_empty_groups;
use self::mend::{encrypted_leaves, without_wrong_fields};
use self::narrow::{RootNames, narrowed};
use self::old_calendar::OldCalendar;
use self::page_index::keep_indexes;
use self::schema::{is_int96, with_enum_texts, with_int96, with_large_texts, with_months, with_root_views};
use super::logical_types::with_noted_types;
use crate::deleted_rows::DeletedRows;
use crate::duplicates::refuse_duplicates;
use crate::field_positions::FindBy;
use crate::file_notes::notes_of_columns;
use crate::files::{FileOpening, OpenFile};
use crate::impossible_types::ImpossibleType;
use crate::input::{Constants, InputFile};
use crate::nesting::nested_too_deep;
use crate::options::{ParquetOptions, TimestampUnit};
use crate::panic_guard::guarded;
use crate::projection::leaves_of_part;
use crate::table_schema::TableSchema;

/// Footers above this are refused: their decoded form takes several times as much memory.
const FOOTER_BYTES_AT_MOST: u64 = 512 << 20;
/// Footer length and magic at the end of a file.
const TRAILER_BYTES: u64 = 8;
const MAGIC: &[u8] = b"PAR1";
const ENCRYPTED_MAGIC: &[u8] = b"PARE";

/// An opened file.
#[derive(Debug)]
pub(crate) struct FileMeta {
    /// The object; its size and tag are known.
    pub object: Object,
    /// Its name for people.
    pub url: String,
    /// Its size.
    pub size_bytes: u64,
    /// The footer, with the schema that the parquet crate decodes to.
    pub arrow: ArrowReaderMetadata,
    /// The schema of this file's own batches: with the table's names if there is a table.
    pub schema: SchemaRef,
    /// The table that the file belongs to, if it is more than its files.
    pub table: Option<Arc<TableSchema>>,
    /// The columns that count by an old calendar.
    pub old_calendar: Option<OldCalendar>,
    /// True if digits of timestamps of 96 bits below their unit are rounded down; otherwise they are an error.
    pub rounds_int96: bool,
    /// True if the footer was decoded for the columns of a read, and others of the file are not known.
    pub is_narrowed: bool,
    /// Leaf columns that are encrypted.
    pub encrypted: BTreeSet<usize>,
    /// The number of the first row of each row group.
    pub first_rows: Vec<u64>,
    /// Rows that are not read.
    pub hidden: Option<Arc<DeletedRows>>,
    /// For each root column of the schema, its leaf columns.
    pub leaves: Vec<Range<usize>>,
    /// The page indexes, once read: the start of their bytes, and the bytes.
    pub index_span: OnceLock<(u64, Bytes)>,
    /// Columns whose values its place gives.
    pub constants: Option<Arc<Constants>>,
}

impl OpenFile for FileMeta {
    fn object(&self) -> &Object {
        &self.object
    }

    fn url(&self) -> &str {
        &self.url
    }

    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn rename(&mut self, schema: SchemaRef) {
        self.schema = schema;
    }

    fn constants(&self) -> Option<&Arc<Constants>> {
        self.constants.as_ref()
    }

    /// But for the hidden ones.
    fn rows(&self) -> u64 {
        total_rows(self.metadata()) - self.hidden.as_ref().map_or(0, |hidden| hidden.count())
    }

    fn unit_count(&self) -> usize {
        self.metadata().num_row_groups()
    }
}

impl FileMeta {
    /// Returns true if some values of a column chunk may change when they are read, so that the statistics of the
    /// stored ones do not apply.
    pub fn may_move(&self, row_group: &RowGroupMetaData, leaf: usize) -> bool {
        self.old_calendar.as_ref().is_some_and(|old| old.may_move(leaf, row_group.column(leaf)))
    }

    /// The schema of this file's own batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The footer.
    pub fn metadata(&self) -> &Arc<ParquetMetaData> {
        self.arrow.metadata()
    }

    /// The leaf columns of a root column, or of the part of it that a field of the same name has.
    pub fn leaves_of(&self, root: usize, field: &FieldRef) -> Vec<usize> {
        let Some(all) = self.leaves.get(root).cloned() else { return Vec::new() };
        if !field.data_type().is_nested() {
            return all.collect();
        }
        let stored = self.table.as_ref().map(|table| (table.part(field), table.find_by()));
        let (part, find_by) = match &stored {
            None => (field.data_type(), FindBy::Name),
            Some((Some(part), find_by)) => (&part.stored, *find_by),
            Some((None, _)) => return all.collect(),
        };
        let (mut next, mut leaves) = (all.start, Vec::with_capacity(all.len()));
        let whole = self.schema().field(root).data_type();
        leaves_of_part(whole, part, find_by, &mut next, &mut |leaf| leaves.push(leaf));
        // A type whose leaves are others than Arrow's is read as a whole.
        if next == all.end { leaves } else { all.collect() }
    }

    /// The numbers that the rows of a row group have in the file.
    pub fn rows_of(&self, row_group: usize) -> Range<u64> {
        let first = self.first_rows[row_group];
        first..first + self.metadata().row_group(row_group).num_rows() as u64
    }
}

/// The source of the types of columns.
#[derive(Clone, Copy)]
pub(crate) enum TypesBy<'a> {
    /// The file itself; of a wide one, these root columns may be all that is known.
    File(ParquetOptions, Option<&'a RootNames<'a>>),
    /// The table that the file belongs to.
    Table(&'a Arc<TableSchema>),
}

/// Opens a file; its errors name it. With a table, its columns are those of the table.
pub(crate) fn open(file: InputFile, types: TypesBy<'_>, opening: &FileOpening) -> Result<FileMeta> {
    let url = file.object.url();
    file.object.store.job.check()?;
    open_named(file, types, &url, opening).map_err(|error| error.at(&url))
}

fn open_named(file: InputFile, types: TypesBy<'_>, url: &str, opening: &FileOpening) -> Result<FileMeta> {
    let InputFile { mut object, constants, hidden, stated_rows } = file;
    let stated_bytes = object.size_bytes;
    let tail = opening.read_tail(&mut object)?;
    let size_bytes = object.size_bytes.unwrap_or(tail.len() as u64);
    if let (TypesBy::Table(_), Some(stated_bytes)) = (types, stated_bytes) {
        check_size(stated_bytes, size_bytes)?;
    }
    let length = footer_length(&tail, size_bytes)?;
    let needed = length + TRAILER_BYTES;
    let footer = footer_bytes(&object, &tail, size_bytes, length)?;
    opening.learn_tail(needed);

    let DecodedFooter { encrypted, arrow, schema, is_narrowed } =
        decode(&footer, types, constants.as_deref(), size_bytes)?;
    let metadata = arrow.metadata();
    let table = match types {
        TypesBy::File(..) => None,
        TypesBy::Table(table) => Some(Arc::clone(table)),
    };
    if let (TypesBy::Table(_), Some(stated_rows)) = (types, stated_rows) {
        check_rows(stated_rows, total_rows(metadata))?;
    }
    if let Some(hidden) = &hidden
        && hidden.end() > total_rows(metadata)
    {
        let (last, rows) = (hidden.end() - 1, total_rows(metadata));
        return Err(Error::corrupt(format!("its deletion vector hides row {last}, but it has {rows} rows")));
    }
    let leaves = root_leaves(metadata, arrow.schema().fields().len())?;
    let file = FileMeta {
        object,
        url: url.to_owned(),
        size_bytes,
        first_rows: first_rows(metadata),
        old_calendar: OldCalendar::detect(metadata, arrow.schema()),
        rounds_int96: matches!(types, TypesBy::File(options, _) if options.timestamp_unit != TimestampUnit::Auto),
        is_narrowed,
        encrypted,
        arrow,
        schema,
        table,
        leaves,
        index_span: OnceLock::new(),
        constants,
        hidden,
    };
    keep_indexes(&file, &tail, opening);
    Ok(file)
}

/// Checks that a file of a table has the size that its log states: otherwise it was replaced or truncated.
fn check_size(stated_bytes: u64, size_bytes: u64) -> Result<()> {
    // Some writers state no size, as 0: no Parquet file is empty.
    if stated_bytes == size_bytes || stated_bytes == 0 {
        return Ok(());
    }
    Err(Error::corrupt(format!("it has {size_bytes} bytes, but the log states {stated_bytes}")).advice(
        "the file was replaced or truncated: restore it from a backup, or restore an earlier version of the table with \
         `lakerace restore` or Table.restore",
    ))
}

/// Checks that a file of a table has as many rows as its log states: one of the same size may have replaced it.
fn check_rows(stated_rows: u64, rows: u64) -> Result<()> {
    match stated_rows == rows {
        true => Ok(()),
        false => Err(Error::corrupt(format!("it has {rows} rows, but the log states {stated_rows}")).advice(
            "the file was replaced: restore it from a backup, or an earlier version of the table by \
             `lakerace restore` or Table.restore",
        )),
    }
}

/// A decoded footer.
struct DecodedFooter {
    encrypted: BTreeSet<usize>,
    arrow: ArrowReaderMetadata,
    /// The schema of the file's batches.
    schema: SchemaRef,
    /// It was decoded for the columns of a read.
    is_narrowed: bool,
}

/// Decodes a footer; for a wide file, only the part for the columns that are read.
fn decode(footer: &[u8], types: TypesBy<'_>, constants: Option<&Constants>, size_bytes: u64) -> Result<DecodedFooter> {
    if let TypesBy::File(_, Some(names)) = types
        && let Some(narrowed) = narrowed(footer, names)
        && let Ok(decoded) = decode_all(&narrowed, types, constants, size_bytes)
    {
        // Its notes are on columns that it does not have here.
        let notes = notes_of_columns(decoded.schema.metadata(), decoded.schema.fields());
        let schema = Schema::new_with_metadata(decoded.schema.fields().clone(), notes);
        return Ok(DecodedFooter { schema: Arc::new(schema), is_narrowed: true, ..decoded });
    }
    decode_all(footer, types, constants, size_bytes)
}

fn decode_all(
    footer: &[u8],
    types: TypesBy<'_>,
    constants: Option<&Constants>,
    size_bytes: u64,
) -> Result<DecodedFooter> {
    if is_too_deep(footer) {
        return Err(nested_too_deep());
    }
    let encrypted = encrypted_leaves(footer);
    let metadata = decode_footer(footer).or_else(|error| match without_wrong_fields(footer) {
        Some(mended) => decode_footer(&mended),
        // Columns with separate keys have no readable metadata, which all other columns need as well.
        None if !encrypted.is_empty() => Err(encryption(&format!("{} of its columns are", encrypted.len()))),
        None => Err(error),
    })?;
    check_row_groups(&metadata, size_bytes)?;
    let metadata = guarded("the schema", || without_empty_groups(metadata))?;
    let metadata = Arc::new(with_row_count(metadata));
    let arrow = guarded("the schema", || match types {
        TypesBy::File(options, _) => arrow_metadata(&metadata, options),
        TypesBy::Table(_) => table_metadata(&metadata),
    })?;
    if let Some(found) = ImpossibleType::find(arrow.schema()) {
        return Err(Error::corrupt(format!("its footer is damaged: {found}")));
    }
    refuse_duplicates(arrow.schema())?;
    let schema = match types {
        TypesBy::File(..) => Arc::clone(arrow.schema()),
        TypesBy::Table(table) => table.of_file(arrow.schema(), constants)?,
    };
    Ok(DecodedFooter { encrypted, arrow, schema, is_narrowed: false })
}

fn total_rows(metadata: &ParquetMetaData) -> u64 {
    metadata.row_groups().iter().map(|group| group.num_rows() as u64).sum()
}

/// The number of the first row of each row group.
fn first_rows(metadata: &ParquetMetaData) -> Vec<u64> {
    let rows = metadata.row_groups().iter().map(|group| group.num_rows() as u64);
    rows.scan(0, |next, rows| Some(std::mem::replace(next, *next + rows))).collect()
}

fn decode_footer(footer: &[u8]) -> Result<ParquetMetaData> {
    guarded("the footer", || {
        // Histograms of sizes are of no use here.
        let options = ParquetMetaDataOptions::new().with_size_stats_policy(ParquetStatisticsPolicy::SkipAll);
        ParquetMetaDataReader::decode_metadata_with_options(footer, Some(&options))
    })
}

fn encryption(what: &str) -> Error {
    Error::unsupported(format!("{what} encrypted"))
        .advice(format!("read other columns with {COLUMNS}, or decrypt the file with its writer's tools"))
}

/// The length that the trailer states, checked against the file's size.
fn footer_length(tail: &[u8], size: u64) -> Result<u64> {
    if size == 0 {
        return Err(Error::corrupt("the file is empty, so it is not a Parquet file"));
    }
    let Some(trailer) = tail.len().checked_sub(TRAILER_BYTES as usize).and_then(|at| tail.get(at..)) else {
        return Err(Error::corrupt(format!("the file has {size} bytes, too few for a Parquet file")));
    };
    let (length, magic) = trailer.split_at(4);
    if magic == ENCRYPTED_MAGIC {
        return Err(encryption("the footer is"));
    }
    if magic != MAGIC {
        return Err(Error::corrupt("the file does not end in PAR1: it is not a Parquet file, or it is truncated"));
    }
    let length = length.iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
    if length + TRAILER_BYTES + MAGIC.len() as u64 > size {
        return Err(Error::corrupt(format!("the footer claims to have {length} bytes, but the file has {size}")));
    }
    if length > FOOTER_BYTES_AT_MOST {
        return Err(Error::unsupported(format!("the footer has {length} bytes, more than {FOOTER_BYTES_AT_MOST}")));
    }
    Ok(length)
}

/// The footer without its trailer, from the tail, and by a second read if the tail is too short.
fn footer_bytes(object: &Object, tail: &Bytes, size: u64, length: u64) -> Result<Bytes> {
    let end = tail.len() - TRAILER_BYTES as usize;
    if let Some(start) = (end as u64).checked_sub(length) {
        return Ok(tail.slice(start as usize..end));
    }
    let tail_start = size - tail.len() as u64;
    let front = object.read_range(size - TRAILER_BYTES - length..tail_start)?;
    let mut whole = BytesMut::with_capacity(length as usize);
    whole.extend_from_slice(&front);
    whole.extend_from_slice(&tail[..end]);
    Ok(whole.freeze())
}

/// The Arrow schema: as the writer hinted, root strings and bytes as views.
///
/// Timestamps of 96 bits have nanoseconds, which reach from 1677 to 2262 only. Those of Spark have microseconds, as it keeps
/// no more digits and writes any year, unless the options say another unit. A value that does not fit is an error, at every level.
fn arrow_metadata(
    metadata: &Arc<ParquetMetaData>,
    options: ParquetOptions,
) -> Result<ArrowReaderMetadata, ParquetError> {
    let hinted = ArrowReaderMetadata::try_new(Arc::clone(metadata), ArrowReaderOptions::new())?;
    let stored = metadata.file_metadata().schema_descr();
    let timed = match has_int96(metadata) {
        false => Arc::clone(hinted.schema()),
        true => with_int96(hinted.schema(), stored, &|known| match known {
            DataType::Timestamp(unit, zone) => {
                let is_instant = options.int96_is_instant && zone.is_none();
                let unit = match options.timestamp_unit {
                    TimestampUnit::Auto if is_of_spark(metadata) => TimeUnit::Microsecond,
                    TimestampUnit::Auto => *unit,
                    TimestampUnit::Second => TimeUnit::Second,
                    TimestampUnit::Millisecond => TimeUnit::Millisecond,
                    TimestampUnit::Microsecond => TimeUnit::Microsecond,
                    TimestampUnit::Nanosecond => TimeUnit::Nanosecond,
                };
                DataType::Timestamp(unit, if is_instant { Some("UTC".into()) } else { zone.clone() })
            }
            other => other.clone(),
        }),
    };
    let timed = with_enum_texts(&with_months(&timed, metadata), stored);
    let viewed = with_large_texts(&with_root_views(&timed).unwrap_or(timed), metadata);
    let viewed = with_noted_types(&viewed, stored);
    if viewed.fields() == hinted.schema().fields() {
        return Ok(hinted);
    }
    ArrowReaderMetadata::try_new(Arc::clone(metadata), ArrowReaderOptions::new().with_schema(viewed))
}

/// Returns true if a column has timestamps of 96 bits.
pub(super) fn has_int96(metadata: &ParquetMetaData) -> bool {
    let stored = metadata.file_metadata().schema_descr();
    (0..stored.num_columns()).any(|leaf| is_int96(stored, leaf))
}

/// Returns true if Spark wrote the file.
fn is_of_spark(metadata: &ParquetMetaData) -> bool {
    let pairs = metadata.file_metadata().key_value_metadata();
    pairs.is_some_and(|pairs| pairs.iter().any(|pair| pair.key.starts_with("org.apache.spark.")))
}

/// The Arrow schema of a table's file, from its Parquet types alone: the writer's own Arrow schema is ignored. Root
/// strings and bytes are views, and timestamps of 96 bits have microseconds, because nanoseconds reach from 1677 to
/// 2262 only.
fn table_metadata(metadata: &Arc<ParquetMetaData>) -> Result<ArrowReaderMetadata, ParquetError> {
    let plain = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let plain = ArrowReaderMetadata::try_new(Arc::clone(metadata), plain)?;
    let micros = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    let micros = with_int96(plain.schema(), metadata.file_metadata().schema_descr(), &|_| micros.clone());
    let viewed = with_root_views(&micros).unwrap_or(micros);
    if viewed.fields() == plain.schema().fields() {
        return Ok(plain);
    }
    ArrowReaderMetadata::try_new(Arc::clone(metadata), ArrowReaderOptions::new().with_schema(viewed))
}

/// The leaf columns of each root column. A group without fields has none, and is no column of Arrow's schema.
fn root_leaves(metadata: &ParquetMetaData, roots: usize) -> Result<Vec<Range<usize>>> {
    let descriptor = metadata.file_metadata().schema_descr();
    let mut leaves: Vec<Range<usize>> = Vec::with_capacity(roots);
    let mut last = None;
    for leaf in 0..descriptor.num_columns() {
        let root = descriptor.get_column_root_idx(leaf);
        match leaves.last_mut() {
            Some(range) if last == Some(root) => range.end = leaf + 1,
            _ => leaves.push(leaf..leaf + 1),
        }
        last = Some(root);
    }
    if leaves.len() != roots {
        return Err(Error::corrupt(format!("the schema has {} columns with leaves, but {roots} fields", leaves.len())));
    }
    Ok(leaves)
}

/// Computes the number of rows from the row groups: some writers left the file's own count at zero, which the parquet
/// crate does not check.
fn with_row_count(metadata: ParquetMetaData) -> ParquetMetaData {
    let file = metadata.file_metadata();
    let rows: i64 = metadata.row_groups().iter().map(RowGroupMetaData::num_rows).sum();
    if file.num_rows() == rows {
        return metadata;
    }
    let file = FileMetaData::new(
        file.version(),
        rows,
        file.created_by().map(str::to_owned),
        file.key_value_metadata().cloned(),
        file.schema_descr_ptr(),
        file.column_orders().cloned(),
    );
    ParquetMetaData::new(file, metadata.row_groups().to_vec())
}

/// Checks the assumptions of the reader: counts are not negative, chunks lie within the file.
fn check_row_groups(metadata: &ParquetMetaData, size: u64) -> Result<()> {
    let leaves = metadata.file_metadata().schema_descr().num_columns();
    let mut rows = 0u64;
    for (index, group) in metadata.row_groups().iter().enumerate() {
        let group_rows = u64::try_from(group.num_rows())
            .map_err(|_| Error::corrupt("the row count is negative").at(format!("row group {index}")))?;
        rows = rows.checked_add(group_rows).filter(|rows| *rows <= i64::MAX as u64).ok_or_else(|| {
            Error::corrupt("the row counts of the row groups overflow").at(format!("row group {index}"))
        })?;
        if group.num_columns() != leaves {
            let message = format!("{} column chunks for {leaves} columns", group.num_columns());
            return Err(Error::corrupt(message).at(format!("row group {index}")));
        }
        for column in group.columns() {
            check_chunk(group, column, size)
                .map_err(|e| e.at(format!("row group {index}, column {}", column.column_path())))?;
        }
    }
    Ok(())
}

fn check_chunk(group: &RowGroupMetaData, column: &ColumnChunkMetaData, size: u64) -> Result<()> {
    if column.file_path().is_some_and(|path| !path.is_empty()) {
        return Err(
            Error::unsupported("its data is in another file").advice("read the files that hold the data instead")
        );
    }
    let range = chunk_range(column)?;
    if range.end > size {
        return Err(Error::corrupt(format!(
            "its bytes {}..{} end after the end of the file at {size}",
            range.start, range.end
        )));
    }
    let is_flat = column.column_descr().max_rep_level() == 0;
    if column.num_values() < 0 || (is_flat && column.num_values() != group.num_rows()) {
        let message = format!("{} values for {} rows", column.num_values(), group.num_rows());
        return Err(Error::corrupt(message));
    }
    Ok(())
}

impl FileMeta {
    /// Returns true if the byte in the middle of a row group is in a range, by what the footer states.
    pub fn has_midpoint_in(&self, row_group: usize, range: &Range<u64>) -> bool {
        let group = self.metadata().row_group(row_group);
        let start = group.columns().first().and_then(|column| chunk_range(column).ok()).map_or(0, |chunk| chunk.start);
        let length: u64 = group.columns().iter().map(|column| column.compressed_size().max(0) as u64).sum();
        range.contains(&start.saturating_add(length / 2))
    }

    /// The bytes of a column chunk, dictionary included.
    pub fn chunk_range(&self, row_group: usize, leaf: usize) -> Result<Range<u64>> {
        let column = self.metadata().row_group(row_group).column(leaf);
        if self.encrypted.contains(&leaf) {
            return Err(encryption(&format!("the column {} is", column.column_path())).at(&self.url));
        }
        let range = chunk_range(column)?;
        let file = self.metadata().file_metadata();
        if !file.created_by().is_some_and(forgets_headers) {
            return Ok(range);
        }
        Ok(range.start..range.end.saturating_add(FORGOTTEN_BYTES).min(self.size_bytes))
    }
}

/// The most bytes that parquet-mr before 1.2.9 left out of a chunk's length (PARQUET-816): the header of its dictionary page.
const FORGOTTEN_BYTES: u64 = 100;

/// Returns true if a writer left the dictionary's page header out of a chunk's length.
fn forgets_headers(created_by: &str) -> bool {
    let Some(rest) = created_by.strip_prefix("parquet-mr") else { return false };
    let version = rest.trim_start().strip_prefix("version ").unwrap_or("0");
    let mut parts = version.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    (next(), next(), next()) < (1, 2, 9)
}

/// The bytes of a column chunk as the footer states them.
fn chunk_range(column: &ColumnChunkMetaData) -> Result<Range<u64>> {
    let data = column.data_page_offset();
    // Offset 0 is the position of the file's magic: some writers set it where there is no dictionary.
    let start = match column.dictionary_page_offset() {
        Some(dictionary) if dictionary > 0 && dictionary < data => dictionary,
        _ => data,
    };
    let negative = || Error::corrupt("an offset or length is negative");
    let start = u64::try_from(start).map_err(|_| negative())?;
    let length = u64::try_from(column.compressed_size()).map_err(|_| negative())?;
    let end = start.checked_add(length).ok_or_else(|| Error::corrupt("its length overflows"))?;
    Ok(start..end)
}
