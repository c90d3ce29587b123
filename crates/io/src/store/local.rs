//! Files of this machine as an [`ObjectStore`] rooted at `/`.
//!
//! `object_store` has one as well, which refuses and hides names that end in `#` and digits (it writes under such
//! names), and silently skips names that are not UTF-8. This one supports every name that is UTF-8 and has no control
//! characters, and writes files under hidden names.

use std::fs::{DirEntry, File, Metadata};
use std::io::Write;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use object_store::path::Path;
use object_store::{
    Attributes, CopyMode, CopyOptions, Error, GetOptions, GetRange, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    RenameOptions, RenameTargetMode, Result, UploadPart,
};

use super::object_info::ObjectInfo;
use crate::error::Result as OwnResult;
use crate::job::Job;
use crate::open_files::{FileIdentity, open_or_make_room};
use crate::output::hidden_file::{HiddenFile, is_hidden_name, make_folders, rename_if_absent};
use crate::path::file_path;
use crate::read_permit::ReadPermit;

/// See the [module](self).
#[derive(Debug, Clone)]
pub(crate) struct LocalStore {
    /// Whose durability files have.
    pub(crate) job: Job,
}

impl LocalStore {
    fn permit(&self, path: &std::path::Path) -> Result<ReadPermit> {
        ReadPermit::take(&self.job).map_err(|e| io_error(std::io::Error::other(e), path))
    }
}

impl std::fmt::Display for LocalStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LocalStore")
    }
}

/// Bytes of an answer that are read together. The file is closed between two of these reads.
const PIECE_BYTES: u64 = 4 << 20;

/// The tag of a file.
pub(crate) fn e_tag(metadata: &Metadata) -> String {
    FileIdentity::from_metadata(metadata).e_tag()
}

/// Opens a regular file. Anything else is an error: a folder, and a pipe, because opening or reading it would block.
pub(crate) fn open_file(path: &std::path::Path) -> std::io::Result<(File, Metadata)> {
    let open = || File::options().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let file = open_or_make_room(open).map_err(|error| {
        // The error for a socket.
        if error.raw_os_error() == Some(libc::ENXIO) { not_a_file() } else { error }
    })?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(not_a_file());
    }
    Ok((file, metadata))
}

/// The rest of an answer, read on demand.
struct LocalBody {
    store: LocalStore,
    path: PathBuf,
    version: FileIdentity,
    left: Range<u64>,
}

impl LocalBody {
    /// The next piece, of the same version of the file; `None` at the end.
    fn next(&mut self) -> Result<Option<Bytes>> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let permit = self.store.permit(&self.path)?;
        let (file, metadata) = open_file(&self.path).map_err(|e| io_error(e, &self.path))?;
        if FileIdentity::from_metadata(&metadata) != self.version {
            let (path, source) = (self.path.display().to_string(), "it was replaced while it was read".into());
            return Err(Error::Precondition { path, source });
        }
        let piece = self.read(&file);
        drop((file, permit));
        piece
    }

    fn read(&mut self, file: &File) -> Result<Option<Bytes>> {
        let mut piece = vec![0; (self.left.end - self.left.start).min(PIECE_BYTES) as usize];
        if piece.is_empty() {
            return Ok(None);
        }
        file.read_exact_at(&mut piece, self.left.start).map_err(|e| io_error(e, &self.path))?;
        self.left.start += piece.len() as u64;
        Ok(Some(piece.into()))
    }
}

pub(super) fn not_a_file() -> std::io::Error {
    let message = "it is a pipe, a socket or a device, but a folder may only contain regular files: name the files with a pattern, or read a pipe by its own name";
    std::io::Error::new(std::io::ErrorKind::InvalidInput, message)
}

fn io_error(error: std::io::Error, path: &std::path::Path) -> Error {
    let name = path.display().to_string();
    match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            Error::NotFound { path: name, source: Box::new(error) }
        }
        std::io::ErrorKind::AlreadyExists => Error::AlreadyExists { path: name, source: Box::new(error) },
        _ => Error::Generic { store: "Local", source: Box::new(error) },
    }
}

