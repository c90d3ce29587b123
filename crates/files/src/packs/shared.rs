//! The shared state of a store on an object store: the index, pending contents, and packs.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use lakerace_io::object_store::path::Path;
use lakerace_io::wait::lock;
use lakerace_io::{Error, ErrorKind, Fetcher, JobStore, Object, ObjectInfo, Output, Result, Wanted, plan_requests};

use super::names::{Changes, NameCache, StoreNames, VersionId, changes, merged};
use super::pack::{OpenPack, SealedPack, StoredPart, check_sum};
use super::staged::{Bases, ContentBase, StagedChanges};
use crate::encode::{Encoding, EncodingContext};
use crate::fork::OpeningProcess;
use crate::home::Stat;
use crate::index::{Index, IndexChange, IndexEntry, Segment};
use crate::name::{changed, composed, normalisation_warning, prefix_end};
use crate::options::Compression;

/// Packs that may wait for the store. Where there are more, a put whose pack can't be sent is an error.
const UNSENT_PACKS: usize = 4;

/// The number of times that contents are rebuilt on the commits of other writers.
const ATTEMPTS: u32 = 100;

/// Names that wait for a flush: with more, a put makes a version of the table.
const PENDING_NAMES: usize = 131_072;

#[derive(Debug)]
pub(super) struct PackStore {
    pub(super) location: String,
    pub(super) store: JobStore,
    pub(super) root: Path,
    pub(super) index: Box<dyn Index>,
    cache: NameCache,
    pub(super) toolbox: EncodingContext,
    pub(super) compression: Compression,
    pub(super) is_read_only: bool,
    /// The process that opened the store: connections to a remote store do not survive a fork.
    pub(super) opener: OpeningProcess,
    pub(super) state: Mutex<ReadState>,
    /// Held during a commit: commits of one process are serial.
    committing: Mutex<()>,
    encodings: Mutex<HashMap<Arc<str>, Arc<Encoding>>>,
    warnings: Mutex<(Vec<String>, HashSet<String>)>,
}

/// The state for reads.
#[derive(Debug, Default)]
pub(super) struct ReadState {
    /// The names of a version of the table.
    names: StoreNames,
    pub(super) pending: Changes,
    /// The bases of pending contents, where that counts.
    pub(super) based: Bases,
    open: Option<OpenPack>,
    unsent: Vec<Arc<SealedPack>>,
}

impl PackStore {
    pub(super) fn new(
        (store, root, location): (JobStore, Path, String),
        index: Box<dyn Index>,
        options: &crate::options::Options,
    ) -> Result<Self> {
        let shared = Self {
            cache: NameCache::new(&store.url(&root), options),
            location,
            store,
            root,
            index,
            toolbox: EncodingContext::new(options)?,
            compression: options.compression.unwrap_or_default(),
            is_read_only: options.read_only,
            opener: OpeningProcess::new(),
            state: Mutex::default(),
            committing: Mutex::default(),
            encodings: Mutex::default(),
            warnings: Mutex::default(),
        };
        let is_there = shared.refresh()?;
        if !is_there && (options.read_only || !options.create) {
            return Err(Error::not_found("the store does not exist").at(&shared.location));
        }
        Ok(shared)
    }

    /// Returns true if this process is a child of the one that opened the store.
    pub(super) fn is_forked(&self) -> bool {
        self.opener.is_forked()
    }

    /// An error in a child of the process that opened a remote store.
    fn check_process(&self) -> Result<()> {
        if self.store.is_local() { Ok(()) } else { self.check_owner() }
    }

    /// An error in a child of the process that opened the store: its packs and its pending names are the parent's to send.
    fn check_owner(&self) -> Result<()> {
        if !self.is_forked() {
            return Ok(());
        }
        Err(Error::usage("this process was forked while the store was open, so writes belong to the parent process")
            .at(&self.location)
            .advice("start child processes by spawn, and open the store in each of them"))
    }

    /// Loads the commits of other writers. Returns false where there is no store yet.
    pub(super) fn refresh(&self) -> Result<bool> {
        let _running = self.opener.enter()?;
        self.check_process()?;
        let known = self.names();
        let Some(version) = self.index.newest()? else { return Ok(known.id.is_some()) };
        let newest = VersionId::from_version(&*version);
        if !known.id.as_ref().is_some_and(|known| known.is(&newest)) {
            let loaded = StoreNames::load(&*version, &known, &self.cache)?;
            let mut state = lock(&self.state);
            let is_newer = match (&state.names.id, &loaded.id) {
                (Some(own), Some(loaded)) => own.table != loaded.table || own.version < loaded.version,
                _ => true,
            };
            // A table that was put back from a copy may have a lower version. It was looked at after the names that were known.
            if is_newer || state.names.id == known.id {
                state.names = loaded;
            }
        }
        Ok(true)
    }

