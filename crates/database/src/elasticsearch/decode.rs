//! Pages of hits as record batches, without a tree of values.

mod fields;
mod number;
mod slot;
mod unmapped;

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use lakerace_format::json::{Json, NoJson};
use lakerace_io::option::{COLUMNS, SCHEMA};
use lakerace_io::{Error, Result};
use serde_json::{Map, Value};

use super::date_format::DateFormats;
use super::mapping::{ID, ROUTING, find, kind_of};
use fields::{Fields, named};
use slot::Slot;
pub(super) use unmapped::UnmappedNames;

/// Why a value is none of its column. It holds no value.
#[derive(Debug)]
enum DocumentMisfit {
    /// The answer is no JSON.
    Syntax(NoJson),
    /// The value has another type; the column is named in front.
    Value(String),
}

impl From<NoJson> for DocumentMisfit {
    fn from(error: NoJson) -> Self {
        Self::Syntax(error)
    }
}

type Pushed<T = ()> = std::result::Result<T, DocumentMisfit>;

fn wrong<T>(reason: impl Into<String>) -> Pushed<T> {
    Err(DocumentMisfit::Value(reason.into()))
}

/// A column's field, as the index maps it.
#[derive(Debug, Clone, Copy)]
struct MappedField<'a> {
    mapped: Option<&'a Value>,
    /// The column has its type from the mapping alone: no load kept it, and no one gave it.
    is_inferred: bool,
}

impl MappedField<'_> {
    const NONE: Self = Self { mapped: None, is_inferred: false };

    /// A field of the object.
    fn inner(self, name: &str) -> Self {
        let properties = self.mapped.and_then(|mapped| mapped["properties"].as_object());
        Self { mapped: properties.and_then(|properties| find(properties, name)), ..self }
    }

    /// How dates are written there.
    fn formats(self) -> DateFormats {
        let dates = self.mapped.filter(|mapped| matches!(kind_of(mapped), "date" | "date_nanos"));
        dates.and_then(|mapped| DateFormats::of_field(mapped["format"].as_str())).unwrap_or_else(DateFormats::of_text)
    }
}

/// A page of rows, and the state of the search.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct SearchPage {
    /// Its hits.
    pub rows: usize,
    /// The identifier of the view that the next page is read from.
    pub pit_id: Option<String>,
    /// The place of the last hit, as JSON.
    pub last_sort: Option<Vec<u8>>,
}

/// Makes batches of one schema from pages.
pub(super) struct PageDecoder {
    schema: SchemaRef,
    document: Fields,
    /// The origin of each column.
    columns: Vec<HitColumn>,
    id: Option<Slot>,
    routing: Option<Slot>,
    rows: usize,
    /// Names that no column takes.
    pub unmapped: UnmappedNames,
}

#[derive(Clone, Copy)]
enum HitColumn {
    Document(usize),
    Id,
    Routing,
}

impl PageDecoder {
    /// Makes batches with these columns of an index with these fields. Columns that are not among the `known` ones have their
    /// types from the mapping.
    pub fn new(schema: SchemaRef, properties: &Map<String, Value>, known: Option<&Schema>) -> Result<Self> {
        let (mut id, mut routing, mut kept, mut columns) = (None, None, Vec::new(), Vec::new());
        for field in schema.fields() {
            columns.push(match field.name().as_str() {
                ID => HitColumn::Id,
                ROUTING => HitColumn::Routing,
                _ => HitColumn::Document(kept.len()),
            });
            match field.name().as_str() {
                ID => id = Some(Slot::new(field, MappedField::NONE)?),
                ROUTING => routing = Some(Slot::new(field, MappedField::NONE)?),
                name => {
                    let is_inferred = known.is_none_or(|known| known.field_with_name(name).is_err());
                    kept.push((Arc::clone(field), MappedField { mapped: find(properties, name), is_inferred }));
                }
            }
        }
        let document = Fields::new(kept)?;
        Ok(Self { schema, document, columns, id, routing, rows: 0, unmapped: UnmappedNames::default() })
    }

    /// Fields whose times had more digits than their columns have, and were cut.
    pub fn cut_fields(&self) -> Vec<String> {
        let mut told = Vec::new();
        self.document.cut_fields("", &mut told);
        told
    }

    /// Takes the hits of a page.
    ///
    /// # Errors
    /// `Unavailable` where a shard failed or the time was over, `Invalid` names the document and the column.
    pub fn page(&mut self, body: &[u8]) -> Result<SearchPage> {
        let mut json = Json::new(body);
        let mut page = SearchPage::default();
        self.answer(&mut json, &mut page)?;
        Ok(page)
    }

    fn answer(&mut self, json: &mut Json<'_>, page: &mut SearchPage) -> Result<()> {
        let mut is_first = true;
        let mut has_hits = false;
        json.open_object().map_err(cut)?;
        while let Some(key) = json.key(&mut is_first).map_err(cut)? {
            match key.as_ref() {
                "pit_id" => page.pit_id = Some(json.text().map_err(cut)?.into_owned()),
                "timed_out" if json.boolean().map_err(cut)? => {
                    return Err(Error::unavailable("a search timed out before it returned all rows")
                        .advice("raise search.default_search_timeout of the cluster, or run it again later"));
                }
                "timed_out" => {}
                "_shards" => check_shards(json.skip().map_err(cut)?)?,
                "hits" => {
                    has_hits = true;
                    self.outer_hits(json, page)?;
                }
                _ => drop(json.skip().map_err(cut)?),
            }
        }
        if has_hits { Ok(()) } else { Err(cut(NoJson { at: json.position(), why: "the response has no hits" })) }
    }

