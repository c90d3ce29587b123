//! A table, a view or a query as a source.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use lakerace_format::suggestions::column_not_found;
use lakerace_format::{Batches, FilePlan, Predicate, ReadPlan, ReadRequest, Source, SourceInfo, UnitPlan};
use lakerace_io::profile::Observations;
use lakerace_io::{Error, Job, Result, plan_requests};
use rusqlite::{Connection, OptionalExtension};

use super::catalog::{SqliteTable, TableColumn, is_utf8};
use super::connect::{change_counter, same_state, to_read};
use super::error::failed;
use super::infer::{self, ResultLayout, TypedColumn, typed};
use super::kind::TypeAffinity;
use super::location::{DatabasePlace, TableRelation, quoted};
use super::pushdown;
use super::row_lookup::{CandidateRows, RowLookup};
use super::scan::{SqliteScan, scan};
use crate::options::SourceOptions;

/// Rows of a range that one thread reads at a time, where row numbers have no gaps.
const RANGE_ROWS: i128 = 1 << 16;
/// Ranges at most.
const MAX_RANGES: i128 = 256;

/// Rows of a SQLite database.
pub(super) struct SqliteSource {
    place: DatabasePlace,
    columns: Vec<TypedColumn>,
    schema: SchemaRef,
    /// The name of the rows' numbers.
    rowid: Option<&'static str>,
    /// The text after FROM.
    from: String,
    size_bytes: u64,
    job: Job,
}

/// A plan's facts next to its units: the state of the file, and the ranges of row numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RowRanges {
    change_counter: u32,
    first: i64,
    width: u64,
    count: u64,
    /// The rows of the one range are found by an index.
    is_by_index: bool,
}

impl SqliteSource {
    pub fn open(location: &str, options: &SourceOptions, job: &Job) -> Result<Self> {
        let place = DatabasePlace::parse(location)?;
        let connection = to_read(place.path(), job)?;
        let named = |error: Error| error.at(place.shown());
        let size_bytes = std::fs::metadata(place.path()).map_or(0, |metadata| metadata.len());
        let (table, from) = relation(&connection, &place.relation).map_err(named)?;
        let rowid = table.rowid;
        let names: Vec<String> = table.columns.iter().map(|column| quoted(&column.name)).collect();
        let number = rowid.map(|rowid| format!("{rowid}, ")).unwrap_or_default();
        let sql = format!("SELECT {number}{} FROM {from}", names.join(", "));
        let rows = ResultLayout { connection: &connection, sql: &sql, has_rowid: rowid.is_some() };
        let columns = typed(&table, options, &rows, job).map_err(named)?;
        let schema = infer::schema(&columns);
        Ok(Self { place, columns, schema, rowid, from, size_bytes, job: job.clone() })
    }

    /// The columns that a read needs, in the order of the table, and those that it gives as positions among them.
    fn selected(&self, request: &ReadRequest) -> Result<(Vec<usize>, Vec<usize>)> {
        let wanted: Vec<usize> = match &request.columns {
            None => (0..self.columns.len()).collect(),
            Some(names) => names.iter().map(|name| self.find(name)).collect::<Result<_>>()?,
        };
        let mut needed = wanted.clone();
        if let Some(filter) = &request.filter {
            needed.extend(Predicate::bind(filter, &self.schema)?.columns());
        }
        needed.sort_unstable();
        needed.dedup();
        let at = |column: &usize| needed.binary_search(column).unwrap_or_default();
        let output = wanted.iter().map(at).collect();
        Ok((needed, output))
    }

    fn find(&self, name: &str) -> Result<usize> {
        let names = self.schema.fields().iter().map(|field| field.name().as_str());
        self.schema.index_of(name).map_err(|_| column_not_found(name, names).at(self.place.shown()))
    }

