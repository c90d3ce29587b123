//! From blocks of lines to batches.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions, new_null_array};
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::datatypes::SchemaRef;
use lakerace_io::{Error, Result};

use super::blocks::Block;
use super::column::{Object, Origin, Others};
use super::fault::Fault;
use crate::json::{Json, Kind};
use crate::{Constants, OnBadRow, Predicate};

/// What threads do with blocks.
pub(super) struct Parser {
    pub urls: Arc<[String]>,
    /// The columns that are read from the lines.
    pub schema: SchemaRef,
    pub origins: Vec<Origin>,
    /// Columns that are known, and passed over.
    pub unread: Vec<String>,
    pub others: Others,
    pub on_bad_row: OnBadRow,
    /// The columns of the lines, then those that the files' places give.
    pub whole_schema: SchemaRef,
    /// What these are, by the file's number.
    pub constants: Vec<Option<Arc<Constants>>>,
    pub filter: Option<Predicate>,
    /// The columns of the result, by position in the whole schema.
    pub projection: Vec<usize>,
    pub output: SchemaRef,
}

/// The rows of a block.
pub(super) struct Parsed {
    pub batch: RecordBatch,
    pub bad_rows: u64,
    /// What is wrong behind the rows.
    pub error: Option<Error>,
}

fn internal(error: arrow::error::ArrowError) -> Error {
    Error::internal(error.to_string())
}

impl Parser {
    /// A block's rows: parsed, filtered, projected.
    pub fn parse(&self, block: &Block) -> Result<Parsed> {
        let (mut batches, mut bad_rows, mut error) = (Vec::new(), 0, None);
        let mut lines = Lines { text: &block.text, at: 0, number: block.first_line };
        loop {
            let (batch, bad_line) = self.rows_until_fault(&mut lines)?;
            batches.push(batch);
            let Some((fault, line, number)) = bad_line else { break };
            if self.on_bad_row == OnBadRow::Skip {
                bad_rows += 1;
                continue;
            }
            error = Some(fault.error(&self.urls[block.file], number, line));
            break;
        }
        let batch = match batches.as_slice() {
            [batch] => batch.clone(),
            batches => concat_batches(&self.schema, batches).map_err(internal)?,
        };
        let batch = self.finish(batch, block.file)?;
        Ok(Parsed { batch, bad_rows, error })
    }

    /// The rows up to a line that gives none, and that line with its number.
    #[allow(clippy::type_complexity, reason = "a fault, its line and its number")]
    fn rows_until_fault<'a>(&self, lines: &mut Lines<'a>) -> Result<(RecordBatch, Option<(Fault, &'a [u8], u64)>)> {
        let object = Object::new(self.schema.fields(), &self.origins, "", self.others)?;
        let mut object = object.with_unread(self.unread.iter().cloned());
        let (mut rows, mut bad_line) = (0, None);
        for (line, number) in lines {
            match append(&mut object, line) {
                Ok(false) => {}
                Ok(true) => rows += 1,
                Err(fault) => {
                    bad_line = Some((fault, line, number));
                    break;
                }
            }
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), object.finish(rows)?, &options);
        Ok((batch.map_err(internal)?, bad_line))
    }

    /// The columns that are asked for, of the rows that are.
    fn finish(&self, batch: RecordBatch, file: usize) -> Result<RecordBatch> {
        let batch = self.with_constants(batch, file)?;
        let result = batch.project(&self.projection).map_err(internal)?;
        let result = match &self.filter {
            Some(filter) => filter_record_batch(&result, &filter.evaluate(&batch)?).map_err(internal)?,
            None => result,
        };
        result.with_schema(Arc::clone(&self.output)).map_err(internal)
    }

    /// The batch with the columns that its file's place gives.
    fn with_constants(&self, batch: RecordBatch, file: usize) -> Result<RecordBatch> {
        if self.whole_schema.fields().len() == batch.num_columns() {
            return Ok(batch);
        }
        let (rows, constants) = (batch.num_rows(), self.constants.get(file).and_then(Option::as_ref));
        let mut columns = batch.columns().to_vec();
        for field in &self.whole_schema.fields()[columns.len()..] {
            let constant = constants.map(|known| known.array(field.name(), rows)).transpose()?.flatten();
            columns.push(constant.unwrap_or_else(|| new_null_array(field.data_type(), rows)));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.whole_schema), columns, &options).map_err(internal)
    }
}

/// Appends the row of a line. False: the line is blank.
fn append(object: &mut Object, line: &[u8]) -> std::result::Result<bool, Fault> {
    let mut json = Json::new(line);
    if json.is_at_end() {
        return Ok(false);
    }
    if json.kind() != Ok(Kind::Object) {
        let at = json.position();
        let message = "a line holds one object, and this one does not begin with {".to_owned();
        return Err(Fault::value(at, message, "make each row a line, for example with: jq -c '.[]' FILE".to_owned()));
    }
    object.append(&mut json)?;
    if !json.is_at_end() {
        let message = "something follows the object on its line".to_owned();
        return Err(Fault::value(json.position(), message, "make each row a line of its own".to_owned()));
    }
    Ok(true)
}

/// Lines without their ends, and their numbers.
struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    number: u64,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (&'a [u8], u64);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.text.get(self.at..).filter(|rest| !rest.is_empty())?;
        let len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let number = self.number;
        self.at += len + 1;
        self.number += 1;
        Some((&rest[..len], number))
    }
}

/// What files' places give, file by file, of a plan's files.
pub(super) fn constants_of(urls: &[String], known: &HashMap<String, Arc<Constants>>) -> Vec<Option<Arc<Constants>>> {
    urls.iter().map(|url| known.get(url).cloned()).collect()
}
