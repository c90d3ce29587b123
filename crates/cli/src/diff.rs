//! `lakerace diff`.

use lakerace::{Diff, DiffOptions, ReadOptions, Result, RowDiff};
use serde_json::{Value, json};

use crate::args::DiffArgs;
use crate::human;
use crate::rows::RowSink;
use crate::scan::RowTarget;
use crate::session::{Session, read_options, storage_options};

/// The exit code where the sides differ.
const DIFFERENT: u8 = 1;

/// Compares two locations; returns the exit code.
pub(crate) fn run(args: &DiffArgs, session: &Session) -> Result<u8> {
    let target = RowTarget::new(&args.rows, "diff");
    // Errors of the target are reported before anything is read.
    let format = target.format()?;
    let first = read_options(&args.input)?;
    let second = ReadOptions { at: args.second_at.clone(), ..first.clone() };
    let key = args.key.as_ref().map(|list| list.0.clone()).unwrap_or_default();
    let prints = !args.summary && (target.file().is_some() || !session.global.json);
    let memory_bytes = args.memory_limit;
    let options = DiffOptions { key, first, second, limit: args.limit, is_summary: !prints, memory_bytes };
    let comparison = RowDiff::open(&args.first, &args.second, &options, &session.job)?;
    if let Some(file) = target.file() {
        comparison.check_is_no_source(file)?;
    }
    let mut sink = None;
    if prints {
        let schema = comparison.schema()?;
        sink = Some(match target.file() {
            Some(file) => RowSink::file(format, schema, file, &storage_options(&args.input.store), &session.job)?,
            None => RowSink::stdout(format, schema)?,
        });
    }
    let found = {
        let is_shown = sink.is_none() || target.file().is_some() || !console::Term::stdout().is_term();
        let _progress = is_shown.then(|| session.progress());
        comparison.run(&mut |batch| match &mut sink {
            Some(sink) => sink.write(&batch),
            None => Ok(()),
        })?
    };
    if let Some(sink) = sink {
        sink.finish()?;
    }
    session.note(&words(&found));
    session.done("compared", found.first_rows + found.second_rows, report(&found))?;
    Ok(if found.is_different() { DIFFERENT } else { 0 })
}

fn words(found: &Diff) -> String {
    let Diff { first_rows, second_rows, inserted, deleted, changed, unchanged, .. } = found;
    let mut text = format!(
        "A has {}, B has {}: {} inserted, {} deleted, {} changed, {} the same",
        human::plural(*first_rows, "row"),
        human::plural(*second_rows, "row"),
        human::count(*inserted),
        human::count(*deleted),
        human::count(*changed),
        human::count(*unchanged),
    );
    if !found.changed_columns.is_empty() {
        let counts =
            found.changed_columns.iter().map(|(name, rows)| format!("{name} in {}", human::plural(*rows, "row")));
        text += &format!("; changed columns: {}", counts.collect::<Vec<_>>().join(", "));
    }
    for (side, names) in [("A", &found.first_columns), ("B", &found.second_columns)] {
        if !names.is_empty() {
            text += &format!("; only {side} has the columns {}, which were not compared", names.join(", "));
        }
    }
    text
}

fn report(found: &Diff) -> Value {
    let mut report = json!(found);
    report["different"] = json!(found.is_different());
    report
}
