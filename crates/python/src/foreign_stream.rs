//! Batches of other libraries, by the Arrow C stream interface: each is checked when it arrives.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use arrow::array::ArrayData;
use arrow::datatypes::{DataType, FieldRef, Fields, Schema, SchemaRef};
use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow::ffi_stream::FFI_ArrowArrayStream;
use arrow::record_batch::RecordBatch;
use lakerace::{Batches, Error, ErrorKind, Result};
use lakerace_format::{ImpossibleType, MAX_NESTING, check_nesting, checked_batch, map_inner_fields, nested_too_deep};
use lakerace_io::panics;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors;
use crate::stream::STREAM_CAPSULE;

/// The batches of any object with `__arrow_c_stream__`.
pub(crate) fn import(object: &Bound<'_, PyAny>) -> PyResult<Batches> {
    if !object.hasattr("__arrow_c_stream__")? {
        let kind = object.get_type();
        let text = format!("a location or an object with __arrow_c_stream__ is needed, not {}", kind.name()?);
        return Err(PyTypeError::new_err(text));
    }
    let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let pointer = capsule.pointer_checked(Some(STREAM_CAPSULE))?;
    // SAFETY: by the PyCapsule interface, a capsule of this name holds a valid ArrowArrayStream; `from_raw` moves it
    // out and leaves a released one, as the interface asks.
    let stream = unsafe { FFI_ArrowArrayStream::from_raw(pointer.as_ptr().cast::<FFI_ArrowArrayStream>()) };
    let place = format!("the stream of {}", object.get_type().name().map_or("?".to_owned(), |n| n.to_string()));
    let mut stream = ForeignStream { stream, schema: SchemaRef::new(Schema::empty()), rows: 0 };
    stream.schema = stream.read_schema().map_err(|error| errors::raised(object.py(), &error.at(&place)))?;
    let schema = SchemaRef::clone(&stream.schema);
    Ok(Batches::new(schema, stream.map(move |batch| batch.map_err(|error| error.at(&place)))))
}

/// The schema with the extension types of dictionaries' values as those of the fields: in the C interface, the values have
/// them.
fn with_types_of_values(schema: &Schema, passed: &FFI_ArrowSchema) -> Schema {
    let fields = schema.fields().iter().enumerate().map(|(at, field)| with_type_of_values(field, passed.child(at)));
    Schema::new_with_metadata(fields.collect::<Fields>(), schema.metadata().clone())
}

fn with_type_of_values(field: &FieldRef, passed: &FFI_ArrowSchema) -> FieldRef {
    if let Some(values) = passed.dictionary() {
        let mut field = field.as_ref().clone();
        let notes = values.metadata().unwrap_or_default().into_iter();
        for (key, value) in notes.filter(|(key, _)| key.starts_with("ARROW:extension:")) {
            field.metadata_mut().insert(key, value);
        }
        return Arc::new(field);
    }
    let mut at = 0;
    let data_type = map_inner_fields(field.data_type(), |inner| {
        at += 1;
        with_type_of_values(inner, passed.child(at - 1))
    });
    data_type.map_or_else(|| Arc::clone(field), |data_type| Arc::new(field.as_ref().clone().with_data_type(data_type)))
}

/// The advice on streams that break the rules of the C interface.
const FIX_LIBRARY: &str = "fix the library that made the stream";

/// The format of a struct in the C data interface. The schema of a table is one.
const STRUCT_FORMAT: &str = "+s";

/// A stream that another library fills.
struct ForeignStream {
    stream: FFI_ArrowArrayStream,
    schema: SchemaRef,
    /// Rows so far.
    rows: u64,
}

impl ForeignStream {
    fn read_schema(&mut self) -> Result<SchemaRef> {
        let get_schema = self.stream.get_schema().ok_or_else(|| Error::invalid("the stream was already read"))?;
        let mut schema = FFI_ArrowSchema::empty();
        // SAFETY: the stream is not released, as it has the function, and `schema` is an empty one to be filled.
        let code = unsafe { get_schema(&raw mut self.stream, &raw mut schema) };
        if code != 0 {
            return Err(self.failure("schema", code));
        }
        let unparsed = |_| Error::invalid("its schema can't be parsed").advice(FIX_LIBRARY);
        if !panics::caught(|| schema.format() == STRUCT_FORMAT).map_err(unparsed)? {
            return Err(Error::usage("it is a single column, and not the rows of a table")
                .advice("give a frame or a table that has the column, such as series.to_frame()"));
        }
        // Code of the arrow crate calls itself for each level. It ends where children are missing.
        if panics::caught(|| depth(&schema)).map_err(unparsed)? > MAX_NESTING + 1 {
            return Err(nested_too_deep());
        }
        let schema = panics::caught(|| Schema::try_from(&schema).map(|parsed| with_types_of_values(&parsed, &schema)));
        let schema = schema.map_err(unparsed)?;
        let schema = schema.map_err(|error| Error::from_source(ErrorKind::Invalid, error))?;
        check_nesting(&schema)?;
        if let Some(found) = ImpossibleType::find(&schema) {
            return Err(Error::invalid(found.to_string()).advice(FIX_LIBRARY));
        }
        Ok(SchemaRef::new(schema))
    }

