//! An aligned table, streamed: the first rows set the widths.

use std::io::{BufWriter, Write};

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, DurationFormat, FormatOptions};
use console::{Alignment, style};
use console::{Term, measure_text_width, pad_str, truncate_str};
use lakerace::{Error, Result, value_text, with_instants_in_utc, with_uuid_texts};

/// Rows that set the widths.
const SAMPLE_ROWS: usize = 1000;
/// Wider values stick out of their column where nothing is cut off.
const WIDEST: usize = 60;
/// A column is not made narrower than this to fit the terminal.
const NARROWEST: usize = 6;
const GAP: &str = "  ";

/// Prints batches of one schema.
pub(crate) struct TablePrinter {
    out: BufWriter<Box<dyn Write>>,
    schema: SchemaRef,
    /// The width of the terminal that shows the table; `None`: nothing is cut off.
    terminal: Option<usize>,
    /// The widths of the columns, once known.
    widths: Option<Vec<usize>>,
    /// The first rows, which set the widths, while they are too few.
    waiting: Vec<RecordBatch>,
}

/// The width of stdout's terminal; `None` where it is none.
pub(crate) fn terminal_width() -> Option<usize> {
    let term = Term::stdout();
    if !term.is_term() {
        return None;
    }
    term.size_checked().map(|(_, columns)| usize::from(columns)).filter(|width| *width > 0)
}

/// Rows that came before an error are shown.
impl Drop for TablePrinter {
    fn drop(&mut self) {
        if !self.waiting.is_empty() {
            // The error that ends the command is the one to tell.
            let _ = self.begin();
        }
    }
}

impl TablePrinter {
    pub(crate) fn new(out: Box<dyn Write>, schema: SchemaRef, terminal: Option<usize>) -> Self {
        Self { out: BufWriter::new(out), schema, terminal, widths: None, waiting: Vec::new() }
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let batch = with_uuid_texts(with_instants_in_utc(batch.clone())?)?;
        if let Some(widths) = self.widths.take() {
            let outcome = self.rows(&batch, &widths);
            self.widths = Some(widths);
            return outcome;
        }
        self.waiting.push(batch);
        match self.waiting.iter().map(RecordBatch::num_rows).sum::<usize>() < SAMPLE_ROWS {
            true => Ok(()),
            false => self.begin(),
        }
    }

    /// Prints what waits for more rows, and sends everything out.
    pub(crate) fn finish(&mut self) -> Result<()> {
        if self.widths.is_none() {
            self.begin()?;
        }
        self.out.flush().map_err(Error::from)
    }

    /// Prints the header and the first rows.
    fn begin(&mut self) -> Result<()> {
        let first = std::mem::take(&mut self.waiting);
        let widths = self.header(&first)?;
        let outcome = first.iter().try_for_each(|batch| self.rows(batch, &widths));
        self.widths = Some(widths);
        outcome
    }

    /// Sets the widths by the first rows, prints names and rules.
    fn header(&mut self, first: &[RecordBatch]) -> Result<Vec<usize>> {
        let mut widths = Vec::with_capacity(self.schema.fields().len());
        for (i, field) in self.schema.fields().iter().enumerate() {
            let mut width = measure_text_width(&printable(field.name()));
            let mut left = SAMPLE_ROWS;
            for batch in first {
                let column = batch.column(i);
                let options = options();
                let formatter = ArrayFormatter::try_new(column, &options).map_err(formatting)?;
                for row in 0..column.len().min(left) {
                    width = width.max(measure_text_width(&cell(&formatter, column, row)?));
                }
                left = left.saturating_sub(column.len());
            }
            widths.push(width.clamp(1, WIDEST));
        }
        if let Some(terminal) = self.terminal {
            let may_shrink: Vec<bool> = (0..widths.len()).map(|column| is_cut(&self.schema, column)).collect();
            fit(&mut widths, &may_shrink, terminal);
        }
        let hidden = self.schema.fields().len() - widths.len();
        let last = widths.len().saturating_sub(1);
        let mut line = String::new();
        let mut rule = String::new();
        for (i, width) in widths.iter().enumerate() {
            let name = printable(self.schema.field(i).name());
            let name = if self.terminal.is_some() { truncate_str(&name, *width, "…") } else { name.as_str().into() };
            self.put(&mut line, &name, *width, i, last);
            rule += &"─".repeat(*width);
            rule += if i + 1 == widths.len() { "" } else { GAP };
        }
        if hidden > 0 {
            line += &format!("{GAP}… {hidden} more");
        }
        writeln!(self.out, "{line}")?;
        writeln!(self.out, "{rule}")?;
        Ok(widths)
    }