    /// The committed names: those of a version.
    pub(super) fn names(&self) -> StoreNames {
        let _running = crate::fork::enter();
        lock(&self.state).names.clone()
    }

    /// Reads the committed names; where their file here is damaged, it is made again first.
    pub(super) fn with_names<T>(&self, read: impl Fn(&StoreNames) -> Result<T>) -> Result<T> {
        self.with_state(|_| (), |names, ()| read(names))
    }

    /// Reads the committed names and the entries that `pick` selects of the pending ones, both of the same moment.
    fn with_state<P, T>(&self, pick: impl Fn(&Changes) -> P, read: impl Fn(&StoreNames, P) -> Result<T>) -> Result<T> {
        let _running = self.opener.enter()?;
        let look = || {
            let state = lock(&self.state);
            (state.names.clone(), pick(&state.pending))
        };
        let (names, picked) = look();
        match read(&names, picked) {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                self.make_again(&names, error)?;
                let (names, picked) = look();
                read(&names, picked)
            }
            other => other,
        }
    }

    /// Rebuilds the file of names from the table. Until the new one is complete, reads find the damaged one: never
    /// fewer files.
    fn make_again(&self, damaged: &StoreNames, error: Error) -> Result<()> {
        self.check_process()?;
        damaged.discard();
        let Some(version) = self.index.newest()? else { return Err(error) };
        if damaged.id.as_ref().is_some_and(|id| *id.table != *version.table_id()) {
            return Err(error);
        }
        let names = StoreNames::load(&*version, &StoreNames::default(), &self.cache)?;
        let mut state = lock(&self.state);
        // Another thread may have been faster.
        let is_same = state.names.id == damaged.id;
        if is_same || state.names.id.as_ref().is_none_or(|own| own.version <= version.version()) {
            state.names = names;
        }
        Ok(())
    }

    pub(super) fn is_writable(&self) -> Result<()> {
        match self.is_read_only {
            true => Err(Error::usage("the store is open read-only").advice("open it without read_only")),
            false => self.check_owner(),
        }
    }

    pub(super) fn may_write(&self, name: &str) -> Result<()> {
        let _running = self.opener.enter()?;
        self.is_writable()?;
        crate::name::check_name(name)?;
        if let Some(warning) = normalisation_warning(name) {
            let mut warnings = lock(&self.warnings);
            if warnings.1.len() < 100 && warnings.1.insert(warning.clone()) {
                warnings.0.push(warning);
            }
        }
        Ok(())
    }

    pub(super) fn take_warnings(&self) -> Vec<String> {
        let Ok(_running) = self.opener.enter() else { return Vec::new() };
        std::mem::take(&mut lock(&self.warnings).0)
    }

    pub(super) fn find(&self, name: &str) -> Result<Option<Arc<IndexEntry>>> {
        let _running = self.opener.enter()?;
        let pending = lock(&self.state).pending.get(name).cloned();
        pending.map_or_else(|| self.with_names(|names| names.find(name)), Ok)
    }

    /// The entries of names at one moment.
    pub(super) fn find_all(&self, names: &[&str]) -> Result<Vec<Option<Arc<IndexEntry>>>> {
        let pick = |pending: &Changes| names.iter().map(|name| pending.get(*name).cloned()).collect::<Vec<_>>();
        self.with_state(pick, |committed, pending| {
            let found = names.iter().zip(pending);
            found.map(|(name, pending)| pending.map_or_else(|| committed.find(name), Ok)).collect()
        })
    }

    pub(super) fn list(&self, prefix: &str, from: &str, limit: usize) -> Result<Vec<Stat>> {
        let pick = |pending: &Changes| -> Changes {
            let within = changes(pending, prefix.max(from).to_owned(), prefix_end(prefix.as_bytes()));
            within.map(|(name, change)| (Arc::clone(name), change.clone())).collect()
        };
        self.with_state(pick, |names, pending| {
            let files = merged(pending.iter(), names.walk(prefix, from, limit));
            files.take(limit).map(|found| found.map(|(name, entry)| stat(&name, &entry))).collect()
        })
    }

    /// Makes changes pending, all of them or none. `make` sees the current names.
    pub(super) fn apply(&self, make: impl FnOnce(&mut StagedChanges<'_>) -> Result<()>) -> Result<()> {
        let _running = self.opener.enter()?;
        self.is_writable()?;
        let mut state = lock(&self.state);
        let mut staged = StagedChanges::new(&state.names, &state.pending, &state.based);
        make(&mut staged)?;
        let (changes, based) = staged.end();
        state.based.retain(|name, _| !changes.contains_key(name));
        state.based.extend(based);
        state.pending.extend(changes);
        Ok(())
    }

    /// Makes a content pending that consists of `before` and more bytes. Returns false if the name's content is no
    /// longer `before`.
    pub(super) fn apply_append(
        &self,
        name: &str,
        before: Option<&Arc<IndexEntry>>,
        entry: Arc<IndexEntry>,
    ) -> Result<bool> {
        let mut is_made = false;
        self.apply(|staged| {
            is_made = staged.find(name)?.as_ref() == before;
            if is_made { staged.append(name, entry) } else { Ok(()) }
        })?;
        Ok(is_made)
    }

    /// Makes a version where more names wait than memory is for.
    pub(super) fn commit_many(self: &Arc<Self>) -> Result<()> {
        let many = lock(&self.state).pending.len() > PENDING_NAMES;
        if many { self.commit() } else { Ok(()) }
    }

    /// Stores a part of a content in the pack that is being filled.
    pub(super) fn add(&self, part: &StoredPart<'_>) -> Result<Segment> {
        let _running = self.opener.enter()?;
        self.check_owner()?;
        let (segment, full) = {
            let mut state = lock(&self.state);
            let open = match &mut state.open {
                Some(open) => open,
                none => none.insert(OpenPack::new()?),
            };
            let segment = open.add(part)?;
            let full = if open.is_full() { state.seal()? } else { None };
            (segment, full)
        };
        if let Some(pack) = full {
            let unsent = lock(&self.state).unsent.len();
            match self.send(&pack) {
                // The pack stays in memory; the commit sends it again, and returns the error.
                Err(error) if unsent > UNSENT_PACKS => return Err(error),
                _ => {}
            }
        }
        Ok(segment)
    }

    fn path(&self, pack: u128) -> Path {
        self.root.clone().join("packs").join(format!("{pack:032x}.pack"))
    }

    fn send(&self, pack: &Arc<SealedPack>) -> Result<()> {
        self.check_owner()?;
        let mut is_sent = lock(&pack.is_sent);
        if !*is_sent {
            let mut output = Output::create(&self.store, &self.path(pack.id), lakerace_io::IfExists::Replace)?;
            output.write(pack.bytes.clone())?;
            output.finish()?;
            *is_sent = true;
        }
        drop(is_sent);
        lock(&self.state).unsent.retain(|other| other.id != pack.id);
        Ok(())
    }

    /// Sends the packs in memory and makes the pending changes the next version. Afterwards they are durable and
    /// visible to others.
    ///
    /// Bytes that were appended to a file that another writer has changed in the meantime are appended to the new
    /// content. A content that was to replace another version is given up, with an error that names it, once all others
    /// are durable.
    pub(super) fn commit(self: &Arc<Self>) -> Result<()> {
        let _running = self.opener.enter()?;
        if self.is_forked() {
            return if lock(&self.state).pending.is_empty() { Ok(()) } else { self.check_owner() };
        }
        let _committing = lock(&self.committing);
        let mut given_up = Ok(());
        for attempt in 0.. {
            let done = self.commit_pending();
            match done {
                Err(error) if error.kind() == ErrorKind::Conflict && attempt < ATTEMPTS && self.has_bases() => {}
                done => return done.and(given_up),
            }
            given_up = given_up.and(self.rebase()?);
        }
        given_up
    }

    /// Commits once. An error of kind `Conflict` where the base of a pending content was changed.
    fn commit_pending(&self) -> Result<()> {
        let (changes, unsent, based, from) = {
            let mut state = lock(&self.state);
            if state.pending.is_empty() {
                return Ok(());
            }
            state.seal()?;
            let changes: Vec<_> =
                state.pending.iter().map(|(name, change)| (Arc::clone(name), change.clone())).collect();
            let from = state.names.id.as_ref().map_or(0, |id| id.version);
            (changes, state.unsent.clone(), state.based.clone(), from)
        };
        unsent.iter().try_for_each(|pack| self.send(pack))?;
        for (name, base) in &based {
            if self.with_names(|names| names.find(name))? != base.entry {
                return Err(changed(name));
            }
        }
        let changed = self.index.change(&changes, (!based.is_empty()).then_some(from))?;
        // Until they are among the committed names, reads find them among the pending ones.
        let taken_in = match self.take_in(&changes, changed) {
            Ok(true) => Ok(()),
            // Where other writers were faster, their changes are loaded.
            Ok(false) => self.refresh().map(drop),
            Err(error) => Err(error),
        };
        if taken_in.is_err() {
            // The changes are committed nevertheless. Names without a version are read from the table again.
            let mut state = lock(&self.state);
            if let Ok(names) = state.names.changed(&changes, None, &self.cache) {
                state.names = names;
            }
        }
        let mut state = lock(&self.state);
        for (name, change) in changes {
            // A change that was made in the meantime stays pending.
            let is_same = match (state.pending.get(&name), &change) {
                (Some(Some(now)), Some(then)) => Arc::ptr_eq(now, then),
                (Some(None), None) => true,
                _ => false,
            };
            if is_same {
                state.pending.remove(&name);
                state.based.remove(&name);
            } else if let Some(base) = state.based.get_mut(&name) {
                // The pending content was made from the one that is now committed.
                *base = ContentBase { entry: change, is_append: base.is_append };
            }
        }
        drop(state);
        taken_in
    }

    /// Takes in changes that are committed. False where theirs is not the version after the one that is known.
    fn take_in(&self, changes: &[(Arc<str>, Option<Arc<IndexEntry>>)], made: IndexChange) -> Result<bool> {
        let known = self.names();
        let IndexChange { version, commit, before } = made;
        let id = match &known.id {
            Some(id) => VersionId { version, commit, ..id.clone() },
            None => match self.index.newest()? {
                Some(now) => VersionId { version, commit, table: now.table_id().into() },
                None => return Ok(false),
            },
        };
        // A new table is version 0, and its first names are version 1.
        let is_next = match &known.id {
            Some(known) => known.version + 1 == version && known.commit.is_some() && known.commit == before,
            None => version == 1,
        };
        if !is_next {
            return Ok(false);
        }
        let names = known.changed(changes, Some(id), &self.cache)?;
        let mut state = lock(&self.state);
        // Another thread may have read a later version in the meantime.
        if state.names.id == known.id {
            state.names = names;
        }
        Ok(true)
    }

    pub(super) fn encoding(&self, text: &Arc<str>) -> Result<Arc<Encoding>> {
        let _running = self.opener.enter()?;
        if let Some(known) = lock(&self.encodings).get(text) {
            return Ok(Arc::clone(known));
        }
        let parsed = self.toolbox.parse(text, &mut |_| {
            Err(Error::unsupported("packs have no dictionaries").advice("read it with a newer version of lakerace"))
        })?;
        let parsed = Arc::new(parsed);
        lock(&self.encodings).insert(Arc::clone(text), Arc::clone(&parsed));
        Ok(parsed)
    }

    /// The stored bytes of segments, in their order: those in memory, and others in the requests that cost least.
    pub(super) fn fetch(&self, segments: &[Segment]) -> Result<Vec<Bytes>> {
        let _running = self.opener.enter()?;
        let mut found: Vec<Option<Bytes>> = {
            let state = lock(&self.state);
            segments.iter().map(|segment| state.stored(segment)).collect()
        };
        let missing: Vec<usize> = (0..segments.len()).filter(|at| found[*at].is_none()).collect();
        if !missing.is_empty() {
            self.check_process()?;
        }
        if let [only] = missing.as_slice() {
            let segment = &segments[*only];
            found[*only] = Some(self.object(segment.pack).read_range(range(segment))?);
        } else if !missing.is_empty() {
            self.fetch_missing(segments, &missing, &mut found)?;
        }
        let checked = segments.iter().zip(found).map(|(segment, bytes)| {
            let bytes = bytes.ok_or_else(|| Error::internal("a segment was not read"))?;
            if check_sum(&bytes) != segment.check_sum {
                let Range { start, end } = range(segment);
                return Err(Error::corrupt(format!("bytes {start} to {end} differ from what was written"))
                    .at(self.store.url(&self.path(segment.pack))));
            }
            Ok(bytes)
        });
        checked.collect()
    }

    fn object(&self, pack: u128) -> Object {
        self.store.object(self.path(pack))
    }

    fn fetch_missing(&self, segments: &[Segment], missing: &[usize], found: &mut [Option<Bytes>]) -> Result<()> {
        let mut packs: Vec<u128> = missing.iter().map(|at| segments[*at].pack).collect();
        packs.sort_unstable();
        packs.dedup();
        let file = |pack: u128| packs.binary_search(&pack).unwrap_or_default() as u32;
        let mut wanted: Vec<Wanted> = missing
            .iter()
            .map(|at| Wanted { file: file(segments[*at].pack), range: range(&segments[*at]) })
            .filter(|wanted| !wanted.range.is_empty())
            .collect();
        wanted.sort_by_key(|wanted| (wanted.file, wanted.range.start, wanted.range.end));
        // Files that are copies have one content.
        wanted.dedup();
        let job = &self.store.job;
        let plan = plan_requests(&wanted, &job.options().ranges, &self.store.profile());
        let fetcher = Fetcher::start(packs.iter().map(|pack| self.object(*pack)).collect(), &plan, job)?;
        for at in missing {
            let segment = &segments[*at];
            let bytes = match segment.len {
                0 => Bytes::new(),
                _ => fetcher.bytes(file(segment.pack), range(segment))?,
            };
            found[*at] = Some(bytes);
        }
        Ok(())
    }

    /// Runs a read again where a pack is gone that the newest version does not need any more.
    pub(super) fn with_newest<T>(&self, mut read: impl FnMut() -> Result<T>) -> Result<T> {
        match read() {
            Err(error)
                if error.kind() == ErrorKind::NotFound
                    && error.location().is_some_and(|place| place.ends_with(".pack")) =>
            {
                self.refresh()?;
                read()
            }
            other => other,
        }
    }

    /// The packs that there are.
    pub(super) fn packs(&self) -> Result<Vec<ListedPack>> {
        let listed = self.store.list(&self.root.clone().join("packs"))?;
        let pack = |info: ObjectInfo| {
            let name = info.path.filename()?.strip_suffix(".pack")?;
            let id = u128::from_str_radix(name, 16).ok()?;
            Some(ListedPack { id, path: info.path.clone(), bytes: info.size_bytes, modified_ms: info.modified })
        };
        Ok(listed.into_iter().filter_map(pack).collect())
    }
}

