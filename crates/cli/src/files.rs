//! `lakerace files`.

mod input;
mod show;

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lakerace::{DurabilityLevel, Error, Result, WriteMode, check_new_file};
use lakerace_files::{
    Archive, ArchiveKind, Durability, IfExists, Mount, MountOptions, Options, Progress, PutOptions, SecretKey, Store,
    Transform, local_file,
};
use lakerace_io::option::PACK_SIZE;
use lakerace_io::printable;
use serde_json::json;

use crate::args::{
    ExportArgs, FilesArgs, FilesCommand, FilesStore, GetArgs, ImportArgs, MountArgs, MvArgs, PutArgs, PutEncoding,
    RmArgs,
};
use crate::session::{Session, storage_options};
use crate::stdout::{self, PipeStdout};
use crate::{args::GlobalOptions, human, stderr};
use input::{ImportSource, PutSource};

/// Bytes that are copied in one step.
const PART_BYTES: usize = 1 << 20;

/// The least bytes of a content that is written in several steps; shorter ones are put in one call.
const WHOLE_BYTES: usize = 16 << 20;

/// The interval at which a mount checks for its end.
const MOUNT_POLL: Duration = Duration::from_millis(50);

/// The length of a key, and one more byte, by which a longer file is recognised.
const KEY_BYTES: u64 = 33;

/// Runs the command and returns the exit code.
pub(crate) fn run(args: &FilesArgs, global: GlobalOptions) -> Result<u8> {
    let store = match &args.command {
        FilesCommand::Put(args) => &args.store,
        FilesCommand::Get(args) => &args.store,
        FilesCommand::Ls(args) => &args.store,
        FilesCommand::Rm(args) => &args.store,
        FilesCommand::Mv(args) => &args.store,
        FilesCommand::Import(args) => &args.store,
        FilesCommand::Export(args) => &args.store,
        FilesCommand::Stat(args) => &args.store,
        FilesCommand::Mount(args) => &args.store,
        FilesCommand::Verify(store) | FilesCommand::Compact(store) => store,
    };
    // Files outside of the store survive a loss of power, unless an option says otherwise.
    let level = match store.durability {
        None | Some(Durability::Full) => DurabilityLevel::Full,
        Some(Durability::Normal | Durability::Off) => DurabilityLevel::Normal,
    };
    let session = Session::start(global, &store.store).with_durability(level);
    let opened =
        || Ok::<_, Error>(OpenedStore { session: &session, store: Arc::new(open(store, &args.command, &session)?) });
    match &args.command {
        // The source is checked first, so that an unreadable one creates no store.
        FilesCommand::Put(args) => put(args, PutSource::open(args)?, &opened()?),
        FilesCommand::Import(args) => import(args, ImportSource::open(args)?, &opened()?),
        FilesCommand::Get(args) => get(args, &opened()?),
        FilesCommand::Ls(args) => opened().and_then(|opened| show::ls(args, &opened).map_err(opened.named())),
        FilesCommand::Rm(args) => opened().and_then(|opened| rm(args, &opened).map_err(opened.named())),
        FilesCommand::Mv(args) => opened().and_then(|opened| mv(args, &opened).map_err(opened.named())),
        FilesCommand::Export(args) => export(args, &opened()?),
        FilesCommand::Stat(args) => opened().and_then(|opened| show::stat(args, &opened).map_err(opened.named())),
        FilesCommand::Verify(_) => return show::verify(&opened()?),
        FilesCommand::Compact(_) => compact(&opened()?),
        FilesCommand::Mount(args) => mount(args, &opened()?),
    }?;
    Ok(0)
}

/// A store that a command works on.
struct OpenedStore<'a> {
    session: &'a Session,
    store: Arc<Store>,
}

impl OpenedStore<'_> {
    /// Ends the command: with `--json` the report and `more`, else a note.
    fn done(&self, note: &str, files: u64, more: serde_json::Value) -> Result<()> {
        self.store.close()?;
        for warning in self.store.warnings() {
            self.session.job.warn(&warning);
        }
        if self.session.global.json {
            return self.session.done("", files, more);
        }
        if !note.is_empty() {
            self.session.note(note);
        }
        Ok(())
    }

    /// Returns true if a long work continues.
    fn progress(&self) -> impl FnMut(u64, u64) -> bool {
        let job = self.session.job.clone();
        move |_, _| !job.is_cancelled()
    }

    /// Names the store, after the file in it that an error names.
    fn named(&self) -> impl Fn(Error) -> Error {
        let store = self.store.location().to_owned();
        move |error| error.at(&store)
    }

    fn check_cancelled(&self) -> Result<()> {
        if self.session.job.is_cancelled() { Err(Error::cancelled()) } else { Ok(()) }
    }
}

