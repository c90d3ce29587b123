//! The command line's one definition, reached from the cargo binary and from the wheel.

mod delete;
mod diff;
mod durability;
mod examples;
mod files;
mod filter;
pub(crate) mod io_help;
mod load;
mod log;
mod nesting;
mod row_output;
mod shell;
mod sql;
mod sync;
mod table;
pub(crate) mod tpch;
mod update;

use std::ffi::OsString;
use std::io::IsTerminal;

use clap::{ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use lakerace::option::Choice;
use lakerace::{
    Compression, FileFormat, FileIo, MergeOperator, MinSeekSize, OnBadRow, OnDuplicate, TimestampUnit, WriteMode,
    parse_bytes,
};

pub(crate) use self::delete::DeleteArgs;
pub(crate) use self::diff::DiffArgs;
use self::durability::DurabilityArgs;
pub(crate) use self::files::{
    ExportArgs, FileStatArgs, FilesArgs, FilesCommand, FilesStore, GetArgs, ImportArgs, LsArgs, MountArgs, MvArgs,
    PutArgs, PutEncoding, RmArgs,
};
use self::filter::FilterArgs;
pub(crate) use self::load::LoadArgs;
pub(crate) use self::log::{LogArgs, LogFormat};
use self::nesting::NestingArgs;
pub(crate) use self::row_output::RowOutputArgs;
pub(crate) use self::shell::{CompletionsArgs, ManArgs};
pub(crate) use self::sql::SqlArgs;
pub(crate) use self::sync::SyncArgs;
use self::tpch::TpchArgs;
pub(crate) use self::update::UpdateArgs;
use crate::proxy::ProxyArgs;
use crate::value::{self, ColumnList, CommaList, ThreadCount};

pub(crate) use self::table::{AlterArgs, ChangesArgs, CompactArgs, HistoryArgs, RestoreArgs, VacuumArgs, VerifyArgs};

/// Move tables between files, Delta tables and databases; show the plan and the cost of each job.
#[derive(Debug, Parser)]
#[command(name = "lakerace", version, arg_required_else_help = true)]
#[command(after_help = "\
Exit codes: 0 done, 1 internal error, or `diff` found differences, 2 usage, 3 not found, 4 invalid input, 5 corrupt data, 6 unsupported,
7 conflict, 8 unavailable (retry later), 130 interrupted or terminated.
Stores are configured by the usual AWS_*, GOOGLE_* and AZURE_* variables or --storage-option; `lakerace check URL` tests a location.")]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: GlobalOptions,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The command line as help, completions and manual pages show it: with examples, and wrapped where a person reads it.
pub(crate) fn command_line() -> clap::Command {
    let command = io_help::with_io_help(examples::with_examples(Cli::command()));
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
    /// Do not print the progress bar, the summary and notes; warnings and errors are still printed, and with -v the log. The
    /// default of verbose does not apply then, nor that of quiet with -v.
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
    /// Copy any source to any target, atomically.
    Copy(Box<CopyArgs>),
    /// Print rows, a row count, a checksum, or the read plan with its cost.
    Scan(Box<ScanArgs>),
    /// Compare the rows of two locations by key, and exit with 1 if they differ.
    Diff(Box<DiffArgs>),
    /// Run a SQL query over locations: aggregates, joins, windows (needs the Python package lakerace[sql]).
    Sql(Box<SqlArgs>),
    /// Insert rows into a Delta table, or replace rows with the same key; create the table with the prefix delta:.
    Upsert(Box<UpsertArgs>),
    /// Set columns of the rows of a Delta table for which a condition is true.
    Update(Box<UpdateArgs>),
    /// Delete rows of a Delta table by a condition or by keys.
    Delete(Box<DeleteArgs>),
    /// Change the columns, properties and constraints of a Delta table.
    Alter(Box<AlterArgs>),
    /// Merge the small files of a Delta table, and rewrite files of which more than 5 % of the rows are deleted. The table
    /// keeps its rows.
    ///
    /// `--where` selects partitions, so its expression takes only partition columns.
    Compact(Box<CompactArgs>),
    /// Remove files that no retained version of a Delta table needs.
    Vacuum(Box<VacuumArgs>),
    /// Check the log, the files and the keys of a Delta table against each other, and repair provable damage.
    Verify(Box<VerifyArgs>),
    /// Print the versions of a Delta table and the operation of each.
    History(Box<HistoryArgs>),
    /// Restore a Delta table to an earlier version, as a new version.
    Restore(Box<RestoreArgs>),
    /// Print the rows of a Delta table that were inserted, updated and deleted from version to version.
    Changes(Box<ChangesArgs>),
    /// Keep a MongoDB collection, an Elasticsearch index or a SQLite table in sync with a Delta table.
    Sync(Box<SyncArgs>),
    /// Print columns, types, rows, files and bytes.
    Schema(Box<SchemaArgs>),
    /// Test a location: credentials, region, clock, permissions, speed of the store, and settings to change.
    Check(Box<CheckArgs>),
    /// Generate all tables of TPC-H, as files or Delta tables.
    Tpch(Box<TpchArgs>),
    /// Manage a store of millions of small files in one SQLite file, in a directory or on an object store.
    Files(Box<FilesArgs>),
    /// Compare lakerace with other tools (needs the Python package lakerace-bench).
    #[command(disable_help_flag = true)]
    Bench {
        /// `list`, `run NAME…` or `report`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
        rest: Vec<OsString>,
    },
    /// Generate orders, and copy, scan, upsert, compact and check them on this machine.
    Demo(DemoArgs),
    /// Print the configuration file, its connections without their secrets, and the defaults of options.
    Config,
    /// Print the completion script of a shell: `lakerace completions bash >
    /// ~/.local/share/bash-completion/completions/lakerace`.
    Completions(CompletionsArgs),
    /// Write the manual pages into a folder: `lakerace man ~/.local/share/man/man1`.
    Man(ManArgs),
    /// Run a proxy in front of an S3 server that counts and delays requests and injects failures, for tests and
    /// benchmarks.
    #[command(hide = true)]
    Proxy(ProxyArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CopyArgs {
    /// The source: a path or URL of a file, a folder, a glob or a Delta table, `-` (standard input), a generated table
    /// such as tpch:lineitem?sf=1, or a database: sqlite:///file.db#table, mongodb://host/db/collection,
    /// elasticsearch://host:9200/index. Several files and folders are read as one table, in this order.
    #[arg(value_name = "SRC", required = true, num_args = 1..)]
    pub(crate) sources: Vec<String>,
    /// The target: a path or URL of a file, of a folder (ending in `/`), `delta:` and the folder of a table, `-`
    /// (standard output), or a location in a database.
    #[arg(value_name = "DST")]
    pub(crate) target: String,
    /// If the target exists: fail, replace it, or add to it (folders, tables, databases); in databases also replace the
    /// rows of the same --key and insert the others, or delete the rows of these keys.
    #[arg(long, value_parser = value::choice::<WriteMode>(), default_value = WriteMode::default().choice_name())]
    pub(crate) mode: WriteMode,
    /// Delta: --mode overwrite replaces the rows of the table for which this SQL expression of partition columns is true, and
    /// keeps the others. It must be true of all rows of the source, which --where filters. Without it, the whole table is
    /// replaced, also where --where is given.
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    pub(crate) replace_where: Option<String>,
    /// Sort the rows by these columns, each with asc or desc, and nulls first or nulls last. Default: asc, nulls last.
    #[arg(long, value_name = "A [desc],B", allow_hyphen_values = true)]
    pub(crate) order_by: Option<String>,
    /// Copy the first N rows only.
    #[arg(long, value_name = "N", value_parser = value::number)]
    pub(crate) limit: Option<u64>,
    /// Check the copy and print what it would do, without writing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    #[command(flatten)]
    pub(crate) durability: DurabilityArgs,
    #[command(flatten)]
    pub(crate) nesting: NestingArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    pub(crate) write: WriteArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ScanArgs {
    /// The source: a path or URL of a file, a folder, a glob or a Delta table, `-` (standard input), or a generated
    /// table such as tpch:lineitem?sf=1. Several files and folders are read as one table, in this order.
    #[arg(value_name = "SRC", required = true, num_args = 1..)]
    pub(crate) sources: Vec<String>,
    #[command(flatten)]
    pub(crate) rows: RowOutputArgs,
    /// Sort the rows by these columns, each with asc or desc, and nulls first or nulls last. Default: asc, nulls last.
    #[arg(long, value_name = "A [desc],B", allow_hyphen_values = true)]
    pub(crate) order_by: Option<String>,
    /// Memory for sorting rows; more rows are written to temporary files on the local disk. Default: 512 MiB.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes, requires = "order_by")]
    pub(crate) memory_limit: Option<u64>,
    /// Return only the first N rows, after sorting if --order-by is given.
    #[arg(long, value_name = "N", value_parser = value::number)]
    pub(crate) limit: Option<u64>,
    /// Print only the number of rows. If metadata gives it exactly, no data is read.
    #[arg(long, conflicts_with_all = ["checksum", "format", "output", "durability", "order_by", "memory_limit"])]
    pub(crate) count: bool,
    /// Print a checksum of the rows that does not depend on their order, file format or batch size.
    #[arg(long, conflicts_with_all = ["explain", "format", "output", "durability"])]
    pub(crate) checksum: bool,
    /// Print the plan and its cost without running it: pruned files and row groups with the reason, ranges, requests,
    /// bytes. With --count, that of counting the rows.
    #[arg(long, conflicts_with_all = ["format", "output", "durability"])]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) nesting: NestingArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct UpsertArgs {
    /// The folder of the table. The prefix `delta:` creates the table if it does not exist.
    #[arg(value_name = "TABLE")]
    pub(crate) table: String,
    /// The source of the rows: a path or URL of a file, a folder, a glob or a Delta table, or `-` (standard input). Several
    /// files and folders are read as one table, in this order.
    #[arg(value_name = "SRC", required = true, num_args = 1..)]
    pub(crate) sources: Vec<String>,
    /// The key columns. Default: the table's property lakerace.primaryKey.
    #[arg(long, value_name = "A,B")]
    pub(crate) key: Option<CommaList>,
    /// Rows of the source with the same key: the last one wins, or they are an error. In columns with --merge, the values of all
    /// of them are combined instead.
    #[arg(long, value_parser = value::choice::<OnDuplicate>(), default_value = OnDuplicate::default().choice_name(), value_name = "ACTION")]
    pub(crate) on_duplicate: OnDuplicate,
    /// How to merge a column's new value with the table's value: last, last_not_null, sum, min, max or
    /// concat:SEPARATOR. May be repeated. Columns that the source lacks keep their values.
    #[arg(long, value_name = "COLUMN=HOW", value_parser = value::merge)]
    pub(crate) merge: Vec<(String, MergeOperator)>,
    /// Only insert rows with new keys; existing rows stay unchanged.
    #[arg(long, conflicts_with = "merge")]
    pub(crate) insert_only: bool,
    /// Partition columns of a table that the upsert creates.
    #[arg(long, value_name = "A,B")]
    pub(crate) partition_by: Option<CommaList>,
    /// A property of a table that the upsert creates, in addition to its key; may be repeated.
    #[arg(long, value_name = "K=V", value_parser = value::property, action = ArgAction::Append)]
    pub(crate) table_property: Vec<(String, String)>,
    /// Print the plan without running it: files kept and pruned, keys to read, files to be written.
    #[arg(long)]
    pub(crate) explain: bool,
    /// Check the upsert and print what it would do, without writing.
    #[arg(long, conflicts_with = "explain")]
    pub(crate) dry_run: bool,
    /// Approximate memory for rows, keys and buffers; the rest is written to temporary files on the local disk.
    /// Default: 1 GiB.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) memory_limit: Option<u64>,
    /// Adapt the table's schema to the rows: `add` adds columns, `widen` widens numeric types; `add,widen` does both.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "add|widen")]
    pub(crate) evolve: Vec<SchemaChange>,
    /// Enable deletion vectors on a table that lacks them: rows are hidden without rewriting files, and readers of the
    /// table must support them.
    #[arg(long)]
    pub(crate) enable_deletion_vectors: bool,
    /// After the upsert, compact the table like `lakerace compact --auto`.
    #[arg(long, conflicts_with = "explain")]
    pub(crate) auto_compact: bool,
    #[command(flatten)]
    pub(crate) durability: DurabilityArgs,
    #[command(flatten)]
    pub(crate) nesting: NestingArgs,
    #[command(flatten)]
    pub(crate) input: InputArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The location: a path or URL of a file, a folder, a glob or a Delta table, or `-` (standard input). Several files
    /// and folders are read as one table, in this order.
    #[arg(value_name = "SRC", required = true, num_args = 1..)]
    pub(crate) sources: Vec<String>,
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
    pub(crate) nesting: NestingArgs,
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
    /// A folder on S3 to copy to as well, such as s3://bucket/demo/. Default: LAKERACE_DEMO_S3, if it is set.
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
    /// Columns to read, in this order. An expression of --where with a name is a computed column: `price * 1.2 as
    /// gross`. Default: all.
    #[arg(long, value_name = "A,B")]
    pub(crate) columns: Option<ColumnList>,
    #[command(flatten)]
    pub(crate) condition: FilterArgs,
    /// Read this version of a Delta table. Default: the last one.
    #[arg(long, value_name = "VERSION|TIMESTAMP")]
    pub(crate) at: Option<String>,
    /// Maximum rows of a record batch, as --format arrow writes it. `all`: one batch with all rows, in memory. In a
    /// copy to a database or a Delta table: rows that the target acknowledges together; --resume continues after them.
    /// Default there: `all`, which writes all rows or none.
    #[arg(long, value_name = "N|all", value_parser = value::batch_rows)]
    pub(crate) batch_rows: Option<value::BatchRowCount>,
    /// The source's format, if its name does not say it. Default of pipes: by their first bytes, else CSV.
    #[arg(long, value_parser = value::file_format(), value_name = "FORMAT")]
    pub(crate) input_format: Option<&'static FileFormat>,
    /// The unit of timestamps in ORC, and of 96-bit timestamps in Parquet. `auto`: ns, or us for columns of ORC with
    /// times before 1677 or after 2262, and for files of Spark. A given unit rounds down.
    #[arg(long, value_parser = value::choice::<TimestampUnit>(), default_value = TimestampUnit::default().choice_name(), value_name = "UNIT")]
    pub(crate) timestamp_unit: TimestampUnit,
    /// Read Parquet or ORC files that share few columns or none as one table; missing columns are null.
    #[arg(long)]
    pub(crate) union_columns: bool,
    /// Add a column of this name, after all others, with the path or URL of the file that a row is from.
    #[arg(long, value_name = "NAME")]
    pub(crate) file_name_column: Option<String>,
}

/// The options of written files.
#[derive(Debug, Args)]
#[command(next_help_heading = "Writing")]
pub(crate) struct WriteArgs {
    /// The target's format, if its name does not say it. Default of a folder and of `-`: that of the source.
    #[arg(long, value_parser = value::written_format(), value_name = "FORMAT")]
    pub(crate) output_format: Option<&'static FileFormat>,
    /// Codec of the target, with a level if it has levels. Parquet: none, snappy, gzip, brotli, lz4 or zstd. ORC: the same
    /// without brotli; gzip is zlib. Avro: none, snappy, gzip (deflate) or zstd. Text: gzip or zstd. Arrow: lz4 or zstd.
    #[arg(long, value_name = "CODEC[:LEVEL]")]
    pub(crate) compression: Option<Compression>,
    /// Parquet: rows in a row group.
    #[arg(long, value_name = "N", value_parser = value::positive)]
    pub(crate) row_group_rows: Option<usize>,
    /// Maximum encoded bytes of a row group (Parquet) or stripe (ORC); it limits the writer's memory.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) row_group_bytes: Option<u64>,
    /// Parquet and ORC: columns that get a bloom filter.
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) bloom_filter: Option<CommaList>,
    /// Folders and Delta tables: approximate bytes of each file; the first may have twice as many.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) file_bytes: Option<u64>,
    /// Memory for sorting rows by --order-by or by the key of a Delta table; more rows are written to temporary files
    /// on the local disk. Default: 512 MiB.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) memory_limit: Option<u64>,
    /// Delta tables and folders: partition columns; their values become folders such as `year=2024/`.
    #[arg(long, value_name = "A,B")]
    pub(crate) partition_by: Option<CommaList>,
    /// Delta: adapt the table's schema to the rows: `add` adds columns, `widen` widens numeric types; `add,widen` does
    /// both.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "add|widen")]
    pub(crate) evolve: Vec<SchemaChange>,
    /// Delta: keep NOT NULL of the source's columns in a new table (writer feature `invariants`), except within lists,
    /// maps and nullable structs. Default: all columns are nullable, which more readers and writers support.
    #[arg(long)]
    pub(crate) keep_not_null: bool,
    /// Delta: after the write, compact the table like `lakerace compact --auto`.
    #[arg(long)]
    pub(crate) auto_compact: bool,
    /// Delta: a property of a new table, such as lakerace.primaryKey=id (rows are then added in the key's order) or
    /// delta.enableChangeDataFeed=true; may be repeated.
    #[arg(long, value_name = "K=V", value_parser = value::property, action = ArgAction::Append)]
    pub(crate) table_property: Vec<(String, String)>,
    /// Field delimiter of a CSV target: one ASCII character or `\t`. Default: that of the source if it is CSV, else
    /// `,`.
    #[arg(long, value_name = "CHAR", value_parser = value::delimiter)]
    pub(crate) output_delimiter: Option<u8>,
    /// Write no header line to a CSV target.
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
    /// Merge ranges that are closer than this into one request. `auto`: chosen from the measured latency and bandwidth.
    #[arg(long, value_name = "SIZE|auto")]
    pub(crate) min_seek_size: Option<MinSeekSize>,
    /// Split larger spans into parallel requests of at most this size. Default: depends on the store.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) max_request_size: Option<u64>,
    /// Maximum number of parallel requests. Default: depends on the store.
    #[arg(long, value_name = "N", value_parser = value::positive)]
    pub(crate) max_requests_in_flight: Option<usize>,
    /// Copy the requested bytes out of a merged request, and free the rest, if gap bytes exceed this ratio of requested
    /// bytes. Default: 2.
    #[arg(long, value_name = "F", value_parser = value::fraction)]
    pub(crate) extra_bytes_tolerance: Option<f64>,
    /// Bytes that may be read ahead of decoding. Default: 480 MiB, and 128 MiB in a copy.
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub(crate) prefetch_size: Option<u64>,
    /// How local files are written; reads are not affected. `sync`: into the page cache. `auto`: the same, but large
    /// Parquet files bypass it while that is faster. `uring`: by io_uring, several writes in flight. `uring-direct`: by
    /// io_uring past the page cache. If the kernel refuses io_uring, or for `uring` the file system has only blocking
    /// writes (ext4), a warning says so and `sync` is used.
    #[arg(long, value_name = "METHOD", default_value_t = FileIo::default())]
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

/// The CSV and TBL dialect, and what other formats share of it; `copy` writes CSV with the same delimiter, quote, escape and first null string.
#[derive(Debug, Args)]
#[command(next_help_heading = "CSV, TBL and Excel")]
pub(crate) struct CsvArgs {
    /// Field delimiter: one ASCII character or `\t`. Default: `,`, for TBL `|`.
    #[arg(long, value_name = "CHAR", value_parser = value::delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// Quote character, or `none`: one ASCII character. Default: `"`, for TBL none.
    #[arg(long, value_name = "CHAR|none", value_parser = value::quote)]
    pub(crate) quote: Option<value::QuoteCharacter>,
    /// Escape character inside quotes: one ASCII character. Default: none (a doubled quote is one quote).
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
    /// CSV, JSON lines and Excel: names and types, such as "id int64 not null, price decimal(15,2), tags list(utf8)". Default: inferred.
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) schema: Option<String>,
    /// Rows that are sampled to infer the schema.
    #[arg(long, value_name = "N", value_parser = value::positive)]
    pub(crate) infer_rows: Option<usize>,
    /// The action for a malformed row: fail, skip it, or set null for values that do not parse, without surplus fields.
    #[arg(long, value_parser = value::choice::<OnBadRow>(), default_value = OnBadRow::default().choice_name(), value_name = "ACTION")]
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
    /// Numbers have a decimal comma, as in 1,5.
    #[arg(long)]
    pub(crate) decimal_comma: bool,
    /// The encoding, such as latin1, utf-16 or windows-1252. Default: UTF-8.
    #[arg(long, value_name = "NAME")]
    pub(crate) encoding: Option<String>,
    /// Excel: the name of the sheet. Default: the first one.
    #[arg(long, value_name = "NAME")]
    pub(crate) sheet: Option<String>,
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