    fn outer_hits(&mut self, json: &mut Json<'_>, page: &mut SearchPage) -> Result<()> {
        let mut is_first = true;
        json.open_object().map_err(cut)?;
        while let Some(key) = json.key(&mut is_first).map_err(cut)? {
            if key != "hits" {
                json.skip().map_err(cut)?;
                continue;
            }
            let mut is_first = true;
            let mut last_sort: Option<&[u8]> = None;
            json.open_array().map_err(cut)?;
            while json.next(&mut is_first).map_err(cut)? {
                last_sort = self.hit(json)?.or(last_sort);
                page.rows += 1;
            }
            page.last_sort = last_sort.map(<[u8]>::to_vec);
        }
        Ok(())
    }

    /// Takes a hit, and gives its place.
    fn hit<'a>(&mut self, json: &mut Json<'a>) -> Result<Option<&'a [u8]>> {
        let (mut id, mut routing): (Option<Cow<'_, str>>, Option<Cow<'_, str>>) = (None, None);
        let mut sort = None;
        let (mut is_first, mut has_source) = (true, false);
        json.open_object().map_err(cut)?;
        while let Some(key) = json.key(&mut is_first).map_err(cut)? {
            match key.as_ref() {
                "_id" => id = Some(json.text().map_err(cut)?),
                "_routing" => routing = Some(json.text().map_err(cut)?),
                "sort" => sort = Some(json.skip().map_err(cut)?),
                "_source" => {
                    has_source = true;
                    self.document.push(json, &mut self.unmapped).map_err(|error| misfit(error, id.as_deref()))?;
                }
                _ => drop(json.skip().map_err(cut)?),
            }
        }
        if !has_source {
            // Documents without any of the columns have none where only some are asked for.
            self.document.push_missing().map_err(|error| misfit(error, id.as_deref()))?;
        }
        let beside = [(ID, &mut self.id, id.as_deref()), (ROUTING, &mut self.routing, routing.as_deref())];
        for (name, slot, text) in beside {
            let Some(slot) = slot else { continue };
            let must_be_there = self.schema.field_with_name(name).is_ok_and(|field| !field.is_nullable());
            let pushed = match text {
                None if must_be_there => wrong("the field is missing, but its column is not nullable"),
                text => slot.push_text(text),
            };
            pushed.map_err(|error| misfit(named(error, name), id.as_deref()))?;
        }
        self.rows += 1;
        Ok(sort)
    }

    /// The rows since the last batch.
    pub fn batch(&mut self) -> Result<RecordBatch> {
        let failed = |error: arrow::error::ArrowError| Error::internal("a page did not form a batch").because(error);
        let mut arrays = self.document.finish()?.into_iter().map(Some).collect::<Vec<_>>();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for (origin, field) in self.columns.iter().zip(self.schema.fields()) {
            let array = match origin {
                HitColumn::Document(index) => arrays.get_mut(*index).and_then(Option::take),
                HitColumn::Id => self.id.as_mut().map(|slot| slot.finish(field.data_type())).transpose()?,
                HitColumn::Routing => self.routing.as_mut().map(|slot| slot.finish(field.data_type())).transpose()?,
            };
            columns.push(array.ok_or_else(|| Error::internal("a column is requested twice"))?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(std::mem::take(&mut self.rows)));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options).map_err(failed)
    }
}

/// The error of an answer that is cut, or is not valid JSON.
fn cut(error: NoJson) -> Error {
    Error::unavailable(format!("a response is truncated or not valid JSON at byte {}: {}", error.at, error.why))
        .advice("run it again")
}

fn misfit(error: DocumentMisfit, id: Option<&str>) -> Error {
    match error {
        DocumentMisfit::Syntax(error) => cut(error),
        DocumentMisfit::Value(reason) => Error::invalid(format!("document {:?}: {reason}", id.unwrap_or_default()))
            .advice(format!(
                "give the column a type that fits with {SCHEMA}, such as utf8, name array fields with \
                 ?lists=FIELD,…, or exclude the column with {COLUMNS}"
            )),
    }
}

fn check_shards(shards: &[u8]) -> Result<()> {
    let shards: Value = serde_json::from_slice(shards).unwrap_or_default();
    match shards["failed"].as_u64() {
        Some(0) => Ok(()),
        Some(failed) => {
            let reason = shards["failures"][0]["reason"]["reason"].as_str().unwrap_or("the server gives no reason");
            let message = format!("{failed} of {} shards failed: {reason}", shards["total"]);
            Err(Error::unavailable(message).advice("check the index's health, then run it again"))
        }
        None => Err(Error::unavailable("a response does not say whether all shards were read").advice("run it again")),
    }
}

#[cfg(test)]
mod tests;
