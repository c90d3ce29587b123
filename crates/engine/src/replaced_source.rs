//! Files of a source that a job would replace.

use lakerace_format::ReadPlan;
use lakerace_io::object_store::path::Path;
use lakerace_io::{Error, Job, JobStore, Location, Pipe, RemoteStore, Result, StorageOptions};

use crate::resolve::{LocationKind, parse_path};

/// A file that is replaced, or a folder whose files are.
pub(crate) struct ReplacedPlace<'a> {
    /// As the user wrote it.
    pub name: &'a str,
    pub store: &'a JobStore,
    pub path: &'a Path,
    pub is_folder: bool,
}

impl ReplacedPlace<'_> {
    /// Checks that no file of a plan is replaced. `source` is the location of the plan.
    ///
    /// # Errors
    /// `Usage` for such a file, and those of the source's location.
    pub fn check_sources(&self, source: &str, plan: &ReadPlan, storage: &StorageOptions, job: &Job) -> Result<()> {
        let target = self.real_name(&self.store.url(self.path));
        let is_replaced = |url: &str| {
            let source = self.real_name(url);
            match source.strip_prefix(&target) {
                Some(rest) if self.is_folder => target.is_empty() || target.ends_with('/') || rest.starts_with('/'),
                Some(rest) => rest.is_empty(),
                None => false,
            }
        };
        let Some(file) = plan.files.iter().find(|file| is_replaced(&file.url)) else { return Ok(()) };
        if is_on_other_server(source, self.store.remote.as_deref(), storage, job)? {
            return Ok(());
        }
        Err(Error::usage(format!("the job would replace its own source {}", file.url))
            .at(self.name)
            .advice("choose another target"))
    }

    /// The path of a local file without symbolic links.
    fn real_name(&self, url: &str) -> String {
        if !self.store.has_local_files() {
            return url.to_owned();
        }
        std::fs::canonicalize(url).ok().and_then(|p| p.to_str().map(str::to_owned)).unwrap_or_else(|| url.to_owned())
    }
}

/// Checks that a file that is to be replaced is none of those of a plan. `source` is the location of the plan.
///
/// # Errors
/// `Usage` if it is one, and those of both locations.
pub(crate) fn check_file(
    target: &str,
    source: &str,
    plan: &ReadPlan,
    storage: &StorageOptions,
    job: &Job,
) -> Result<()> {
    let (store, path) = Location::parse(target)?.open(storage, job)?;
    let place = ReplacedPlace { name: target, store: &store, path: &path, is_folder: false };
    place.check_sources(source, plan, storage, job)
}

/// Returns true if source and target are on different servers, as two connections may be: then equal URLs are different files.
fn is_on_other_server(source: &str, target: Option<&RemoteStore>, storage: &StorageOptions, job: &Job) -> Result<bool> {
    let Some(target) = target else { return Ok(false) };
    let location = match LocationKind::classify(source) {
        LocationKind::Table { folder } => parse_path(folder)?,
        LocationKind::Path if !Pipe::is_named(source) => parse_path(source)?,
        LocationKind::Path | LocationKind::Tpch | LocationKind::Database(_) => return Ok(false),
    };
    // The scan has opened it, too: this sends no request.
    let (source, _) = location.open(storage, job)?;
    Ok(source.remote.is_some_and(|source| source.identity.endpoint != target.identity.endpoint))
}
