//! Statistics as JSON, of which a part may be of another type than its column.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use delta_kernel::engine::arrow_data::{ArrowEngineData, EngineDataArrowExt};
use delta_kernel::schema::SchemaRef;
use delta_kernel::{EngineData, JsonHandler, KernelResult};

use crate::log::json_object::JsonObject;

/// The parts of a file's statistics that are kept where they can't be read as a whole; the first of these that can be.
const KEPT: [&[&str]; 3] = [&["numRecords", "nullCount", "tightBounds"], &["numRecords"], &[]];

/// Parses a column of JSON texts, each a file's statistics. Bounds or null counts of another type than the column's are
/// omitted: statistics are hints, and the rows are in the file. Other damage is an error.
pub(crate) fn parse(
    handler: &dyn JsonHandler,
    texts: Box<dyn EngineData>,
    schema: SchemaRef,
) -> KernelResult<Box<dyn EngineData>> {
    if schema.field("numRecords").is_none() {
        return handler.parse_json(texts, schema);
    }
    let texts = texts.try_into_record_batch()?;
    let error = match handler.parse_json(engine_data(texts.clone()), Arc::clone(&schema)) {
        Ok(parsed) => return Ok(parsed),
        Err(error) => error,
    };
    match mended(handler, &texts, &schema) {
        Some(mended) => handler.parse_json(engine_data(mended), schema),
        None => Err(error),
    }
}

fn engine_data(texts: RecordBatch) -> Box<dyn EngineData> {
    Box::new(ArrowEngineData::new(texts))
}

/// The texts without their unreadable parts; `None` where one of them is no JSON object.
fn mended(handler: &dyn JsonHandler, texts: &RecordBatch, schema: &SchemaRef) -> Option<RecordBatch> {
    let all = cast(texts.columns().first()?, &DataType::Utf8).ok()?;
    let mend = |text: Option<&str>| text.map_or(Some(None), |text| readable(handler, text, schema).map(Some));
    let mended: StringArray = all.as_string::<i32>().iter().map(mend).collect::<Option<Vec<_>>>()?.into();
    one_column(Arc::new(mended))
}

fn readable(handler: &dyn JsonHandler, text: &str, schema: &SchemaRef) -> Option<String> {
    let is_readable = |text: &str| {
        let one = one_column(Arc::new(StringArray::from(vec![text])));
        one.is_some_and(|one| handler.parse_json(engine_data(one), Arc::clone(schema)).is_ok())
    };
    if is_readable(text) {
        return Some(text.to_owned());
    }
    let stated = JsonObject::parse(text)?;
    let kept = KEPT.iter().map(|names| {
        let mut kept = stated.clone();
        kept.retain(|name| names.contains(&name));
        kept.to_string()
    });
    kept.into_iter().find(|text| is_readable(text))
}

fn one_column(texts: ArrayRef) -> Option<RecordBatch> {
    RecordBatch::try_from_iter_with_nullable([("stats", texts, true)]).ok()
}
