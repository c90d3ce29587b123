//! Names of values that documents have and no column takes.

use std::collections::BTreeSet;

use crate::elasticsearch::json_tree::JsonTree;

/// So many names are noted at most.
const MOST_NAMES: usize = 1000;

/// Gathers names, each with the objects that it is in.
#[derive(Debug, Default)]
pub(in crate::elasticsearch) struct UnmappedNames {
    /// True if names are wanted: all columns come from the mapping.
    is_on: bool,
    prefix: String,
    names: BTreeSet<String>,
}

impl UnmappedNames {
    /// Notes nothing yet, and nothing at all unless `is_on`.
    pub fn new(is_on: bool) -> Self {
        Self { is_on, ..Self::default() }
    }

    /// The names since the last call.
    pub fn take(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.names)
    }

    /// Notes a key, unless its value is nothing: a server does not map such either.
    pub(super) fn note(&mut self, key: &str, value: &[u8]) {
        if !self.is_on || self.names.len() >= MOST_NAMES {
            return;
        }
        let length = self.prefix.len();
        self.prefix.push_str(key);
        if !self.names.contains(&self.prefix) && JsonTree::parse(value).is_ok_and(|value| !value.is_void()) {
            self.names.insert(self.prefix.clone());
        }
        self.prefix.truncate(length);
    }

    /// Notes the names in an object, each with the names of the objects that it is in.
    pub(super) fn note_tree(&mut self, tree: &JsonTree<'_>) {
        if !self.is_on {
            return;
        }
        match tree {
            JsonTree::Object(fields) => {
                for (name, value) in fields {
                    self.within(name, |names| names.note_tree(value));
                }
            }
            value if value.is_void() || self.names.len() >= MOST_NAMES => {}
            _ => drop(self.names.insert(self.prefix.trim_end_matches('.').to_owned())),
        }
    }

    /// Runs something for values of the object of this name.
    pub(super) fn within<T>(&mut self, name: &str, run: impl FnOnce(&mut Self) -> T) -> T {
        if !self.is_on {
            return run(self);
        }
        let length = self.prefix.len();
        self.prefix.push_str(name);
        self.prefix.push('.');
        let outcome = run(self);
        self.prefix.truncate(length);
        outcome
    }
}
