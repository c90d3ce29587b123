//! Arguments of `lakerace tpch`.

use crate::args::StoreArgs;
use crate::args::durability::DurabilityArgs;
use crate::value::{self, CommaList};
use clap::Args;
use lakerace::{Compression, TpchFormat, TpchMode, TpchScale};

/// Options of `tpch`.
#[derive(Debug, Args)]
pub(crate) struct TpchArgs {
    /// The scale factor, from 0.001 to 10,000: 1 is approximately 1 GB of text.
    #[arg(short, long, value_name = "SF", allow_negative_numbers = true)]
    pub(crate) scale_factor: TpchScale,
    /// The target folder, as a path or URL. `-` writes one table to standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: String,
    /// Format of the tables. Default: parquet.
    #[arg(long, value_parser = value::tpch_format(), value_name = "FORMAT")]
    pub(crate) format: Option<TpchFormat>,
    /// Tables. Default: all eight.
    #[arg(long, value_name = "A,B")]
    pub(crate) tables: Option<CommaList>,
    /// Generate N refresh streams instead of the tables (1 to 999; TPC-H's RF1 and RF2, dbgen's -U). Each has a
    /// thousandth of the orders: new orders and their lines (orders.u1.parquet, lineitem.u1.parquet), and the keys of
    /// orders to delete (delete.1.parquet).
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) refresh: Option<u32>,
    /// Apply the streams to the Delta tables orders and lineitem in OUT, as upserts and deletes by key. Streams that
    /// were applied before are skipped.
    #[arg(long, requires = "refresh", conflicts_with_all = ["tables", "overwrite", "parts", "file_bytes"])]
    pub(crate) apply: bool,
    /// How columns are generated: baseline, zero-copy or true-zero-copy. Default: the fastest for the format, which is
    /// true-zero-copy for parquet, and zero-copy for all others.
    #[arg(long, value_name = "MODE")]
    pub(crate) mode: Option<TpchMode>,
    /// Replace files and tables that exist.
    #[arg(long)]
    pub(crate) overwrite: bool,
    /// Number of files for each table except nation and region: TABLE/TABLE.1.parquet and so on.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "file_bytes")]
    pub(crate) parts: u32,
    /// Make each table a folder of files of this size.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) file_bytes: Option<u64>,
    /// Codec of the files, with a level if it has levels. Parquet: none, snappy, gzip, brotli, lz4 or zstd. ORC: the same
    /// without brotli; gzip is zlib. Avro: none, snappy, gzip (deflate) or zstd. Text: gzip or zstd. Arrow: lz4 or zstd.
    #[arg(long, value_name = "CODEC[:LEVEL]")]
    pub(crate) compression: Option<Compression>,
    /// Parquet: rows in a row group.
    #[arg(long, value_name = "N", value_parser = value::positive)]
    pub(crate) row_group_rows: Option<usize>,
    /// Maximum encoded bytes of a row group (Parquet) or stripe (ORC).
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) row_group_bytes: Option<u64>,
    /// Approximate memory for files that are being written; it limits their number. Default: 1 GiB.
    #[arg(long, value_name = "SIZE", value_parser = value::positive_bytes)]
    pub(crate) memory_limit: Option<u64>,
    #[command(flatten)]
    pub(crate) durability: DurabilityArgs,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}
