//! Avro files as a source.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{FieldRef, Metadata, Schema, SchemaRef};
use bytes::Bytes;
use lakerace_exec::{OrderedPool, map_slice};
use lakerace_io::{Error, Job, Object, PathProfile, RequestPlan, Result, Wanted};

use super::codec::BlockCodec;
use super::container::FileHeader;
use super::decoder::{FileDecoders, arrow_schema};
use super::schema::AvroType;
use super::units::{BlockUnits, UnitBatches, UnitFile, UnitReader};
use crate::duplicates::refuse_duplicates;
use crate::file_notes::{common_notes, requested_notes};
use crate::files::columns_of_place;
use crate::suggestions::column_not_found;
use crate::text::{pool_options, text_fetcher, text_requests};
use crate::{
    Batches, ColumnOwners, Constants, FieldPositions, FilePlan, InputFile, Predicate, ReadPlan, ReadRequest, Source,
    SourceInfo, UnitPlan,
};

/// Bytes of a file that are read first: enough for most headers.
const FRONT_BYTES: u64 = 64 << 10;

/// Bytes of a header at most.
const MAX_HEADER_BYTES: u64 = 64 << 20;

/// Files of a remote store that are opened concurrently: their opening is bound by latency.
const REMOTE_OPENS_AT_ONCE: usize = 32;

/// Files with the same columns, read as one table.
///
/// A block is read as a whole, and the position of a block is known only from the one before it: files are read from front to
/// back, while threads unpack and decode the blocks that are there.
pub struct AvroSource {
    files: Vec<AvroFile>,
    /// The columns of files, then those of their places.
    schema: SchemaRef,
    /// The number of columns of files.
    own_columns: usize,
    job: Job,
}

/// A file whose header was read.
struct AvroFile {
    object: Object,
    header: FileHeader,
    codec: BlockCodec,
    columns: Vec<(String, AvroType)>,
    schema: Schema,
    constants: Option<Arc<Constants>>,
}

impl AvroSource {
    /// Opens files: their headers are read.
    ///
    /// # Errors
    /// `Corrupt` for other files. `Unsupported` for files with different columns, and for schemas that Arrow has no types for.
    pub fn open_files(files: Vec<InputFile>, job: &Job) -> Result<Self> {
        files.iter().try_for_each(|file| file.refuse_hidden("Avro"))?;
        let Some(first) = files.first() else { return Err(Error::usage("there is no file to read")) };
        let at_once = if first.object.store.is_local() { job.options().threads } else { REMOTE_OPENS_AT_ONCE };
        let open = |file: &InputFile| AvroFile::open(file.clone(), job).map_err(|error| error.at(file.object.url()));
        let files = map_slice(&files, at_once.max(1), open)?;
        let schema = common_schema(&files)?;
        let own_columns = files[0].schema.fields().len();
        Ok(Self { files, schema: Arc::new(schema), own_columns, job: job.clone() })
    }

    /// The requested columns, by position.
    fn selected(&self, request: &ReadRequest) -> Result<Vec<usize>> {
        let Some(names) = &request.columns else { return Ok((0..self.schema.fields().len()).collect()) };
        let known = || self.schema.fields().iter().map(|field| field.name().as_str());
        let positions = FieldPositions::new(self.schema.fields());
        let not_found = |name: &String| column_not_found(name, known()).at(self.files[0].object.url());
        names.iter().map(|name| positions.of_name(name).ok_or_else(|| not_found(name))).collect()
    }