fn object_meta(metadata: &Metadata, location: Path) -> ObjectMeta {
    ObjectMeta {
        location,
        last_modified: metadata.modified().map(Into::into).unwrap_or_default(),
        size: metadata.len(),
        e_tag: Some(e_tag(metadata)),
        version: None,
    }
}

fn invalid_range(range: &GetRange, size: u64) -> Error {
    let text = format!("range {range} of a file of {size} bytes");
    Error::Generic { store: "Local", source: Box::new(std::io::Error::new(std::io::ErrorKind::UnexpectedEof, text)) }
}

/// The bytes that a request for `range` returns of an object of `size` bytes; `None` if the range starts after the end.
pub(crate) fn resolve_range(range: Option<&GetRange>, size: u64) -> Option<Range<u64>> {
    match range {
        None => Some(0..size),
        Some(GetRange::Bounded(r)) if r.start >= size || r.end <= r.start => None,
        Some(GetRange::Bounded(r)) => Some(r.start..r.end.min(size)),
        Some(GetRange::Offset(start)) if *start >= size => None,
        Some(GetRange::Offset(start)) => Some(*start..size),
        Some(GetRange::Suffix(n)) => Some(size.saturating_sub(*n)..size),
    }
}

#[async_trait]
impl ObjectStore for LocalStore {
    async fn put_opts(&self, location: &Path, payload: PutPayload, opts: PutOptions) -> Result<PutResult> {
        if matches!(opts.mode, PutMode::Update(_)) || !opts.attributes.is_empty() {
            return Err(not_implemented("put_opts with a tag or attributes"));
        }
        let path = file_path(location);
        let mut hidden = HiddenFile::create(path.clone(), &self.job).map_err(|e| io_error(e, &path))?;
        let write = |mut file: &File| payload.iter().try_for_each(|chunk| file.write_all(chunk));
        hidden.file().and_then(write).map_err(|e| io_error(e, &path))?;
        publish(&mut hidden, &path, !matches!(opts.mode, PutMode::Create))
    }

