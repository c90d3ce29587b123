//! `lakerace tpch --refresh N --apply`.

use lakerace::{AppliedStream, ApplyOptions, Error, Result, StreamOutcome, TpchFormat, WriteOptions};
use serde_json::json;

use crate::args::tpch::TpchArgs;
use crate::human;
use crate::session::{Session, storage_options};

pub(crate) fn run(args: &TpchArgs, session: &Session) -> Result<()> {
    let options = options(args)?;
    let streams = {
        let _progress = session.progress();
        lakerace::apply_refresh(&args.output, &options, &session.job, &mut |stream| session.note(&words(stream)))?
    };
    let tables = || streams.iter().flat_map(|stream| stream.tables);
    let (inserted, deleted): (u64, u64) = (tables().map(|t| t.inserted).sum(), tables().map(|t| t.deleted).sum());
    let more = json!({
        "mode": options.mode,
        "rows_inserted": inserted,
        "rows_deleted": deleted,
        "streams": streams,
    });
    session.done("inserted and deleted", inserted + deleted, more)
}

fn options(args: &TpchArgs) -> Result<ApplyOptions> {
    if args.format.is_some_and(|format| format != TpchFormat::Delta) {
        return Err(Error::usage("refresh streams are applied to Delta tables")
            .advice("omit --format, or omit --apply to write the streams to files"));
    }
    let write = WriteOptions {
        compression: args.compression,
        row_group_rows: args.row_group_rows,
        row_group_bytes: args.row_group_bytes,
        ..WriteOptions::default()
    };
    Ok(ApplyOptions {
        scale: args.scale_factor,
        streams: args.refresh.unwrap_or_default(),
        mode: args.mode.unwrap_or_default(),
        memory_bytes: args.memory_limit,
        write,
        storage: storage_options(&args.store),
    })
}

/// Describes the outcome of a stream on one line.
fn words(stream: &AppliedStream) -> String {
    let number = stream.stream;
    let [orders, lines] = stream.tables;
    let rest = match stream.outcome {
        StreamOutcome::AlreadyApplied => return format!("stream {number}: already applied"),
        StreamOutcome::Applied => "",
        StreamOutcome::Completed => "; an earlier run had already applied the rest",
    };
    format!(
        "stream {number}: {} with {} inserted, {} with {} deleted, {}{rest}",
        human::plural(orders.inserted, "order"),
        human::plural(lines.inserted, "line"),
        human::plural(orders.deleted, "order"),
        human::plural(lines.deleted, "line"),
        human::seconds(stream.seconds),
    )
}