/// A pack as the store lists it.
pub(super) struct ListedPack {
    pub(super) id: u128,
    pub(super) path: Path,
    pub(super) bytes: u64,
    /// When it was sent, in milliseconds since 1970-01-01 UTC.
    pub(super) modified_ms: i64,
}

impl ReadState {
    fn seal(&mut self) -> Result<Option<Arc<SealedPack>>> {
        let Some(open) = self.open.take() else { return Ok(None) };
        let sealed = Arc::new(open.seal()?);
        self.unsent.push(Arc::clone(&sealed));
        Ok(Some(sealed))
    }

    /// The stored bytes of a segment that is in memory.
    fn stored(&self, segment: &Segment) -> Option<Bytes> {
        if segment.len == 0 {
            return Some(Bytes::new());
        }
        if let Some(open) = self.open.as_ref().filter(|open| open.id == segment.pack) {
            return open.stored(segment.start, segment.len).map(Bytes::copy_from_slice);
        }
        let pack = self.unsent.iter().find(|pack| pack.id == segment.pack)?;
        let Range { start, end } = range(segment);
        Some(pack.bytes.slice(usize::try_from(start).ok()?..usize::try_from(end).ok()?))
    }
}

pub(super) fn range(segment: &Segment) -> Range<u64> {
    segment.start..segment.start + u64::from(segment.len)
}

/// Makes the facts of a file from its entry in the index.
pub(super) fn stat(name: &str, entry: &IndexEntry) -> Stat {
    Stat {
        name: name.to_owned(),
        size: entry.size,
        mtime_ms: entry.mtime_ms,
        checksum: Some(entry.checksum),
        encoding: entry.encoding.to_string(),
        metadata: entry.metadata.clone(),
    }
}

/// The composed form of a name, if another file has that name.
pub(super) fn alike(names: &StoreNames, name: &str) -> Result<Option<String>> {
    let Some(composed) = composed(name) else { return Ok(None) };
    Ok(names.find(&composed)?.map(|_| composed))
}
