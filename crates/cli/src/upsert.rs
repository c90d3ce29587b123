//! `lakerace upsert` and `lakerace delete`.

use lakerace::{Changed, OnDuplicate, Result, UpsertOptions};
use serde_json::{Value, json};

use crate::args::{DeleteArgs, Duplicate, UpsertArgs};
use crate::maintain;
use crate::session::{Session, read_options, storage_options};

pub(crate) fn run(args: &UpsertArgs, session: &Session) -> Result<()> {
    let defaults = UpsertOptions::default();
    let options = UpsertOptions {
        read: read_options(&args.input),
        key: args.key.as_ref().map(|list| list.0.clone()).unwrap_or_default(),
        on_duplicate: match args.on_duplicate {
            Duplicate::Last => OnDuplicate::Last,
            Duplicate::Error => OnDuplicate::Error,
        },
        memory_bytes: args.memory_limit.unwrap_or(defaults.memory_bytes),
        ..defaults
    };
    let changed = {
        let _progress = session.progress();
        lakerace::upsert(&args.table, &args.source, &options, &session.job)?
    };
    let mut more = report(&changed);
    if args.auto_compact && changed.written.version.is_some() {
        more["auto_compact"] = maintain::auto_compact(&args.table, &args.input.store, session);
    }
    session.done("upserted", changed.written.rows, more)
}

pub(crate) fn delete(args: &DeleteArgs, session: &Session) -> Result<()> {
    let changed = {
        let _progress = session.progress();
        lakerace::delete(&args.table, &args.filter, &storage_options(&args.store), &session.job)?
    };
    session.done("deleted", changed.hidden, report(&changed))
}

fn report(changed: &Changed) -> Value {
    let written = &changed.written;
    json!({
        "version": written.version,
        "files_added": written.files.len(),
        "files": written.files,
        "file_bytes": written.bytes,
        "rows_hidden": changed.hidden,
        "vectors": changed.vectors,
        "files_removed": changed.removed,
        "files_probed": changed.probed,
    })
}
