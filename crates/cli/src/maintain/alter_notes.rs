//! The notes of `lakerace alter`: the features that its change needs, before it is committed, and the outcome.

use lakerace::{Altered, Error, ErrorKind, Result};

/// The notes that were given on a change before its commit. A commit may be lost to another writer, so that they name its
/// consequences and no outcome.
#[derive(Default)]
pub(super) struct AlterNotes {
    /// The change that was announced last.
    announced: Option<Altered>,
}

impl AlterNotes {
    /// Notes on a change that is about to be committed. It is announced again if another writer's commit has altered it.
    pub(super) fn announce(&mut self, planned: &Altered) -> Vec<String> {
        let mut notes = features_notes(planned, "after this change, ", "must support");
        if let Some(before) = self.announced.replace(planned.clone()) {
            let lacks = |name: &&String| !planned.features_added.contains(name);
            let others: Vec<&str> = before.features_added.iter().filter(lacks).map(String::as_str).collect();
            if !others.is_empty() {
                notes.insert(0, format!("another writer has added {} in the meantime", others.join(", ")));
            }
        }
        notes
    }

    /// Notes on the outcome. An error is reported by itself; a conflict that follows an announcement leaves the table as
    /// it was, and other errors have their own words for that.
    pub(super) fn outcome(&self, altered: &Result<Altered>, is_dry_run: bool) -> Vec<String> {
        let altered = match altered {
            Ok(altered) => altered,
            Err(error) => return self.failure(error),
        };
        match altered.version {
            Some(version) => vec![format!("version {version} has the changes")],
            None if !is_dry_run && self.announced.is_some() => {
                vec!["another writer has made these changes in the meantime: nothing was committed".to_owned()]
            }
            None if !is_dry_run => vec!["the table already has these settings".to_owned()],
            None => planned_notes(altered),
        }
    }

    fn failure(&self, error: &Error) -> Vec<String> {
        match &self.announced {
            Some(_) if error.kind() == ErrorKind::Conflict => vec!["the change was not committed".to_owned()],
            _ => Vec::new(),
        }
    }
}

/// Notes on a change that is not made.
fn planned_notes(altered: &Altered) -> Vec<String> {
    let properties: Vec<String> = altered.properties.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let mut notes = Vec::new();
    if !properties.is_empty() {
        notes.push(format!("properties of the table after the change: {}", properties.join(", ")));
    }
    match altered.features_added.is_empty() {
        true => notes.push("the change adds no features to the protocol".to_owned()),
        false => notes.extend(features_notes(altered, "", "would need to support")),
    }
    notes
}

/// Notes on the features that other programs have to support.
fn features_notes(altered: &Altered, when: &str, verb: &str) -> Vec<String> {
    let (both, writers): (Vec<&str>, Vec<&str>) = altered
        .features_added
        .iter()
        .map(String::as_str)
        .partition(|name| altered.reader_features_added.iter().any(|known| known == name));
    [("readers and writers", both), ("writers", writers)]
        .into_iter()
        .filter(|(_, features)| !features.is_empty())
        .map(|(who, features)| format!("{when}{who} of the table {verb}: {}", features.join(", ")))
        .collect()
}

#[cfg(test)]
mod tests;