    /// The files of a plan, with their properties when it was made, and for each a flag that says if it is read.
    fn planned<'a>(&'a self, plan: &'a ReadPlan) -> Result<Vec<(&'a AvroFile, Object, bool)>> {
        let by_url: HashMap<String, &AvroFile> = self.files.iter().map(|file| (file.object.url(), file)).collect();
        let planned = plan.files.iter().map(|planned| {
            let file = by_url.get(&planned.url).ok_or_else(|| {
                Error::usage("the plan refers to a file that does not belong to this source").at(&planned.url)
            })?;
            let (size_bytes, e_tag) = (Some(planned.size_bytes), planned.e_tag.clone());
            let is_read = planned.units.iter().any(|unit| unit.pruned.is_none());
            Ok((*file, Object { size_bytes, e_tag, ..file.object.clone() }, is_read))
        });
        planned.collect()
    }

    fn requests(&self, wanted: &[Wanted]) -> RequestPlan {
        text_requests(wanted, &self.files[0].object.store.profile(), &self.job)
    }

    /// The readers of a plan's files: they decode the columns `own` of these, in ascending order.
    fn unit_files(&self, plan: &ReadPlan, own: &[usize]) -> Result<Arc<[UnitFile]>> {
        let files = self.planned(plan)?.into_iter().map(|(file, object, is_read)| {
            let decoders = FileDecoders::new(&file.columns, own.to_vec()).map_err(|error| error.at(object.url()))?;
            Ok(UnitFile {
                header: file.header.clone(),
                codec: file.codec,
                decoders: Arc::new(decoders),
                constants: file.constants.clone(),
                object,
                is_read,
            })
        });
        files.collect()
    }

    fn unit_reader(&self, plan: &ReadPlan) -> Result<UnitReader> {
        let selected = self.selected(&plan.request)?;
        let mut read = selected.clone();
        if let Some(filter) = &plan.request.filter {
            read.extend_from_slice(Predicate::bind(filter, &self.schema)?.columns());
        }
        read.sort_unstable();
        read.dedup();
        let own = read.partition_point(|column| *column < self.own_columns);
        let schema = self.schema.project(&read).map_err(Error::unexpected)?;
        let filter = plan.request.filter.as_ref().map(|filter| Predicate::bind(filter, &schema)).transpose()?;
        Ok(UnitReader {
            files: self.unit_files(plan, &read[..own])?,
            read: Arc::new(schema),
            filter,
            projection: selected.iter().filter_map(|column| read.binary_search(column).ok()).collect(),
            output: Arc::clone(&plan.schema),
            batch_rows: plan.request.batch_rows.unwrap_or(usize::MAX),
        })
    }
}

impl Source for AvroSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn info(&self) -> SourceInfo {
        let bytes = self.files.iter().filter_map(|file| file.object.size_bytes).sum();
        let files = self.files.len() as u64;
        SourceInfo { format: super::AVRO.name.to_owned(), rows: None, files, bytes, units: None }
    }

    /// Plans one unit a file: the position of a block is known only from the one before it.
    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        let selected = self.selected(request)?;
        if let Some(filter) = &request.filter {
            Predicate::bind(filter, &self.schema)?;
        }
        if request.batch_rows == Some(0) {
            return Err(Error::usage("a batch needs at least one row"));
        }
        let planned = |AvroFile { object, .. }: &AvroFile| {
            let size_bytes = object.size_bytes.unwrap_or(0);
            let unit = UnitPlan { wanted_bytes: size_bytes, ..UnitPlan::default() };
            FilePlan { url: object.url(), size_bytes, e_tag: object.e_tag.clone(), units: vec![unit] }
        };
        let all = self.files.iter().map(|file| (file, true));
        let schema = self.schema.project(&selected).map_err(Error::unexpected)?;
        let notes = requested_notes(self.schema.metadata(), self.schema.fields(), schema.fields(), request);
        Ok(ReadPlan {
            request: request.clone(),
            schema: Arc::new(schema.with_metadata(notes)),
            files: self.files.iter().map(planned).collect(),
            requests: self.requests(&wanted_of(all)),
        })
    }

    fn column_owners(&self) -> ColumnOwners {
        let own = &self.schema.fields()[..self.own_columns];
        let constants = self.files.iter().filter_map(|file| file.constants.as_ref());
        let files = constants.flat_map(|constants| columns_of_place(own, constants)).collect();
        ColumnOwners { files, ..ColumnOwners::default() }
    }

    fn wanted(&self, plan: &ReadPlan) -> Result<Option<(Vec<Wanted>, PathProfile)>> {
        let planned = self.planned(plan)?;
        let wanted = wanted_of(planned.iter().map(|(file, _, is_read)| (*file, *is_read)));
        Ok(Some((wanted, self.files[0].object.store.profile())))
    }

    fn read(&self, plan: &ReadPlan) -> Result<Batches> {
        let reader = Arc::new(self.unit_reader(plan)?);
        let planned = self.planned(plan)?;
        // A part of a split plan has no requests: they are planned here.
        let is_part = plan.requests.requests.is_empty();
        let made =
            is_part.then(|| self.requests(&wanted_of(planned.iter().map(|(file, _, is_read)| (*file, *is_read)))));
        let objects = planned.into_iter().map(|(_, object, _)| object).collect();
        let fetcher = text_fetcher(objects, made.as_ref().unwrap_or(&plan.requests), &self.job)?;
        let units = BlockUnits::new(Arc::clone(&reader.files), fetcher, &self.job);
        let work = {
            let reader = Arc::clone(&reader);
            move |unit| Ok(reader.read(unit))
        };
        let rows = UnitBatches {
            units: OrderedPool::start(pool_options("lakerace-avro", &self.job), &self.job, units, work),
            reader,
            current: None,
            rows_left: plan.request.limit.unwrap_or(u64::MAX),
            job: self.job.clone(),
        };
        Ok(Batches::new(Arc::clone(&plan.schema), rows))
    }
}

