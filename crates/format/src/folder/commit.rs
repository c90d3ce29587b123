//! Committing files to a folder whose objects appear one by one.

use bytes::Bytes;
use lakerace_io::object_store::path::Path;
use lakerace_io::option::MODE;
use lakerace_io::{Error, ErrorKind, IfExists, Job, JobStore, Output, Result, Unpublished, WriteMode};

use super::listing::{list, list_once, relative};
use super::marker::{Marker, MarkerState, new_name};

/// A copy under way: its files are sent, and wait to be made visible.
pub(super) struct FolderCommit {
    store: JobStore,
    folder: Path,
    mode: WriteMode,
    outputs: Vec<Unpublished>,
    names: Vec<String>,
}

impl FolderCommit {
    /// Starts a copy; the mode is checked here, and for `Error` again at the end.
    pub(super) fn new(store: &JobStore, folder: &Path, mode: WriteMode) -> Result<Self> {
        let commit =
            Self { store: store.clone(), folder: folder.clone(), mode, outputs: Vec::new(), names: Vec::new() };
        commit.check_empty()?;
        Ok(commit)
    }

    fn check_empty(&self) -> Result<()> {
        if self.mode == WriteMode::Error && !list(&self.store, &self.folder)?.is_empty() {
            return Err(Error::conflict("the folder already exists and is not empty")
                .at(self.store.url(&self.folder))
                .advice(format!("choose another folder, or use {} or {}", MODE.to("append"), MODE.to("overwrite"))));
        }
        Ok(())
    }

    /// Returns true if the folder has files.
    pub(super) fn holds_files(&self) -> Result<bool> {
        Ok(!list(&self.store, &self.folder)?.is_empty())
    }

    /// A new object of this name in the folder.
    pub(super) fn output(&self, name: &str, if_exists: IfExists) -> Result<Output> {
        Output::create(&self.store, &self.path(name)?, if_exists)
    }

    /// True for a folder of this machine.
    pub(super) fn has_local_files(&self) -> bool {
        self.store.has_local_files()
    }

    /// Takes a file that is complete.
    pub(super) fn add(&mut self, output: Unpublished) {
        let url = output.url();
        let folder = self.store.url(&self.folder);
        let name = url.strip_prefix(&folder).map_or(url, |below| below.trim_start_matches('/'));
        self.names.push(name.to_owned());
        self.outputs.push(output);
    }

    /// Makes the files visible, all together for readers of markers; returns their URLs.
    pub(super) fn publish(mut self) -> Result<Vec<String>> {
        self.check_empty()?;
        let removes = self.removes()?;
        let urls = self.outputs.iter().map(|output| output.url().to_owned()).collect();
        let outputs = std::mem::take(&mut self.outputs);
        if outputs.len() == 1 && removes.is_empty() {
            // A single file is atomic without a marker.
            return outputs.into_iter().try_for_each(Unpublished::publish).map(|()| urls);
        }
        let marker_name = new_name();
        let mut marker = Marker { state: MarkerState::Pending, adds: self.names.clone(), removes };
        self.put(&marker_name, &marker)?;
        // The marker below gets its state when their names are on the disk.
        if let Err(error) = outputs.into_iter().try_for_each(Unpublished::publish_in_group) {
            self.take_back(&marker_name);
            return Err(error);
        }
        marker.state = MarkerState::Committed;
        if let Err(error) = self.put(&marker_name, &marker) {
            return Err(self.after_failed_commit(&marker_name, error));
        }
        self.tidy_up(&marker_name, &marker.removes);
        Ok(urls)
    }

    /// Lists the files that this copy replaces: those that count now, and the markers that said so.
    fn removes(&self) -> Result<Vec<String>> {
        if self.mode != WriteMode::Overwrite {
            return Ok(Vec::new());
        }
        let (files, markers) = list_once(&self.store, &self.folder)?;
        let files = files.iter().map(|file| relative(&self.folder, &file.path));
        // A pending marker's copy may be under way still: it is not ours to end.
        let (mut removes, mut ended): (Vec<_>, Vec<_>) = (files.collect(), Vec::new());
        for name in markers {
            let marker = self.read(&name)?;
            if marker.state == MarkerState::Committed {
                // The files that it removes may still exist, and only this marker hides them.
                removes.extend(marker.removes);
                ended.push(name);
            }
        }
        // Files are removed first, then the markers that hide them.
        removes.append(&mut ended);
        Ok(removes)
    }

    fn put(&self, name: &str, marker: &Marker) -> Result<()> {
        let json = serde_json::to_vec(marker).map_err(Error::unexpected)?;
        let mut output = self.output(name, IfExists::Replace)?;
        output.write(Bytes::from(json))?;
        output.finish()
    }

    fn read(&self, name: &str) -> Result<Marker> {
        let tail = self.store.object(self.path(name)?).read_tail(u64::from(u32::MAX))?;
        serde_json::from_slice(&tail.bytes).map_err(|e| Error::corrupt("not a marker").because(e).at(name))
    }

    /// Removes the files when nothing was committed, and then the marker that hides them.
    fn take_back(&self, marker: &str) {
        let patient = self.uncancelled();
        let removed = self.names.iter().all(|name| patient.is_gone_after_removal(name));
        if removed && self.store.job.sync_folders().is_ok() {
            patient.is_gone_after_removal(marker);
        }
    }

    /// The decisive PUT failed, or only its answer got lost. Nothing is removed: the marker decides if the files count,
    /// and a PUT that is still on its way does no harm.
    fn after_failed_commit(&self, marker: &str, error: Error) -> Error {
        let patient = self.uncancelled();
        match patient.read(marker).map(|found| found.state) {
            Ok(MarkerState::Committed) => {
                let outcome = "the copy has taken effect, but the files that it replaces could not be removed";
                Error::new(error.kind(), outcome).at(self.store.url(&self.folder)).caused_by(error)
            }
            _ => Error::new(error.kind(), format!("the copy could not be committed: {error}"))
                .at(self.store.url(&self.folder))
                .advice(format!("run it again; until then, {marker} hides its files from readers"))
                .caused_by(error),
        }
    }

    /// Cleans up after the copy is complete. Files that can't be removed are ignored by readers as long as the marker
    /// exists: it is removed only when the removal of the others is durable.
    fn tidy_up(&self, marker: &str, removes: &[String]) {
        let patient = self.uncancelled();
        let are_gone = removes.iter().filter(|name| !patient.is_gone_after_removal(name)).count() == 0;
        if are_gone && self.store.job.sync_folders().is_ok() {
            patient.is_gone_after_removal(marker);
        }
    }

    fn is_gone_after_removal(&self, name: &str) -> bool {
        match self.path(name).and_then(|path| self.store.delete_in_group(&path)) {
            Ok(()) => true,
            Err(error) => error.kind() == ErrorKind::NotFound,
        }
    }

    /// Returns the commit with a job that is not cancelled: the started work is to be completed.
    fn uncancelled(&self) -> Self {
        let mut store = self.store.clone();
        store.job = Job::new(self.store.job.options().clone());
        Self { store, folder: self.folder.clone(), mode: self.mode, outputs: Vec::new(), names: self.names.clone() }
    }

    fn path(&self, name: &str) -> Result<Path> {
        let folder = self.folder.as_ref();
        let text = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        Path::parse(&text).map_err(|e| Error::internal(&text).because(e))
    }
}
