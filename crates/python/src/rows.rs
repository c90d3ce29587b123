//! Rows of a scan as Python tuples or dicts.

mod datetime;

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, FixedSizeBinaryArray, FixedSizeListArray, GenericListArray, MapArray,
    OffsetSizeTrait, PrimitiveArray, RecordBatch,
};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Field, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, SchemaRef, TimeUnit, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use lakerace::{Batches, Error, ErrorKind, Job, JobOptions};
use lakerace_format::is_uuid;
use lakerace_format::schema_text::print_type;
use lakerace_io::wait::lock;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use self::datetime::DatetimeMaker;
use crate::foreign_stream::import;
use crate::{errors, interrupt};

/// Rows that are made at a time: their objects stay in the cache until they are taken.
const CHUNK_ROWS: usize = 512;

/// An iterator over rows. It reads batches, and makes some hundred rows of one at a time.
#[pyclass(frozen, module = "lakerace._lakerace")]
pub(crate) struct Rows {
    schema: SchemaRef,
    /// The names, where rows are dicts.
    names: Option<Vec<Py<PyString>>>,
    job: Job,
    state: Mutex<RowsState>,
}

struct RowsState {
    batches: Arc<Mutex<Batches>>,
    batch: Option<RecordBatch>,
    /// The first row of `batch` that is not yet made.
    at: usize,
    /// Rows that are made, the next one last.
    made: Vec<Py<PyAny>>,
}

/// The rows of an object with `__arrow_c_stream__`, as tuples or dicts.
#[pyfunction]
pub(crate) fn rows(py: Python<'_>, source: &Bound<'_, PyAny>, named: bool) -> PyResult<Rows> {
    Ok(Rows::new(py, import(source)?, Job::new(JobOptions::default()), named))
}

impl Rows {
    pub(crate) fn new(py: Python<'_>, batches: Batches, job: Job, named: bool) -> Self {
        let schema = Arc::clone(batches.schema());
        let names =
            named.then(|| schema.fields().iter().map(|field| PyString::intern(py, field.name()).unbind()).collect());
        let state = RowsState { batches: Arc::new(Mutex::new(batches)), batch: None, at: 0, made: Vec::new() };
        Self { schema, names, job, state: Mutex::new(state) }
    }

    /// Makes the next rows; false at the end.
    fn make(&self, py: Python<'_>, state: &mut RowsState) -> PyResult<bool> {
        loop {
            if let Some(batch) = &state.batch
                && state.at < batch.num_rows()
            {
                let rows = CHUNK_ROWS.min(batch.num_rows() - state.at);
                let chunk = batch.slice(state.at, rows);
                state.at += rows;
                state.made = self.chunk(py, &chunk)?;
                state.made.reverse();
                return Ok(true);
            }
            let batches = Arc::clone(&state.batches);
            let next = move || lock(&batches).next().transpose();
            match interrupt::run(py, &self.job, next)? {
                None => return Ok(false),
                Some(batch) => (state.batch, state.at) = (Some(batch), 0),
            }
        }
    }

    fn chunk(&self, py: Python<'_>, chunk: &RecordBatch) -> PyResult<Vec<Py<PyAny>>> {
        let mut columns = Vec::with_capacity(chunk.num_columns());
        for (column, field) in chunk.columns().iter().zip(self.schema.fields()) {
            let objects = objects(py, field, column).map_err(|failure| match failure {
                ValueFailure::Ours(error) => errors::raised(py, &error.at(format!("column {:?}", field.name()))),
                ValueFailure::Python(error) => error,
            })?;
            columns.push(objects.into_iter());
        }
        let mut rows = Vec::with_capacity(chunk.num_rows());
        for _ in 0..chunk.num_rows() {
            let row = match &self.names {
                None => PyTuple::new(py, columns.iter_mut().map(Iterator::next))?.into_any().unbind(),
                Some(names) => {
                    let row = PyDict::new(py);
                    for (name, column) in names.iter().zip(&mut columns) {
                        row.set_item(name, column.next())?;
                    }
                    row.into_any().unbind()
                }
            };
            rows.push(row);
        }
        Ok(rows)
    }
}

#[pymethods]
impl Rows {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        // Another thread may hold it while it reads, and needs the interpreter in the meantime.
        let mut state = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        if state.made.is_empty() && !self.make(py, &mut state)? {
            return Ok(None);
        }
        Ok(state.made.pop())
    }
}

/// Why a value has no Python object.
enum ValueFailure {
    Ours(Error),
    Python(PyErr),
}

impl From<PyErr> for ValueFailure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

impl From<arrow::error::ArrowError> for ValueFailure {
    fn from(error: arrow::error::ArrowError) -> Self {
        Self::Ours(Error::from_source(ErrorKind::Unsupported, error))
    }
}

type Objects = Result<Vec<Py<PyAny>>, ValueFailure>;

