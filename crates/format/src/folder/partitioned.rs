//! A sink that divides its rows by the values of columns: a folder for each, as Hive, Spark and pyarrow name them.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::{CastOptions, cast_with_options, take_record_batch};
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::row::{RowConverter, SortField};
use arrow::util::display::FormatOptions;
use lakerace_io::object_store::path::Path;
use lakerace_io::option::PARTITION_BY;
use lakerace_io::{Error, Job, JobStore, Result, WriteMode};

use super::cut::{FILE_BYTES, FileCut};
use super::files::{FolderFiles, MakeSink};
use crate::array_bytes::array_bytes;
use crate::options::WriteOptions;
use crate::own_texts::with_own_texts;
use crate::schema_text::print_field_type;
use crate::sink::{Sink, Written};
use crate::suggestions::column_not_found;

/// The name of the folder for null, as in Hive.
pub const NULL_FOLDER: &str = "__HIVE_DEFAULT_PARTITION__";

/// Limit in bytes of rows that wait for their files, unless options set it.
const WAITING_BYTES: u64 = 256 << 20;

/// The format of times in names: those of a wall clock as in Spark, and instants in UTC as in pyarrow.
const TIMES: FormatOptions<'static> = FormatOptions::new()
    .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
    .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.fZ"));

/// Writes the rows of a folder into folders below it, one for each value of some columns, which the files then lack. See
/// [`PartitionColumns`].
///
/// Rows wait in memory, by folder, until they are more than a bound; the folder with the most of them gets a file then. One file is
/// open at a time, however many folders there are.
pub struct PartitionedSink {
    files: FolderFiles,
    columns: PartitionColumns,
    /// For each key of the columns its place in `groups`.
    known: HashMap<Box<[u8]>, usize>,
    groups: Vec<PartitionGroup>,
    waiting_bytes: u64,
    most_bytes: u64,
    cut: FileCut,
    make: MakeSink,
    job: Job,
}

/// The rows of one folder.
struct PartitionGroup {
    /// The folder's name below the target, such as `year=2024/kind=a`.
    folder: String,
    batches: Vec<RecordBatch>,
    bytes: u64,
}

/// The columns that name folders, and those that stay in the files.
#[derive(Debug)]
pub struct PartitionColumns {
    names: Vec<String>,
    positions: Vec<usize>,
    rest: Vec<usize>,
    schema: SchemaRef,
    keys: RowConverter,
}

impl PartitionColumns {
    /// Columns of a schema by their names, in the order of the folders.
    ///
    /// # Errors
    /// `NotFound` for a column that there is not; `Usage` for one that is named twice, and where no column is left for the files;
    /// `Unsupported` for nested and binary columns, whose values have no text.
    pub fn new(schema: &Schema, names: &[String]) -> Result<Self> {
        let mut positions: Vec<usize> = Vec::with_capacity(names.len());
        for name in names {
            let known = || schema.fields().iter().map(|field| field.name().as_str());
            let at = schema.index_of(name).map_err(|_| column_not_found(name, known()))?;
            if positions.contains(&at) {
                return Err(Error::usage(format!("{PARTITION_BY} names the column {name:?} twice"))
                    .advice("name each column once"));
            }
            if name.starts_with('.') {
                return Err(Error::unsupported(format!(
                    "folders of column {name:?} would be hidden from every reader"
                ))
                .advice("rename the column: its name begins with a dot"));
            }
            let field = schema.field(at);
            let value_type = match field.data_type() {
                DataType::Dictionary(_, value) => value.as_ref(),
                other => other,
            };
            if value_type.is_nested() || value_type.is_binary() || value_type.is_null() {
                return Err(Error::unsupported(format!(
                    "column {name:?} of type {} can't name folders",
                    print_field_type(field)
                ))
                .advice(format!("choose columns of numbers, text, dates or times with {PARTITION_BY}")));
            }
            positions.push(at);
        }
        let rest: Vec<usize> = (0..schema.fields().len()).filter(|at| !positions.contains(at)).collect();
        if rest.is_empty() {
            return Err(Error::usage("no column is left for the files")
                .advice(format!("name fewer columns with {PARTITION_BY}")));
        }
        let fields = positions.iter().map(|at| SortField::new(schema.field(*at).data_type().clone()));
        let keys = RowConverter::new(fields.collect()).map_err(Error::unexpected)?;
        let schema = Arc::new(schema.project(&rest).map_err(Error::unexpected)?);
        Ok(Self { names: names.to_vec(), positions, rest, schema, keys })
    }

    /// The columns of the files.
    pub fn file_schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The folder of a row.
    fn folder(&self, texts: &[ArrayRef], row: usize) -> Result<String> {
        let mut folder = String::new();
        for (name, texts) in self.names.iter().zip(texts) {
            if !folder.is_empty() {
                folder.push('/');
            }
            escape(name, &mut folder);
            folder.push('=');
            let text = match texts.is_null(row) {
                true => None,
                false => Some(arrow::array::AsArray::as_string::<i32>(texts).value(row)),
            };
            match text {
                None => folder.push_str(NULL_FOLDER),
                Some(text) if text.is_empty() || text == NULL_FOLDER => {
                    return Err(Error::unsupported(format!("{text:?} in column {name:?} would be read as null"))
                        .advice(format!("replace the text, or remove the column from {PARTITION_BY}")));
                }
                Some(text) => escape(text, &mut folder),
            }
        }
        Ok(folder)
    }

