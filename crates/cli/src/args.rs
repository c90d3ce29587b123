//! The command line's one definition, reached from the cargo binary and from the wheel.

mod diff;
mod durability;
mod examples;
mod files;
mod filter;
mod load;
mod log;
mod row_output;
mod shell;
mod sql;
mod sync;
mod table;
pub(crate) mod tpch;

use std::ffi::OsString;
use std::io::IsTerminal;

use clap::{Arg, ArgAction, ArgGroup, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use lakerace::option::Choice;
use lakerace::{
    Compression, FileFormat, FileIo, MergeOperator, MinSeekSize, OnBadRow, OnDuplicate, TimestampUnit, WriteMode,
    parse_bytes,
};

pub(crate) use self::diff::DiffArgs;
use self::durability::DurabilityArgs;
pub(crate) use self::files::{
    ExportArgs, FileStatArgs, FilesArgs, FilesCommand, FilesStore, GetArgs, ImportArgs, LsArgs, MountArgs, MvArgs,
    PutArgs, PutEncoding, RmArgs,
};
use self::filter::FilterArgs;
pub(crate) use self::load::LoadArgs;
pub(crate) use self::log::{LogArgs, LogFormat};
pub(crate) use self::row_output::RowOutputArgs;
pub(crate) use self::shell::{CompletionsArgs, ManArgs};
pub(crate) use self::sql::SqlArgs;
pub(crate) use self::sync::SyncArgs;
use self::tpch::TpchArgs;
use crate::proxy::ProxyArgs;
use crate::value::{self, ColumnList, CommaList, ThreadCount};

pub(crate) use self::table::{AlterArgs, ChangesArgs, CompactArgs, HistoryArgs, RestoreArgs, VacuumArgs, VerifyArgs};

/// Move tables between files and lakes: a plan before, a bill after.
#[derive(Debug, Parser)]
#[command(name = "lakerace", version, arg_required_else_help = true)]
#[command(after_help = "\
Exit codes: 0 done, 1 internal error, or `diff` found differences, 2 usage, 3 not found, 4 invalid input, 5 corrupt data, 6 unsupported,
7 conflict, 8 unavailable (worth retrying), 130 interrupted or terminated.
Stores are configured by the usual AWS_*, GOOGLE_* and AZURE_* variables or --storage-option; `lakerace check URL` tries one out.")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalOptions,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The command line as help, completions and manual pages show it: with examples, and wrapped where a person reads it.
pub(crate) fn command_line() -> clap::Command {
    let command = examples::with_examples(Cli::command());
    match std::io::stdout().is_terminal() {
        true => command.max_term_width(120),
        false => command.term_width(0),
    }
}

impl Cli {
    /// Parses arguments, the first of which is the program's name, by a command line.
    pub(crate) fn parse_with(
        command: clap::Command,
        args: &[OsString],
    ) -> Result<(clap::ArgMatches, Self), clap::Error> {
        let matches = command.try_get_matches_from(args)?;
        let parsed = Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command_line()))?;
        Ok((matches, parsed))
    }
}