/// Makes an object for each value of the array of a field.
fn objects(py: Python<'_>, field: &Field, array: &ArrayRef) -> Objects {
    use DataType as T;
    match array.data_type() {
        _ if is_uuid(field) => uuids(py, array.as_fixed_size_binary()),
        T::Null => Ok((0..array.len()).map(|_| py.None()).collect()),
        T::Boolean => each(py, array.as_boolean(), |array: &BooleanArray, row| array.value(row).into_py_any(py)),
        T::Int8 => numbers::<Int8Type>(py, array),
        T::Int16 => numbers::<Int16Type>(py, array),
        T::Int32 => numbers::<Int32Type>(py, array),
        T::Int64 => numbers::<Int64Type>(py, array),
        T::UInt8 => numbers::<UInt8Type>(py, array),
        T::UInt16 => numbers::<UInt16Type>(py, array),
        T::UInt32 => numbers::<UInt32Type>(py, array),
        T::UInt64 => numbers::<UInt64Type>(py, array),
        T::Float16 => numbers::<Float32Type>(py, &cast(array, &T::Float32)?),
        T::Float32 => numbers::<Float32Type>(py, array),
        T::Float64 => numbers::<Float64Type>(py, array),
        T::Utf8 => {
            each(py, array.as_string::<i32>(), |array, row| Ok(PyString::new(py, array.value(row)).into_any().unbind()))
        }
        T::LargeUtf8 => {
            each(py, array.as_string::<i64>(), |array, row| Ok(PyString::new(py, array.value(row)).into_any().unbind()))
        }
        T::Utf8View => {
            each(py, array.as_string_view(), |array, row| Ok(PyString::new(py, array.value(row)).into_any().unbind()))
        }
        T::Binary | T::LargeBinary | T::FixedSizeBinary(_) => {
            let array = cast(array, &T::LargeBinary)?;
            each(py, array.as_binary::<i64>(), |array, row| Ok(PyBytes::new(py, array.value(row)).into_any().unbind()))
        }
        T::BinaryView => {
            each(py, array.as_binary_view(), |array, row| Ok(PyBytes::new(py, array.value(row)).into_any().unbind()))
        }
        T::Decimal32(..) | T::Decimal64(..) | T::Decimal128(..) | T::Decimal256(..) => decimals(py, array),
        T::Date32 => dates(py, array),
        T::Date64 => timestamps(py, &cast(array, &T::Timestamp(TimeUnit::Millisecond, None))?),
        T::Timestamp(..) => timestamps(py, array),
        T::Time32(_) | T::Time64(_) => times(py, array),
        T::Duration(unit) => durations(py, array, *unit),
        T::Dictionary(_, values) => {
            let values = values.as_ref();
            objects(py, &field.clone().with_data_type(values.clone()), &cast(array, values)?)
        }
        T::List(item) => lists(py, item, array.as_list::<i32>()),
        T::LargeList(item) => lists(py, item, array.as_list::<i64>()),
        T::FixedSizeList(item, _) => fixed_lists(py, item, array.as_fixed_size_list()),
        T::Struct(_) => structs(py, array),
        T::Map(..) => maps(py, array.as_map()),
        other => {
            let message = format!("there is no Python object for the type {}", print_type(other));
            Err(ValueFailure::Ours(Error::unsupported(message).advice("exclude the column with columns=")))
        }
    }
}