    async fn put_multipart_opts(&self, location: &Path, opts: PutMultipartOptions) -> Result<Box<dyn MultipartUpload>> {
        if !opts.attributes.is_empty() {
            return Err(not_implemented("put_multipart_opts with attributes"));
        }
        let path = file_path(location);
        let hidden = HiddenFile::create(path.clone(), &self.job).map_err(|e| io_error(e, &path))?;
        let file = hidden.file().and_then(File::try_clone).map_err(|e| io_error(e, &path))?;
        Ok(Box::new(LocalUpload { hidden: Some(hidden), file: Arc::new(file), path, next_offset: 0 }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let path = file_path(location);
        // Opening is a matter of microseconds on a local disk: no thread is changed for it.
        let permit = self.permit(&path)?;
        let (file, metadata) = open_file(&path).map_err(|e| io_error(e, &path))?;
        let meta = object_meta(&metadata, location.clone());
        options.check_preconditions(&meta)?;
        let range = match resolve_range(options.range.as_ref(), meta.size) {
            Some(range) => range,
            None => {
                return Err(options.range.map_or(Error::Generic { store: "Local", source: "no range".into() }, |r| {
                    invalid_range(&r, meta.size)
                }));
            }
        };
        let left = if options.head { 0..0 } else { range.clone() };
        let mut body = LocalBody { store: self.clone(), path, version: FileIdentity::from_metadata(&metadata), left };
        // A small file that is replaced from now on is whole.
        let first = body.read(&file)?;
        drop((file, permit));
        let rest = stream::try_unfold(body, |mut body| async move { Ok(body.next()?.map(|piece| (piece, body))) });
        let pieces = stream::iter(first.map(Ok)).chain(rest);
        Ok(GetResult {
            payload: GetResultPayload::Stream(pieces.boxed()),
            meta,
            range,
            attributes: Attributes::default(),
            extensions: Default::default(),
        })
    }

    fn delete_stream(&self, locations: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        let job = self.job.clone();
        locations
            .map(move |location| {
                let location = location?;
                let path = file_path(&location);
                std::fs::remove_file(&path).map_err(|e| io_error(e, &path))?;
                job.note_name(&path);
                Ok(location)
            })
            .boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let root = file_path(prefix.unwrap_or(&Path::ROOT));
        let start = if root.is_dir() { vec![root] } else { Vec::new() };
        let walk = TreeWalk { folders: start, files: Vec::new() };
        stream::iter(walk).boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let root = file_path(prefix.unwrap_or(&Path::ROOT));
        let mut listed =
            ListResult { common_prefixes: Vec::new(), objects: Vec::new(), extensions: Default::default() };
        if !root.is_dir() {
            return Ok(listed);
        }
        for entry in read_folder(&root)? {
            match entry? {
                LocalEntry::Folder(path) => listed.common_prefixes.push(location_of(&path)?),
                LocalEntry::Link(_) | LocalEntry::DeadLink(_) => {}
                LocalEntry::File(meta) => listed.objects.push(meta),
            }
        }
        Ok(listed)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        let (from, to) = (file_path(from), file_path(to));
        let (mut source, _) = open_file(&from).map_err(|e| io_error(e, &from))?;
        let mut hidden = HiddenFile::create(to.clone(), &self.job).map_err(|e| io_error(e, &to))?;
        let copy = |mut file: &File| std::io::copy(&mut source, &mut file);
        hidden.file().and_then(copy).map_err(|e| io_error(e, &to))?;
        publish(&mut hidden, &to, matches!(options.mode, CopyMode::Overwrite)).map(drop)
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        let (from, to) = (file_path(from), file_path(to));
        let made = match to.parent() {
            Some(folder) => make_folders(folder).map_err(|e| io_error(e, &to))?,
            None => Vec::new(),
        };
        match options.target_mode {
            RenameTargetMode::Overwrite => std::fs::rename(&from, &to).map_err(|e| io_error(e, &from)),
            RenameTargetMode::Create => rename_if_absent(&from, &to).map_err(|e| io_error(e, &to)),
        }?;
        made.iter().chain([&from, &to]).for_each(|path| self.job.note_name(path));
        synced(self.job.sync_folders(), &to)
    }
}

fn not_implemented(operation: &str) -> Error {
    Error::NotImplemented { operation: operation.to_owned(), implementer: "LocalStore".to_owned() }
}

fn synced(outcome: OwnResult<()>, path: &std::path::Path) -> Result<()> {
    outcome.map_err(|e| io_error(std::io::Error::other(e), path))
}

fn publish(hidden: &mut HiddenFile, path: &std::path::Path, replace: bool) -> Result<PutResult> {
    let tag = hidden.file().and_then(File::metadata).map(|m| e_tag(&m));
    hidden.publish(replace).map_err(|e| io_error(e, path))?;
    Ok(PutResult { e_tag: tag.ok(), version: None, extensions: Default::default() })
}

/// Parts written to their places in a hidden file.
#[derive(Debug)]
struct LocalUpload {
    /// `None` once complete or given up.
    hidden: Option<HiddenFile>,
    file: Arc<File>,
    path: PathBuf,
    next_offset: u64,
}

#[async_trait]
impl MultipartUpload for LocalUpload {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let (file, path) = (Arc::clone(&self.file), self.path.clone());
        let mut offset = self.next_offset;
        self.next_offset += data.content_length() as u64;
        Box::pin(async move {
            for chunk in data.iter() {
                file.write_all_at(chunk, offset).map_err(|e| io_error(e, &path))?;
                offset += chunk.len() as u64;
            }
            Ok(())
        })
    }

    async fn complete(&mut self) -> Result<PutResult> {
        let gone = || io_error(std::io::ErrorKind::InvalidInput.into(), &self.path);
        publish(&mut self.hidden.take().ok_or_else(gone)?, &self.path, true)
    }

    async fn abort(&mut self) -> Result<()> {
        self.hidden = None;
        Ok(())
    }
}

/// Lists a tree, one folder at a time. A link to a file is a file. A link to a folder is left out, because its target
/// has another name. So is a dead link.
struct TreeWalk {
    folders: Vec<PathBuf>,
    files: Vec<Result<ObjectMeta>>,
}

impl Iterator for TreeWalk {
    type Item = Result<ObjectMeta>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(file) = self.files.pop() {
                return Some(file);
            }
            let folder = self.folders.pop()?;
            match read_folder(&folder) {
                Err(e) => return Some(Err(e)),
                Ok(entries) => {
                    for entry in entries {
                        match entry {
                            Ok(LocalEntry::Folder(path)) => self.folders.push(path),
                            Ok(LocalEntry::Link(_) | LocalEntry::DeadLink(_)) => {}
                            Ok(LocalEntry::File(meta)) => self.files.push(Ok(meta)),
                            Err(e) => self.files.push(Err(e)),
                        }
                    }
                }
            }
        }
    }
}