fn open(store: &FilesStore, command: &FilesCommand, session: &Session) -> Result<Store> {
    let encoding = match command {
        FilesCommand::Put(PutArgs { encoding, .. }) | FilesCommand::Import(ImportArgs { encoding, .. }) => {
            Some(encoding)
        }
        _ => None,
    };
    let read_only = matches!(
        command,
        FilesCommand::Get(_)
            | FilesCommand::Ls(_)
            | FilesCommand::Export(_)
            | FilesCommand::Stat(_)
            | FilesCommand::Verify(_)
            | FilesCommand::Mount(_)
    );
    if store.location == "memory:" {
        return Err(Error::usage("is not allowed here: the store would be lost when the command ends")
            .at("memory:")
            .advice("name a file or folder; in Python, a store in memory lasts until it is closed"));
    }
    // The contents of batches are put into blocks, and a new store keeps their size for those.
    if matches!(command, FilesCommand::Put(_))
        && encoding.is_some_and(|encoding| encoding.pack_size.is_some())
        && Path::new(store.location.trim_start_matches("sqlite:")).is_file()
    {
        return Err(Error::usage(format!("{PACK_SIZE} does not apply to a put into an existing store"))
            .at(&store.location)
            .advice("omit it, or use `lakerace files import`"));
    }
    let key = store.key_file.as_deref().map(read_key).transpose()?;
    let options = Options {
        create: encoding.is_some(),
        read_only,
        durability: store.durability.unwrap_or_default(),
        compression: encoding.and_then(|PutEncoding { compression, .. }| *compression),
        pack_bytes: encoding
            .and_then(|encoding| encoding.pack_size)
            .map(|size| u32::try_from(size).unwrap_or(u32::MAX)),
        transforms: store.transform.iter().map(|name| <dyn Transform>::named(name)).collect::<Result<_>>()?,
        encrypt: key.is_some(),
        key,
        storage: storage_options(&store.store),
        ..Options::default()
    };
    lakerace::open_files(&store.location, options, &session.job)
}

fn read_key(path: &Path) -> Result<SecretKey> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(KEY_BYTES).read_to_end(&mut bytes));
    read.map_err(|e| Error::from(e).at(path.display()))?;
    SecretKey::new(&bytes).map_err(|e| e.at(path.display()))
}

fn if_exists(mode: WriteMode) -> IfExists {
    if mode == WriteMode::Overwrite { IfExists::Replace } else { IfExists::Error }
}

/// Names the flag that continues where a name is taken.
fn with_advice(mode: WriteMode, error: Error) -> Error {
    match mode {
        // An error with other advice is not solved by a mode: a folder stays.
        WriteMode::Error if error.kind() == lakerace::ErrorKind::Conflict && error.advice_text().is_none() => {
            error.advice("pass --mode overwrite")
        }
        _ => error,
    }
}

fn put(args: &PutArgs, mut source: PutSource, opened: &OpenedStore<'_>) -> Result<()> {
    let options = PutOptions {
        if_exists: if_exists(args.mode),
        compression: None,
        metadata: args.metadata.clone(),
        mtime_ms: None,
    };
    opened.store.refuse_own(&args.source)?;
    let mut bytes = source.first.len() as u64;
    let done = if source.first.len() < WHOLE_BYTES {
        opened.store.put(&args.name, &source.first, &options)
    } else {
        let mut target = opened.store.create(&args.name, &options)?;
        target.write(&source.first)?;
        let mut buffer = vec![0; PART_BYTES];
        loop {
            opened.check_cancelled()?;
            let len = source.read(&mut buffer)?;
            if len == 0 {
                break;
            }
            target.write(&buffer[..len])?;
            bytes += len as u64;
        }
        target.finish()
    };
    done.map_err(|e| opened.named()(with_advice(args.mode, e)))?;
    opened.done(&format!("put {}", human::bytes(bytes)), 1, json!({ "files": 1, "file_bytes": bytes }))
}

fn get(args: &GetArgs, opened: &OpenedStore<'_>) -> Result<()> {
    if args.output.is_none() && opened.session.global.json {
        return Err(Error::usage("the content and JSON can't both be written to standard output")
            .at(&args.name)
            .advice("name a file with -o, or omit --json"));
    }
    let mut content = opened.store.open_read(&args.name).map_err(opened.named())?;
    let size = content.size();
    let Some(path) = &args.output else {
        let mut out = PipeStdout::lock();
        let failed = |e: std::io::Error| Error::from(e).at("standard output");
        copy(&mut *content, opened, &mut |bytes| out.write_all(bytes).map_err(failed))?;
        return out.flush().map_err(failed);
    };
    opened.store.refuse_own(path)?;
    check_new_file(path, &opened.session.job)?;
    let out = local_file(path, if_exists(args.mode), &opened.session.job);
    let mut out = out.map_err(|e| with_advice(args.mode, e))?;
    copy(&mut *content, opened, &mut |bytes| out.write(bytes))?;
    out.finish().map_err(|e| with_advice(args.mode, e))?;
    opened.done(&format!("wrote {}", human::bytes(size)), 1, json!({ "files": 1, "file_bytes": size }))
}

