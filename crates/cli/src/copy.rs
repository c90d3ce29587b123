//! `lakerace copy`.

use std::num::NonZeroU64;

use lakerace::{
    BatchRows, CopyOptions, CsvOptions, Error, Evolve, LoadOptions, ReadOptions, Result, Since, WriteMode, WriteOptions,
};
use lakerace_io::STANDARD_STREAM;
use serde_json::json;

use crate::args::{CopyArgs, SchemaChange, WriteArgs};
use crate::session::{Session, read_options, sources};
use crate::{human, maintain, value};

pub(crate) fn run(args: &CopyArgs, session: &Session) -> Result<()> {
    if args.target == STANDARD_STREAM && session.global.json {
        return Err(Error::usage("rows and JSON can't both go to standard output")
            .at(&args.target)
            .advice("name a file, or omit --json"));
    }
    let (source, locations) = sources(&args.sources);
    let options = CopyOptions {
        read: ReadOptions {
            locations,
            // Rows of a batch are those of a checkpoint, here.
            batch_rows: None,
            order_by: args.order_by.clone(),
            memory_bytes: args.write.memory_limit,
            limit: args.limit,
            nesting: args.nesting.nesting()?,
            ..read_options(&args.input)?
        },
        write: write_options(&args.write),
        format: args.write.output_format,
        mode: args.mode,
        replace_where: args.replace_where.clone(),
        partition_by: args.write.partition_by.as_ref().map(|list| list.0.clone()).unwrap_or_default(),
        table_properties: args.write.table_property.iter().cloned().collect(),
        evolve: evolve(&args.write.evolve),
        keep_not_null: args.write.keep_not_null,
        auto_compact: args.write.auto_compact,
        load: load_options(args),
    };
    if args.dry_run {
        return session.done_dry(&lakerace::plan_copy(source, &args.target, &options, &session.job)?);
    }
    let written = {
        let _progress = session.progress();
        lakerace::copy(source, &args.target, &options, &session.job)?
    };
    let mut more = json!({ "files_added": written.files.len(), "files": written.files, "file_bytes": written.bytes });
    if !written.made_nullable.is_empty() {
        session.note(&made_nullable(&written.made_nullable, args.write.keep_not_null));
        more["made_nullable"] = json!(written.made_nullable);
    }
    if args.load.is_given() {
        more["rejected"] = json!(written.rejected);
        more["skipped"] = json!(written.skipped);
        more["checksum"] = json!(written.checksum);
    }
    if written.skipped > 0 {
        let skipped = human::plural(written.skipped, "row");
        session.note(&format!("skipped {skipped} of this load: the target already has them"));
    }
    if let (1.., Some(file)) = (written.rejected, &args.load.dead_letter) {
        let rejected = human::plural(written.rejected, "row");
        session.note(&format!("rejected {rejected}: see {}", file.display()));
    }
    // A first run without rows writes a target, too.
    if options.load.since.is_some() && written.rows == 0 && written.version.is_none() && written.files.is_empty() {
        session.note("no new rows since the last run: nothing was written");
        more["unchanged"] = json!(true);
    }
    if let Some(version) = written.version {
        more["version"] = json!(version);
        if args.write.auto_compact {
            more["auto_compact"] = maintain::auto_compact(&args.target, &args.input.store, session);
        }
    }
    if let Some(checksum) = &written.checksum {
        session.note(&format!("verified: the target has the rows that were sent (checksum {checksum})"));
    }
    // A key may have no row in the target.
    let (verb, noun) = if options.mode == WriteMode::Delete { ("deleted rows by", "key") } else { ("copied", "row") };
    session.done_counted(verb, noun, written.rows, more)
}

/// Columns that a note names at most.
const NAMED_AT_MOST: usize = 5;

/// That columns of a new table are nullable, in words.
fn made_nullable(columns: &[String], keeps: bool) -> String {
    let mut names = columns[..columns.len().min(NAMED_AT_MOST)].join(", ");
    if columns.len() > NAMED_AT_MOST {
        names += &format!(" and {} more", columns.len() - NAMED_AT_MOST);
    }
    let why = match keeps {
        true => "Delta has no NOT NULL there",
        false => "--keep-not-null keeps NOT NULL, but fewer readers support the table",
    };
    let (noun, verb) = if columns.len() == 1 { ("column", "is") } else { ("columns", "are") };
    format!("{noun} {names} {verb} NOT NULL in the source and nullable in the new table ({why})")
}

/// The options of a load into a database.
fn load_options(args: &CopyArgs) -> LoadOptions {
    let load = &args.load;
    LoadOptions {
        batch_rows: batch_rows(args.input.read.batch_rows),
        key: load.key.as_ref().map(|list| list.0.clone()).unwrap_or_default(),
        resume: load.resume,
        dead_letter: load.dead_letter.clone(),
        max_rows_per_second: load.max_rate.and_then(NonZeroU64::new),
        allow_narrowing: load.allow_narrowing,
        verify: load.verify,
        since: load.since.clone().map(|column| Since { column, overlap: load.overlap.clone() }),
    }
}

/// Rows of a checkpoint.
pub(crate) fn batch_rows(given: Option<value::BatchRowCount>) -> BatchRows {
    match given {
        Some(value::BatchRowCount::AtMost(rows)) => {
            NonZeroU64::new(rows as u64).map_or(BatchRows::All, BatchRows::Rows)
        }
        Some(value::BatchRowCount::All) | None => BatchRows::All,
    }
}

/// The changes of a table's schema that are allowed.
pub(crate) fn evolve(changes: &[SchemaChange]) -> Evolve {
    Evolve { add: changes.contains(&SchemaChange::Add), widen: changes.contains(&SchemaChange::Widen) }
}

fn write_options(args: &WriteArgs) -> WriteOptions {
    let csv = CsvOptions {
        header: args.output_no_header.then_some(false),
        delimiter: args.output_delimiter,
        ..CsvOptions::default()
    };
    WriteOptions {
        compression: args.compression,
        row_group_rows: args.row_group_rows,
        row_group_bytes: args.row_group_bytes,
        bloom_filter_columns: args.bloom_filter.as_ref().map(|list| list.0.clone()).unwrap_or_default(),
        file_bytes: args.file_bytes,
        memory_bytes: args.memory_limit,
        csv,
        ..WriteOptions::default()
    }
}
