//! `lakerace alter`, `compact`, `vacuum`, `history`, `restore` and `changes`.

mod alter_notes;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray, TimestampMillisecondArray, UInt64Array};
use lakerace::{
    AlterOptions, Altered, CompactOptions, Compacted, Error, HistoryEntry, Result, VacuumOptions, Vacuumed,
    WriteOptions,
};
use lakerace_io::option::Door;
use serde_json::{Value, json};

use self::alter_notes::AlterNotes;
use crate::args::{AlterArgs, ChangesArgs, CompactArgs, HistoryArgs, RestoreArgs, StoreArgs, VacuumArgs};
use crate::human;
use crate::scan::RowTarget;
use crate::session::{CHECKED, Session, storage_options};
use crate::stdout::{self, PipeStdout};
use crate::table::{TablePrinter, terminal_width};
use crate::value::CommaList;

pub(crate) fn alter(args: &AlterArgs, session: &Session) -> Result<()> {
    let options = alter_options(args)?;
    let storage = storage_options(&args.store);
    // Other programs may lack the features, so that they are named before the change is made.
    let mut notes = AlterNotes::default();
    let mut announce = |planned: &Altered| notes.announce(planned).iter().for_each(|note| session.note(note));
    let altered = lakerace::alter_announced(&args.table, &options, &storage, &session.job, &mut announce);
    notes.outcome(&altered, args.dry_run).iter().for_each(|note| session.note(note));
    let altered = altered?;
    let more = json!({
        "version": altered.version,
        "properties": altered.properties,
        "features_added": altered.features_added,
        "reader_features_added": altered.reader_features_added,
        "dry_run": args.dry_run,
    });
    session.done_without_rows(if args.dry_run { CHECKED } else { "altered" }, more)
}

fn alter_options(args: &AlterArgs) -> Result<AlterOptions> {
    let mut options = AlterOptions { unset: args.unset.clone(), dry_run: args.dry_run, ..AlterOptions::default() };
    for text in &args.add_column {
        options.add_columns.extend(lakerace::parse_new_columns(text)?);
    }
    options.set = pairs(&args.set, "--set", "property")?;
    options.rename_columns = pairs(&args.rename, "--rename", "column")?;
    options.comments = pairs(&args.comments, "--comment", "column")?;
    options.constraints = pairs(&args.constraints, "--constraint", "constraint")?;
    options.drop_columns = args.drop.iter().flat_map(|list| list.0.clone()).collect();
    for (column, text) in pairs(&args.types, "--type", "column")? {
        options.column_types.insert(column, lakerace::parse_type(&text)?);
    }
    Ok(options)
}

/// Names with their values. One that is given twice with two values is an error.
fn pairs(given: &[(String, String)], flag: &str, what: &str) -> Result<BTreeMap<String, String>> {
    let mut pairs = BTreeMap::new();
    for (name, value) in given {
        if pairs.insert(name.clone(), value.clone()).is_some_and(|before| before != *value) {
            return Err(Error::usage(format!("{flag}: the {what} {name} has two values")));
        }
    }
    Ok(pairs)
}

pub(crate) fn compact(args: &CompactArgs, session: &Session) -> Result<()> {
    let names = |list: &Option<CommaList>| list.as_ref().map(|list| list.0.clone()).unwrap_or_default();
    let mut options = if args.auto { CompactOptions::auto() } else { CompactOptions::default() };
    options.filter = args.condition.condition()?;
    let rules = &mut options.rules;
    rules.layout = lakerace::layout(names(&args.sort_by), names(&args.zorder))?;
    rules.target_bytes = args.target_size.unwrap_or(rules.target_bytes);
    rules.memory_bytes = args.memory_limit.unwrap_or(rules.memory_bytes);
    rules.write = WriteOptions { compression: args.compression, ..WriteOptions::default() };
    let storage = storage_options(&args.store);
    if args.dry_run {
        return session.done_dry(&lakerace::plan_compact(&args.table, &options, &storage, &session.job)?);
    }
    let compacted = {
        let _progress = session.progress();
        lakerace::compact(&args.table, &options, &storage, &session.job)?
    };
    session.note(&words(&compacted));
    session.done("compacted", compacted.rows, report(&compacted))
}

