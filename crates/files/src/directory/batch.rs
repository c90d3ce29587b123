//! Batches of writes. A directory applies them one after the other, so it checks them first, and undoes earlier ones
//! where a later one fails.

use std::collections::BTreeMap;

use lakerace_io::{Error, ErrorKind, Result};
use rustix::fs::{AtFlags, FileType};
use rustix::io::Errno;

use super::root::{StoreRoot, folder_is_file, hidden_part, moved};
use super::staged::{FileId, HiddenContent, StagedFile, id};
use super::{DirectoryHome, walk};
use crate::home::{HomeOperation, IfExists, PutOptions, WriteBatch};
use crate::name::{check_name, not_found, shown, taken};

/// Contents are staged as they come, and named one after the other at the end.
pub(super) struct DirectoryBatch {
    home: DirectoryHome,
    work: Vec<DirectoryOp>,
}

type DirectoryOp = HomeOperation<(HiddenContent, FileId)>;

impl DirectoryBatch {
    pub(super) fn new(home: &DirectoryHome) -> Self {
        Self { home: home.clone(), work: Vec::new() }
    }
}

impl WriteBatch for DirectoryBatch {
    fn put(&mut self, name: &str, data: &[u8], options: &PutOptions) -> Result<()> {
        let mut staged = StagedFile::new(&self.home, name, options)?;
        staged.append(data)?;
        let (hidden, id) = staged.close()?;
        self.work.push(HomeOperation::Put((hidden, id)));
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<()> {
        self.work.push(HomeOperation::Remove(name.to_owned()));
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str, if_exists: IfExists) -> Result<()> {
        check_name(to)?;
        self.work.push(HomeOperation::Rename(from.to_owned(), to.to_owned(), if_exists));
        Ok(())
    }

    fn commit(self: Box<Self>) -> Result<()> {
        let Self { home, mut work } = *self;
        let root = &*home.0;
        PlannedState::look(root, &work)?;
        let (mut done, last) = (FinishedSteps { root, steps: Vec::new() }, work.len().saturating_sub(1));
        for (number, op) in work.iter_mut().enumerate() {
            if let Err(e) = done.step(op, number == last) {
                return Err(done.undo(e));
            }
        }
        // The sync comes before the kept old files are removed.
        let synced = root.sync();
        done.end();
        synced
    }
}

/// Which names there are after the steps that were looked at, where these change it.
struct PlannedState<'a> {
    root: &'a StoreRoot,
    changed: BTreeMap<&'a str, bool>,
}

