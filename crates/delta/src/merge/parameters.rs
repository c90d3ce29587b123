//! The parameters of a merge in the log, by the names that delta-spark gives them.

use serde_json::{Value, json};

use super::{MergeAction, MergeClause, MergeStatement};
use crate::commit::list_text;
use crate::upsert::quoted;

pub(super) fn parameters(statement: &MergeStatement) -> Vec<(&'static str, String)> {
    let MergeStatement { target_alias, source_alias, .. } = statement;
    let equal = |(target, source): &(String, String)| {
        format!("{target_alias}.{} = {source_alias}.{}", quoted(target), quoted(source))
    };
    let condition = statement.on.iter().map(equal).collect::<Vec<_>>().join(" AND ");
    vec![
        ("predicate", list_text(&[condition])),
        ("matchedPredicates", clauses(&statement.matched, "update")),
        ("notMatchedPredicates", clauses(&statement.not_matched, "insert")),
        ("notMatchedBySourcePredicates", clauses(&statement.not_matched_by_source, "update")),
    ]
}

/// Clauses as a list of objects. `write` is the name of those that write rows.
fn clauses(clauses: &[MergeClause], write: &str) -> String {
    let clause = |clause: &MergeClause| {
        let action = if clause.action == MergeAction::Delete { "delete" } else { write };
        match &clause.condition_text {
            Some(text) => json!({ "predicate": text, "actionType": action }),
            None => json!({ "actionType": action }),
        }
    };
    clauses.iter().map(clause).collect::<Value>().to_string()
}
