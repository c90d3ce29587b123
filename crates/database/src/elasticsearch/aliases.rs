//! Aliases of an index that takes the place of another one.

use std::borrow::Cow;

use super::json_tree::JsonTree;

/// Actions that give a new index the aliases of the removed one, from an answer of `_alias`: each with its filter, its
/// routing and all other properties. The alias `name` keeps its properties, too.
pub(super) fn alias_actions<'a>(
    answers: &[JsonTree<'a>],
    name: &str,
    index: &str,
    removals: Vec<JsonTree<'a>>,
) -> JsonTree<'a> {
    let text = |text: &str| JsonTree::Text(Cow::Owned(text.to_owned()));
    let add = |alias: &str, more: &[(Cow<'a, str>, JsonTree<'a>)]| {
        let mut fields = vec![(Cow::Borrowed("index"), text(index)), (Cow::Borrowed("alias"), text(alias))];
        fields.extend(more.iter().cloned());
        JsonTree::Object(vec![(Cow::Borrowed("add"), JsonTree::Object(fields))])
    };
    let mut added: Vec<&str> = Vec::new();
    let mut actions = removals;
    for answer in answers {
        let JsonTree::Object(indices) = answer else { continue };
        for (_, old) in indices {
            let Some(JsonTree::Object(aliases)) = old.get("aliases") else { continue };
            for (alias, about) in aliases {
                if let (false, JsonTree::Object(about)) = (added.contains(&alias.as_ref()), about) {
                    added.push(alias);
                    actions.push(add(alias, about));
                }
            }
        }
    }
    if !added.contains(&name) {
        actions.push(add(name, &[]));
    }
    JsonTree::Object(vec![(Cow::Borrowed("actions"), JsonTree::Array(actions))])
}
