//! Avro files as a source.

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
use crate::batch_selection::BatchSelection;
use crate::duplicates::refuse_duplicates;
use crate::file_notes::{common_notes, requested_notes};
use crate::input::{Constants, InputFile};
use crate::place_columns::{file_owners, with_place_fields};
use crate::plan::{ReadPlan, ReadRequest};
use crate::predicate::Predicate;
use crate::sequential_files::{
    SequentialFile, learn_size, planned_files, selected_columns, sequential_info, sequential_plan, wanted_bytes,
};
use crate::source::{Batches, ColumnOwners, Source, SourceInfo};
use crate::text::{pool_options, text_fetcher, text_requests};

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
        selected_columns(request, &self.schema, &self.files[0].object)
    }

    fn planned(&self, plan: &ReadPlan) -> Result<Vec<SequentialFile>> {
        planned_files(plan, self.files.iter().map(|file| &file.object))
    }

    /// The blocks of the files that are read.
    fn wanted_blocks(&self, planned: &[SequentialFile]) -> Vec<Wanted> {
        let start = |file: &SequentialFile| self.files[file.position].header.length;
        wanted_bytes(planned.iter().map(|file| (&file.object, start(file), file.is_read)))
    }

    fn requests(&self, wanted: &[Wanted]) -> RequestPlan {
        text_requests(wanted, &self.files[0].object.store.profile(), &self.job)
    }

    /// The readers of a plan's files: they decode the columns `own` of these, in ascending order.
    fn unit_files(&self, planned: Vec<SequentialFile>, own: &[usize]) -> Result<Arc<[UnitFile]>> {
        let files = planned.into_iter().map(|SequentialFile { position, object, is_read }| {
            let file = &self.files[position];
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
}

impl Source for AvroSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn info(&self) -> SourceInfo {
        let objects = self.files.iter().map(|file| &file.object);
        SourceInfo { units: None, ..sequential_info(super::AVRO.name, objects) }
    }

    /// Plans one unit a file: the position of a block is known only from the one before it.
    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        let selected = self.selected(request)?;
        if let Some(filter) = &request.filter {
            Predicate::bind(filter, &self.schema)?;
        }
        request.check_batch_rows()?;
        let schema = self.schema.project(&selected).map_err(Error::unexpected)?;
        let notes = requested_notes(self.schema.metadata(), self.schema.fields(), schema.fields(), request);
        Ok(ReadPlan {
            request: request.clone(),
            schema: Arc::new(schema.with_metadata(notes)),
            files: self.files.iter().map(|file| sequential_plan(&file.object)).collect(),
            requests: self
                .requests(&wanted_bytes(self.files.iter().map(|file| (&file.object, file.header.length, true)))),
        })
    }

    fn column_owners(&self) -> ColumnOwners {
        let constants = self.files.iter().filter_map(|file| file.constants.as_ref());
        file_owners(&self.schema.fields()[..self.own_columns], constants)
    }

    fn wanted(&self, plan: &ReadPlan) -> Result<Option<(Vec<Wanted>, PathProfile)>> {
        let wanted = self.wanted_blocks(&self.planned(plan)?);
        Ok(Some((wanted, self.files[0].object.store.profile())))
    }

    fn read(&self, plan: &ReadPlan) -> Result<Batches> {
        let planned = self.planned(plan)?;
        let selection = BatchSelection::new(plan, &self.schema, self.own_columns, &self.selected(&plan.request)?)?;
        // A part of a split plan has no requests: they are planned here.
        let is_part = plan.requests.requests.is_empty();
        let own_requests = is_part.then(|| self.requests(&self.wanted_blocks(&planned)));
        let objects = planned.iter().map(|file| file.object.clone()).collect();
        let fetcher = text_fetcher(objects, own_requests.as_ref().unwrap_or(&plan.requests), &self.job)?;
        let reader = Arc::new(UnitReader {
            files: self.unit_files(planned, &selection.own_positions)?,
            selection,
            batch_rows: plan.request.batch_rows.unwrap_or(usize::MAX),
        });
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
        learn_size(&mut object)?;
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
    let fields = with_place_fields(fields, files.iter().filter_map(|file| file.constants.as_ref()));
    let notes = common_notes(files.iter().map(|file| file.schema.metadata()));
    Ok(Schema::new_with_metadata(fields, notes))
}
