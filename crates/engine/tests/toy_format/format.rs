//! The format `toy`: whole numbers, row by row. A file is `TOY1`, the bytes of a header as a number of 4 bytes, the names of the
//! columns with commas between them, and of each value a byte that is 1 where there is one, and 8 bytes. Numbers are little-endian.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use lakerace::{
    Batches, Error, FileFormat, FilePlan, Job, ReadPlan, ReadRequest, Result, Sink, Source, SourceInfo, Written,
};
use lakerace_format::{InputFile, Predicate, UnitPlan, requested_schema};
use lakerace_io::{Object, Output, plan_requests};

/// All that lakerace is told of the format.
pub static TOY: FileFormat = FileFormat {
    endings: &["toy"],
    marks: &[b"TOY1"],
    ..FileFormat::new(
        "toy",
        |files, _, job| Ok(Arc::new(ToySource::open(files, job)?)),
        |output, schema, _, _| ToySink::create(output, &schema),
    )
};

const MARK: &[u8] = b"TOY1";
/// Bytes of a value, with the one that says whether it is there.
const VALUE_BYTES: usize = 9;

/// Files that are read whole.
struct ToySource {
    files: Vec<Object>,
    schema: SchemaRef,
    job: Job,
}

impl ToySource {
    fn open(files: Vec<InputFile>, job: &Job) -> Result<Self> {
        let mut files: Vec<Object> = files.into_iter().map(|file| file.object).collect();
        let mut schema = None;
        for file in &mut files {
            file.size_bytes = Some(file.read_tail(1)?.size_bytes);
            let (found, _) = parsed(file)?;
            if schema.as_ref().is_some_and(|schema| *schema != found) {
                return Err(Error::invalid("the files have different columns").at(file.url()));
            }
            schema = Some(found);
        }
        let schema = schema.ok_or_else(|| Error::usage("there is no file to read"))?;
        Ok(Self { files, schema, job: job.clone() })
    }
}

/// The columns of a file, and the bytes of its rows.
fn parsed(file: &Object) -> Result<(SchemaRef, bytes::Bytes)> {
    let bytes = file.read_range(0..file.size_bytes.unwrap_or(0))?;
    let damaged = || Error::corrupt("it is no file of format toy").at(file.url());
    let rest = bytes.strip_prefix(MARK).ok_or_else(damaged)?;
    let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(damaged)?;
    let header = rest.get(..u32::from_le_bytes(*length) as usize).ok_or_else(damaged)?;
    let names = std::str::from_utf8(header).map_err(|_| damaged())?;
    let fields: Vec<Field> = names.split(',').map(|name| Field::new(name, DataType::Int64, true)).collect();
    let rows = bytes.slice(MARK.len() + length.len() + header.len()..);
    if rows.len() % (fields.len() * VALUE_BYTES) != 0 {
        return Err(damaged());
    }
    Ok((Arc::new(Schema::new(fields)), rows))
}

impl Source for ToySource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn info(&self) -> SourceInfo {
        let bytes = self.files.iter().filter_map(|file| file.size_bytes).sum();
        SourceInfo { format: TOY.name.to_owned(), rows: None, files: self.files.len() as u64, bytes, units: None }
    }

    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        let file_plan = |file: &Object| {
            let size_bytes = file.size_bytes.unwrap_or(0);
            let unit = UnitPlan { wanted_bytes: size_bytes, ..UnitPlan::default() };
            FilePlan { url: file.url(), size_bytes, e_tag: file.e_tag.clone(), units: vec![unit] }
        };
        Ok(ReadPlan {
            request: request.clone(),
            schema: requested_schema(&self.schema, request)?,
            files: self.files.iter().map(file_plan).collect(),
            requests: plan_requests(&[], &self.job.options().ranges, &self.files[0].store.profile()),
        })
    }

    fn read(&self, plan: &ReadPlan) -> Result<Batches> {
        let filter = plan.request.filter.as_ref().map(|filter| Predicate::bind(filter, &self.schema)).transpose()?;
        let (schema, target, job) = (Arc::clone(&self.schema), Arc::clone(&plan.schema), self.job.clone());
        let mut left = plan.request.limit.unwrap_or(u64::MAX);
        let most_rows = plan.request.batch_rows.unwrap_or(usize::MAX);
        let of_file = move |file: Object| -> Result<Vec<RecordBatch>> {
            job.check()?;
            let mut batch = decoded(&schema, &parsed(&file)?.1)?;
            if let Some(filter) = &filter {
                batch = filter_record_batch(&batch, &filter.evaluate(&batch)?).map_err(Error::unexpected)?;
            }
            let columns = target.fields().iter().map(|field| schema.index_of(field.name()));
            let columns: Vec<usize> = columns.collect::<std::result::Result<_, _>>().map_err(Error::unexpected)?;
            let batch = batch.project(&columns).map_err(Error::unexpected)?;
            let rows = batch.num_rows().min(usize::try_from(left).unwrap_or(usize::MAX));
            left -= rows as u64;
            job.meter().read_rows(rows as u64);
            let starts = (0..rows).step_by(most_rows.max(1));
            Ok(starts.map(|start| batch.slice(start, most_rows.min(rows - start))).collect())
        };
        let batches = self.files.clone().into_iter().map(of_file).flat_map(|batches| match batches {
            Ok(batches) => batches.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        });
        Ok(Batches::new(Arc::clone(&plan.schema), batches))
    }
}

fn decoded(schema: &SchemaRef, rows: &[u8]) -> Result<RecordBatch> {
    let columns = schema.fields().len();
    let column = |at: usize| -> ArrayRef {
        let values = rows.chunks_exact(VALUE_BYTES).skip(at).step_by(columns);
        let value = |bytes: &[u8]| bytes[1..].try_into().ok().filter(|_| bytes[0] == 1).map(i64::from_le_bytes);
        Arc::new(values.map(value).collect::<Int64Array>())
    };
    RecordBatch::try_new(Arc::clone(schema), (0..columns).map(column).collect()).map_err(Error::unexpected)
}

/// One file.
struct ToySink {
    output: Output,
    rows: u64,
}

impl ToySink {
    fn create(mut output: Output, schema: &SchemaRef) -> Result<Box<dyn Sink>> {
        if let Some(other) = schema.fields().iter().find(|field| *field.data_type() != DataType::Int64) {
            let message =
                format!("column {:?} is of type {}, and toy has whole numbers", other.name(), other.data_type());
            return Err(Error::unsupported(message).at(output.url()).advice("choose another format"));
        }
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let header = names.join(",");
        output.write([MARK, &(header.len() as u32).to_le_bytes(), header.as_bytes()].concat().into())?;
        Ok(Box::new(Self { output, rows: 0 }))
    }
}

impl Sink for ToySink {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        let columns: Vec<&Int64Array> =
            batch.columns().iter().map(|column| column.as_primitive::<Int64Type>()).collect();
        let mut bytes = Vec::with_capacity(batch.num_rows() * columns.len() * VALUE_BYTES);
        for row in 0..batch.num_rows() {
            for column in &columns {
                let value = if column.is_null(row) { 0 } else { column.value(row) };
                bytes.push(u8::from(column.is_valid(row)));
                bytes.extend(value.to_le_bytes());
            }
        }
        self.rows += batch.num_rows() as u64;
        self.output.write(bytes.into())
    }

    fn finish(self: Box<Self>) -> Result<Written> {
        let (bytes, files) = (self.output.position(), vec![self.output.url().to_owned()]);
        self.output.finish()?;
        Ok(Written { rows: self.rows, bytes, files, ..Written::default() })
    }
}
