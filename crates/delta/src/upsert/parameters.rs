//! The parameters of an upsert and of a delete by keys, in the log.

use std::collections::BTreeMap;

use serde_json::json;

use super::{UpsertKind, UpsertOptions};
use crate::commit::list_text;

/// The parameters of an operation by this key. Those of an upsert are named as delta-spark names those of `MERGE`.
pub(super) fn parameters(key: &[String], kind: UpsertKind, options: &UpsertOptions) -> Vec<(&'static str, String)> {
    let mut parameters = vec![("key", list_text(key))];
    if kind == UpsertKind::Delete {
        return parameters;
    }
    let equal = |name: &String| format!("target.{0} = source.{0}", quoted(name));
    let condition = key.iter().map(equal).collect::<Vec<_>>().join(" AND ");
    let update = if options.insert_only { json!([]) } else { json!([{ "actionType": "update" }]) };
    parameters.extend([
        ("predicate", list_text(&[condition])),
        ("matchedPredicates", update.to_string()),
        ("notMatchedPredicates", json!([{ "actionType": "insert" }]).to_string()),
    ]);
    if !options.merge.is_empty() {
        let merge: BTreeMap<&String, String> =
            options.merge.iter().map(|(name, operator)| (name, operator.to_string())).collect();
        parameters.push(("merge", json!(merge).to_string()));
    }
    parameters
}

/// A name in SQL.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain = !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if is_plain { name.to_owned() } else { format!("`{}`", name.replace('`', "``")) }
}
