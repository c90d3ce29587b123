//! Every option of every door.

use super::ValueKind::{Bytes, Choice, Flag, Names, Number, Off, Pairs, Text, Time};
use super::{OptionDefinition, SparkName};

/// All commands, each of which opens a store.
const EVERY_JOB: &str = "copy scan sql diff upsert update delete alter compact vacuum verify history restore changes sync schema check tpch demo files-put \
                         files-get files-ls files-rm files-mv files-import files-export files-stat files-verify files-compact files-mount";
/// Commands that read a location.
const READ: &str = "copy scan diff upsert";
/// Commands that read texts.
const READ_TEXT: &str = "copy scan diff upsert delete schema";
/// Commands that write.
const WRITE: &str = "copy scan sql diff upsert update delete alter compact vacuum restore changes sync tpch files-put files-get files-ls files-rm \
                     files-mv files-import files-export files-stat files-verify files-compact files-mount";
/// Commands of small files.
const FILES: &str = "files-put files-get files-ls files-rm files-mv files-import files-export files-stat files-verify files-compact \
                     files-mount";
/// Commands that write small files in or out of a store.
const FILES_WRITE: &str = "files-put files-get files-mv files-import files-export";

const fn new(id: &'static str, kind: super::ValueKind, jobs: &'static str) -> OptionDefinition {
    OptionDefinition::new(id, kind, jobs)
}