/// An entry of a folder.
pub(crate) enum LocalEntry {
    Folder(PathBuf),
    /// A symbolic link to a folder.
    Link(PathBuf),
    /// A dead symbolic link, with the properties of the link itself.
    DeadLink(ObjectMeta),
    File(ObjectMeta),
}

pub(crate) fn read_folder(folder: &std::path::Path) -> Result<Vec<Result<LocalEntry>>> {
    let read = open_or_make_room(|| std::fs::read_dir(folder)).map_err(|e| io_error(e, folder))?;
    Ok(read.filter_map(|entry| entry.map_err(|e| io_error(e, folder)).and_then(read_entry).transpose()).collect())
}

fn read_entry(entry: DirEntry) -> Result<Option<LocalEntry>> {
    let path = entry.path();
    if entry.file_name().to_str().is_some_and(is_hidden_name) {
        return Ok(None);
    }
    let metadata = match std::fs::metadata(&path) {
        Ok(metadata) => metadata,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            let is_link = |link: &std::fs::Metadata| link.file_type().is_symlink();
            // Else the file was removed in the meantime.
            let Some(link) = std::fs::symlink_metadata(&path).ok().filter(is_link) else { return Ok(None) };
            return Ok(Some(LocalEntry::DeadLink(object_meta(&link, location_of(&path)?))));
        }
        Err(e) if e.raw_os_error() == Some(libc::ELOOP) => {
            let named = crate::error::Error::from(e).at(path.display());
            return Err(io_error(std::io::Error::other(named), &path));
        }
        Err(e) => return Err(io_error(e, &path)),
    };
    if metadata.is_dir() {
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        return Ok(Some(if is_link { LocalEntry::Link(path) } else { LocalEntry::Folder(path) }));
    }
    let location = location_of(&path)?;
    Ok(Some(LocalEntry::File(object_meta(&metadata, location))))
}

/// The files below a folder that were left under hidden names, or are being written.
pub(crate) fn orphaned_files(folder: &std::path::Path) -> Result<Vec<ObjectInfo>> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            other => other.map_err(|e| io_error(e, &folder))?,
        };
        for entry in entries {
            let entry = entry.map_err(|e| io_error(e, &folder))?;
            let (path, name) = (entry.path(), entry.file_name());
            // Links are not followed: their targets may belong to others.
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => folders.push(path),
                Ok(metadata) if name.to_str().is_some_and(is_hidden_name) => {
                    found.push(object_meta(&metadata, location_of(&path)?).into());
                }
                Ok(_) => {}
                // Finished, or removed, in the meantime.
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
                Err(e) => return Err(io_error(e, &path)),
            }
        }
    }
    Ok(found)
}

pub(crate) fn location_of(path: &std::path::Path) -> Result<Path> {
    let name = path.to_str().ok_or_else(|| Error::Generic {
        store: "Local",
        source: Box::new(std::io::Error::new(
            std::io::ErrorKind::Unsupported,
            format!("the name {} is not valid UTF-8", path.display()),
        )),
    })?;
    Ok(Path::parse(name)?)
}
