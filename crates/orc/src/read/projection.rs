//! Which columns are read.

use crate::error::{Error, Result};
use crate::schema::{OrcKind, OrcType};

/// A set of columns of a file's type tree. A column includes all columns below it and all that contain it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Projection {
    root: OrcType,
}

impl Projection {
    /// All columns.
    pub fn all(root: &OrcType) -> Self {
        Self { root: root.clone() }
    }

    /// The columns with these ids, in the order of the file. Keys come with the values of their map, and members of a union
    /// come together.
    ///
    /// # Errors
    /// Invalid where there is no such column.
    pub fn ids(root: &OrcType, ids: &[u32]) -> Result<Self> {
        if let Some(id) = ids.iter().find(|id| **id > root.last_id) {
            return Err(Error::invalid(format!("there is no column {id}; the last one is {}", root.last_id)));
        }
        let mut wanted = ids.to_vec();
        wanted.sort_unstable();
        let pruned = prune(root, &wanted).unwrap_or_else(|| match &root.kind {
            OrcKind::Struct(_) => OrcType { kind: OrcKind::Struct(Vec::new()), ..root.clone() },
            _ => root.clone(),
        });
        Ok(Self { root: pruned })
    }

    /// The columns with these names: fields of structs by their names after a dot, `element` in a list, `key` and
    /// `value` in a map.
    ///
    /// # Errors
    /// Invalid where there is no such column.
    pub fn names(root: &OrcType, names: &[impl AsRef<str>]) -> Result<Self> {
        let ids = names.iter().map(|name| {
            let name = name.as_ref();
            find(root, name).ok_or_else(|| Error::invalid(format!("there is no column {name:?}")))
        });
        Self::ids(root, &ids.collect::<Result<Vec<_>>>()?)
    }

    /// The type tree of the columns that are read; ids are those of the file.
    pub fn root(&self) -> &OrcType {
        &self.root
    }

    /// The ids of all columns that are read.
    pub fn columns(&self) -> Vec<u32> {
        let mut ids = Vec::new();
        collect(&self.root, &mut ids);
        ids
    }
}

fn collect(node: &OrcType, ids: &mut Vec<u32>) {
    ids.push(node.id);
    node.children().for_each(|child| collect(child, ids));
}

fn prune(node: &OrcType, wanted: &[u32]) -> Option<OrcType> {
    let from = wanted.partition_point(|id| *id < node.id);
    let to = wanted.partition_point(|id| *id <= node.last_id);
    let inside = &wanted[from..to];
    if inside.is_empty() {
        return None;
    }
    if inside[0] == node.id {
        return Some(node.clone());
    }
    let kind = match &node.kind {
        OrcKind::Struct(fields) => {
            let (mut kept, mut inside) = (Vec::new(), inside);
            // From one wanted field to the next: tables may have many.
            while let Some(id) = inside.first() {
                let Some((name, child)) = fields.get(fields.partition_point(|(_, child)| child.last_id < *id)) else {
                    break;
                };
                kept.extend(prune(child, inside).map(|child| (name.clone(), child)));
                inside = &inside[inside.partition_point(|id| *id <= child.last_id)..];
            }
            OrcKind::Struct(kept)
        }
        OrcKind::List(item) => OrcKind::List(Box::new(prune(item, inside)?)),
        OrcKind::Map(key, value) => {
            let value = prune(value, inside).unwrap_or_else(|| value.as_ref().clone());
            OrcKind::Map(key.clone(), Box::new(value))
        }
        _ => return Some(node.clone()),
    };
    Some(OrcType { kind, ..node.clone() })
}

fn find(node: &OrcType, path: &str) -> Option<u32> {
    if path.is_empty() {
        return None;
    }
    let parts: Vec<(&str, &OrcType)> = match &node.kind {
        OrcKind::Struct(fields) => fields.iter().map(|(name, child)| (name.as_str(), child)).collect(),
        OrcKind::List(item) => vec![("element", item)],
        OrcKind::Map(key, value) => vec![("key", key), ("value", value)],
        _ => Vec::new(),
    };
    // A name may itself contain dots.
    if let Some((_, child)) = parts.iter().find(|(name, _)| *name == path) {
        return Some(child.id);
    }
    parts.iter().find_map(|(name, child)| find(child, path.strip_prefix(name)?.strip_prefix('.')?))
}

#[cfg(test)]
mod tests;