/// Passes a content to `write`, part by part.
fn copy(
    content: &mut dyn lakerace_files::RandomAccessFile,
    opened: &OpenedStore<'_>,
    write: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut buffer = vec![0; usize::try_from(content.size()).unwrap_or(PART_BYTES).clamp(1, PART_BYTES)];
    let mut at = 0;
    loop {
        opened.check_cancelled()?;
        let len = content.read_at(at, &mut buffer).map_err(opened.named())?;
        if len == 0 {
            return Ok(());
        }
        write(&buffer[..len])?;
        at += len as u64;
    }
}

fn rm(args: &RmArgs, opened: &OpenedStore<'_>) -> Result<()> {
    let store = &opened.store;
    let mut removed = 0;
    for name in &args.names {
        let is_file = store.exists(name)?;
        if is_file {
            store.remove(name)?;
            removed += 1;
        }
        let below = if args.recursive { store.remove_tree(name)? } else { 0 };
        removed += below;
        if !is_file && below == 0 {
            let error = Error::not_found("no such file").at(name);
            let is_folder = !args.recursive && !store.children(name)?.is_empty();
            return Err(if is_folder { error.advice("pass --recursive to remove a folder") } else { error });
        }
    }
    opened.done(&format!("removed {}", human::plural(removed, "file")), removed, json!({ "files": removed }))
}

fn mv(args: &MvArgs, opened: &OpenedStore<'_>) -> Result<()> {
    let store = &opened.store;
    let moved = match store.exists(&args.from)? {
        true => store.rename(&args.from, &args.to, if_exists(args.mode)).map(|()| 1),
        false => store.rename_tree(&args.from, &args.to, if_exists(args.mode)),
    };
    let moved = moved.map_err(|e| with_advice(args.mode, e))?;
    if moved == 0 {
        return Err(Error::not_found("no such file or folder").at(&args.from));
    }
    opened.done(&format!("renamed {}", human::plural(moved, "file")), moved, json!({ "files": moved }))
}

fn import(args: &ImportArgs, source: ImportSource, opened: &OpenedStore<'_>) -> Result<()> {
    let options = PutOptions { if_exists: if_exists(args.mode), ..PutOptions::default() };
    let mut progress = opened.progress();
    let progress: Progress<'_> = &mut progress;
    let place = args.source.display();
    let done = match source {
        ImportSource::Directory => opened.store.import_tree(&args.source, &args.folder, &options, progress),
        ImportSource::Archive(file, kind) => {
            opened.store.import_archive(Archive::File(file), kind, &args.folder, &options, progress)
        }
    };
    let (files, bytes) = done.map_err(|e| with_advice(args.mode, e.at(place)))?;
    opened.done(&counted("imported", files, bytes), files, json!({ "files": files, "file_bytes": bytes }))
}

fn export(args: &ExportArgs, opened: &OpenedStore<'_>) -> Result<()> {
    let mut progress = opened.progress();
    let progress: Progress<'_> = &mut progress;
    let place = args.target.display();
    check_new_file(&args.target, &opened.session.job)?;
    let kind =
        args.target.to_str().map(ArchiveKind::of_target).transpose().map_err(|error| error.at(place.to_string()))?;
    let done = match kind.flatten() {
        None => {
            let target = (args.target.as_path(), opened.session.job.options().durability);
            opened.store.export_tree(&args.folder, target, if_exists(args.mode), progress)
        }
        Some(kind) => {
            let (target, job) = ((args.target.as_path(), kind), &opened.session.job);
            opened.store.export_file(&args.folder, target, if_exists(args.mode), job, progress)
        }
    };
    let (files, bytes) = done.map_err(|e| with_advice(args.mode, e.at(place)))?;
    opened.done(&counted("exported", files, bytes), files, json!({ "files": files, "file_bytes": bytes }))
}

fn counted(verb: &str, files: u64, bytes: u64) -> String {
    format!("{verb} {} ({})", human::plural(files, "file"), human::bytes(bytes))
}

fn compact(opened: &OpenedStore<'_>) -> Result<()> {
    let done = opened.store.compact_with(&mut opened.progress())?;
    let (before, after) = (human::bytes(done.bytes_before), human::bytes(done.bytes_after));
    opened.done(&format!("compacted {before} to {after}"), 0, json!(done))
}

/// Serves a mount until it is unmounted: by others, or as the job is cancelled.
fn mount(args: &MountArgs, opened: &OpenedStore<'_>) -> Result<()> {
    let options = MountOptions { folder: args.folder.clone(), allow_other: args.allow_other };
    let tell = Box::new(|message: &str| stderr::line(&printable(message)));
    let mounted = Mount::new(Arc::clone(&opened.store), &args.directory, &options, tell)?;
    let place = args.directory.display();
    opened
        .session
        .note(&format!("{} is mounted at {place}; end it with `umount {place}` or Ctrl-C", opened.store.location()));
    while !mounted.is_ended() && !opened.session.job.is_cancelled() {
        std::thread::sleep(MOUNT_POLL);
    }
    mounted.unmount()?;
    opened.done("unmounted", 0, json!({}))
}

/// A line on standard output.
fn line(text: &str) -> Result<()> {
    stdout::line(text)
}
