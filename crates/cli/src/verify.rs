//! `lakerace verify`.

use lakerace::{Error, Finding, Result, Verified, VerifyOptions};
use serde_json::{Value, json};

use crate::args::VerifyArgs;
use crate::session::{Session, storage_options};
use crate::{failure, human, stdout};

/// Verifies a table; returns the exit code: that of damage if some remains.
pub(crate) fn run(args: &VerifyArgs, session: &Session) -> Result<u8> {
    let options = VerifyOptions {
        deep: args.deep,
        repair: args.repair,
        drop_empty_entry: args.drop_empty_entry,
        key: args.key.as_ref().map(|list| list.0.clone()).unwrap_or_default(),
        memory_bytes: args.memory_limit,
    };
    let verified = {
        let _progress = session.progress();
        lakerace::verify(&args.table, &options, &storage_options(&args.store), &session.job)?
    };
    if !session.global.json {
        verified.findings.iter().try_for_each(|finding| stdout::line(&words(finding)))?;
        verified.notes.iter().for_each(|note| session.note(note));
        session.note(&summary(&verified));
    }
    let left = verified.findings.iter().filter(|finding| finding.repaired.is_none()).count() as u64;
    if left == 0 {
        // Most damage of values is not seen without reading them.
        let verb = if verified.values_checked { "verified" } else { "checked" };
        session.done(verb, verified.rows, report(&verified))?;
        return Ok(0);
    }
    let remain = if left == 1 { "remains" } else { "remain" };
    let error = Error::corrupt(format!("{} {remain}", human::plural(left, "problem"))).at(&args.table);
    if !session.global.json {
        return Err(error.advice("each line above names the file and the next step"));
    }
    // The object has both: the damage, and the error.
    let mut more = report(&verified);
    more["error"] = failure::object(&error);
    session.done("", verified.rows, more)?;
    Ok(failure::report(&error, false))
}

fn words(finding: &Finding) -> String {
    let Finding { place, problem, advice, repaired, .. } = finding;
    match repaired {
        None => format!("{place}: {problem} ({advice})"),
        Some(repair) => format!("{place}: {problem} (repaired: {repair})"),
    }
}

fn summary(verified: &Verified) -> String {
    let Verified { entries, checkpoints, files, vectors, key, orphan_files, orphan_bytes, .. } = verified;
    let mut text = match verified.version {
        Some(version) => format!("version {version}"),
        None => "no version can be read".to_owned(),
    };
    let entries = match entries {
        1 => "1 entry".to_owned(),
        entries => format!("{} entries", human::count(*entries)),
    };
    text += &format!(": checked {entries}, {}, ", human::plural(*checkpoints, "checkpoint"));
    text += &format!("{}, {}", human::plural(*files, "file"), human::plural(*vectors, "deletion vector"));
    if !key.is_empty() {
        text += &format!(", keys ({})", key.join(", "));
    }
    if !verified.values_checked {
        text += "; values were not read (--deep reads them)";
    }
    if *orphan_files > 0 {
        let bytes = human::bytes(*orphan_bytes);
        let are = if *orphan_files == 1 { "is" } else { "are" };
        text += &format!("; {} ({bytes}) {are} not part of any version", human::plural(*orphan_files, "file"));
    }
    text
}

fn report(verified: &Verified) -> Value {
    json!({
        "version": verified.version,
        "sound": verified.is_sound(),
        "entries": verified.entries,
        "checkpoints": verified.checkpoints,
        "files": verified.files,
        "vectors": verified.vectors,
        "key": verified.key,
        "keys_checked": verified.has_checked_keys(),
        "values_checked": verified.values_checked,
        "orphan_files": verified.orphan_files,
        "orphan_bytes": verified.orphan_bytes,
        "findings": verified.findings,
        "notes": verified.notes,
    })
}