/// Compacts after a finished write: an error is reported, but does not fail the write.
pub(crate) fn auto_compact(table: &str, store: &StoreArgs, session: &Session) -> Value {
    let compacted = {
        let _progress = session.progress();
        lakerace::compact(table, &CompactOptions::auto(), &storage_options(store), &session.job)
    };
    compacted_after_write(compacted, session)
}

/// Tells the outcome of a compaction that follows a finished write.
pub(crate) fn compacted_after_write(compacted: Result<Compacted>, session: &Session) -> Value {
    match compacted {
        Ok(compacted) => {
            if compacted.version.is_some() || compacted.given_up > 0 {
                session.note(&words(&compacted));
            }
            report(&compacted)
        }
        Err(error) => {
            let text = error.text(Door::CommandLine).to_string();
            session.note(&format!("the rows were written, but the compaction failed: {text}"));
            json!({ "error": text })
        }
    }
}

fn report(compacted: &Compacted) -> Value {
    json!({
        "version": compacted.version,
        "commits": compacted.commits,
        "files_added": compacted.files_added,
        "files_removed": compacted.files_removed,
        "file_bytes": compacted.bytes_added,
        "file_bytes_removed": compacted.bytes_removed,
        "rows_dropped": compacted.rows_dropped,
        "given_up": compacted.given_up,
    })
}

fn words(compacted: &Compacted) -> String {
    let Compacted { files_removed, files_added, rows_dropped, given_up, .. } = compacted;
    let mut text = match compacted.version {
        None => "nothing to compact".to_owned(),
        Some(version) => format!(
            "version {version}: merged {} ({}) into {} ({}), dropped {}",
            human::plural(*files_removed, "file"),
            human::bytes(compacted.bytes_removed),
            human::plural(*files_added, "file"),
            human::bytes(compacted.bytes_added),
            human::plural(*rows_dropped, "deleted row"),
        ),
    };
    if *given_up > 0 {
        let (groups, were) = if *given_up == 1 { ("group", "was") } else { ("groups", "were") };
        let given_up = human::count(*given_up);
        text +=
            &format!("; {given_up} {groups} of files {were} not compacted, because other writers kept changing them");
    }
    text
}

pub(crate) fn vacuum(args: &VacuumArgs, session: &Session) -> Result<()> {
    let options =
        VacuumOptions { retain: args.retain, allow_short_retention: args.allow_short_retention, dry_run: args.dry_run };
    let vacuumed = {
        let _progress = session.progress();
        lakerace::vacuum(&args.table, &options, &storage_options(&args.store), &session.job)?
    };
    let Vacuumed { version, files, bytes, kept } = vacuumed;
    if args.dry_run && !session.global.json {
        files.iter().try_for_each(|file| stdout::line(file))?;
    }
    let verb = if args.dry_run { "would remove" } else { "removed" };
    let count = human::plural(files.len() as u64, "file");
    session.note(&format!("{verb} {count} ({}), kept {}", human::bytes(bytes), human::count(kept)));
    let mut more =
        json!({ "version": version, "files_removed": files.len(), "file_bytes_removed": bytes, "kept": kept });
    more["dry_run"] = json!(args.dry_run);
    if args.dry_run {
        more["files"] = json!(files);
    }
    session.done_without_rows(if args.dry_run { CHECKED } else { "vacuumed" }, more)
}

pub(crate) fn history(args: &HistoryArgs, session: &Session) -> Result<()> {
    let told = lakerace::history(&args.table, args.limit, &storage_options(&args.store), &session.job)?;
    if session.global.json {
        return session.done("", told.len() as u64, json!({ "history": told }));
    }
    let batch = table(&told).map_err(Error::unexpected)?;
    let mut table = TablePrinter::new(Box::new(PipeStdout::lock()), batch.schema(), terminal_width());
    table.write(&batch)?;
    table.finish()?;
    PipeStdout::lock().flush().map_err(|e| Error::from(e).at("standard output"))
}

/// Characters of a parameter that a table shows.
const PARAMETER_CHARACTERS: usize = 60;