impl<'a> PlannedState<'a> {
    /// The error that a batch would end with, before anything is done.
    fn look(root: &'a StoreRoot, work: &'a [DirectoryOp]) -> Result<()> {
        let mut foreseen = Self { root, changed: BTreeMap::new() };
        for op in work {
            match op {
                HomeOperation::Put((hidden, _)) => foreseen.plan_name(&hidden.name, hidden.if_exists, true)?,
                HomeOperation::Remove(name) => foreseen.take(name)?,
                HomeOperation::Rename(from, to, if_exists) => {
                    root.may_write(to, &PutOptions::default())?;
                    if from == to {
                        foreseen.is_there(from)?;
                    } else {
                        foreseen.take(from)?;
                        foreseen.plan_name(to, *if_exists, false)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn is_there(&self, name: &str) -> Result<()> {
        let is_there = match self.changed.get(name) {
            Some(is_there) => *is_there,
            None => self.root.kind(name)?.is_some_and(|kind| kind != FileType::Directory),
        };
        if is_there { Ok(()) } else { Err(not_found(name)) }
    }

    fn take(&mut self, name: &'a str) -> Result<()> {
        self.is_there(name)?;
        self.changed.insert(name, false);
        Ok(())
    }

    /// Looks at a file that gets a name. One that is staged has its folders already.
    fn plan_name(&mut self, name: &'a str, if_exists: IfExists, is_staged: bool) -> Result<()> {
        if let IfExists::ReplaceVersion(_) = if_exists {
            if_exists.check(name, || self.root.version(name))?;
        }
        for (end, _) in name.match_indices('/') {
            let is_file = match self.changed.get(&name[..end]) {
                Some(is_file) => *is_file,
                None if is_staged => false,
                None => self.root.kind(&name[..end])?.is_some_and(|kind| kind != FileType::Directory),
            };
            if is_file {
                return Err(folder_is_file(name));
            }
        }
        let kind = self.root.kind(name)?;
        if self.is_folder(name, kind)? {
            return Err(self.root.is_folder(name));
        }
        let is_there = self.changed.get(name).copied().unwrap_or(kind.is_some_and(|kind| kind != FileType::Directory));
        if is_there && if_exists == IfExists::Error {
            return Err(taken(name));
        }
        self.changed.insert(name, true);
        Ok(())
    }

    /// Returns true if files are below a name.
    fn is_folder(&self, name: &str, kind: Option<FileType>) -> Result<bool> {
        let prefix = format!("{name}/");
        let below = || self.changed.range(prefix.as_str()..).take_while(|(name, _)| name.starts_with(&prefix));
        if below().any(|(_, is_there)| *is_there) {
            return Ok(true);
        }
        if kind != Some(FileType::Directory) {
            return Ok(false);
        }
        let found = walk::list(self.root, &prefix, "", below().count() + 1)?;
        Ok(found.iter().any(|stat| !self.changed.contains_key(stat.name.as_str())))
    }
}

/// The finished part of a batch.
struct FinishedSteps<'a> {
    root: &'a StoreRoot,
    steps: Vec<BatchStep>,
}

enum BatchStep {
    /// A file has a name now, instead of an old one that is kept.
    Placed(String, FileId, EarlierContent),
    Removed(String, EarlierContent),
    Moved(String, String, FileId, EarlierContent),
}

/// The earlier content of a name.
enum EarlierContent {
    Nothing,
    /// Its hidden name in the root.
    Hidden(String),
    /// It could not be kept.
    Lost,
}

/// The treatment of a name in a step whose look at the version has been taken.
fn held(if_exists: IfExists) -> IfExists {
    match if_exists {
        IfExists::ReplaceVersion(_) => IfExists::Replace,
        other => other,
    }
}

impl FinishedSteps<'_> {
    fn step(&mut self, op: &mut DirectoryOp, is_last: bool) -> Result<()> {
        let step = match op {
            HomeOperation::Put((hidden, id)) => {
                // The version was checked before: keeping the file changes it.
                hidden.if_exists = held(hidden.if_exists);
                let kept = self.keep(&hidden.name, hidden.if_exists, is_last)?;
                let kept = self.checked(hidden.publish(None), kept)?;
                BatchStep::Placed(hidden.name.clone(), *id, kept)
            }
            HomeOperation::Remove(name) => {
                let kept = self.keep(name, IfExists::Replace, is_last)?;
                let kept = self.checked(self.root.remove(name), kept)?;
                BatchStep::Removed(name.clone(), kept)
            }
            HomeOperation::Rename(from, to, _) if from == to => return self.root.read(from).map(drop),
            HomeOperation::Rename(from, to, if_exists) => {
                *if_exists = held(*if_exists);
                let id = id(&self.root.read(from)?.0)?;
                let kept = self.keep(to, *if_exists, is_last)?;
                let kept = self.checked(self.root.rename(from, to, *if_exists), kept)?;
                BatchStep::Moved(from.clone(), to.clone(), id, kept)
            }
        };
        self.steps.push(step);
        Ok(())
    }

    /// Keeps the file of a name under a hidden name. Nothing can fail after the last step, so it keeps nothing.
    fn keep(&self, name: &str, if_exists: IfExists, is_last: bool) -> Result<EarlierContent> {
        if is_last || if_exists == IfExists::Error {
            return Ok(EarlierContent::Nothing);
        }
        let Some((folder, last)) = self.root.parent(name)? else { return Ok(EarlierContent::Nothing) };
        let hidden = hidden_part();
        Ok(match rustix::fs::linkat(&folder, last, &self.root.handle, hidden.as_str(), AtFlags::empty()) {
            Ok(()) => EarlierContent::Hidden(hidden),
            Err(Errno::NOENT) => EarlierContent::Nothing,
            // Not every file system has links, and a store may have several file systems.
            Err(_) => EarlierContent::Lost,
        })
    }

    fn checked(&self, done: Result<()>, kept: EarlierContent) -> Result<EarlierContent> {
        match done {
            Ok(()) => Ok(kept),
            Err(e) => {
                forget(self.root, &kept);
                Err(e)
            }
        }
    }

    fn end(self) {
        for step in &self.steps {
            let (BatchStep::Placed(.., kept) | BatchStep::Removed(_, kept) | BatchStep::Moved(.., kept)) = step;
            forget(self.root, kept);
        }
    }

    /// Takes all back, the last first. Gives the error, which says where that was not possible.
    fn undo(self, error: Error) -> Error {
        let mut left = Vec::new();
        for step in self.steps.into_iter().rev() {
            let (BatchStep::Placed(name, ..) | BatchStep::Removed(name, _) | BatchStep::Moved(name, ..)) = &step;
            let name = shown(name);
            if !take_back(self.root, step).unwrap_or(false) {
                left.push(name);
            }
        }
        match left.as_slice() {
            [] => error,
            [only] => error.advice(format!("the earlier change to {only} could not be undone: check it")),
            [first, rest @ ..] => error.advice(format!(
                "the earlier changes to {first} and {} more could not be undone: check them",
                rest.len()
            )),
        }
    }
}

/// Takes a step back, unless another writer has written the name since; whether it is as if the step had not been.
fn take_back(root: &StoreRoot, step: BatchStep) -> Result<bool> {
    let is_ours = |name: &str, known: FileId| -> Result<bool> {
        root.find(name)?.map_or(Ok(false), |(file, _)| Ok(id(&file)? == known))
    };
    match step {
        BatchStep::Placed(name, id, kept) if is_ours(&name, id)? => match kept {
            EarlierContent::Nothing => root.remove(&name).map(|()| true),
            EarlierContent::Hidden(hidden) => restore(root, &hidden, &name, IfExists::Replace),
            EarlierContent::Lost => Ok(false),
        },
        BatchStep::Placed(_, _, kept) => {
            forget(root, &kept);
            Ok(true)
        }
        BatchStep::Removed(name, EarlierContent::Hidden(hidden)) => restore(root, &hidden, &name, IfExists::Error),
        BatchStep::Removed(..) => Ok(false),
        BatchStep::Moved(from, to, id, kept) if is_ours(&to, id)? => {
            root.rename(&to, &from, IfExists::Error)?;
            match kept {
                EarlierContent::Nothing => Ok(true),
                EarlierContent::Hidden(hidden) => restore(root, &hidden, &to, IfExists::Error),
                EarlierContent::Lost => Ok(false),
            }
        }
        BatchStep::Moved(_, _, _, kept) => {
            forget(root, &kept);
            Ok(false)
        }
    }
}

/// Renames a kept file back.
fn restore(root: &StoreRoot, hidden: &str, name: &str, if_exists: IfExists) -> Result<bool> {
    let done = root.in_parent(name, |folder, last| moved(&root.handle, hidden, folder, last, if_exists));
    match done {
        Ok(_) => Ok(true),
        Err(e) if e.kind() == ErrorKind::Conflict => {
            // Another writer has written the name since.
            forget(root, &EarlierContent::Hidden(hidden.to_owned()));
            Ok(true)
        }
        Err(e) => Err(e),
    }
}

/// Removes a kept file. One that can't be removed stays hidden, until the store is compacted.
fn forget(root: &StoreRoot, kept: &EarlierContent) {
    if let EarlierContent::Hidden(hidden) = kept {
        let _ = rustix::fs::unlinkat(&root.handle, hidden.as_str(), AtFlags::empty());
    }
}