macro_rules! options {
    ($($(#[$docs:meta])* $name:ident = $definition:expr;)*) => {
        $($(#[$docs])* pub static $name: OptionDefinition = $definition;)*

        /// All options.
        pub static ALL: &[&OptionDefinition] = &[$(&$name),*];
    };
}

options! {
    // Targets.

    /// A target that exists: fail, replace it, add to it, or change it by key.
    MODE = new("mode", Choice, "copy sync").default("error").spark(SparkName::Method("mode"));
    /// The action if a name exists in a store of small files.
    FILE_MODE = new("file_mode", Choice, FILES_WRITE).flag("mode").keyword("if_exists").python_values(&[("overwrite", "replace")]);
    /// The condition for the rows of a table that an overwrite replaces.
    REPLACE_WHERE = new("replace_where", Text, "copy").spark_option("replaceWhere");
    /// The way to generate TPC-H's columns.
    TPCH_MODE = new("tpch_mode", Choice, "tpch").flag("mode").keyword("mode");
    /// Replace files and tables that exist.
    OVERWRITE = new("overwrite", Flag, "tpch");
    /// The key columns.
    KEY = new("key", Names, "copy diff upsert delete verify sync").spark_option("key");
    /// A source with the keys of rows to be deleted.
    KEYS = new("keys", Text, "delete").not_in_python();
    /// Continue a load after its last acknowledged rows.
    RESUME = new("resume", Flag, "copy");
    /// A file of rejected rows.
    DEAD_LETTER = new("dead_letter", Text, "copy");
    /// Rows per second.
    MAX_RATE = new("max_rate", Number, "copy sync");
    /// Allow values to lose digits that the target's type does not hold.
    ALLOW_NARROWING = new("allow_narrowing", Flag, "copy sync");
    /// Read the target back and compare it.
    VERIFY = new("verify", Flag, "copy sync");
    /// The column of the watermark of incremental copies.
    SINCE = new("since", Text, "copy");
    /// The distance below the watermark in which rows may still arrive.
    OVERLAP = new("overlap", Text, "copy");
    /// Send each new version until the command is stopped.
    FOLLOW = new("follow", Flag, "sync");
    /// Time between two checks of a table.
    INTERVAL = new("interval", Time, "sync").default("1s");

    // Reading.

    /// Columns to be read.
    COLUMNS = new("columns", Names, READ).spark_option("columns");
    /// A condition on rows.
    WHERE = new("where", Text, "copy scan diff upsert update delete compact").spark_option("where");
    /// A value for a place in the condition.
    PARAM = new("param", Text, "copy scan diff upsert update delete compact").keyword("params");
    /// The order of the rows.
    ORDER_BY = new("order_by", Text, "copy scan");
    /// The maximum number of rows.
    LIMIT = new("limit", Number, "copy scan diff history");
    /// A version of a table.
    AT = new("at", Text, "copy scan diff upsert restore schema").spark_option("versionAsOf");
    /// The version of the second one of two tables.
    SECOND_AT = new("second_at", Text, "diff");
    /// Count the differences, and print no row.
    SUMMARY = new("summary", Flag, "diff");
    /// Rows of a batch.
    BATCH_ROWS = new("batch_rows", Number, "copy scan diff upsert sync").spark_option("batch_rows");
    /// The format of a source.
    INPUT_FORMAT = new("input_format", Choice, READ_TEXT).keyword("format").spark_option("format");
    /// The unit of timestamps.
    TIMESTAMP_UNIT = new("timestamp_unit", Choice, READ).default("auto");
    /// One table of files that share few columns.
    UNION_COLUMNS = new("union_columns", Flag, "copy scan diff upsert schema");
    /// A column with the name of each row's file.
    FILE_NAME_COLUMN = new("file_name_column", Text, "copy scan diff upsert schema");
    /// Columns of the fields of structs, in place of the structs. A text is the separator of their names.
    FLATTEN = new("flatten", Flag, "copy scan upsert schema");
    /// Structs of the columns whose names have several parts. A text is the separator of the parts.
    UNFLATTEN = new("unflatten", Flag, "copy scan upsert schema");
    /// Print the plan without running it.
    EXPLAIN = new("explain", Flag, "scan sql upsert").not_in_python();
    /// Print the number of rows.
    COUNT = new("count", Flag, "scan").not_in_python();
    /// Print a checksum of the rows.
    CHECKSUM = new("checksum", Flag, "scan").not_in_python();
    /// A name for a location in a query.
    RELATION = new("relation", Pairs, "sql").keyword("relations");
    /// The form of printed rows.
    ROW_FORMAT = new("row_format", Choice, "scan sql diff changes").flag("format").not_in_python();
    /// The file that gets rows, tables or contents.
    OUTPUT = new("output", Text, "scan sql diff changes tpch files-get").not_in_python();

    // CSV, TBL and JSON lines.

    /// The field delimiter.
    DELIMITER = new("delimiter", Text, READ_TEXT).spark_option("delimiter");
    /// The quote character.
    QUOTE = new("quote", Text, READ_TEXT).spark_option("quote");
    /// The escape character inside quotes.
    ESCAPE = new("escape", Text, READ_TEXT).spark_option("escape");
    /// A text that means null.
    NULL_STRING = new("null_string", Names, READ_TEXT).keyword("null_strings").spark_option("null_string");
    /// The first line names the columns.
    HEADER = new("header", Flag, READ_TEXT).spark_option("header");
    /// The first line is data.
    NO_HEADER = new("no_header", Off, READ_TEXT).keyword("header").spark_option("header");
    /// Names and types of columns.
    SCHEMA = new("schema", Text, READ_TEXT).spark_option("csv_schema");
    /// Rows that types are inferred from.
    INFER_ROWS = new("infer_rows", Number, READ_TEXT).spark_option("infer_rows");
    /// The action for a malformed row: fail, skip it, or set null.
    ON_BAD_ROW = new("on_bad_row", Choice, READ_TEXT).default("error");
    /// Lines to skip at the start of each file.
    SKIP_ROWS = new("skip_rows", Number, READ_TEXT).default("0").spark_option("skip_rows");
    /// The prefix of lines that are not rows.
    COMMENT = new("comment", Text, READ_TEXT).spark_option("comment");
    /// The format of dates.
    DATE_FORMAT = new("date_format", Text, READ_TEXT).spark_option("date_format");
    /// The format of timestamps.
    TIMESTAMP_FORMAT = new("timestamp_format", Text, READ_TEXT).spark_option("timestamp_format");
    /// Numbers have a decimal comma.
    DECIMAL_COMMA = new("decimal_comma", Flag, READ_TEXT).spark_option("decimal_comma");
    /// The encoding of text.
    ENCODING = new("encoding", Text, READ_TEXT).spark_option("encoding");
    /// The field delimiter of a target.
    OUTPUT_DELIMITER = new("output_delimiter", Text, "copy");
    /// No header line in a target.
    OUTPUT_NO_HEADER = new("output_no_header", Off, "copy").keyword("output_header");

    // Excel.

    /// The name of a workbook's sheet.
    SHEET = new("sheet", Text, READ_TEXT).spark_option("sheet");

    // Writing.

    /// The format of a target.
    OUTPUT_FORMAT = new("output_format", Choice, "copy");
    /// The format of TPC-H's tables.
    TPCH_FORMAT = new("tpch_format", Choice, "tpch").flag("format").keyword("format");
    /// The codec of a target, and its level.
    COMPRESSION = new("compression", Text, "copy compact tpch").spark_option("compression");
    /// The codec of small files, and its level.
    FILE_COMPRESSION = new("file_compression", Text, "files-put files-import").flag("compression").keyword("compression");
    /// Rows in a row group.
    ROW_GROUP_ROWS = new("row_group_rows", Number, "copy tpch").spark_option("row_group_rows");
    /// Bytes in a row group or stripe.
    ROW_GROUP_BYTES = new("row_group_bytes", Bytes, "copy tpch");
    /// Columns with a bloom filter.
    BLOOM_FILTER = new("bloom_filter", Names, "copy").spark_option("bloom_filter");
    /// Bytes of each file of a folder.
    FILE_BYTES = new("file_bytes", Bytes, "copy tpch").spark_option("file_bytes");
    /// Bytes of memory.
    MEMORY_LIMIT = new("memory_limit", Bytes, "copy scan diff sql upsert update delete compact verify tpch");
    /// Durability of written files.
    DURABILITY = new("durability", Choice, WRITE).spark_option("durability");

    // Delta tables.

    /// The partition columns of a new table.
    PARTITION_BY = new("partition_by", Names, "copy upsert").spark_option("partition_by");
    /// A property of a new table.
    TABLE_PROPERTY = new("table_property", Pairs, "copy upsert").keyword("table_properties").spark(SparkName::Prefix("table."));
    /// The allowed changes of a table's schema.
    EVOLVE = new("evolve", Choice, "copy upsert");
    /// Keep NOT NULL in a new table.
    KEEP_NOT_NULL = new("keep_not_null", Flag, "copy");
    /// Compact a table after a write.
    AUTO_COMPACT = new("auto_compact", Flag, "copy upsert");
    /// Rows of a source with the same key: the last one wins, or they are an error. In Spark, a column says which one is the last.
    ON_DUPLICATE = new("on_duplicate", Choice, "upsert").default("last").spark(SparkName::OtherValues("sequence"));
    /// The way to merge values with those of the table.
    MERGE = new("merge", Pairs, "upsert");
    /// Only insert rows with new keys.
    INSERT_ONLY = new("insert_only", Flag, "upsert");
    /// A column of a table, and the value that it gets.
    ASSIGNMENT = new("assignment", Pairs, "update").flag("set").keyword("updates");
    /// Enable deletion vectors on a table.
    ENABLE_DELETION_VECTORS = new("enable_deletion_vectors", Flag, "upsert update delete");
    /// Read files of other stores that a table's log names.
    ALLOW_FOREIGN_PATHS = new("allow_foreign_paths", Flag, EVERY_JOB).setting().spark_option("storage.allow_foreign_paths");
    /// A property to be set.
    SET = new("set", Pairs, "alter");
    /// A property to be removed.
    UNSET = new("unset", Names, "alter");
    /// A column to be added: its name and its type.
    ADD_COLUMN = new("add_column", Text, "alter").keyword("add_columns");
    /// A column's new name.
    RENAME = new("rename", Pairs, "alter");
    /// A column to be dropped.
    DROP = new("drop", Names, "alter");
    /// A column's wider type.
    TYPE = new("type", Pairs, "alter").keyword("types");
    /// A column's comment.
    COLUMN_COMMENT = new("column_comment", Pairs, "alter").flag("comment").keyword("comments");
    /// A condition that every row of a table must fulfil.
    CONSTRAINT = new("constraint", Pairs, "alter").keyword("constraints");
    /// The size of new files.
    TARGET_SIZE = new("target_size", Bytes, "compact");
    /// Columns that rows are sorted by.
    SORT_BY = new("sort_by", Names, "compact");
    /// Columns of a z-order.
    ZORDER = new("zorder", Names, "compact");
    /// Compact only a table that needs it.
    AUTO = new("auto", Flag, "compact");
    /// The retention of removed files.
    RETAIN = new("retain", Time, "vacuum");
    /// Show the changes without making them.
    DRY_RUN = new("dry_run", Flag, "copy upsert update delete alter compact vacuum sync");
    /// Accept a retention below the table's own.
    ALLOW_SHORT_RETENTION = new("allow_short_retention", Flag, "vacuum");
    /// Read all values.
    DEEP = new("deep", Flag, "verify");
    /// Repair damage if undamaged files prove the correct state.
    REPAIR = new("repair", Flag, "verify");
    /// Abandon the commit of an empty last entry.
    DROP_EMPTY_ENTRY = new("drop_empty_entry", Flag, "verify");
    /// The first version of changes.
    FROM = new("from", Number, "changes").keyword("first").spark_option("startingVersion");
    /// The last version of changes.
    TO = new("to", Number, "changes").keyword("last").spark_option("endingVersion");

    // TPC-H.

    /// The scale factor.
    SCALE_FACTOR = new("scale_factor", Number, "tpch").keyword("sf");
    /// Tables to be generated.
    TABLES = new("tables", Names, "tpch");
    /// Refresh streams to be generated.
    REFRESH = new("refresh", Number, "tpch");
    /// Apply refresh streams to tables.
    APPLY = new("apply", Flag, "tpch").not_in_python();
    /// Files of each table.
    PARTS = new("parts", Number, "tpch").default("1");

    // Stores and requests.

    /// Threads that decode and encode.
    THREADS = new("threads", Number, EVERY_JOB).spark_option("threads");
    /// Ranges that are closer than this are merged into one request.
    MIN_SEEK_SIZE = new("min_seek_size", Bytes, EVERY_JOB).spark_option("min_seek_size");
    /// Longer spans are split into requests of this size.
    MAX_REQUEST_SIZE = new("max_request_size", Bytes, EVERY_JOB);
    /// Limit of concurrent requests.
    MAX_REQUESTS_IN_FLIGHT = new("max_requests_in_flight", Number, EVERY_JOB).spark_option("max_requests_in_flight");
    /// The ratio of gap bytes to requested bytes above which the requested bytes are copied out of a merged request.
    EXTRA_BYTES_TOLERANCE = new("extra_bytes_tolerance", Number, EVERY_JOB);
    /// Bytes read ahead of decoding.
    PREFETCH_SIZE = new("prefetch_size", Bytes, EVERY_JOB);
    /// The way to write local files.
    IO = new("io", Choice, EVERY_JOB).default("auto");
    /// The time for which failed requests are repeated.
    RETRY_TIME = new("retry_time", Time, EVERY_JOB).setting().spark_option("storage.retry_time");
    /// A setting of a store.
    STORAGE_OPTION = new("storage_option", Pairs, EVERY_JOB).keyword("storage_options").spark(SparkName::Prefix("storage."));

    // Small files.

    /// Bytes of a shared block of small files.
    PACK_SIZE = new("pack_size", Bytes, "files-put files-import").keyword("pack_bytes");
    /// A file with the key that contents are encrypted with.
    KEY_FILE = new("key_file", Text, FILES).not_in_python();
    /// A transform of contents.
    TRANSFORM = new("transform", Names, FILES).keyword("transforms");
    /// Metadata of a file.
    METADATA = new("metadata", Text, "files-put");
    /// Folders with their files.
    RECURSIVE = new("recursive", Flag, "files-ls files-rm").not_in_python();
    /// Sizes and times in addition to names.
    LONG = new("long", Flag, "files-ls").not_in_python();
    /// Let other users read a mounted store.
    ALLOW_OTHER = new("allow_other", Flag, "files-mount").not_in_python();

    // The command itself.

    /// Print one JSON object.
    JSON = new("json", Flag, EVERY_JOB).not_in_python();
    /// No progress bar, summary or notes.
    QUIET = new("quiet", Flag, EVERY_JOB).not_in_python();
    /// Log what the command does.
    VERBOSE = new("verbose", Flag, EVERY_JOB).not_in_python();
    /// A file that the log is appended to.
    LOG_FILE = new("log_file", Text, EVERY_JOB).not_in_python();
    /// The format of the log.
    LOG_FORMAT = new("log_format", Choice, EVERY_JOB).not_in_python();
    /// The configuration file.
    CONFIG = new("config", Text, EVERY_JOB).not_in_python().environment("LAKERACE_CONFIG");
    /// Rows of the demo.
    ROWS = new("rows", Number, "demo").default("2000000").not_in_python();
    /// The seed of the demo's rows.
    SEED = new("seed", Number, "demo").default("42").not_in_python();
    /// A folder on S3 that the demo copies to.
    S3 = new("s3", Text, "demo").not_in_python().environment("LAKERACE_DEMO_S3");
    /// A folder that keeps the demo's files.
    KEEP = new("keep", Text, "demo").not_in_python();
}
