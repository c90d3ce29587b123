//! `lakerace files`.

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand};
use lakerace::WriteMode;

use super::StoreArgs;
use crate::value;

/// Manage a store of millions of small files in one SQLite file, in a directory or on an object store.
#[derive(Debug, Args)]
pub(crate) struct FilesArgs {
    #[command(subcommand)]
    pub(crate) command: FilesCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FilesCommand {
    /// Store a file, or standard input, under a name; create the store if it does not exist.
    Put(PutArgs),
    /// Print a file's content, or write it to a file.
    Get(GetArgs),
    /// Print the names in a folder, of a pattern or of all files.
    Ls(LsArgs),
    /// Remove files, and with --recursive also folders.
    Rm(RmArgs),
    /// Rename a file, or a folder with its files.
    Mv(MvArgs),
    /// Put all files of a directory, or of a .tar, .tar.gz, .tar.zst or .zip file; create the store if it does not
    /// exist.
    Import(ImportArgs),
    /// Write files to a directory, or to a .tar, .tar.gz, .tar.zst or .zip file.
    Export(ExportArgs),
    /// Print size, time, checksum, encoding and metadata of files.
    Stat(FileStatArgs),
    /// Read everything and report damage; exit code 5 if any is found.
    Verify(FilesStore),
    /// Reclaim the space of removed files, and encode small files with the store's dictionary.
    Compact(FilesStore),
    /// Show the files in an empty directory, for reading, until it is unmounted or Ctrl-C is pressed (Linux, by FUSE).
    Mount(MountArgs),
}

/// The store and its options. It comes last in each command: its heading is that of all options that follow.
#[derive(Debug, Args)]
pub(crate) struct FilesStore {
    /// The store: a path of a SQLite file, of a directory (ending in `/`, or `dir:` in front), or a URL of an object store's folder.
    #[arg(value_name = "STORE", index = 1)]
    pub(crate) location: String,
    /// A file with the 32 bytes of the key that contents are encrypted with; new ones are, too.
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// A transform of compressed contents: base64; may be repeated, in the order of application.
    #[arg(long, value_name = "NAME", action = ArgAction::Append)]
    pub(crate) transform: Vec<String>,
    /// Durability of a write: full survives a power loss, normal the end of the process, off less than that. Default:
    /// normal for the store, and full for files that `get -o` and `export` write.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) durability: Option<lakerace_files::Durability>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// The encoding of contents that are put.
#[derive(Debug, Args)]
pub(crate) struct PutEncoding {
    /// none, zstd, zstd-dict, lz4, snappy, gzip, bz2, xz or brotli, some with a level (zstd:9). A new store keeps it. Default: the
    /// store's own.
    #[arg(long, value_name = "CODEC[:LEVEL]")]
    pub(crate) compression: Option<lakerace_files::Compression>,
    /// Batches put contents up to 4 KiB into shared blocks of this size, such as 16KiB. A new store keeps it.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) pack_size: Option<u64>,
}

/// An existing name is an error, or its content is replaced.
const FILE_MODES: &[(&str, WriteMode)] = &[("error", WriteMode::Error), ("overwrite", WriteMode::Overwrite)];

#[derive(Debug, Args)]
pub(crate) struct PutArgs {
    /// The file's name in the store.
    #[arg(value_name = "NAME", index = 2)]
    pub(crate) name: String,
    /// The source: a local file, or `-` (standard input).
    #[arg(value_name = "FILE", default_value = "-", index = 3)]
    pub(crate) source: PathBuf,
    /// If the name exists: fail, or replace the content.
    #[arg(long, value_parser = value::choice_among::<WriteMode>(FILE_MODES), default_value = "overwrite")]
    pub(crate) mode: WriteMode,
    /// The file's metadata: a JSON value.
    #[arg(long, value_name = "JSON")]
    pub(crate) metadata: Option<String>,
    #[command(flatten)]
    pub(crate) encoding: PutEncoding,
    #[command(flatten)]
    pub(crate) store: FilesStore,
}

#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// The file's name in the store.
    #[arg(value_name = "NAME", index = 2)]
    pub(crate) name: String,
    /// Write the content to this local file instead of standard output. The file becomes visible when it is complete.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// If the local file exists: fail, or replace it.
    #[arg(long, value_parser = value::choice_among::<WriteMode>(FILE_MODES), default_value = "error")]
    pub(crate) mode: WriteMode,
    #[command(flatten)]
    pub(crate) store: FilesStore,
}

#[derive(Debug, Args)]
pub(crate) struct LsArgs {
    /// A folder, a file, or a pattern: `*` and `?` stop at `/`, `**` does not.
    #[arg(value_name = "FOLDER|PATTERN", default_value = "", index = 2)]
    pub(crate) pattern: String,
    /// List all files below the folder, with full names.
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// Also print sizes and times.
    #[arg(short, long)]
    pub(crate) long: bool,
    #[command(flatten)]
    pub(crate) store: FilesStore,
}

#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// Names of files, and of folders with --recursive.
    #[arg(value_name = "NAME", required = true, index = 2)]
    pub(crate) names: Vec<String>,
    /// Remove folders with their files.
    #[arg(short, long)]
    pub(crate) recursive: bool,
    #[command(flatten)]
    pub(crate) store: FilesStore,
}