    /// The ranges of a read, and how rows are found in them, where the read has a filter.
    fn ranges(&self, request: &ReadRequest) -> Result<(RowRanges, Option<RowLookup>)> {
        let change_counter = change_counter(self.place.path())?;
        let one = RowRanges { change_counter, first: i64::MIN, width: u64::MAX, count: 1, is_by_index: false };
        let Some(rowid) = self.rowid else { return Ok((one, None)) };
        let connection = to_read(self.place.path(), &self.job)?;
        // A statement for each end, as SQLite looks up only one of them in a statement.
        let end = |function: &str| {
            let sql = format!("SELECT {function}({rowid}) FROM {}", self.from);
            connection.query_row(&sql, [], |row| row.get::<_, Option<i64>>(0)).optional().map_err(failed)
        };
        let (Some(Some(first)), Some(Some(last))) = (end("min")?, end("max")?) else { return Ok((one, None)) };
        let span = i128::from(last) - i128::from(first) + 1;
        let lookup = match request.filter.as_ref().map(|filter| pushdown::condition(filter, &self.columns)) {
            None => None,
            Some(None) => Some(RowLookup::All("SQLite can't evaluate the filter")),
            Some(Some(pushed)) => {
                let candidates = CandidateRows { connection: &connection, rowid, from: &self.from, pushed: &pushed };
                Some(candidates.lookup(u64::try_from(span).unwrap_or(u64::MAX))?)
            }
        };
        let is_by_index = matches!(lookup, Some(RowLookup::Index { .. }));
        let count = if is_by_index { 1 } else { ((span + RANGE_ROWS - 1) / RANGE_ROWS).clamp(1, MAX_RANGES) };
        let width = u64::try_from((span + count - 1) / count).unwrap_or(u64::MAX);
        let count = u64::try_from(count).unwrap_or(1);
        Ok((RowRanges { change_counter, first, width, count, is_by_index }, lookup))
    }
}

impl SqliteSource {
    /// A range as the plan says it.
    fn unit(&self, ranges: &RowRanges, lookup: Option<RowLookup>) -> UnitPlan {
        let wanted_bytes = self.size_bytes / ranges.count;
        let (rows, wanted_bytes, row_lookup) = match lookup {
            None => (None, wanted_bytes, None),
            Some(RowLookup::All(reason)) => (None, wanted_bytes, Some(format!("all rows are read: {reason}"))),
            Some(RowLookup::Index { names, rows }) => {
                // Row numbers without gaps are as many as rows.
                let bytes = u128::from(self.size_bytes) * u128::from(rows) / u128::from(ranges.width.max(1));
                (Some(rows), u64::try_from(bytes).unwrap_or(wanted_bytes), Some(format!("found by index {names}")))
            }
        };
        UnitPlan { rows, wanted_bytes, row_lookup, ..UnitPlan::default() }
    }
}

/// The columns of a relation, and its name in SQL.
fn relation(connection: &Connection, relation: &TableRelation) -> Result<(SqliteTable, String)> {
    match relation {
        TableRelation::Table(name) => match SqliteTable::find(connection, name)? {
            Some(table) => Ok((table, quoted(name))),
            None => Err(no_table(connection, name)?),
        },
        TableRelation::Query(sql) => {
            let sql = sql.trim().trim_end_matches(';');
            let statement = connection.prepare(sql).map_err(failed)?;
            if !statement.readonly() || statement.column_count() == 0 {
                return Err(Error::usage("the query returns no rows, or changes the database").advice("write a SELECT"));
            }
            let column = |name: &str| TableColumn {
                name: name.to_owned(),
                declared: String::new(),
                affinity: TypeAffinity::None,
                is_binary: false,
                is_nullable: true,
                key_position: 0,
                is_generated: false,
            };
            let columns: Vec<TableColumn> = statement.column_names().map(column).collect();
            let mut names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            names.sort_unstable();
            if let Some(twice) = names.windows(2).find(|pair| pair[0].eq_ignore_ascii_case(pair[1])) {
                return Err(Error::usage(format!("the query returns two columns named {:?}", twice[0]))
                    .advice("rename one of them with AS"));
            }
            let table = SqliteTable {
                columns,
                rowid: None,
                has_key_index: false,
                is_strict: false,
                is_view: true,
                is_virtual: false,
                is_utf8: is_utf8(connection)?,
                kept: None,
            };
            // A comment at the end of the query ends with its line.
            Ok((table, format!("({sql}\n)")))
        }
    }
}

fn no_table(connection: &Connection, name: &str) -> Result<Error> {
    let sql = "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!' \
               AND name NOT LIKE '!_lakerace!_%' ESCAPE '!'";
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let names = statement.query_map([], |row| row.get::<_, String>(0));
    let names = names.and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>).map_err(failed)?;
    let nearest = lakerace_format::suggestions::nearest(name, names.iter().map(String::as_str));
    let error = Error::not_found("the database has no such table");
    Ok(match nearest {
        Some(nearest) => error.advice(format!("did you mean {nearest:?}?")),
        None => error,
    })
}

