//! The outcomes of a server for each row of a request.

use lakerace_format::json::{Json, NoJson};
use lakerace_io::Result;
use serde_json::Value;

use super::client::{ServerFailure, is_busy};
use super::json_tree::JsonTree;

/// The outcome of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RowOutcome {
    /// The server has stored it.
    Taken,
    /// The server was busy; it can be sent again.
    Busy,
    /// There is a document of this name already.
    Exists,
    /// The whole index rejects writes.
    Blocked,
    /// It will never be taken. The reason holds no value.
    Rejected(String),
}

/// Reads the answer to a bulk request. Fewer outcomes than rows is an error of the caller's.
pub(super) fn outcomes(body: &[u8]) -> std::result::Result<Vec<RowOutcome>, NoJson> {
    let mut json = Json::new(body);
    let mut outcomes = Vec::new();
    let mut is_first = true;
    json.open_object()?;
    while let Some(key) = json.key(&mut is_first)? {
        if key != "items" {
            json.skip()?;
            continue;
        }
        let mut is_first = true;
        json.open_array()?;
        while json.next(&mut is_first)? {
            outcomes.push(item(&mut json)?);
        }
    }
    Ok(outcomes)
}

fn item(json: &mut Json<'_>) -> std::result::Result<RowOutcome, NoJson> {
    let (mut status, mut error): (u16, Option<&[u8]>) = (0, None);
    let mut is_delete = false;
    let mut is_first = true;
    json.open_object()?;
    while let Some(action) = json.key(&mut is_first)? {
        is_delete = action == "delete";
        let mut is_first = true;
        json.open_object()?;
        while let Some(key) = json.key(&mut is_first)? {
            match key.as_ref() {
                "status" => status = json.number()?.parse().unwrap_or_default(),
                "error" => error = Some(json.skip()?),
                _ => drop(json.skip()?),
            }
        }
    }
    let error: Value = error.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default();
    let said = ServerFailure::of_error(&error);
    Ok(match status {
        200..=299 => RowOutcome::Taken,
        // A document that is to be removed and does not exist is removed.
        404 if is_delete && error.is_null() => RowOutcome::Taken,
        403 if said.kind() == "cluster_block_exception" => RowOutcome::Blocked,
        409 => RowOutcome::Exists,
        status if is_busy(status) => RowOutcome::Busy,
        _ => RowOutcome::Rejected(reason(&said, &error)),
    })
}

/// A reason without the values that servers put into theirs: the kind of the failure, and the field.
fn reason(said: &ServerFailure, error: &Value) -> String {
    let mut reason =
        if said.kind().is_empty() { "the server gives no reason".to_owned() } else { said.kind().to_owned() };
    if let Some(field) = field(said.reason()) {
        reason = format!("{reason} in field {field:?}");
    }
    if let Some(cause) = error["caused_by"]["type"].as_str() {
        reason = format!("{reason}: {cause}");
    }
    if error["caused_by"].to_string().contains("immense term") || said.reason().contains("immense term") {
        reason.push_str(" (a keyword has at most 32,766 bytes; ?text=COLUMN keeps longer ones)");
    }
    if said.reason().contains("only write ops with an op_type of create") {
        reason.push_str(" (a data stream takes ?op_type=create)");
    }
    reason
}

fn field(reason: &str) -> Option<&str> {
    for (before, after) in
        [("field [", ']'), ("field=\"", '"'), ("introduction of [", ']'), ("object mapping for [", ']')]
    {
        if let Some((_, rest)) = reason.split_once(before) {
            return rest.split(after).next();
        }
    }
    None
}

/// Compares each sent document with the one at its place in an answer of `_mget`, by all digits of its numbers.
pub(super) fn are_there<'a>(
    sent: impl Iterator<Item = &'a [u8]>,
    answer: &[u8],
) -> std::result::Result<Vec<bool>, NoJson> {
    let answer = JsonTree::parse(answer)?;
    let found = match answer.get("docs") {
        Some(JsonTree::Array(found)) => found.as_slice(),
        _ => &[],
    };
    let is_there = |(index, sent): (usize, &[u8])| {
        let found = found.get(index).and_then(|found| found.get("_source"));
        found.is_some_and(|found| JsonTree::parse(sent).is_ok_and(|sent| sent.is_same(found)))
    };
    Ok(sent.enumerate().map(is_there).collect())
}

/// The `_id` and the routing of a line that names a document.
pub(super) fn name(line: &[u8]) -> Result<(String, Option<String>)> {
    let value: Value = serde_json::from_slice(line).unwrap_or_default();
    let action = value.as_object().and_then(|action| action.values().next().cloned()).unwrap_or_default();
    let text = |key: &str| action[key].as_str().map(str::to_owned);
    text("_id").map(|id| (id, text("routing"))).ok_or_else(|| lakerace_io::Error::internal("a bulk line has no _id"))
}

#[cfg(test)]
mod tests;
