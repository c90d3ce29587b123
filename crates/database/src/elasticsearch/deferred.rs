//! A load that reads its first rows before it makes an index, where they decide which field type holds their times.

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::compute::{cast, max, min};
use arrow::datatypes::{DataType, Field, Int64Type, SchemaRef, TimeUnit};
use arrow::record_batch::RecordBatch;
use lakerace_format::calendar::units_per_second;
use lakerace_format::{Sink, Written};
use lakerace_io::{Error, Job, Result};

use super::catalog::IndexCatalog;
use super::client::SearchClient;
use super::location::SearchLocation;
use super::mapping::is_in_document;
use super::sink::ElasticsearchSink;
use crate::WriteMode;
use crate::options::SinkOptions;

/// Bytes of rows that are looked at.
const LOOK_BYTES: usize = 16 << 20;

/// A load that starts when enough of its rows have arrived.
pub(super) struct DeferredSink {
    location: SearchLocation,
    schema: SchemaRef,
    options: SinkOptions,
    job: Job,
    rows: Vec<RecordBatch>,
    bytes: usize,
    /// The load, once it has started.
    sink: Option<Box<ElasticsearchSink>>,
}

/// Opens a load, which starts immediately if its rows need no inspection.
pub(super) fn open(
    location: SearchLocation,
    schema: SchemaRef,
    options: &SinkOptions,
    job: &Job,
) -> Result<Box<dyn Sink>> {
    ElasticsearchSink::check(&location, &schema, options)?;
    if options.resume || unsettled(&location, &schema).is_empty() || !makes_index(&location, options, job)? {
        return Ok(Box::new(ElasticsearchSink::open(location, schema, options, job)?));
    }
    let (options, job) = (options.clone(), job.clone());
    Ok(Box::new(DeferredSink { location, schema, options, job, rows: Vec::new(), bytes: 0, sink: None }))
}

/// Columns of times that `date_nanos` holds some of.
fn unsettled(location: &SearchLocation, schema: &SchemaRef) -> Vec<usize> {
    let parameters = &location.parameters;
    let is_named =
        |name: &String| parameters.keyword.contains(name) || parameters.text.contains(name) || parameters.is_date(name);
    let is_fine = |data_type: &DataType| {
        matches!(data_type, DataType::Timestamp(TimeUnit::Microsecond | TimeUnit::Nanosecond, _))
    };
    let is_unsettled = |field: &Field| is_in_document(field) && is_fine(field.data_type()) && !is_named(field.name());
    let fields = schema.fields().iter().enumerate();
    fields.filter(|(_, field)| is_unsettled(field)).map(|(index, _)| index).collect()
}

fn makes_index(location: &SearchLocation, options: &SinkOptions, job: &Job) -> Result<bool> {
    let client = SearchClient::new(&std::sync::Arc::new(location.clone()), job)?;
    let found = IndexCatalog::new(&client, job).find(&location.index)?;
    Ok(match options.mode {
        WriteMode::Overwrite => true,
        WriteMode::Error | WriteMode::Append | WriteMode::Upsert => found.indices.is_empty(),
        WriteMode::Delete => false,
    })
}

/// A summary of a column's times in the rows that have arrived.
#[derive(Debug, Default)]
struct SeenTimes {
    is_outside: bool,
    has_more_digits: bool,
}

impl SeenTimes {
    fn look(&mut self, column: &ArrayRef) -> Result<()> {
        let DataType::Timestamp(unit, _) = column.data_type() else { return Ok(()) };
        let values = cast(column, &DataType::Int64).map_err(Error::unexpected)?;
        let values: &PrimitiveArray<Int64Type> = values.as_primitive();
        let most = i64::MAX / (1_000_000_000 / units_per_second(*unit));
        self.is_outside |= min(values).is_some_and(|least| least < 0) || max(values).is_some_and(|last| last > most);
        let per_ms = units_per_second(*unit) / 1000;
        self.has_more_digits |= values.iter().flatten().any(|value| value % per_ms != 0);
        Ok(())
    }
}

impl DeferredSink {
    /// Begins the load with the rows so far.
    fn begin(&mut self) -> Result<&mut ElasticsearchSink> {
        if self.sink.is_none() {
            for index in unsettled(&self.location, &self.schema) {
                let mut seen = SeenTimes::default();
                self.rows.iter().try_for_each(|rows| seen.look(rows.column(index)))?;
                let name = self.schema.field(index).name();
                if seen.is_outside && seen.has_more_digits && !self.options.allow_narrowing {
                    let message = "it has times outside of 1970 to 2262, which date_nanos can't hold, and digits below \
                                   milliseconds, which date does not search by";
                    return Err(Error::invalid(message).at(format!("column {name:?}")).advice(format!(
                        "use ?date={name} to keep all digits in the documents and search by milliseconds, or \
                         ?keyword={name} to keep the times as text"
                    )));
                }
                if seen.is_outside {
                    self.location.parameters.whole_date.push(name.clone());
                }
            }
            let schema = SchemaRef::clone(&self.schema);
            let sink = ElasticsearchSink::open(self.location.clone(), schema, &self.options, &self.job)?;
            self.sink = Some(Box::new(sink));
        }
        let sink = self.sink.as_mut().ok_or_else(|| Error::internal("a load was not started"))?;
        for rows in std::mem::take(&mut self.rows) {
            sink.write(rows)?;
        }
        Ok(sink)
    }
}

impl Sink for DeferredSink {
    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        if let Some(sink) = &mut self.sink {
            return sink.write(batch);
        }
        self.bytes += batch.get_array_memory_size();
        self.rows.push(batch);
        if self.bytes < LOOK_BYTES { Ok(()) } else { self.begin().map(drop) }
    }

    fn checkpoint(&mut self) -> Result<()> {
        self.begin()?.checkpoint()
    }

    fn acknowledged_rows(&self) -> u64 {
        self.sink.as_ref().map_or(0, |sink| sink.acknowledged_rows())
    }

    fn finish(mut self: Box<Self>) -> Result<Written> {
        self.begin()?;
        let begun = *self;
        match begun.sink {
            Some(sink) => sink.finish(),
            None => Err(Error::internal("a load was not started")),
        }
    }
}