/// Options of every command.
#[derive(Debug, Clone, Args)]
pub(crate) struct GlobalOptions {
    /// Print one JSON object on stdout: rows, bytes, requests, seconds, memory, dollars, or the error.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// No progress bar, no summary and no notes.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// The configuration file: connections, whose locations are @NAME/…, and defaults of options. Default: LAKERACE_CONFIG, else
    /// lakerace/config.toml in ~/.config.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<std::path::PathBuf>,
    #[command(flatten)]
    pub(crate) log: LogArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Copy any source to any target: all of it appears there, or nothing.
    Copy(Box<CopyArgs>),
    /// Print rows, their number, their checksum, or the plan of reading them.
    Scan(Box<ScanArgs>),
    /// Compare the rows of two locations by key, and exit with 1 where they differ.
    Diff(Box<DiffArgs>),
    /// Run a SQL query over locations: aggregates, joins, windows (where the Python package lakerace[sql] is
    /// installed).
    Sql(Box<SqlArgs>),
    /// Insert rows into a Delta table, or replace those with the same key, without rewriting files; create the table on
    /// request.
    Upsert(Box<UpsertArgs>),
    /// Delete rows of a Delta table, without rewriting files.
    Delete(Box<DeleteArgs>),
    /// Change the columns, properties and constraints of a Delta table.
    Alter(Box<AlterArgs>),
    /// Make few files of a Delta table's many small ones, and drop deleted rows; its rows stay the same.
    Compact(Box<CompactArgs>),
    /// Remove files that no retained version of a Delta table needs.
    Vacuum(Box<VacuumArgs>),
    /// Check the log, the files and the keys of a Delta table against each other, and repair provable damage.
    Verify(Box<VerifyArgs>),
    /// Print the versions of a Delta table and the operation of each.
    History(Box<HistoryArgs>),
    /// Make a version of a Delta table with the rows of an earlier one.
    Restore(Box<RestoreArgs>),
    /// Print the rows of a Delta table that were inserted, updated and deleted from version to version.
    Changes(Box<ChangesArgs>),
    /// Keep a collection, an index or a table of SQLite in step with a Delta table.
    Sync(Box<SyncArgs>),
    /// Print columns, types, rows, files and bytes.
    Schema(Box<SchemaArgs>),
    /// Try out a location: which credentials, region and clock apply, what they allow, how fast the store is, and what
    /// to set.
    Check(Box<CheckArgs>),
    /// Generate all tables of TPC-H, as files or Delta tables.
    Tpch(Box<TpchArgs>),
    /// The small-file store: names and contents by the million in one file.
    Files(Box<FilesArgs>),
    /// The side-by-side bench (where the Python package lakerace-bench is installed).
    #[command(disable_help_flag = true)]
    Bench {
        /// `list`, `run NAME…` or `report`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
        rest: Vec<OsString>,
    },
    /// The main job end to end on this machine, in under a minute.
    Demo(DemoArgs),
    /// Print the configuration file, its connections without their secrets, and the defaults of options.
    Config,
    /// Print the completions of a shell: `lakerace completions bash > ~/.local/share/bash-completion/completions/lakerace`.
    Completions(CompletionsArgs),
    /// Write the manual pages into a folder: `lakerace man ~/.local/share/man/man1`.
    Man(ManArgs),
    /// A proxy in front of an S3 server that counts, delays and fails: for tests and benches.
    #[command(hide = true)]
    Proxy(ProxyArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CopyArgs {
    /// The source: a path or URL of a file, a folder, a glob or a Delta table, `-` (standard input), a generated table
    /// such as tpch:lineitem?sf=1, or a database: sqlite:///file.db#table, mongodb://host/db/collection,
    /// elasticsearch://host:9200/index.
    #[arg(value_name = "SRC")]
    pub(crate) source: String,
    /// The target: a path or URL of a file, of a folder (ending in `/`), `delta:` and the folder of a table, `-`
    /// (standard output), or a location in a database.
    #[arg(value_name = "DST")]
    pub(crate) target: String,
    /// If the target exists: fail, replace it, or add to it (folders, tables, databases); in databases also replace the
    /// rows of the same --key and insert the others, or delete the rows of these keys.
    #[arg(long, value_parser = value::choice::<WriteMode>(), default_value = WriteMode::default().choice_name())]
    pub(crate) mode: WriteMode,
    /// Sort the rows by these columns, each with asc or desc, and nulls first or nulls last. Default: asc, nulls last.
    #[arg(long, value_name = "A [desc],B", allow_hyphen_values = true)]
    pub(crate) order_by: Option<String>,
    /// Copy the first N rows only.
    #[arg(long, value_name = "N", value_parser = value::number)]
    pub(crate) limit: Option<u64>,
    /// Check all that can be checked without writing, print what the copy would do, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) durability: DurabilityArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    /// The source: a path or URL of a file, a folder, a glob or a Delta table, `-` (standard input), or a generated
    /// table such as tpch:lineitem?sf=1.
    #[arg(value_name = "SRC")]
    pub(crate) source: String,
    #[command(flatten)]
    pub(crate) rows: RowOutputArgs,
    /// Sort the rows by these columns, each with asc or desc, and nulls first or nulls last. Default: asc, nulls last.
    #[arg(long, value_name = "A [desc],B", allow_hyphen_values = true)]
    pub(crate) order_by: Option<String>,
    /// Memory for rows that are sorted; more go to the local disk. Default: 512 MiB.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes, requires = "order_by")]
    pub(crate) memory_limit: Option<u64>,
    /// Read the first N rows only; of sorted rows, the first N of all.
    #[arg(long, value_name = "N", value_parser = value::number)]
    pub(crate) limit: Option<u64>,
    /// Print the number of rows instead of the rows; from metadata alone if that is exact.
    #[arg(long, conflicts_with_all = ["explain", "format", "output", "durability", "order_by", "memory_limit"])]
    pub(crate) count: bool,
    /// Print a checksum of the rows that does not depend on their order, file format or batch size.
    #[arg(long, conflicts_with_all = ["explain", "format", "output", "durability"])]
    pub(crate) checksum: bool,
    /// Print the plan and its price instead of running it: files and row groups pruned and why, ranges, requests,
    /// bytes.
    #[arg(long, conflicts_with_all = ["format", "output", "durability"])]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UpsertArgs {
    /// The folder of the table. With `delta:` in front, a table that is not there is made.
    #[arg(value_name = "TABLE")]
    pub(crate) table: String,
    /// The source of the rows: a path or URL of a file, a folder, a glob or a Delta table, or `-` (standard input).
    #[arg(value_name = "SRC")]
    pub(crate) source: String,
    /// The columns by which rows are found. Default: those that the table names (lakerace.primaryKey).
    #[arg(long, value_name = "A,B")]
    pub(crate) key: Option<CommaList>,
    /// Rows of the source with the same key: the last one wins, or they are an error.
    #[arg(long, value_parser = value::choice::<OnDuplicate>(), default_value = OnDuplicate::default().choice_name(), value_name = "WHAT")]
    pub(crate) on_duplicate: OnDuplicate,
    /// How values of a column are merged with those of the table: last, last_not_null, sum, min, max or
    /// concat:SEPARATOR. Columns that the rows lack keep their values. Repeat it for each column.
    #[arg(long, value_name = "COLUMN=HOW", value_parser = value::merge)]
    pub(crate) merge: Vec<(String, MergeOperator)>,
    /// Only insert rows with new keys; rows that the table has stay unchanged.
    #[arg(long, conflicts_with = "merge")]
    pub(crate) insert_only: bool,
    /// Delta: columns by which the files of a table that the upsert makes are divided.
    #[arg(long, value_name = "A,B")]
    pub(crate) partition_by: Option<CommaList>,
    /// Delta: a property of a table that the upsert makes, in addition to its key; may be repeated.
    #[arg(long, value_name = "K=V", value_parser = value::property, action = ArgAction::Append)]
    pub(crate) table_property: Vec<(String, String)>,
    /// Print the plan instead of running it: files kept and pruned, keys to read, files to be written.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Check all that can be checked without writing, print what the upsert would do, and write nothing.
    #[arg(long, conflicts_with = "explain")]
    pub(crate) dry_run: bool,
    /// Approximate memory for rows, keys and buffers; the rest goes to temporary files on the local disk. Default: 1
    /// GiB.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) memory_limit: Option<u64>,
    /// Let the table's schema follow the rows: new columns, and numbers that become wider; both as `add,widen`.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "add|widen")]
    pub(crate) evolve: Vec<SchemaChange>,
    /// Enable deletion vectors on a table that lacks them: rows are hidden without rewriting files, and readers of the
    /// table have to support them.
    #[arg(long)]
    pub(crate) enable_deletion_vectors: bool,
    /// After the upsert, compact what `lakerace compact --auto` would: many small files, and files with many hidden
    /// rows.
    #[arg(long)]
    pub(crate) auto_compact: bool,
    #[command(flatten)]
    pub(crate) durability: DurabilityArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("condition").required(true).args(["filter", "keys"]))]
#[command(mut_args(without_condition))]
pub(crate) struct DeleteArgs {
    /// The folder of the table.
    #[arg(value_name = "TABLE")]
    pub(crate) table: String,
    #[command(flatten)]
    pub(crate) condition: FilterArgs,
    /// The rows that have the key of a row in this file, folder, glob or Delta table, or in `-` (standard input).
    #[arg(long, value_name = "SRC", conflicts_with = "parameters")]
    pub(crate) keys: Option<String>,
    /// The columns of the key. Default: those that the table names (lakerace.primaryKey).
    #[arg(long, value_name = "A,B", conflicts_with = "filter")]
    pub(crate) key: Option<CommaList>,
    /// Approximate memory for keys and buffers. Default: 1 GiB.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes, conflicts_with = "filter")]
    pub(crate) memory_limit: Option<u64>,
    /// Enable deletion vectors on a table that lacks them: rows are hidden without rewriting files, and readers of the
    /// table have to support them.
    #[arg(long)]
    pub(crate) enable_deletion_vectors: bool,
    /// Count the rows that would be deleted, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The format of the keys' source, where its name does not say it.
    #[arg(long, value_parser = value::file_format(), value_name = "FORMAT", conflicts_with = "filter")]
    pub(crate) input_format: Option<&'static FileFormat>,
    #[command(flatten)]
    pub(crate) durability: DurabilityArgs,
    #[command(flatten)]
    pub(crate) csv: CsvArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// Refuses options of the text of keys where there is a condition, and no keys.
fn without_condition(argument: Arg) -> Arg {
    let options = CsvArgs::augment_args(clap::Command::new("keys"));
    let is_of_text = options.get_arguments().any(|option| option.get_id() == argument.get_id());
    if is_of_text { argument.conflicts_with("filter") } else { argument }
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The location: a path or URL of a file, a folder, a glob or a Delta table, or `-` (standard input).
    #[arg(value_name = "SRC")]
    pub(crate) source: String,
    /// This version of a Delta table. Default: the last one.
    #[arg(long, value_name = "VERSION|TIMESTAMP")]
    pub(crate) at: Option<String>,
    /// The source's format, if its name does not say it. Default of pipes: by their first bytes, else CSV.
    #[arg(long, value_parser = value::file_format(), value_name = "FORMAT")]
    pub(crate) input_format: Option<&'static FileFormat>,
    /// Read Parquet or ORC files that share few columns or none as one table.
    #[arg(long)]
    pub(crate) union_columns: bool,
    /// Add a column of this name with the path or URL of the file that a row is from.
    #[arg(long, value_name = "NAME")]
    pub(crate) file_name_column: Option<String>,
    #[command(flatten)]
    pub(crate) csv: CsvArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The location: a path or URL of a file, a folder or a Delta table. In a folder, a hidden file of 4 MiB is
    /// written, read and removed.
    #[arg(value_name = "URL")]
    pub(crate) location: String,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Rows of the generated CSV.
    #[arg(long, value_name = "N", value_parser = value::number, default_value_t = 2_000_000)]
    pub(crate) rows: u64,
    /// Seed of the generated rows: the same seed generates the same rows.
    #[arg(long, value_name = "N", value_parser = value::number, default_value_t = 42)]
    pub(crate) seed: u64,
    /// A folder on S3 to copy to as well, such as s3://bucket/demo/. Default: LAKERACE_DEMO_S3, where it is set.
    #[arg(long, value_name = "URL")]
    pub(crate) s3: Option<String>,
    /// Keep the generated files, in this folder.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) keep: Option<std::path::PathBuf>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// The source and its options.
#[derive(Debug, Args)]
pub(crate) struct InputArgs {
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    #[command(flatten)]
    pub(crate) csv: CsvArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// The options of reads.
#[derive(Debug, Args)]
#[command(next_help_heading = "Reading")]
pub(crate) struct ReadArgs {
    /// Columns, in this order, and values of the language of --where with names: `price * 1.2 as gross`. Default: all.
    #[arg(long, value_name = "A,B")]
    pub(crate) columns: Option<ColumnList>,
    #[command(flatten)]
    pub(crate) condition: FilterArgs,
    /// Read this version of a Delta table. Default: the last one.
    #[arg(long, value_name = "VERSION|TIMESTAMP")]
    pub(crate) at: Option<String>,
    /// Rows of a record batch at most, as --format arrow writes them; `all`: one batch with all rows, in memory. In a
    /// copy to a database or a Delta table, this many rows become durable together, and a stopped load continues after
    /// them; `all` is the default there: all rows, or none.
    #[arg(long, value_name = "N|all", value_parser = value::batch_rows)]
    pub(crate) batch_rows: Option<value::BatchRowCount>,
    /// The source's format, if its name does not say it. Default of pipes: by their first bytes, else CSV.
    #[arg(long, value_parser = value::file_format(), value_name = "FORMAT")]
    pub(crate) input_format: Option<&'static FileFormat>,
    /// ORC, and Parquet's timestamps of 96 bits: the unit; `auto` is ns, or us for columns of ORC with times before 1677 or after
    /// 2262, and for files of Spark. A given unit rounds down.
    #[arg(long, value_parser = value::choice::<TimestampUnit>(), default_value = TimestampUnit::default().choice_name(), value_name = "UNIT")]
    pub(crate) timestamp_unit: TimestampUnit,
    /// Makes one table of Parquet or ORC files that share few columns or none, null where a file lacks a column.
    #[arg(long)]
    pub(crate) union_columns: bool,
    /// Adds a column of this name, after all others, with the path or URL of the file that a row is from.
    #[arg(long, value_name = "NAME")]
    pub(crate) file_name_column: Option<String>,
}

/// The options of written files.
#[derive(Debug, Args)]
#[command(next_help_heading = "Writing")]
pub(crate) struct WriteArgs {
    /// The target's format, where its name does not say it. Default of a folder and of `-`: that of the source.
    #[arg(long, value_parser = value::file_format(), value_name = "FORMAT")]
    pub(crate) output_format: Option<&'static FileFormat>,
    /// Codec of the target: none, snappy, gzip (zlib in ORC), brotli (not ORC), lz4 or zstd, with a level where it has levels.
    #[arg(long, value_name = "CODEC[:LEVEL]")]
    pub(crate) compression: Option<Compression>,
    /// Parquet: rows in a row group.
    #[arg(long, value_name = "N", value_parser = value::positive)]
    pub(crate) row_group_rows: Option<usize>,
    /// Encoded bytes in a row group (Parquet) or stripe (ORC) at most; it bounds the writer's memory.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) row_group_bytes: Option<u64>,
    /// Parquet and ORC: columns that get a bloom filter.
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) bloom_filter: Option<CommaList>,
    /// Folders: approximate bytes of each file; the first may have twice as many.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) file_bytes: Option<u64>,
    /// Memory for rows that are sorted, by --order-by or by the key of a Delta table; more go to the local disk. Default: 512 MiB.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) memory_limit: Option<u64>,
    /// Delta and folders of files: columns by which files are divided, in folders such as `year=2024/`.
    #[arg(long, value_name = "A,B")]
    pub(crate) partition_by: Option<CommaList>,
    /// Delta: let the table's schema follow the rows: new columns, and numbers that become wider; both as `add,widen`.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "add|widen")]
    pub(crate) evolve: Vec<SchemaChange>,
    /// Delta: columns that are NOT NULL in the source are so in a new table, too (writer feature `invariants`), except
    /// within lists, maps and structs that may be null. Default: all are nullable, which more readers and writers take.
    #[arg(long)]
    pub(crate) keep_not_null: bool,
    /// Delta: after the write, compact what `lakerace compact --auto` would: many small files, and files with many
    /// hidden rows.
    #[arg(long)]
    pub(crate) auto_compact: bool,
    /// Delta: a property of a new table, such as lakerace.primaryKey=id (rows are then added in the key's order) or
    /// delta.enableChangeDataFeed=true; may be repeated.
    #[arg(long, value_name = "K=V", value_parser = value::property, action = ArgAction::Append)]
    pub(crate) table_property: Vec<(String, String)>,
    /// CSV to be written: field delimiter, one ASCII character or `\t`. Default: that of the source if it is CSV, else `,`.
    #[arg(long, value_name = "CHAR", value_parser = value::delimiter)]
    pub(crate) output_delimiter: Option<u8>,
    /// CSV to be written: no line with the columns' names.
    #[arg(long)]
    pub(crate) output_no_header: bool,
}

/// The options of stores and requests.
#[derive(Debug, Args)]
#[command(next_help_heading = "Stores and requests")]
pub(crate) struct StoreArgs {
    /// Threads that decode and encode. Default: the number of cores.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<ThreadCount>,
    /// Ranges closer than this become one request; `auto` prices it from the observed latency and bandwidth.
    #[arg(long, value_name = "SIZE|auto")]
    pub(crate) min_seek_size: Option<MinSeekSize>,
    /// Split larger spans into parallel requests of at most this size. Default: depends on the store.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) max_request_size: Option<u64>,
    /// Requests in flight at most. Default: depends on the store.
    #[arg(long, value_name = "N", value_parser = value::positive)]
    pub(crate) max_requests_in_flight: Option<usize>,
    /// Copy wanted bytes out of a merged request where the bytes read through exceed this fraction of them.
    #[arg(long, value_name = "F", value_parser = value::fraction)]
    pub(crate) extra_bytes_tolerance: Option<f64>,
    /// Bytes that may be read ahead of decoding. Default: 480 MiB, and 128 MiB in a copy.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) prefetch_size: Option<u64>,
    /// How files are written on this machine; reads do not change. `sync`: into the page cache. `auto`: the same, but
    /// large Parquet files bypass it while that is faster. `uring`: by io_uring, several writes in flight.
    /// `uring-direct`: by io_uring past the page cache. A warning says if the kernel refuses io_uring, or the file
    /// system has no non-blocking writes for it, as ext4.
    #[arg(long, value_name = "WAY", default_value_t = FileIo::default())]
    pub(crate) io: FileIo,
    /// Read files that a Delta table's log names in other stores than the table's: local files for a table on S3, files
    /// in other buckets, or on S3 for a local table. They are read with your rights and keys.
    #[arg(long)]
    pub(crate) allow_foreign_paths: bool,
    /// Repeat failed requests to an object store for this time, such as 5m. Default: 60s.
    #[arg(long, value_name = "TIME", value_parser = value::retry_time)]
    pub(crate) retry_time: Option<String>,
    /// A setting of the store, such as aws_endpoint_url=http://127.0.0.1:9000; may be repeated.
    #[arg(long, value_name = "K=V", value_parser = value::key_value, action = ArgAction::Append)]
    pub(crate) storage_option: Vec<(String, String)>,
}

/// The CSV and TBL dialect; `copy` writes CSV with the same delimiter, quote, escape and first null string.
#[derive(Debug, Args)]
#[command(next_help_heading = "CSV and TBL")]
pub(crate) struct CsvArgs {
    /// Between fields: one ASCII character or `\t`. Default: `,`, for TBL `|`.
    #[arg(long, value_name = "CHAR", value_parser = value::delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// Around fields: one ASCII character or `none`. Default: `"`, for TBL none.
    #[arg(long, value_name = "CHAR|none", value_parser = value::quote)]
    pub(crate) quote: Option<value::QuoteCharacter>,
    /// Makes the next character literal inside quotes: one ASCII character. Default: none (a doubled quote is one quote).
    #[arg(long, value_name = "CHAR", value_parser = value::delimiter)]
    pub(crate) escape: Option<u8>,
    /// A text that means null; may be repeated. Default: the empty string.
    #[arg(long, value_name = "TEXT", action = ArgAction::Append)]
    pub(crate) null_string: Vec<String>,
    /// The first line names the columns (default for CSV).
    #[arg(long, overrides_with = "no_header")]
    pub(crate) header: bool,
    /// The first line is data; columns are column_1, column_2, … (default for TBL).
    #[arg(long)]
    pub(crate) no_header: bool,
    /// CSV and JSON lines: names and types, such as "id int64 not null, price decimal(15,2), tags list(utf8)". Default: inferred.
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) schema: Option<String>,
    /// Rows that are sampled to infer the schema.
    #[arg(long, value_name = "N", value_parser = value::positive)]
    pub(crate) infer_rows: Option<usize>,
    /// A row that does not fit the schema: fail, leave it out, or put null where it does not parse.
    #[arg(long, value_parser = value::choice::<OnBadRow>(), default_value = OnBadRow::default().choice_name(), value_name = "WHAT")]
    pub(crate) on_bad_row: OnBadRow,
    /// Lines to skip at the start of each file, before the columns' names.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) skip_rows: usize,
    /// Lines that start with this text are skipped.
    #[arg(long, value_name = "TEXT")]
    pub(crate) comment: Option<String>,
    /// Format of dates, as in %d.%m.%Y. Default: ISO 8601.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) date_format: Option<String>,
    /// Format of timestamps, as in "%d.%m.%Y %H:%M:%S". Default: ISO 8601.
    #[arg(long, value_name = "FORMAT")]
    pub(crate) timestamp_format: Option<String>,
    /// Numbers are written with a comma for a point, as in 1,5.
    #[arg(long)]
    pub(crate) decimal_comma: bool,
    /// The encoding, such as latin1, utf-16 or windows-1252. Default: UTF-8.
    #[arg(long, value_name = "NAME")]
    pub(crate) encoding: Option<String>,
}

/// `--evolve`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaChange {
    Add,
    Widen,
}

/// `--format` of `scan`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    /// Aligned columns for people.
    Table,
    /// Comma-separated values with a header.
    Csv,
    /// One JSON object per row.
    Jsonl,
    /// Arrow IPC: a stream on stdout, a file with -o.
    Arrow,
}

#[cfg(test)]
mod tests;
