//! `lakerace sync`.

use std::num::NonZeroU64;

use lakerace::{LoadOptions, Result, SyncOptions, Synced, WriteMode};
use serde_json::json;

use crate::args::SyncArgs;
use crate::copy::batch_rows;
use crate::human;
use crate::session::{Session, storage_options};

pub(crate) fn run(args: &SyncArgs, session: &Session) -> Result<()> {
    let options = SyncOptions {
        key: args.key.as_ref().map(|list| list.0.clone()).unwrap_or_default(),
        overwrite: args.mode == WriteMode::Overwrite,
        load: LoadOptions {
            batch_rows: batch_rows(args.batch_rows),
            max_rows_per_second: args.max_rate.and_then(NonZeroU64::new),
            allow_narrowing: args.allow_narrowing,
            ..LoadOptions::default()
        },
        verify: args.verify,
        storage: storage_options(&args.store),
    };
    if args.dry_run {
        return session.done_dry(&lakerace::plan_sync(&args.table, &args.target, &options, &session.job)?);
    }
    let done = if args.follow {
        let each = |run: &Synced| session.note(&told(run));
        lakerace::follow(&args.table, &args.target, &options, args.interval, &session.job, each)?
    } else {
        let _progress = session.progress();
        let done = lakerace::sync(&args.table, &args.target, &options, &session.job)?;
        session.note(&told(&done));
        done
    };
    let mut more = json!(done);
    if is_unchanged(&done) {
        more["unchanged"] = json!(true);
    }
    session.done("sent", done.upserted + done.deleted, more)
}

/// Returns true if a run has sent no row to a target that follows the table.
fn is_unchanged(run: &Synced) -> bool {
    run.from_version.is_some() && run.upserted + run.deleted == 0
}

/// Describes a run in words.
fn told(run: &Synced) -> String {
    let rows = human::plural(run.upserted, "row");
    let verified = match (&run.checksum, run.rows_verified) {
        (Some(checksum), Some(rows)) => {
            format!("; verified: table and target have {} with checksum {checksum}", human::plural(rows, "row"))
        }
        _ => String::new(),
    };
    let brought = match run.from_version {
        None => format!("loaded version {}: {rows}", run.version),
        Some(from) if from == run.version => format!("the target already has version {from}"),
        Some(from) if is_unchanged(run) => format!("from version {from} to {}: the rows are unchanged", run.version),
        Some(from) => {
            format!("from version {from} to {}: {rows} inserted or replaced, {} removed", run.version, run.deleted)
        }
    };
    brought + &verified
}
