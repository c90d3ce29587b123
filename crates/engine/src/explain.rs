//! A plan in words, and its price under other settings.

use std::fmt;

use arrow::datatypes::Schema;
use lakerace_format::{FilePlan, Predicate, ReadPlan, UnitPlan};
use lakerace_io::{MinSeekSize, PathProfile, RangeOptions, RequestPlan, Wanted, plan_requests};
use serde::Serialize;

use crate::filter::{parse_filter, parts as filter_parts};

/// A plan in words, with its price under the chosen and the alternative settings. `Display` is for people,
/// `Serialize` for `--json`.
#[derive(Debug, Clone, Serialize)]
pub struct Explain {
    /// The plan.
    pub plan: ReadPlan,
    /// The columns as they were written, if some of them are computed. The plan has the columns that they need.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// The columns that are returned, if their nesting is not that of the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub returned: Option<Vec<String>>,
    /// The filter as it was written.
    pub filter: Option<String>,
    /// The parts of the filter, joined by AND, that no statistics can decide: they are worked out row by row.
    pub row_filters: Vec<String>,
    /// The order of the rows as it was written; `None`: that of the source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order_by: Option<String>,
    /// The costs of the path to the files, as observed so far.
    pub path: Option<PathProfile>,
    /// The requests under other settings of `min_seek_size`, the chosen one among them.
    pub alternatives: Vec<Alternative>,
}

/// The cost of the same read under one setting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alternative {
    /// The setting: `auto`, or bytes.
    pub min_seek_size: String,
    /// The plan was made with it.
    pub chosen: bool,
    /// The gap that is read through at most.
    pub gap_bytes: u64,
    /// Requests for data.
    pub requests: u64,
    /// Bytes that the read needs.
    pub wanted_bytes: u64,
    /// Bytes between them that are read as well.
    pub read_through_bytes: u64,
    /// Predicted time.
    pub seconds: f64,
    /// Predicted price in US dollars.
    pub usd: f64,
}

/// ORC's advice for S3, and the built-in setting of some readers.
const WIDE_SEEK_BYTES: u64 = 4 << 20;

/// Lines of a printed plan: more are counted, not shown.
const FILES_SHOWN: usize = 20;
const UNITS_SHOWN: usize = 12;

impl Explain {
    pub(crate) fn new(
        plan: ReadPlan,
        filter: Option<String>,
        wanted: Option<(Vec<Wanted>, PathProfile)>,
        ranges: &RangeOptions,
    ) -> Self {
        let chosen = |setting| ranges.min_seek_size == setting;
        let mut alternatives = vec![Alternative::new(ranges.min_seek_size, true, &plan.requests)];
        if let Some((wanted, profile)) = &wanted {
            let settings = [MinSeekSize::Auto, MinSeekSize::Bytes(0), MinSeekSize::Bytes(WIDE_SEEK_BYTES)];
            for setting in settings.into_iter().filter(|setting| !chosen(*setting)) {
                let options = RangeOptions { min_seek_size: setting, ..*ranges };
                alternatives.push(Alternative::new(setting, false, &plan_requests(wanted, &options, profile)));
            }
        }
        let path = wanted.map(|(_, profile)| profile);
        Self {
            plan,
            columns: None,
            returned: None,
            filter,
            row_filters: Vec::new(),
            order_by: None,
            path,
            alternatives,
        }
    }
}

/// The parts of a filter that no statistics of columns of this schema can decide.
pub(crate) fn row_filters(filter: &str, schema: &Schema) -> Vec<String> {
    let is_decided = |part: &String| {
        let predicate = parse_filter(part).and_then(|part| Predicate::bind(&part, schema));
        predicate.is_ok_and(|predicate| !predicate.decided_by().is_empty())
    };
    filter_parts(filter).into_iter().filter(|part| !is_decided(part)).collect()
}

impl Alternative {
    fn new(setting: MinSeekSize, chosen: bool, requests: &RequestPlan) -> Self {
        Self {
            min_seek_size: setting.to_string(),
            chosen,
            gap_bytes: requests.gap_bytes,
            requests: requests.requests.len() as u64,
            wanted_bytes: requests.wanted_bytes,
            read_through_bytes: requests.read_through_bytes,
            seconds: requests.seconds,
            usd: requests.usd,
        }
    }
}

impl fmt::Display for Explain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_request(f)?;
        self.write_files(f)?;
        self.write_prices(f)
    }
}

impl Explain {
    fn write_request(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = &self.plan.request;
        let names: Vec<&str> = self.plan.schema.fields().iter().map(|field| field.name().as_str()).collect();
        if let Some(columns) = &self.columns {
            writeln!(f, "columns   {}", columns.join(", "))?;
        }
        match &request.columns {
            Some(_) if self.columns.is_some() => writeln!(f, "reads     {}", names.join(", "))?,
            None => writeln!(f, "columns   all {}", names.len())?,
            Some(_) if names.is_empty() => writeln!(f, "columns   none: rows are counted")?,
            Some(_) => writeln!(f, "columns   {}", names.join(", "))?,
        }
        if let Some(returned) = &self.returned {
            writeln!(f, "returns   {}", returned.join(", "))?;
        }
        if let Some(filter) = &self.filter {
            writeln!(f, "where     {filter}")?;
        }
        if !self.row_filters.is_empty() {
            writeln!(f, "by row    {}", self.row_filters.join(" AND "))?;
        }
        if let Some(order) = &self.order_by {
            writeln!(f, "order by  {order}")?;
        }
        if let Some(limit) = request.limit {
            writeln!(f, "limit     {}", count(limit))?;
        }
        let units: Vec<&UnitPlan> = self.plan.files.iter().flat_map(|file| &file.units).collect();
        let kept = units.iter().filter(|unit| unit.pruned.is_none()).count();
        let bytes: u64 = self.plan.files.iter().map(|file| file.size_bytes).sum();
        let files = self.plan.files.len();
        writeln!(f, "files     {files}, {}; {kept} of {} parts are read", size(bytes), units.len())?;
        if let Some(rows) = self.plan.rows_at_most() {
            let rows = count(rows.min(request.limit.unwrap_or(u64::MAX)));
            let at_most = if request.filter.is_some() { "at most " } else { "" };
            writeln!(f, "rows      {at_most}{rows}")?;
        }
        Ok(())
    }