    fn rows(&mut self, batch: &RecordBatch, widths: &[usize]) -> Result<()> {
        let options = options();
        let formatters = batch.columns()[..widths.len()]
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).map_err(formatting))
            .collect::<Result<Vec<_>>>()?;
        let last = widths.len().saturating_sub(1);
        let mut line = String::new();
        for row in 0..batch.num_rows() {
            line.clear();
            for (i, formatter) in formatters.iter().enumerate() {
                if batch.column(i).is_null(row) && self.terminal.is_some() {
                    let dim = style("null").dim().to_string();
                    self.put(&mut line, &dim, widths[i], i, last);
                } else {
                    let text = cell(formatter, batch.column(i), row)?;
                    self.put(&mut line, &text, widths[i], i, last);
                }
            }
            writeln!(self.out, "{line}")?;
        }
        Ok(())
    }

    /// Adds one padded cell to `line`. `last` is the column without a following one.
    fn put(&self, line: &mut String, text: &str, width: usize, column: usize, last: usize) {
        let is_cut = self.terminal.is_some() && is_cut(&self.schema, column);
        let text = if is_cut { truncate_str(text, width, "…") } else { text.into() };
        let to_the_right = is_number(&self.schema, column);
        let side = if to_the_right { Alignment::Right } else { Alignment::Left };
        // Nothing after the last text: trailing blanks only make a line wrap.
        if column == last && !to_the_right {
            *line += &text;
        } else {
            *line += &pad_str(&text, width, side, None);
        }
        if column != last {
            *line += GAP;
        }
    }
}

/// Narrows the widest of the columns that may be cut until all fit, then drops columns from the end.
fn fit(widths: &mut Vec<usize>, may_shrink: &[bool], terminal: usize) {
    const MORE: usize = "  … 10000 more".len();
    let total = |widths: &[usize]| widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1);
    while total(widths) > terminal {
        let shrinking = widths.iter().zip(may_shrink).filter(|(_, may_shrink)| **may_shrink);
        let widest = shrinking.map(|(width, _)| *width).max().unwrap_or(0);
        if widest <= NARROWEST {
            break;
        }
        for (width, may_shrink) in widths.iter_mut().zip(may_shrink) {
            *width -= usize::from(*may_shrink && *width == widest);
        }
    }
    if total(widths) > terminal {
        while widths.len() > 1 && total(widths) + MORE > terminal {
            widths.pop();
        }
    }
}

/// Returns true if a terminal may cut values of a column: a number or a time without its last digits is another one.
fn is_cut(schema: &SchemaRef, column: usize) -> bool {
    let data_type = schema.field(column).data_type();
    !data_type.is_numeric() && !data_type.is_temporal()
}

fn is_number(schema: &SchemaRef, column: usize) -> bool {
    schema.field(column).data_type().is_numeric()
}

fn options() -> FormatOptions<'static> {
    FormatOptions::default().with_null("null").with_duration_format(DurationFormat::ISO8601)
}

fn cell(formatter: &ArrayFormatter<'_>, column: &ArrayRef, row: usize) -> Result<String> {
    let text = formatter.value(row).try_to_string().or_else(|_| value_text(column, row));
    text.map(|text| printable(&text)).map_err(formatting)
}

/// Control characters escaped: a value must not move the cursor of the terminal that shows it.
fn printable(text: &str) -> String {
    if !text.chars().any(char::is_control) {
        return text.to_owned();
    }
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}

fn formatting(error: ArrowError) -> Error {
    Error::unsupported("a value can't be printed as text").because(error).advice("choose --format arrow")
}

#[cfg(test)]
mod tests;