impl Source for SqliteSource {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn info(&self) -> SourceInfo {
        SourceInfo { format: "sqlite".to_owned(), rows: None, files: 1, bytes: self.size_bytes, units: None }
    }

    fn plan(&self, request: &ReadRequest) -> Result<ReadPlan> {
        request.check_batch_rows()?;
        let (needed, output) = self.selected(request)?;
        let fields: Vec<_> = output.iter().map(|at| self.columns[needed[*at]].field.clone()).collect();
        let (ranges, lookup) = self.ranges(request).map_err(|error| error.at(self.place.shown()))?;
        let unit = self.unit(&ranges, lookup);
        let units = (0..ranges.count).map(|index| UnitPlan { index: index as usize, ..unit.clone() });
        let file = FilePlan {
            url: self.place.path().display().to_string(),
            size_bytes: self.size_bytes,
            e_tag: Some(ranges.to_string()),
            units: units.collect(),
        };
        Ok(ReadPlan {
            request: request.clone(),
            schema: Arc::new(Schema::new(fields)),
            files: vec![file],
            requests: plan_requests(&[], &self.job.options().ranges, &Observations::local_disk()),
        })
    }

    fn read(&self, plan: &ReadPlan) -> Result<Batches> {
        let named = |error: Error| error.at(self.place.shown());
        let (units, ranges) = match plan.files.as_slice() {
            [file] => {
                let ranges = file.e_tag.as_deref().and_then(RowRanges::parse);
                (&file.units, ranges.ok_or_else(|| Error::usage("the plan is not for SQLite"))?)
            }
            _ => return Err(Error::usage("the plan is not for SQLite")),
        };
        let is_by_index = ranges.is_by_index;
        let units: Vec<(i64, i64)> =
            units.iter().filter(|u| u.pruned.is_none()).map(|u| ranges.unit(u.index)).collect();
        let threads = self.job.options().threads.max(1).min(units.len().max(1));
        let connections = same_state(self.place.path(), threads, &self.job)?;
        if change_counter(self.place.path())? != ranges.change_counter {
            return Err(named(Error::conflict("the database changed after the read was planned").advice("read again")));
        }
        let (needed, output) = self.selected(&plan.request)?;
        let filter = plan.request.filter.as_ref();
        let columns: Vec<TypedColumn> = needed.iter().map(|column| self.columns[*column].clone()).collect();
        let decoded = infer::schema(&columns);
        let scan_plan = SqliteScan {
            place: self.place.shown(),
            from: self.from.clone(),
            rowid: self.rowid,
            is_by_index,
            pushed: filter.and_then(|filter| pushdown::condition(filter, &self.columns)),
            filter: filter.map(|filter| Predicate::bind(filter, &decoded)).transpose()?,
            columns,
            output,
            schema: Arc::clone(&plan.schema),
            batch_rows: plan.request.batch_rows,
            limit: plan.request.limit.unwrap_or(u64::MAX),
        };
        scan(scan_plan, units, connections, &self.job).map_err(named)
    }
}

impl std::fmt::Display for RowRanges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { change_counter, first, width, count, is_by_index } = self;
        write!(f, "{change_counter}:{first}:{width}:{count}{}", if *is_by_index { ":index" } else { "" })
    }
}

impl RowRanges {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        let ranges = Self {
            change_counter: parts.next()?.parse().ok()?,
            first: parts.next()?.parse().ok()?,
            width: parts.next()?.parse().ok()?,
            count: parts.next()?.parse().ok()?,
            is_by_index: match parts.next() {
                None => false,
                Some("index") => true,
                Some(_) => return None,
            },
        };
        parts.next().is_none().then_some(ranges)
    }

    /// The first and the last row number of a unit.
    fn unit(&self, index: usize) -> (i64, i64) {
        let first = i128::from(self.first) + i128::from(self.width) * index as i128;
        let last = first + i128::from(self.width) - 1;
        let clamp = |value: i128| i64::try_from(value.clamp(i64::MIN.into(), i64::MAX.into())).unwrap_or(i64::MAX);
        (clamp(first), clamp(last))
    }
}
