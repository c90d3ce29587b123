//! Trees of the local file system, into a store and out of it.

use std::path::Path;

use lakerace_io::{DurabilityLevel, Error, ErrorKind, Result};

use crate::home::{IfExists, Progress, PutOptions};
use crate::import::FileImport;
use crate::name::shown;
use crate::own::is_same;
use crate::store::{Store, folder_prefix};
use crate::stream::{WHOLE_BYTES, go_on};

impl Store {
    /// Puts all files below `tree`, a directory, under `folder`; says how many files and bytes these are. Symbolic links, pipes and
    /// devices are skipped, and so is the store itself. A file that grows in the meantime is taken as long as it was at its opening.
    /// Files become visible some thousands at a time.
    pub fn import_tree(
        &self,
        tree: &Path,
        folder: &str,
        options: &PutOptions,
        progress: Progress<'_>,
    ) -> Result<(u64, u64)> {
        let prefix = folder_prefix(folder);
        let passed_over = self.own().passed_over(tree, &prefix)?;
        let mut import = FileImport::new(self, prefix, options, progress);
        let mut folders = vec![(tree.to_owned(), String::new())];
        // The last is taken first: folders go in the reverse order of names.
        while let Some((path, below)) = folders.pop() {
            let mut names = Vec::new();
            for entry in std::fs::read_dir(&path).map_err(|e| Error::from(e).at(path.display()))? {
                let entry = entry.map_err(|e| Error::from(e).at(path.display()))?;
                let kind = entry.file_type().map_err(|e| Error::from(e).at(path.display()))?;
                let name = entry.file_name().into_string().map_err(|_| {
                    Error::invalid("the name is not valid UTF-8, which a store requires").at(entry.path().display())
                })?;
                names.push((name, kind));
            }
            names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            let mut inner = Vec::new();
            for (name, kind) in names {
                let (path, below) = (path.join(&name), format!("{below}{name}"));
                if !kind.is_dir() && !kind.is_file() {
                    continue;
                }
                // Before it is opened: SQLite's locks go when the process closes one of its files.
                let found = std::fs::symlink_metadata(&path).map_err(|e| Error::from(e).at(path.display()))?;
                match kind.is_dir() {
                    true if passed_over.as_ref().is_some_and(|own| is_same(&found, own)) => {}
                    true => inner.push((path, format!("{below}/"))),
                    false if self.own().is_file(name.as_ref(), &found) => {}
                    false => import.file(&path, &below)?,
                }
            }
            folders.extend(inner.into_iter().rev());
        }
        import.end()
    }

    /// Writes all files of `folder` below `tree`, a directory that is created if it doesn't exist, and returns the
    /// number of files and their bytes. An existing file is replaced, or an error, by `if_exists`. An existing pipe,
    /// device or symbolic link is an error. Where the tree is in the store's own directory, the store's files in the
    /// tree are skipped. For full durability, the file system is synced at the end, once for all files.
    pub fn export_tree(
        &self,
        folder: &str,
        (tree, durability): (&Path, DurabilityLevel),
        if_exists: IfExists,
        progress: Progress<'_>,
    ) -> Result<(u64, u64)> {
        let prefix = folder_prefix(folder);
        self.check_folder(&prefix)?;
        let target = Store::open(
            &format!("dir:{}", tree.display()),
            crate::options::Options { read_only: false, ..crate::options::Options::default() },
        )?;
        let own_part = self.own().name_of(tree).map(|name| format!("{name}/"));
        let (mut files, mut bytes) = (0, 0);
        let mut buffer = vec![0; 1 << 20];
        self.each(&prefix, &mut |stat| {
            if own_part.as_ref().is_some_and(|own| stat.name.starts_with(own)) {
                return Ok(true);
            }
            let options = PutOptions { if_exists, mtime_ms: Some(stat.mtime_ms), ..PutOptions::default() };
            let name = &stat.name[prefix.len()..];
            self.check_target(tree, name)?;
            let written = match stat.size <= WHOLE_BYTES {
                true => self.get(&stat.name).and_then(|content| target.put(name, &content, &options)),
                false => self.copy_to(&stat.name, &target, name, &options, &mut buffer),
            };
            written.map_err(|e| in_the_way(e, tree, name))?;
            files += 1;
            bytes += stat.size;
            go_on(progress(files, bytes)).map(|()| true)
        })?;
        if durability == DurabilityLevel::Full {
            target.flush()?;
        }
        Ok((files, bytes))
    }

    /// An error where no file is in a folder; a store without files is as good as any.
    pub(crate) fn check_folder(&self, prefix: &str) -> Result<()> {
        match prefix.is_empty() || !self.home().list(prefix, "", 1)?.is_empty() {
            true => Ok(()),
            false => Err(Error::not_found("the folder does not exist").at(shown(prefix))),
        }
    }

    /// An error where a file of a tree would take the place of something else than a file, or of the store.
    fn check_target(&self, tree: &Path, name: &str) -> Result<()> {
        let path = tree.join(name);
        let Ok(found) = std::fs::symlink_metadata(&path) else { return Ok(()) };
        if !found.is_file() && !found.is_dir() {
            return Err(Error::unsupported("a pipe, a device or a symbolic link has this name")
                .at(shown(name))
                .advice("remove it, or choose another directory"));
        }
        self.own().refuse(&path)
    }

    /// Copies a large content to another store.
    fn copy_to(&self, from: &str, to: &Store, name: &str, options: &PutOptions, buffer: &mut [u8]) -> Result<()> {
        let mut content = self.open_read(from)?;
        let mut out = to.create(name, options)?;
        let mut at = 0;
        loop {
            let len = content.read_at(at, buffer)?;
            if len == 0 {
                return out.finish();
            }
            out.write(&buffer[..len])?;
            at += len as u64;
        }
    }
}

/// Adds advice where a directory can't have a file of this name: a folder has the same name, or a file has the name of
/// a folder.
fn in_the_way(error: Error, tree: &Path, name: &str) -> Error {
    match error.kind() {
        ErrorKind::Conflict if !tree.join(name).is_file() => {
            error.advice("export to an archive, such as .tar, or rename one of the two")
        }
        _ => error,
    }
}
