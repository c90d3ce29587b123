//! `lakerace tpch`.

use lakerace::{
    CopyOptions, GeneratedTable, Generation, PARQUET, ReadOptions, Result, TpchFormat, TpchMode, TpchOptions,
    TpchTarget, WriteMode, WriteOptions,
};
use serde_json::{Value, json};

use crate::args::tpch::TpchArgs;
use crate::human;
use crate::progress::TableLines;
use crate::refresh;
use crate::session::{Session, storage_options};
use crate::stdout::StdoutWriter;

/// The value of OUT for standard output.
const STANDARD_OUTPUT: &str = "-";

pub(crate) fn run(args: &TpchArgs, session: &Session) -> Result<()> {
    if args.apply {
        return refresh::run(args, session);
    }
    let options = options(args)?;
    let is_stream = args.output == STANDARD_OUTPUT;
    let target = if is_stream {
        if session.global.json {
            return Err(lakerace::Error::usage("rows and JSON can't both go to standard output")
                .advice("name a folder, or omit --json"));
        }
        TpchTarget::Stream(Box::new(StdoutWriter::new()))
    } else {
        TpchTarget::Folder(args.output.clone())
    };
    let generation = Generation::new(target, options, &session.job)?;
    let mode = generation.mode();
    let tables = {
        let _progress = TableLines::start(generation.tables(), !session.global.quiet);
        generation.run()?
    };
    session.note(&summary(&tables, mode));
    let rows = tables.iter().map(|table| table.rows).sum();
    if is_stream {
        return Ok(());
    }
    let files: usize = tables.iter().map(|table| table.files.len()).sum();
    let more = json!({
        "mode": mode,
        "files_added": files,
        "file_bytes": tables.iter().map(|table| table.bytes).sum::<u64>(),
        "tables": tables.iter().map(report).collect::<Vec<_>>(),
    });
    session.done("generated", rows, more)
}

fn options(args: &TpchArgs) -> Result<TpchOptions> {
    let names = args.tables.as_ref().map(|list| list.0.as_slice()).unwrap_or_default();
    let write = WriteOptions {
        compression: args.compression,
        row_group_rows: args.row_group_rows,
        row_group_bytes: args.row_group_bytes,
        file_bytes: args.file_bytes,
        ..WriteOptions::default()
    };
    let copy = CopyOptions {
        read: ReadOptions { storage: storage_options(&args.store), ..ReadOptions::default() },
        write,
        mode: if args.overwrite { WriteMode::Overwrite } else { WriteMode::Error },
        ..CopyOptions::default()
    };
    Ok(TpchOptions {
        scale: args.scale_factor,
        tables: names.iter().map(|name| name.parse()).collect::<Result<_>>()?,
        refresh: args.refresh,
        format: args.format.unwrap_or(TpchFormat::Files(&PARQUET)),
        mode: args.mode,
        parts: args.parts,
        memory_bytes: args.memory_limit,
        copy,
    })
}

fn report(table: &GeneratedTable) -> Value {
    let mut report = json!(table);
    report["rows_per_second"] = json!((table.rows as f64 / table.seconds.max(1e-9)).round());
    report
}

/// A line for each table.
fn summary(tables: &[GeneratedTable], mode: TpchMode) -> String {
    let mut text = format!("{:<9} {:>13} {:>10} {:>9} {:>13}", "table", "rows", "bytes", "seconds", "rows/s");
    for table in tables {
        let rate = (table.rows as f64 / table.seconds.max(1e-9)).round() as u64;
        text += &format!(
            "\n{:<9} {:>13} {:>10} {:>9.2} {:>13}",
            table.name,
            human::count(table.rows),
            human::bytes(table.bytes),
            table.seconds,
            human::count(rate)
        );
    }
    text + &format!("\nmode {mode}; tables are generated in parallel")
}