    /// The values of the columns, as texts for names.
    fn texts(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let options = CastOptions { safe: false, format_options: TIMES };
        let texts = self.positions.iter().map(|at| {
            let column = batch.column(*at);
            let value_type = match column.data_type() {
                DataType::Dictionary(_, value) => value.as_ref(),
                other => other,
            };
            let column = match value_type {
                // The texts of `Date64` would have a time of day.
                DataType::Date64 => &cast_with_options(column, &DataType::Date32, &options)?,
                DataType::Timestamp(unit, Some(_)) => {
                    &cast_with_options(column, &DataType::Timestamp(*unit, Some("UTC".into())), &options)?
                }
                _ => column,
            };
            cast_with_options(column, &DataType::Utf8, &options)
        });
        texts.collect::<Result<_, arrow::error::ArrowError>>().map_err(Error::unexpected)
    }
}

/// Appends `text` to a folder's name, escaping the characters that Hive and Spark escape, and the blank, which some
/// readers take for the end of the name.
fn escape(text: &str, name: &mut String) {
    for character in text.chars() {
        match character {
            '\0'..='\x1f'
            | '\x7f'
            | '"'
            | '#'
            | '%'
            | '\''
            | '*'
            | '/'
            | ':'
            | '='
            | '?'
            | '\\'
            | '{'
            | '['
            | ']'
            | '^' => {
                let _ = write!(name, "%{:02X}", u32::from(character));
            }
            other => name.push(other),
        }
    }
}

impl PartitionedSink {
    /// Starts a copy into the folder at `path`, divided by columns. `make` makes the sink of each file, of
    /// [`PartitionColumns::file_schema`]; its name ends in `extension`.
    ///
    /// # Errors
    /// Those of [`FolderSink::create`](super::FolderSink::create).
    pub fn create(
        store: &JobStore,
        path: &Path,
        mode: WriteMode,
        extension: &str,
        columns: PartitionColumns,
        options: &WriteOptions,
        make: MakeSink,
    ) -> Result<Box<dyn Sink>> {
        Ok(Box::new(Self {
            files: FolderFiles::create(store, path, mode, extension)?,
            columns,
            known: HashMap::new(),
            groups: Vec::new(),
            waiting_bytes: 0,
            most_bytes: options.memory_bytes.unwrap_or(WAITING_BYTES),
            cut: FileCut::new(options.file_bytes.unwrap_or(FILE_BYTES)),
            make,
            job: store.job.clone(),
        }))
    }

    /// Adds the rows of a batch to their groups.
    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let keys: Vec<ArrayRef> = self.columns.positions.iter().map(|at| Arc::clone(batch.column(*at))).collect();
        let keys = self.columns.keys.convert_columns(&keys).map_err(Error::unexpected)?;
        let mut texts = None;
        let mut rows_of: HashMap<usize, Vec<u32>> = HashMap::new();
        for row in 0..batch.num_rows() {
            let key = keys.row(row);
            let group = match self.known.get(key.data()) {
                Some(group) => *group,
                None => {
                    let texts = match &texts {
                        Some(texts) => texts,
                        None => texts.insert(self.columns.texts(batch)?),
                    };
                    let folder = self.columns.folder(texts, row)?;
                    self.groups.push(PartitionGroup { folder, batches: Vec::new(), bytes: 0 });
                    self.known.insert(key.data().into(), self.groups.len() - 1);
                    self.groups.len() - 1
                }
            };
            rows_of.entry(group).or_default().push(row as u32);
        }
        let rest = batch.project(&self.columns.rest).map_err(Error::unexpected)?;
        for (group, rows) in rows_of {
            let part = match rows.len() == rest.num_rows() {
                true => rest.clone(),
                false => take_record_batch(&rest, &UInt32Array::from(rows)).map_err(Error::unexpected)?,
            };
            let part = with_own_texts(&part)?;
            let bytes: u64 = part.columns().iter().map(array_bytes).sum();
            let group = &mut self.groups[group];
            group.bytes += bytes;
            self.waiting_bytes += bytes;
            group.batches.push(part);
        }
        Ok(())
    }

    /// Writes the rows of a group that wait into a file of their own.
    fn write_group(&mut self, group: usize) -> Result<()> {
        let group = &mut self.groups[group];
        let batches = std::mem::take(&mut group.batches);
        let bytes = std::mem::take(&mut group.bytes);
        self.waiting_bytes -= bytes;
        let folder = group.folder.clone();
        if batches.is_empty() {
            return Ok(());
        }
        self.job.check()?;
        let row_bytes = bytes / batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>().max(1);
        let mut file = self.files.begin(&folder, &mut self.make)?;
        for batch in batches {
            let mut from = 0;
            while from < batch.num_rows() {
                let room = self.cut.room_for(row_bytes, file.rows, file.position());
                let rows = (batch.num_rows() - from).min(usize::try_from(room).unwrap_or(usize::MAX));
                if rows == 0 {
                    self.cut.learn(&self.files.end(file)?);
                    file = self.files.begin(&folder, &mut self.make)?;
                    continue;
                }
                file.write(batch.slice(from, rows))?;
                from += rows;
            }
        }
        self.cut.learn(&self.files.end(file)?);
        Ok(())
    }
}

impl Sink for PartitionedSink {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        self.add(&batch)?;
        while self.waiting_bytes > self.most_bytes {
            let largest = (0..self.groups.len()).max_by_key(|group| self.groups[*group].bytes);
            match largest {
                Some(group) => self.write_group(group)?,
                None => break,
            }
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        (0..self.groups.len()).try_for_each(|group| self.write_group(group))?;
        if self.groups.is_empty() {
            // Without a row, a file without one keeps the columns.
            let file = self.files.begin("", &mut self.make)?;
            self.files.end(file)?;
        }
        self.job.check()?;
        self.files.publish()
    }
}

#[cfg(test)]
mod tests;