/// A parameter's value as a table shows it. `--json` has all of it.
fn shortened(value: &str) -> String {
    match value.char_indices().nth(PARAMETER_CHARACTERS) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

/// The rows that a metric counts, in short: `updated` of `numTargetRowsUpdated`, `added` of delta-rs's `num_added_rows`. Files
/// and bytes have columns of their own, and rows that are counted among others are left out.
fn rows_counted(metric: &str) -> Option<String> {
    let mut words = vec![String::new()];
    for letter in metric.chars() {
        if letter.is_ascii_uppercase() || letter == '_' {
            words.push(String::new());
        }
        words.last_mut()?.extend(letter.to_lowercase().filter(|letter| *letter != '_'));
    }
    if !words.iter().any(|word| word == "rows") || words.iter().any(|word| word == "matched") {
        return None;
    }
    words.retain(|word| !["", "num", "target", "rows"].contains(&word.as_str()));
    Some(if words.is_empty() { "rows".to_owned() } else { words.join(" ") })
}

/// The additions and removals of a version: `+2 -1`; nothing for 0.
fn signed(added: u64, removed: u64, text: impl Fn(u64) -> String) -> String {
    let signs = [('+', added), ('-', removed)].into_iter().filter(|(_, count)| *count > 0);
    signs.map(|(sign, count)| format!("{sign}{}", text(count))).collect::<Vec<_>>().join(" ")
}

fn table(told: &[HistoryEntry]) -> std::result::Result<RecordBatch, arrow::error::ArrowError> {
    let number = |of: fn(&HistoryEntry) -> u64| -> ArrayRef { Arc::new(told.iter().map(of).collect::<UInt64Array>()) };
    let text = |of: &dyn Fn(&HistoryEntry) -> String| -> ArrayRef {
        Arc::new(told.iter().map(|entry| Some(of(entry))).collect::<StringArray>())
    };
    let times: TimestampMillisecondArray = told.iter().map(|entry| Some(entry.timestamp)).collect();
    let times = times.with_timezone("UTC");
    let parameters = |entry: &HistoryEntry| {
        let pairs = entry.parameters.iter().map(|(name, value)| format!("{name}={}", shortened(value)));
        pairs.collect::<Vec<_>>().join(", ")
    };
    let rows = |entry: &HistoryEntry| {
        let told = entry.metrics.iter().filter(|(_, value)| *value != "0");
        let mut told: Vec<_> = told.filter_map(|(name, value)| Some((rows_counted(name)?, value))).collect();
        told.sort_by_key(|(change, _)| !["inserted", "updated", "deleted"].contains(&change.as_str()));
        told.iter().map(|(change, value)| format!("{change}={value}")).collect::<Vec<_>>().join(", ")
    };
    let fields: [(&str, ArrayRef); 9] = [
        ("version", number(|entry| entry.version)),
        ("timestamp", Arc::new(times)),
        ("operation", text(&|entry| entry.operation.clone().unwrap_or_default())),
        ("files", text(&|entry| signed(entry.files_added, entry.files_removed, human::count))),
        ("bytes", text(&|entry| signed(entry.bytes_added, entry.bytes_removed, human::bytes))),
        ("vectors", number(|entry| entry.vectors)),
        ("rows", text(&rows)),
        ("engine", text(&|entry| entry.engine.clone().unwrap_or_default())),
        ("parameters", text(&parameters)),
    ];
    RecordBatch::try_from_iter(fields)
}

pub(crate) fn restore(args: &RestoreArgs, session: &Session) -> Result<()> {
    let restored = lakerace::restore(&args.table, &args.at, &storage_options(&args.store), &session.job)?;
    let of = restored.restored;
    session.note(&match restored.version {
        None => format!("the table is already in the state of version {of}"),
        Some(version) => format!("version {version} has the state of version {of}"),
    });
    let more = json!({
        "version": restored.version,
        "restored_version": of,
        "files_added": restored.files_added,
        "files_removed": restored.files_removed,
    });
    session.done_without_rows("restored", more)
}

pub(crate) fn changes(args: &ChangesArgs, session: &Session) -> Result<()> {
    let target = RowTarget::new(&args.rows, "changes");
    target.format()?;
    let storage = storage_options(&args.store);
    let batches = lakerace::changes(&args.table, args.from, args.to, &storage, &session.job)?;
    let rows = target.print(batches, &args.store, session)?;
    session.done("read", rows, json!({}))
}
