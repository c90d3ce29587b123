//! `lakerace scan`.

use lakerace::{Batches, Error, Explain, FileFormat, ReadOptions, Result, Scan};
use lakerace_format::{ARROW_IPC, CSV, JSON_LINES};
use lakerace_io::option::{LIMIT, ORDER_BY, ROW_FORMAT};
use serde_json::json;

use crate::args::{RowFormat, RowOutputArgs, ScanArgs, StoreArgs};
use crate::rows::RowSink;
use crate::session::{Session, read_options, sources, storage_options};
use crate::stdout;

pub(crate) fn run(args: &ScanArgs, session: &Session) -> Result<()> {
    let target = RowTarget::new(&args.rows, "scan");
    // Errors of the target are reported before anything is read.
    target.format()?;
    if args.checksum && args.order_by.is_some() && args.limit.is_none() {
        return Err(Error::usage(format!("{ORDER_BY}: a checksum does not depend on the order of the rows"))
            .advice(format!("omit it, or choose rows with {LIMIT}")));
    }
    let (source, locations) = sources(&args.sources);
    let options = ReadOptions {
        locations,
        order_by: args.order_by.clone(),
        memory_bytes: args.memory_limit,
        limit: args.limit,
        nesting: args.nesting.nesting()?,
        ..read_options(&args.input)?
    };
    let scan = match args.count {
        true => Scan::open_to_count(source, &options, &session.job)?,
        false => Scan::open(source, &options, &session.job)?,
    };
    if args.explain {
        let explained = if args.count { scan.explain_count() } else { scan.explain() };
        return explain(&explained, session);
    }
    if args.checksum {
        return checksum(&scan, session);
    }
    if args.count {
        return count(&scan, session);
    }
    if let Some(file) = target.file() {
        scan.check_is_no_source(source, file, &storage_options(&args.input.store))?;
    }
    let rows = target.print(scan.batches()?, &args.input.store, session)?;
    session.done("scanned", rows, json!({}))
}

fn explain(explain: &Explain, session: &Session) -> Result<()> {
    if session.global.json {
        return session.done("", 0, json!({ "explain": explain }));
    }
    stdout::line(explain.to_string().trim_end())
}

fn count(scan: &Scan, session: &Session) -> Result<()> {
    let rows = {
        let _progress = session.progress();
        scan.count()?
    };
    if !session.global.json {
        stdout::line(&rows.to_string())?;
    }
    session.done("counted", rows, json!({}))
}

fn checksum(scan: &Scan, session: &Session) -> Result<()> {
    let sum = {
        let _progress = session.progress();
        scan.checksum()?
    };
    if !session.global.json {
        stdout::line(&format!("{sum}"))?;
    }
    session.done("summed", sum.rows, json!({ "checksum": sum.to_string() }))
}

/// The target of rows, and its format.
pub(crate) struct RowTarget<'a> {
    /// The one that was asked for.
    format: Option<RowFormat>,
    /// As the user wrote it.
    output: Option<&'a str>,
    /// The command whose rows they are.
    command: &'static str,
}

impl<'a> RowTarget<'a> {
    /// The target that the arguments of a command name.
    pub(crate) fn new(rows: &'a RowOutputArgs, command: &'static str) -> Self {
        Self { format: rows.format, output: rows.output.as_deref(), command }
    }

    /// Writes all rows and returns their number.
    pub(crate) fn print(&self, batches: Batches, store: &StoreArgs, session: &Session) -> Result<u64> {
        let schema = batches.schema().clone();
        let format = self.format()?;
        let mut sink = match self.file() {
            Some(file) => Some(RowSink::file(format, schema, file, &storage_options(store), &session.job)?),
            None if session.global.json => {
                session.note(
                    "rows are read and counted, not printed: --json prints a single object; write them with -o FILE",
                );
                None
            }
            None => Some(RowSink::stdout(format, schema)?),
        };
        // A progress line and a table do not share a terminal well.
        let is_shown = sink.is_none() || self.file().is_some() || !console::Term::stdout().is_term();
        let progress = is_shown.then(|| session.progress());
        let mut rows = 0;
        for batch in batches {
            let batch = batch?;
            rows += batch.num_rows() as u64;
            if let Some(sink) = &mut sink {
                sink.write(&batch)?;
            }
            session.job.check()?;
        }
        if let Some(sink) = sink {
            sink.finish()?;
        }
        drop(progress);
        Ok(rows)
    }

    /// The file that rows go to; `None`: stdout.
    pub(crate) fn file(&self) -> Option<&str> {
        self.output.filter(|target| *target != "-")
    }

    /// The format asked for, or the one that the target's ending names.
    pub(crate) fn format(&self) -> Result<RowFormat> {
        let target = self.file();
        let ending = target.and_then(|target| target.rsplit_once('.')).map(|(_, ending)| ending.to_ascii_lowercase());
        let ending = ending.unwrap_or_default();
        if let (Some(target), "gz" | "zst" | "zstd" | "bz2" | "xz" | "zip") = (target, ending.as_str()) {
            return Err(Error::usage(format!("{} does not write .{ending} files", self.command)).at(target).advice(
                match self.command {
                    "scan" => "use `lakerace copy`, which compresses by the file name's ending",
                    _ => "write an uncompressed file, and compress it",
                },
            ));
        }
        if let Some(format) = self.format {
            return target.map_or(Ok(()), |target| check_ending(target, format)).map(|()| format);
        }
        let Some(target) = target else { return Ok(RowFormat::Table) };
        if let Some(format) = FileFormat::of_file_name(target) {
            format.check_writable().map_err(|error| error.at(target))?;
        }
        match ending.as_str() {
            "csv" => Ok(RowFormat::Csv),
            "jsonl" | "ndjson" => Ok(RowFormat::Jsonl),
            "arrow" | "arrows" | "feather" | "ipc" => Ok(RowFormat::Arrow),
            "txt" => Ok(RowFormat::Table),
            _ if FileFormat::of_file_name(target).is_some() => {
                Err(Error::usage(format!("{} does not write .{ending} files", self.command)).at(target).advice(
                    match self.command {
                        "scan" => "use `lakerace copy`",
                        _ => "name a .csv, .jsonl or .arrow file, and convert it with `lakerace copy`",
                    },
                ))
            }
            _ => {
                Err(Error::usage("the format can't be inferred from the file name").at(target).advice("pass --format"))
            }
        }
    }
}

/// Checks that the format asked for is not another one than the target's ending names.
fn check_ending(target: &str, format: RowFormat) -> Result<()> {
    let given = match format {
        RowFormat::Table => None,
        RowFormat::Csv => Some(&CSV),
        RowFormat::Jsonl => Some(&JSON_LINES),
        RowFormat::Arrow => Some(&ARROW_IPC),
    };
    let checked = match (given, FileFormat::of_file_name(target)) {
        (None, Some(named)) => {
            let given = ROW_FORMAT.to("table");
            Err(Error::usage(format!("the name has an ending of {}, but {given} is given", named.title))
                .advice(format!("omit {ROW_FORMAT}, or choose a name that ends in .txt")))
        }
        (given, _) => FileFormat::of_target(target, given, &ROW_FORMAT).map(drop),
    };
    checked.map_err(|error| error.at(target))
}