#[derive(Debug, Args)]
pub(crate) struct MvArgs {
    /// The file or folder.
    #[arg(value_name = "FROM", index = 2)]
    pub(crate) from: String,
    /// Its new name.
    #[arg(value_name = "TO", index = 3)]
    pub(crate) to: String,
    /// If the name exists: fail, or replace the file.
    #[arg(long, value_parser = value::choice_among::<WriteMode>(FILE_MODES), default_value = "error")]
    pub(crate) mode: WriteMode,
    #[command(flatten)]
    pub(crate) store: FilesStore,
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// A directory, or an archive.
    #[arg(value_name = "SRC", index = 2)]
    pub(crate) source: PathBuf,
    /// The target folder in the store.
    #[arg(value_name = "FOLDER", default_value = "", index = 3)]
    pub(crate) folder: String,
    /// If the name exists: fail, or replace the content.
    #[arg(long, value_parser = value::choice_among::<WriteMode>(FILE_MODES), default_value = "overwrite")]
    pub(crate) mode: WriteMode,
    #[command(flatten)]
    pub(crate) encoding: PutEncoding,
    #[command(flatten)]
    pub(crate) store: FilesStore,
}

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// A directory, which is created if it does not exist, or an archive by its ending.
    #[arg(value_name = "DST", index = 2)]
    pub(crate) target: PathBuf,
    /// The folder of the store to write. Default: all files.
    #[arg(value_name = "FOLDER", default_value = "", index = 3)]
    pub(crate) folder: String,
    /// If the local file exists: fail, or replace it.
    #[arg(long, value_parser = value::choice_among::<WriteMode>(FILE_MODES), default_value = "error")]
    pub(crate) mode: WriteMode,
    #[command(flatten)]
    pub(crate) store: FilesStore,
}

#[derive(Debug, Args)]
pub(crate) struct FileStatArgs {
    /// The files' names.
    #[arg(value_name = "NAME", required = true, index = 2)]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) store: FilesStore,
}

#[derive(Debug, Args)]
pub(crate) struct MountArgs {
    /// An empty directory.
    #[arg(value_name = "DIR", index = 2)]
    pub(crate) directory: PathBuf,
    /// The folder of the store to show. Default: all files.
    #[arg(value_name = "FOLDER", default_value = "", index = 3)]
    pub(crate) folder: String,
    /// Let other users read, too; for a user other than root, /etc/fuse.conf must have user_allow_other.
    #[arg(long)]
    pub(crate) allow_other: bool,
    #[command(flatten)]
    pub(crate) store: FilesStore,
}
