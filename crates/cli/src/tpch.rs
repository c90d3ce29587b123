//! `lakerace tpch`.

use clap::{Args, ValueEnum};
use lakerace::{
    Compression, CopyMode, CopyOptions, Format, GeneratedTable, Generation, ReadOptions, Result, TpchFormat, TpchMode,
    TpchOptions, TpchScale, TpchTarget, WriteOptions,
};
use serde_json::{Value, json};

use crate::args::StoreArgs;
use crate::human;
use crate::progress::Tables;
use crate::refresh;
use crate::session::{Session, storage_options};
use crate::stdout::Writer;
use crate::value::{self, CommaList};

/// Options of `tpch`.
#[derive(Debug, Args)]
pub(crate) struct TpchArgs {
    /// The scale factor: 1 is about 1 GB of text. 0.001 to 10,000.
    #[arg(short, long, value_name = "SF", allow_negative_numbers = true)]
    pub(crate) scale_factor: TpchScale,
    /// A folder, as a path or URL; `-`: the bytes of one table go to standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: String,
    /// What tables become. Default: parquet.
    #[arg(long, value_enum)]
    pub(crate) format: Option<TpchFileFormat>,
    /// Tables. Default: all eight.
    #[arg(long, value_name = "A,B")]
    pub(crate) tables: Option<CommaList>,
    /// Instead of the tables, N refresh streams for them (1 to 999; TPC-H's RF1 and RF2, dbgen's -U), each with a thousandth of
    /// the orders: new orders and their lines (orders.u1.parquet, lineitem.u1.parquet), and the keys of those to be deleted
    /// (delete.1.parquet).
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) refresh: Option<u32>,
    /// Apply the streams to the Delta tables orders and lineitem in OUT, as upserts and deletes by key. Streams that were
    /// applied before are left out.
    #[arg(long, requires = "refresh", conflicts_with_all = ["tables", "overwrite", "parts", "file_bytes"])]
    pub(crate) apply: bool,
    /// How columns are made: baseline, zero-copy or true-zero-copy. Default: the fastest for the format, which is true-zero-copy
    /// for parquet, and zero-copy for delta, orc, csv and tbl.
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<TpchMode>,
    /// Replace files and tables that exist.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Files of each table but nation and region, written side by side: TABLE/TABLE.1.parquet and so on.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "file_bytes")]
    pub(crate) parts: u32,
    /// Make each table a folder of files of this size.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) file_bytes: Option<u64>,
    /// Codec of the files: none, snappy, gzip (zlib in ORC), brotli (not ORC), lz4 or zstd, with a level where it has levels.
    #[arg(long, value_name = "CODEC[:LEVEL]")]
    pub(crate) compression: Option<Compression>,
    /// Parquet: rows in a row group.
    #[arg(long, value_name = "N", value_parser = value::positive)]
    pub(crate) row_group_rows: Option<usize>,
    /// Encoded bytes in a row group (Parquet) or stripe (ORC) at most.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) row_group_bytes: Option<u64>,
    /// Memory that files under way may take, about: it bounds how many are written at once. Default: 1 GiB.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) memory_limit: Option<u64>,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// `--format` of `tpch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TpchFileFormat {
    Parquet,
    Orc,
    Csv,
    Tbl,
    Delta,
}

/// What OUT is for standard output.
const STANDARD_OUTPUT: &str = "-";

pub(crate) fn run(args: &TpchArgs, session: &Session) -> Result<()> {
    if args.apply {
        return refresh::run(args, session);
    }
    let options = options(args)?;
    let is_stream = args.output == STANDARD_OUTPUT;
    let target = if is_stream {
        if session.global.json {
            return Err(lakerace::Error::usage("rows and JSON can't both go to standard output")
                .advice("name a folder, or leave --json out"));
        }
        TpchTarget::Stream(Box::new(Writer::new()))
    } else {
        TpchTarget::Folder(args.output.clone())
    };
    let generation = Generation::new(target, options, &session.job)?;
    let mode = generation.mode();
    let tables = {
        let _progress = Tables::start(generation.tables(), !session.global.quiet);
        generation.run()?
    };
    session.note(&summary(&tables, mode));
    let rows = tables.iter().map(|table| table.rows).sum();
    if is_stream {
        return Ok(());
    }
    let files: usize = tables.iter().map(|table| table.files.len()).sum();
    let more = json!({
        "mode": mode,
        "files_added": files,
        "file_bytes": tables.iter().map(|table| table.bytes).sum::<u64>(),
        "tables": tables.iter().map(report).collect::<Vec<_>>(),
    });
    session.done("generated", rows, more)
}

fn options(args: &TpchArgs) -> Result<TpchOptions> {
    let names = args.tables.as_ref().map(|list| list.0.as_slice()).unwrap_or_default();
    let write = WriteOptions {
        compression: args.compression,
        row_group_rows: args.row_group_rows,
        row_group_bytes: args.row_group_bytes,
        file_bytes: args.file_bytes,
        ..WriteOptions::default()
    };
    let copy = CopyOptions {
        read: ReadOptions { storage: storage_options(&args.store), ..ReadOptions::default() },
        write,
        mode: if args.overwrite { CopyMode::Overwrite } else { CopyMode::Error },
        ..CopyOptions::default()
    };
    Ok(TpchOptions {
        scale: args.scale_factor,
        tables: names.iter().map(|name| name.parse()).collect::<Result<_>>()?,
        refresh: args.refresh,
        format: args.format.unwrap_or(TpchFileFormat::Parquet).into(),
        mode: args.mode,
        parts: args.parts,
        memory_bytes: args.memory_limit,
        copy,
    })
}

fn report(table: &GeneratedTable) -> Value {
    let mut report = json!(table);
    report["rows_per_second"] = json!((table.rows as f64 / table.seconds.max(1e-9)).round());
    report
}

/// A line for each table.
fn summary(tables: &[GeneratedTable], mode: TpchMode) -> String {
    let mut text = format!("{:<9} {:>13} {:>10} {:>9} {:>13}", "table", "rows", "bytes", "seconds", "rows/s");
    for table in tables {
        let rate = (table.rows as f64 / table.seconds.max(1e-9)).round() as u64;
        text += &format!(
            "\n{:<9} {:>13} {:>10} {:>9.2} {:>13}",
            table.name,
            human::count(table.rows),
            human::bytes(table.bytes),
            table.seconds,
            human::count(rate)
        );
    }
    text + &format!("\nmode {mode}; tables are made side by side")
}

impl From<TpchFileFormat> for TpchFormat {
    fn from(format: TpchFileFormat) -> Self {
        match format {
            TpchFileFormat::Parquet => Self::Files(Format::Parquet),
            TpchFileFormat::Orc => Self::Files(Format::Orc),
            TpchFileFormat::Csv => Self::Files(Format::Csv),
            TpchFileFormat::Tbl => Self::Files(Format::Tbl),
            TpchFileFormat::Delta => Self::Delta,
        }
    }
}