    fn write_files(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for file in self.plan.files.iter().take(FILES_SHOWN) {
            let kept = file.units.iter().filter(|unit| unit.pruned.is_none()).count();
            writeln!(f, "\n{}  {}, {kept} of {} parts", file.url, size(file.size_bytes), file.units.len())?;
            write_units(f, file)?;
        }
        let more = self.plan.files.len().saturating_sub(FILES_SHOWN);
        if more > 0 { writeln!(f, "\n… and {more} more files") } else { Ok(()) }
    }

    fn write_prices(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            let (one, all) = (path.connection_bytes_per_second as u64, path.total_bytes_per_second as u64);
            let latency = path.latency_ms;
            writeln!(f, "\npath      {latency:.1} ms, {}/s a connection, {}/s in total", size(one), size(all))?;
        }
        let header = ["min_seek_size", "requests", "wanted", "read through", "seconds", "dollars"].map(str::to_owned);
        let mut rows = vec![header];
        for alternative in &self.alternatives {
            let mark = if alternative.chosen { " *" } else { "" };
            rows.push([
                format!("{}{mark}", setting_words(alternative)),
                count(alternative.requests),
                size(alternative.wanted_bytes),
                size(alternative.read_through_bytes),
                format!("{:.3}", alternative.seconds),
                format!("{:.7}", alternative.usd),
            ]);
        }
        writeln!(f)?;
        write_table(f, &rows)?;
        writeln!(f, "* this plan")
    }
}

fn setting_words(alternative: &Alternative) -> String {
    match alternative.min_seek_size.parse::<u64>() {
        Ok(bytes) if bytes > 0 => size(bytes),
        Ok(_) => "0".to_owned(),
        Err(_) => format!("auto ({})", size(alternative.gap_bytes)),
    }
}

/// The units of a file, neighbours of the same fate as one line.
fn write_units(f: &mut fmt::Formatter<'_>, file: &FilePlan) -> fmt::Result {
    let groups: Vec<&[UnitPlan]> = file.units.chunk_by(|a, b| a.pruned == b.pruned).collect();
    for group in groups.iter().take(UNITS_SHOWN) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let numbers = match first.index == last.index {
            true => first.index.to_string(),
            false => format!("{}-{}", first.index, last.index),
        };
        let rows: Option<u64> = group.iter().map(|unit| unit.rows).sum();
        let rows = rows.map_or(String::new(), |rows| format!("{} rows", count(rows)));
        match &first.pruned {
            Some(reason) => writeln!(f, "  {numbers:<9} {rows:<18} not read: {reason}")?,
            None => {
                let bytes: u64 = group.iter().map(|unit| unit.wanted_bytes).sum();
                let left: Option<u64> = group.iter().map(|unit| unit.rows_after_pages.or(unit.rows)).sum();
                let by_pages = group.iter().any(|unit| unit.rows_after_pages.is_some());
                let left = left.filter(|_| by_pages).map_or(String::new(), |n| format!(", {} rows", count(n)));
                let why = if by_pages { parts_words(group) } else { String::new() };
                let lookup = first.row_lookup.as_ref().map_or(String::new(), |lookup| format!("; {lookup}"));
                writeln!(f, "  {numbers:<9} {rows:<18} read: {}{left}{why}{lookup}", size(bytes))?;
            }
        }
    }
    let more = groups.len().saturating_sub(UNITS_SHOWN);
    if more > 0 { writeln!(f, "  … and {more} more lines") } else { Ok(()) }
}

/// Why not all rows of these units are read.
fn parts_words(group: &[UnitPlan]) -> String {
    let parts = || group.iter().filter_map(|unit| unit.row_groups.as_ref());
    let Some(first) = parts().next() else { return " after page statistics".to_owned() };
    let (kept, all) = parts().fold((0, 0), |(kept, all), part| (kept + part.kept, all + part.all));
    format!(" in {} of {} row groups; not the others: {}", count(kept), count(all), first.reason)
}

/// Columns by the widest cell; the first to the left, numbers to the right.
fn write_table<const N: usize>(f: &mut fmt::Formatter<'_>, rows: &[[String; N]]) -> fmt::Result {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            let width = width(column);
            match column {
                0 => write!(f, "{cell:<width$}")?,
                _ => write!(f, "  {cell:>width$}")?,
            }
        }
        writeln!(f)?;
    }
    Ok(())
}

/// `1,234,567`.
fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `12.3 MB`; decimal units.
fn size(bytes: u64) -> String {
    let units = ["kB", "MB", "GB", "TB", "PB", "EB"];
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", units[unit])
}

#[cfg(test)]
mod tests;