fn each<'a, A: Array + 'static>(
    py: Python<'_>,
    array: &'a A,
    make: impl Fn(&'a A, usize) -> PyResult<Py<PyAny>>,
) -> Objects {
    let mut objects = Vec::with_capacity(array.len());
    if array.null_count() == 0 {
        for row in 0..array.len() {
            objects.push(make(array, row)?);
        }
        return Ok(objects);
    }
    for row in 0..array.len() {
        objects.push(if array.is_null(row) { py.None() } else { make(array, row)? });
    }
    Ok(objects)
}

fn numbers<T>(py: Python<'_>, array: &ArrayRef) -> Objects
where
    T: ArrowPrimitiveType,
    T::Native: for<'py> IntoPyObject<'py>,
{
    each(py, array.as_primitive::<T>(), |array: &PrimitiveArray<T>, row| array.value(row).into_py_any(py))
}

fn decimals(py: Python<'_>, array: &ArrayRef) -> Objects {
    let class = py.import("decimal")?.getattr("Decimal")?;
    let format = FormatOptions::new();
    let texts = ArrayFormatter::try_new(array.as_ref(), &format)?;
    each(py, array, |_, row| Ok(class.call1((texts.value(row).to_string(),))?.unbind()))
}

fn uuids(py: Python<'_>, array: &FixedSizeBinaryArray) -> Objects {
    let class = py.import("uuid")?.getattr("UUID")?;
    each(py, array, |array, row| Ok(class.call1((py.None(), PyBytes::new(py, array.value(row))))?.unbind()))
}

fn dates(py: Python<'_>, array: &ArrayRef) -> Objects {
    let maker = DatetimeMaker::get(py)?;
    each(py, array.as_primitive::<Date32Type>(), |array, row| maker.date(py, i64::from(array.value(row))))
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

/// Whole seconds and microseconds of them. Nanoseconds beyond are an error, as Python's times have none.
fn microseconds(value: i64, unit: TimeUnit) -> PyResult<(i64, i64)> {
    let per_second = per_second(unit);
    let (seconds, fraction) = (value.div_euclid(per_second), value.rem_euclid(per_second));
    match unit {
        TimeUnit::Nanosecond if fraction % 1000 != 0 => Err(pyo3::exceptions::PyValueError::new_err(
            "a time has nanoseconds, which Python's times do not support: cast it to microseconds first",
        )),
        TimeUnit::Nanosecond => Ok((seconds, fraction / 1000)),
        _ => Ok((seconds, fraction * (1_000_000 / per_second))),
    }
}

fn timestamps(py: Python<'_>, array: &ArrayRef) -> Objects {
    let DataType::Timestamp(unit, zone) = array.data_type().clone() else {
        return Err(ValueFailure::Ours(Error::internal("a timestamp of another type")));
    };
    let maker = DatetimeMaker::get(py)?;
    let values = cast(array, &DataType::Int64)?;
    let local = match zone.as_deref() {
        None | Some("UTC" | "Z" | "+00:00") => None,
        Some(zone) if zone.starts_with(['+', '-']) => {
            let class = py.import("datetime")?.getattr("datetime")?;
            Some(class.call_method1("strptime", (zone, "%z"))?.getattr("tzinfo")?)
        }
        Some(zone) => Some(py.import("zoneinfo")?.getattr("ZoneInfo")?.call1((zone,))?),
    };
    each(py, values.as_primitive::<Int64Type>(), |values, row| {
        let (seconds, micros) = microseconds(values.value(row), unit)?;
        let time = maker.datetime(py, seconds, micros, zone.is_some())?;
        match &local {
            None => Ok(time),
            Some(zone) => time.call_method1(py, "astimezone", (zone,)),
        }
    })
}

fn times(py: Python<'_>, array: &ArrayRef) -> Objects {
    let (unit, values) = match array.data_type() {
        DataType::Time32(unit) => (*unit, cast(&cast(array, &DataType::Int32)?, &DataType::Int64)?),
        DataType::Time64(unit) => (*unit, cast(array, &DataType::Int64)?),
        _ => return Err(ValueFailure::Ours(Error::internal("a time of another type"))),
    };
    let maker = DatetimeMaker::get(py)?;
    each(py, values.as_primitive::<Int64Type>(), |values, row| {
        let (seconds, micros) = microseconds(values.value(row), unit)?;
        maker.time(py, seconds, micros)
    })
}

fn durations(py: Python<'_>, array: &ArrayRef, unit: TimeUnit) -> Objects {
    let maker = DatetimeMaker::get(py)?;
    let values = cast(array, &DataType::Int64)?;
    each(py, values.as_primitive::<Int64Type>(), |values, row| {
        let (seconds, micros) = microseconds(values.value(row), unit)?;
        maker.delta(py, seconds, micros)
    })
}

fn lists<O: OffsetSizeTrait>(py: Python<'_>, item: &Field, array: &GenericListArray<O>) -> Objects {
    each(py, array, |array, row| list(py, item, &array.value(row)))
}

fn fixed_lists(py: Python<'_>, item: &Field, array: &FixedSizeListArray) -> Objects {
    each(py, array, |array, row| list(py, item, &array.value(row)))
}

fn list(py: Python<'_>, item: &Field, values: &ArrayRef) -> PyResult<Py<PyAny>> {
    Ok(PyList::new(py, plain(py, objects(py, item, values))?)?.into_any().unbind())
}

/// The error of a nested value.
fn plain(py: Python<'_>, objects: Objects) -> PyResult<Vec<Py<PyAny>>> {
    objects.map_err(|failure| match failure {
        ValueFailure::Ours(error) => errors::raised(py, &error),
        ValueFailure::Python(error) => error,
    })
}

fn structs(py: Python<'_>, array: &ArrayRef) -> Objects {
    let array = array.as_struct();
    let names: Vec<_> = array.fields().iter().map(|field| PyString::intern(py, field.name())).collect();
    let columns = array.fields().iter().zip(array.columns()).map(|(field, column)| objects(py, field, column));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    each(py, array, |_, row| {
        let object = PyDict::new(py);
        for (name, column) in names.iter().zip(&columns) {
            object.set_item(name, &column[row])?;
        }
        Ok(object.into_any().unbind())
    })
}

/// Maps are lists of pairs: keys may be there twice, and of types that no dict takes.
fn maps(py: Python<'_>, array: &MapArray) -> Objects {
    each(py, array, |array, row| {
        let entries = array.value(row);
        let (key, value) = array.entries_fields();
        let keys = plain(py, objects(py, key, entries.column(0)))?;
        let values = plain(py, objects(py, value, entries.column(1)))?;
        Ok(PyList::new(py, keys.into_iter().zip(values))?.into_any().unbind())
    })
}
