//! The keys that rows are sorted by: the columns' values one after the other, or interleaved as a curve through all of them.

use arrow::array::{Array, BinaryArray, RecordBatch};
use arrow::datatypes::SchemaRef;
use lakerace_format::Expr;
use lakerace_format::schema_text::print_field_type;
use lakerace_format::sort::{SortKeys, SortTerm};
use lakerace_format::suggestions::column_not_found;
use lakerace_io::option::{SORT_BY, ZORDER};
use lakerace_io::{Error, Result};

/// The ranges that a column's values are divided into for a curve, with nearly equal numbers of rows.
const RANGES: usize = 1024;
/// Bits of the number of a range.
const RANGE_BITS: usize = 10;
/// Values that are sampled to find the ranges.
const SAMPLES: usize = 64 * RANGES;
/// Bytes of a sampled value at most: ranges are distinguished by these, and a value may have megabytes.
const SAMPLE_BYTES: usize = 128;

/// The columns that rows are sorted by.
pub(crate) struct SortColumns {
    names: Vec<String>,
    /// The keys of all of them, one after the other.
    all: SortKeys,
    /// The keys of each by itself.
    each: Vec<SortKeys>,
}

/// The ranges of each column's values: the least value of each but the first, as bytes that sort as the values do.
pub(crate) struct ZOrderCurve {
    bounds: Vec<Vec<Vec<u8>>>,
}

/// Looks at values to find the ranges of a [`ZOrderCurve`].
pub(crate) struct CurveSample {
    /// The values of each column, as bytes.
    values: Vec<Vec<Vec<u8>>>,
    /// The stride of the sample: one of so many values is taken.
    one_in: usize,
    seen: usize,
}

impl SortColumns {
    /// Columns of this schema. One that does not exist, or whose values have no order, is an error.
    pub fn new(names: &[String], schema: &SchemaRef) -> Result<Self> {
        let terms = names.iter().map(|name| term(name, schema)).collect::<Result<Vec<_>>>()?;
        let each =
            terms.iter().map(|term| SortKeys::bind(std::slice::from_ref(term), schema)).collect::<Result<_>>()?;
        Ok(Self { names: names.to_vec(), all: SortKeys::bind(&terms, schema)?, each })
    }

    /// Their names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The keys of rows that are sorted by the first column, then the second, and so on; nulls first.
    pub fn keys(&self, batch: &RecordBatch) -> Result<BinaryArray> {
        self.all.encode(batch)
    }

    /// Each column by itself, as bytes that sort as its values do.
    fn each(&self, batch: &RecordBatch) -> Result<Vec<BinaryArray>> {
        self.each.iter().map(|keys| keys.encode(batch)).collect()
    }
}

fn term(name: &str, schema: &SchemaRef) -> Result<SortTerm> {
    let Ok(field) = schema.field_with_name(name) else {
        return Err(column_not_found(name, schema.fields().iter().map(|field| field.name().as_str())));
    };
    if field.data_type().is_nested() {
        return Err(Error::unsupported(format!("sorting by a column of type {}", print_field_type(field)))
            .at(format!("column {name:?}"))
            .advice(format!("name columns of numbers, text, dates or times with {SORT_BY} or {ZORDER}")));
    }
    let (value, text) = (Expr::Column(name.to_owned()), name.to_owned());
    Ok(SortTerm { value, text, is_descending: false, has_nulls_first: true })
}

fn sampled(value: &[u8]) -> Vec<u8> {
    value[..value.len().min(SAMPLE_BYTES)].to_vec()
}

impl CurveSample {
    /// Starts a sample of a table that has approximately so many rows.
    pub fn new(columns: &SortColumns, rows: u64) -> Self {
        let one_in = usize::try_from(rows / SAMPLES as u64).unwrap_or(usize::MAX).max(1);
        Self { values: vec![Vec::new(); columns.names.len()], one_in, seen: 0 }
    }

    /// Samples rows of a batch.
    pub fn look(&mut self, columns: &SortColumns, batch: &RecordBatch) -> Result<()> {
        let first = self.seen.next_multiple_of(self.one_in) - self.seen;
        for (values, column) in self.values.iter_mut().zip(columns.each(batch)?) {
            let taken = (first..column.len()).step_by(self.one_in);
            values.extend(taken.map(|row| sampled(column.value(row))));
        }
        self.seen += batch.num_rows();
        Ok(())
    }

    /// The curve through the sampled values.
    pub fn curve(self) -> ZOrderCurve {
        let bounds = |mut values: Vec<Vec<u8>>| {
            values.sort_unstable();
            let at = |range: usize| values.get(range * values.len() / RANGES).cloned();
            let mut bounds: Vec<Vec<u8>> = (1..RANGES).filter_map(at).collect();
            bounds.dedup();
            // The first range starts with the least value, which may fill more than one range.
            if bounds.first() == values.first() && !bounds.is_empty() {
                bounds.remove(0);
            }
            bounds
        };
        ZOrderCurve { bounds: self.values.into_iter().map(bounds).collect() }
    }
}

impl ZOrderCurve {
    /// The places of rows on the curve: the bits of their ranges' numbers, the highest of each column first.
    pub fn keys(&self, columns: &SortColumns, batch: &RecordBatch) -> Result<BinaryArray> {
        let columns = columns.each(batch)?;
        let bytes = (self.bounds.len() * RANGE_BITS).div_ceil(8);
        let mut keys = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let range = |(bounds, column): (&Vec<Vec<u8>>, &BinaryArray)| {
                bounds.partition_point(|bound| bound.as_slice() <= column.value(row))
            };
            let ranges: Vec<usize> = self.bounds.iter().zip(&columns).map(range).collect();
            keys.push(interleave(&ranges, bytes));
        }
        Ok(BinaryArray::from_iter_values(keys))
    }
}

/// The bits of numbers below [`RANGES`], the highest of each first.
fn interleave(numbers: &[usize], bytes: usize) -> Vec<u8> {
    let mut key = vec![0u8; bytes];
    let bits = (0..RANGE_BITS).rev().flat_map(|bit| numbers.iter().map(move |number| number >> bit & 1));
    for (at, bit) in bits.enumerate() {
        key[at / 8] |= (bit as u8) << (7 - at % 8);
    }
    key
}

#[cfg(test)]
mod tests;