    fn read_batch(&mut self) -> Result<Option<RecordBatch>> {
        let get_next = self.stream.get_next().ok_or_else(|| Error::invalid("the stream has no batches to return"))?;
        let mut array = FFI_ArrowArray::empty();
        // SAFETY: the stream is not released, as it has the function, and `array` is an empty one to be filled.
        let code = unsafe { get_next(&raw mut self.stream, &raw mut array) };
        if code != 0 {
            return Err(self.failure("next batch", code));
        }
        if array.is_released() {
            return Ok(None);
        }
        let data_type = DataType::Struct(self.schema.fields().clone());
        panics::caught(|| check_shape(&array, &data_type)).map_err(|_| unshaped())??;
        // SAFETY: the array has the children of its type, and no one else has it.
        unsafe { drop_buffers_of_nulls((&raw mut array).cast(), &data_type) };
        // SAFETY: the array has the children, buffers and lengths of its type, and by the C data interface the buffers
        // have those lengths; their contents are checked next.
        let data = panics::caught(|| unsafe { from_ffi_and_data_type(array, data_type) });
        let data: ArrayData =
            data.map_err(|_| unshaped())?.map_err(|error| Error::from_source(ErrorKind::Invalid, error))?;
        let batch = checked_batch(&self.schema, data, self.rows + 1)?;
        self.rows += batch.num_rows() as u64;
        Ok(Some(batch))
    }

    fn failure(&mut self, what: &str, code: i32) -> Error {
        let told = self.stream.get_last_error().and_then(|last_error| {
            // SAFETY: the stream is not released, and the last call of it has failed, which is when it may be asked.
            let text = unsafe { last_error(&raw mut self.stream) };
            // SAFETY: by the C stream interface the text ends in a zero and lives until the next call.
            (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        });
        let told = told.unwrap_or_else(|| format!("error {code}"));
        Error::invalid(format!("the stream returned no {what}: {told}"))
    }
}

impl Iterator for ForeignStream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read_batch().transpose()
    }
}

/// The nesting depth of a schema, counted up to the limit.
fn depth(schema: &FFI_ArrowSchema) -> usize {
    let (mut deepest, mut pending) = (0, vec![(schema, 0)]);
    while let Some((schema, depth)) = pending.pop() {
        deepest = deepest.max(depth);
        if depth > MAX_NESTING + 1 {
            return depth;
        }
        pending.extend(schema.children().chain(schema.dictionary()).map(|child| (child, depth + 1)));
    }
    deepest
}

/// Lengths that no array in memory has.
const NO_LENGTH: usize = 1 << 48;

/// Checks the assumptions of the arrow crate: lengths that are not negative, and the children and buffers of the type.
fn check_shape(array: &FFI_ArrowArray, data_type: &DataType) -> Result<()> {
    // Negative numbers appear as the greatest ones.
    if array.len() >= NO_LENGTH
        || array.offset() >= NO_LENGTH
        || array.null_count_opt().is_some_and(|n| n > array.len())
    {
        return Err(unshaped());
    }
    let children = inner_types(data_type);
    if array.num_children() != children.len() || array.num_buffers() < buffers_at_least(data_type) {
        return Err(unshaped());
    }
    if let DataType::Dictionary(_, values) = data_type {
        check_shape(array.dictionary().ok_or_else(unshaped)?, values)?;
    }
    children.iter().enumerate().try_for_each(|(at, child)| check_shape(array.child(at), child))
}

/// The types of an array's children.
fn inner_types(data_type: &DataType) -> Vec<&DataType> {
    match data_type {
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        DataType::Union(fields, _) => fields.iter().map(|(_, field)| field.data_type()).collect(),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => vec![item.data_type()],
        DataType::RunEndEncoded(ends, values) => vec![ends.data_type(), values.data_type()],
        _ => Vec::new(),
    }
}

/// The members of `ArrowArray` of the C data interface up to the children.
#[repr(C)]
struct ArrayHead {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrayHead,
}

/// Drops the buffers of arrays of nulls, which have none in the C interface: polars 2.1 states one, without contents.
///
/// # Safety
/// `array` is an array of the type whose children [`check_shape`] has counted, and that no one else uses.
unsafe fn drop_buffers_of_nulls(array: *mut ArrayHead, data_type: &DataType) {
    if *data_type == DataType::Null {
        // SAFETY: the array is valid by the conditions of this function.
        unsafe { (*array).n_buffers = 0 };
        return;
    }
    for (at, inner) in inner_types(data_type).into_iter().enumerate() {
        // SAFETY: the array has so many children, which are valid arrays of their types.
        unsafe { drop_buffers_of_nulls(*(*array).children.add(at), inner) };
    }
}

/// Buffers that the C interface has for a type, the validity included.
fn buffers_at_least(data_type: &DataType) -> usize {
    match data_type {
        DataType::Null | DataType::RunEndEncoded(..) => 0,
        DataType::Struct(_) | DataType::FixedSizeList(..) => 1,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => 3,
        // The last one has the lengths of those between.
        DataType::Utf8View | DataType::BinaryView | DataType::ListView(_) | DataType::LargeListView(_) => 3,
        DataType::Union(_, arrow::datatypes::UnionMode::Sparse) => 1,
        _ => 2,
    }
}

fn unshaped() -> Error {
    Error::invalid("an array has other lengths, children or buffers than its type")
        .advice("fix the library that made it")
}