impl AvroFile {
    fn open(file: InputFile, job: &Job) -> Result<Self> {
        let InputFile { mut object, constants, .. } = file;
        if object.size_bytes.is_none() {
            let tail = object.read_tail(1)?;
            (object.size_bytes, object.e_tag) = (Some(tail.size_bytes), object.e_tag.or(tail.e_tag));
        }
        let header = read_header(&object, job)?;
        let codec = BlockCodec::named(header.codec())?;
        let columns = AvroType::parse(header.schema()?)?;
        let schema = arrow_schema(&columns)?.with_metadata(header.notes().collect::<Metadata>());
        refuse_duplicates(&schema)?;
        Ok(Self { object, header, codec, columns, schema, constants })
    }
}

fn read_header(object: &Object, job: &Job) -> Result<FileHeader> {
    let mut looked_at = FRONT_BYTES;
    if object.stream().is_some() {
        // A pipe waits for no more than the header takes, as the rest may be long in coming.
        looked_at = 64;
    }
    loop {
        let (front, is_whole) = front(object, looked_at, job)?;
        if front.is_empty() {
            return Err(Error::invalid("it is empty, but an Avro file starts with a header"));
        }
        match FileHeader::parse(&front)? {
            Some(header) => return Ok(header),
            None if is_whole => return Err(Error::corrupt("the file ends within its header: it is truncated")),
            None if looked_at >= MAX_HEADER_BYTES => {
                let message = format!("its header has more than {MAX_HEADER_BYTES} bytes");
                return Err(Error::unsupported(message).advice("write the file with less metadata"));
            }
            None => looked_at = (looked_at * 4).min(MAX_HEADER_BYTES),
        }
    }
}

/// The first bytes of a file, and a flag that is true if they are all of it.
fn front(object: &Object, n: u64, job: &Job) -> Result<(Bytes, bool)> {
    if let Some(pipe) = object.stream() {
        return pipe.peek(n as usize, job);
    }
    let size = object.size_bytes.unwrap_or(0);
    if size == 0 {
        return Ok((Bytes::new(), true));
    }
    Ok((object.read_range(0..size.min(n))?, size <= n))
}

/// The blocks of the files that are read.
fn wanted_of<'a>(files: impl Iterator<Item = (&'a AvroFile, bool)>) -> Vec<Wanted> {
    let read = files.enumerate().filter(|(_, (_, is_read))| *is_read);
    let blocks = read.map(|(number, (file, _))| Wanted {
        file: number as u32,
        range: file.header.length..file.object.size_bytes.unwrap_or(0),
    });
    blocks.filter(|wanted| wanted.range.start < wanted.range.end).collect()
}

/// The columns that all files have, and those of their places after them.
fn common_schema(files: &[AvroFile]) -> Result<Schema> {
    let first = &files[0];
    let mut fields: Vec<FieldRef> = first.schema.fields().iter().cloned().collect();
    for file in &files[1..] {
        let others = file.schema.fields();
        let is_same = others.len() == fields.len()
            && fields
                .iter()
                .zip(others)
                .all(|(one, other)| one.name() == other.name() && one.data_type() == other.data_type());
        if !is_same {
            let message = format!("its columns are not those of {}", first.object.url());
            return Err(Error::unsupported(message)
                .at(file.object.url())
                .advice("read the files one by one: the files of a folder need the same columns, in the same order"));
        }
        for (field, other) in fields.iter_mut().zip(others) {
            if other.is_nullable() && !field.is_nullable() {
                *field = Arc::clone(other);
            }
        }
    }
    for field in files.iter().filter_map(|file| file.constants.as_ref()).flat_map(|constants| constants.fields()) {
        if !fields.iter().any(|known| known.name() == field.name()) {
            fields.push(Arc::clone(field));
        }
    }
    let notes = common_notes(files.iter().map(|file| file.schema.metadata()));
    Ok(Schema::new_with_metadata(fields, notes))
}
