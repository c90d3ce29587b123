//! `lakerace upsert`, `lakerace update` and `lakerace delete`.

use lakerace::{
    ChangeOutcome, DeleteOptions, ReadOptions, Result, RowOptions, StorageOptions, UpdateOptions, UpsertOptions,
};
use serde_json::{Value, json};

use crate::args::{DeleteArgs, UpdateArgs, UpsertArgs};
use crate::copy::evolve;
use crate::maintain;
use crate::session::{Session, csv_options, excel_options, read_options, sources, storage_options};
use crate::stdout;
use crate::value::CommaList;

pub(crate) fn run(args: &UpsertArgs, session: &Session) -> Result<()> {
    let rows = RowOptions {
        on_duplicate: args.on_duplicate,
        merge: args.merge.clone(),
        insert_only: args.insert_only,
        enables_vectors: args.enable_deletion_vectors,
        evolve: evolve(&args.evolve),
        ..row_options(args.key.as_ref(), args.memory_limit)
    };
    let (source, locations) = sources(&args.sources);
    let options = UpsertOptions {
        read: ReadOptions { locations, nesting: args.nesting.nesting()?, ..read_options(&args.input)? },
        rows,
        partition_by: args.partition_by.as_ref().map(|list| list.0.clone()).unwrap_or_default(),
        table_properties: args.table_property.iter().cloned().collect(),
        transaction: None,
    };
    if args.explain {
        return explain(&args.table, source, &options, session);
    }
    if args.dry_run {
        let planned = lakerace::plan_upsert(&args.table, source, &options, args.auto_compact, &session.job)?;
        return session.done_dry(&planned);
    }
    let (changed, compacted) = {
        let _progress = session.progress();
        if args.auto_compact {
            lakerace::upsert_and_compact(&args.table, source, &options, &session.job)?
        } else {
            (lakerace::upsert(&args.table, source, &options, &session.job)?, None)
        }
    };
    let mut more = report(&changed);
    if let Some(compacted) = compacted {
        more["auto_compact"] = maintain::compacted_after_write(compacted, session);
    }
    session.done("upserted", changed.written.rows, more)
}

fn explain(table: &str, source: &str, options: &UpsertOptions, session: &Session) -> Result<()> {
    let plan = lakerace::explain_upsert(table, source, options, &session.job)?;
    if session.global.json {
        return session.done("", 0, json!({ "explain": plan }));
    }
    stdout::line(plan.to_string().trim_end())
}

pub(crate) fn update(args: &UpdateArgs, session: &Session) -> Result<()> {
    let (storage, table, job) = (storage_options(&args.store), args.table.as_str(), &session.job);
    let texts = args.texts()?;
    let options = UpdateOptions { enables_vectors: args.enable_deletion_vectors, memory_bytes: args.memory_limit };
    let progress = session.progress();
    if args.dry_run {
        let planned = lakerace::plan_update(table, &texts, &options, &storage, job)?;
        drop(progress);
        return session.done_dry(&planned);
    }
    let changed = lakerace::update(table, &texts, &options, &storage, job)?;
    drop(progress);
    session.done("updated", changed.written.rows, report(&changed))
}

pub(crate) fn delete(args: &DeleteArgs, session: &Session) -> Result<()> {
    let storage = storage_options(&args.store);
    let (table, job) = (args.table.as_str(), &session.job);
    let progress = session.progress();
    let changed = match (sources(&args.keys), args.condition.condition()?) {
        ((keys, locations), _) if !keys.is_empty() => {
            let options = key_options(args, locations, storage);
            if args.dry_run {
                return session.done_dry(&lakerace::plan_delete_keys(table, keys, &options, job)?);
            }
            lakerace::delete_keys(table, keys, &options, job)?
        }
        (_, filter) => {
            let filter = filter.as_deref().unwrap_or_default();
            let options = DeleteOptions { enables_vectors: args.enable_deletion_vectors };
            if args.dry_run {
                return session.done_dry(&lakerace::plan_delete(table, filter, &options, &storage, job)?);
            }
            lakerace::delete(table, filter, &options, &storage, job)?
        }
    };
    drop(progress);
    session.done("deleted", changed.hidden, report(&changed))
}

/// The options of a delete by the keys of a source.
fn key_options(args: &DeleteArgs, locations: Vec<String>, storage: StorageOptions) -> UpsertOptions {
    let (format, csv, excel) = (args.input_format, csv_options(&args.csv), excel_options(&args.csv));
    let read = ReadOptions { locations, format, csv, excel, storage, ..ReadOptions::default() };
    let rows = RowOptions {
        enables_vectors: args.enable_deletion_vectors,
        ..row_options(args.key.as_ref(), args.memory_limit)
    };
    UpsertOptions { read, rows, ..UpsertOptions::default() }
}

fn row_options(key: Option<&CommaList>, memory_limit: Option<u64>) -> RowOptions {
    let defaults = RowOptions::default();
    RowOptions {
        key: key.map(|list| list.0.clone()).unwrap_or_default(),
        memory_bytes: memory_limit.unwrap_or(defaults.memory_bytes),
        ..defaults
    }
}

fn report(changed: &ChangeOutcome) -> Value {
    let written = &changed.written;
    json!({
        "version": written.version,
        "files_added": written.files.len(),
        "files": written.files,
        "file_bytes": written.bytes,
        "rows_hidden": changed.hidden,
        "vectors": changed.vectors,
        "files_removed": changed.removed,
        "files_rewritten": changed.rewritten,
        "bytes_replaced": changed.bytes_replaced,
        "bytes_rewritten": changed.bytes_rewritten,
        "files_probed": changed.probed,
        "windows": changed.windows,
    })
}
