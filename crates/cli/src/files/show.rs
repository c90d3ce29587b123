//! Output of `lakerace files` that describes a store.

use std::io::Write;

use lakerace::{Error, Result};
use lakerace_files::{Child, Stat};
use lakerace_io::printable;
use serde_json::{Value, json};

use super::OpenedStore;
use crate::args::{FileStatArgs, LsArgs};
use crate::stdout::PipeStdout;
use crate::{failure, human};

pub(super) fn ls(args: &LsArgs, opened: &OpenedStore<'_>) -> Result<()> {
    let mut print = NamePrinter::new(args.long, opened.session.global.json);
    let store = &opened.store;
    let folder = args.pattern.trim_end_matches('/');
    if args.pattern.contains(['*', '?', '[', '{']) && !store.exists(&args.pattern)? {
        for stat in store.glob(&args.pattern)? {
            print.child(&Child::File(stat))?;
        }
    } else if args.recursive {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        store.each(&prefix, &mut |stat| {
            print.child(&Child::File(stat.clone()))?;
            Ok(!opened.session.job.is_cancelled())
        })?;
        opened.check_cancelled()?;
    } else {
        for child in store.children(folder)? {
            print.child(&child)?;
        }
    }
    if print.count == 0 && !folder.is_empty() {
        // A file has nothing below.
        match store.stat(folder)? {
            Some(stat) => print.child(&Child::File(stat))?,
            None => return Err(Error::not_found("no such file or folder").at(&args.pattern)),
        }
    }
    print.end(opened)
}

/// Prints names as they arrive; for JSON, collects them.
struct NamePrinter {
    out: PipeStdout,
    is_long: bool,
    kept: Option<Vec<Value>>,
    count: u64,
}

impl NamePrinter {
    fn new(is_long: bool, wants_json: bool) -> Self {
        Self { out: PipeStdout::lock(), is_long, kept: wants_json.then(Vec::new), count: 0 }
    }

    fn child(&mut self, child: &Child) -> Result<()> {
        self.count += 1;
        if let Some(kept) = &mut self.kept {
            kept.push(match child {
                Child::Folder(name) => json!({ "name": name, "folder": true }),
                Child::File(stat) => json_of(stat)?,
            });
            return Ok(());
        }
        let line = match child {
            Child::Folder(name) if self.is_long => format!("{:>12}  {:20}  {name}/", "", ""),
            Child::Folder(name) => format!("{name}/"),
            Child::File(stat) if self.is_long => format!("{:>12}  {}  {}", stat.size, time(stat.mtime_ms), stat.name),
            Child::File(stat) => stat.name.clone(),
        };
        writeln!(self.out, "{}", on_one_line(&line)).map_err(|e| Error::from(e).at("standard output"))
    }

    fn end(mut self, opened: &OpenedStore<'_>) -> Result<()> {
        self.out.flush().map_err(|e| Error::from(e).at("standard output"))?;
        let Self { out, kept, count, .. } = self;
        drop(out);
        opened.done("", count, json!({ "files": kept }))
    }
}

/// A name that has control characters, a line's end among them, does not look like two.
fn on_one_line(text: &str) -> String {
    printable(text).replace('\n', "\\n").replace('\t', "\\t")
}

fn json_of(stat: &Stat) -> Result<Value> {
    let mut value = serde_json::to_value(stat).map_err(Error::unexpected)?;
    value["metadata"] = match &stat.metadata {
        None => Value::Null,
        Some(text) => serde_json::from_str(text)
            .map_err(|e| Error::corrupt("the metadata is not JSON").because(e).at(&stat.name))?,
    };
    // Many JSON readers can't represent a 64-bit number exactly.
    value["checksum"] = stat.checksum.map_or(Value::Null, |sum| json!(format!("{sum:016x}")));
    Ok(value)
}

/// A time as RFC 3339, to the second.
fn time(ms: i64) -> String {
    match chrono::DateTime::from_timestamp_millis(ms) {
        Some(time) => time.format("%Y-%m-%dT%H:%M:%SZ").to_string(),
        None => format!("{ms} ms"),
    }
}

pub(super) fn stat(args: &FileStatArgs, opened: &OpenedStore<'_>) -> Result<()> {
    let mut all = Vec::with_capacity(args.names.len());
    for name in &args.names {
        let found = opened.store.stat(name)?;
        all.push(found.ok_or_else(|| Error::not_found("no such file").at(name))?);
    }
    if opened.session.global.json {
        let files: Vec<Value> = all.iter().map(json_of).collect::<Result<_>>()?;
        return opened.done("", all.len() as u64, json!({ "files": files }));
    }
    for stat in &all {
        super::line(&format!("name      {}", on_one_line(&stat.name)))?;
        super::line(&format!("size      {}", stat.size))?;
        super::line(&format!("time      {}", time(stat.mtime_ms)))?;
        if let Some(sum) = stat.checksum {
            super::line(&format!("checksum  {sum:016x}"))?;
        }
        super::line(&format!("encoding  {}", stat.encoding))?;
        if let Some(metadata) = &stat.metadata {
            super::line(&format!("metadata  {metadata}"))?;
        }
    }
    opened.done("", 0, Value::Null)
}

/// Verifies the store and returns the exit code.
pub(super) fn verify(opened: &OpenedStore<'_>) -> Result<u8> {
    let verified = opened.store.verify_with(&mut opened.progress())?;
    for damage in &verified.damage {
        let place = match (&damage.name, &damage.between) {
            (Some(name), _) => name.clone(),
            (None, Some((before, behind))) => {
                let of = |name: &Option<String>, end: &str| name.clone().unwrap_or_else(|| end.to_owned());
                format!("between {} and {}", of(before, "the first name"), of(behind, "the last name"))
            }
            (None, None) => opened.store.location().to_owned(),
        };
        opened.session.note(&format!("{place}: {}", damage.problem));
    }
    for (one, other) in &verified.alike {
        opened.session.note(&format!("the names {one} and {other} differ only in their Unicode normalisation"));
    }
    if !verified.damage.is_empty() {
        let error = Error::corrupt(human::plural(verified.damage.len() as u64, "damaged place"))
            .at(opened.store.location())
            .advice("export the readable files, and put the named files again");
        if !opened.session.global.json {
            return Err(error);
        }
        // The object has both the damage and the error.
        let mut more = json!(verified);
        more["error"] = failure::object(&error);
        opened.done("", verified.files, more)?;
        return Ok(failure::report(&error, false));
    }
    let note =
        format!("checked {} ({}): no damage", human::plural(verified.files, "file"), human::bytes(verified.bytes));
    opened.done(&note, verified.files, json!(verified))?;
    Ok(0)
}
