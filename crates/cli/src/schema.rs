//! `lakerace schema`.

use std::io::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, StringArray};
use lakerace::{Error, ReadOptions, Result, SchemaReport, TableReport};
use lakerace_io::printable;

use crate::args::SchemaArgs;
use crate::human;
use crate::session::{Session, column_union, csv_options, excel_options, sources, storage_options};
use crate::stdout::PipeStdout;
use crate::table::TablePrinter;

pub(crate) fn run(args: &SchemaArgs, session: &Session) -> Result<()> {
    let (source, locations) = sources(&args.sources);
    let options = ReadOptions {
        locations,
        at: args.at.clone(),
        format: args.input_format,
        csv: csv_options(&args.csv),
        excel: excel_options(&args.csv),
        column_union: column_union(args.union_columns),
        file_name_column: args.file_name_column.clone(),
        nesting: args.nesting.nesting()?,
        storage: storage_options(&args.store),
        ..ReadOptions::default()
    };
    let schema = lakerace::schema(source, &options, &session.job)?;
    if session.global.json {
        return session.done("", schema.info.rows.unwrap_or(0), &schema);
    }
    print(&schema)
}

fn print(schema: &SchemaReport) -> Result<()> {
    let columns = &schema.columns;
    let names: StringArray = columns.iter().map(|c| Some(&c.name)).collect();
    let types: StringArray = columns.iter().map(|c| Some(&c.r#type)).collect();
    let nullable: BooleanArray = columns.iter().map(|c| Some(c.nullable)).collect();
    let fields: [(&str, ArrayRef); 3] =
        [("column", Arc::new(names)), ("type", Arc::new(types)), ("nullable", Arc::new(nullable))];
    let batch = RecordBatch::try_from_iter(fields).map_err(Error::unexpected)?;
    let mut table = TablePrinter::new(Box::new(PipeStdout::lock()), batch.schema(), None);
    table.write(&batch)?;
    table.finish()?;
    let info = &schema.info;
    let rows = info.rows.map_or_else(|| "unknown".to_owned(), human::count);
    let units = match (info.format.as_str(), info.units) {
        ("parquet", Some(n)) => format!(", row groups: {}", human::count(n)),
        ("orc", Some(n)) => format!(", stripes: {}", human::count(n)),
        // Text files are not divided: their number has been printed.
        (_, Some(n)) if n != info.files => format!(", units: {}", human::count(n)),
        _ => String::new(),
    };
    let files = human::plural(info.files, "file");
    let line = format!("format: {}, rows: {rows}, {files}, {}{units}", info.format, human::bytes(info.bytes));
    let mut out = PipeStdout::lock();
    if let Some(table) = &schema.table {
        writeln!(out, "{}", printable(&version_words(table))).map_err(|e| Error::from(e).at("standard output"))?;
    }
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|e| Error::from(e).at("standard output"))
}

/// A version in words: `version: 12, key: id, partitioned by: day, delta.enableDeletionVectors=true`.
fn version_words(table: &TableReport) -> String {
    let mut words = vec![format!("version: {}", table.version)];
    let mut list = |what: &str, names: &[String]| {
        if !names.is_empty() {
            words.push(format!("{what}: {}", names.join(" and ")));
        }
    };
    list("key", &table.key);
    list("partitioned by", &table.partition_columns);
    words.extend(table.properties.iter().map(|(name, value)| format!("{name}={value}")));
    words.join(", ")
}
