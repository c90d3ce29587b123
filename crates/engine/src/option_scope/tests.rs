#![allow(clippy::unwrap_used)]
use lakerace_format::{
    ARROW_IPC, CSV, Compression, CsvOptions, EXCEL, ExcelOptions, JSON, JSON_LINES, ORC, PARQUET, ParquetOptions, TBL,
    TSV,
};
use lakerace_io::ErrorKind;

use super::*;

/// Every kind of place, with a file and a folder of each format.
fn places() -> Vec<PlaceKind> {
    let files = [&PARQUET, &ORC, &CSV, &TBL, &ARROW_IPC, &JSON_LINES, &TSV, &JSON]
        .into_iter()
        .flat_map(|format| [PlaceKind::File(format), PlaceKind::Folder(format)]);
    let others = [PlaceKind::Table(&DELTA), PlaceKind::Generated, PlaceKind::Database];
    files.chain(others).chain([PlaceKind::File(&EXCEL), PlaceKind::Folder(&EXCEL)]).collect()
}

fn csv(csv: CsvOptions) -> ReadOptions {
    ReadOptions { csv, ..ReadOptions::default() }
}

/// One set of options for each option of reading.
fn reads() -> Vec<(&'static str, ReadOptions)> {
    let text = || Some("x".to_owned());
    vec![
        ("delimiter", csv(CsvOptions { delimiter: Some(b';'), ..CsvOptions::default() })),
        ("quote", csv(CsvOptions { quote: Some(None), ..CsvOptions::default() })),
        ("escape", csv(CsvOptions { escape: Some(b'\\'), ..CsvOptions::default() })),
        ("null_string", csv(CsvOptions { null_strings: Some(vec!["-".to_owned()]), ..CsvOptions::default() })),
        ("header", csv(CsvOptions { header: Some(true), ..CsvOptions::default() })),
        ("schema", csv(CsvOptions { schema: text(), ..CsvOptions::default() })),
        ("infer_rows", csv(CsvOptions { infer_rows: Some(1), ..CsvOptions::default() })),
        ("on_bad_row", csv(CsvOptions { on_bad_row: OnBadRow::Skip, ..CsvOptions::default() })),
        ("skip_rows", csv(CsvOptions { skip_rows: 1, ..CsvOptions::default() })),
        ("comment", csv(CsvOptions { comment: text(), ..CsvOptions::default() })),
        ("date_format", csv(CsvOptions { date_format: text(), ..CsvOptions::default() })),
        ("timestamp_format", csv(CsvOptions { timestamp_format: text(), ..CsvOptions::default() })),
        ("decimal_comma", csv(CsvOptions { decimal_comma: true, ..CsvOptions::default() })),
        ("encoding", csv(CsvOptions { encoding: text(), ..CsvOptions::default() })),
        ("sheet", ReadOptions { excel: ExcelOptions { sheet: text() }, ..ReadOptions::default() }),
        (
            "timestamp_unit",
            ReadOptions {
                parquet: ParquetOptions { timestamp_unit: TimestampUnit::Second, ..ParquetOptions::default() },
                ..ReadOptions::default()
            },
        ),
        ("union_columns", ReadOptions { column_union: ColumnUnion::Any, ..ReadOptions::default() }),
        ("file_name_column", ReadOptions { file_name_column: text(), ..ReadOptions::default() }),
    ]
}

/// One set of options for each option of writing.
fn writes() -> Vec<(&'static str, WriteOptions)> {
    let with = |change: fn(&mut WriteOptions)| {
        let mut options = WriteOptions::default();
        change(&mut options);
        options
    };
    vec![
        ("compression", with(|o| o.compression = Some("zstd".parse::<Compression>().unwrap()))),
        ("row_group_rows", with(|o| o.row_group_rows = Some(1))),
        ("row_group_bytes", with(|o| o.row_group_bytes = Some(1))),
        ("bloom_filter", with(|o| o.bloom_filter_columns = vec!["a".to_owned()])),
        ("file_bytes", with(|o| o.file_bytes = Some(1))),
        ("memory_limit", with(|o| o.memory_bytes = Some(1))),
        ("output_delimiter", with(|o| o.csv.delimiter = Some(b';'))),
        ("output_no_header", with(|o| o.csv.header = Some(false))),
    ]
}

/// The places that an option applies to, as letters: Parquet, Orc, Csv, Tbl, Arrow, Jsonl, tsV and jsoN as files and (capital)
/// folders, table, generated, database and eXcel.
fn letters(applies: impl Fn(PlaceKind) -> bool) -> String {
    places()
        .into_iter()
        .zip("pPoOcCtTaAjJvVnN#~@xX".chars())
        .filter(|(place, _)| applies(*place))
        .map(|(_, c)| c)
        .collect()
}

#[test]
fn options_of_reading_apply_to_what_reads_them() {
    let expected = [
        "cCtTvV",
        "cCtTvV",
        "cCtTvV",
        "cCtTvVxX",
        "cCtTvVxX",
        "cCtTjJvVnN@xX",
        "cCtTjJvVnN",
        "cCtTjJvVnNxX",
        "cCtTvVxX",
        "cCtTvV",
        "cCtTvV",
        "cCtTvV",
        "cCtTvV",
        "cCtTvV",
        "xX",
        "pPoO",
        "pPoO",
        "pPoOcCtTjJvVnNxX",
    ];
    for ((name, options), expected) in reads().into_iter().zip(expected) {
        assert_eq!(letters(|place| check_read_scope(&options, place, None, "x").is_ok()), expected, "{name}");
        let refused =
            places().into_iter().find_map(|place| check_read_scope(&options, place, None, "x").err()).unwrap();
        assert_eq!(refused.kind(), ErrorKind::Usage, "{name}");
        assert!(refused.to_string().contains(&format!("`{name}")), "{refused}");
    }
}

#[test]
fn options_of_writing_apply_to_what_reads_them() {
    let expected = ["pPoOcCtTaAjJvVnN#", "pP#", "pPoO#", "pPoO#", "POCTAJVN#", "#", "cCtTvV", "cCtTvV"];
    for ((name, options), expected) in writes().into_iter().zip(expected) {
        assert_eq!(letters(|place| check_write_scope(&options, place, "x").is_ok()), expected, "{name}");
        let refused = places().into_iter().find_map(|place| check_write_scope(&options, place, "x").err()).unwrap();
        assert!(refused.to_string().contains(&format!("`{name}")), "{refused}");
    }
}

#[test]
fn a_delimited_target_takes_the_dialect_and_nothing_else() {
    let (parquet, csv) = (PlaceKind::File(&PARQUET), Some(PlaceKind::File(&CSV)));
    let taken: Vec<&str> = reads()
        .into_iter()
        .filter(|(_, options)| check_read_scope(options, parquet, csv, "x").is_ok())
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        taken,
        ["delimiter", "quote", "escape", "null_string", "timestamp_unit", "union_columns", "file_name_column"]
    );
}

#[test]
fn options_of_two_sources_apply_to_either() {
    for (name, options) in reads() {
        for (one, two) in places().into_iter().zip(places().into_iter().rev()) {
            let takes = |place| check_read_scope(&options, place, None, "x").is_ok();
            let both = check_either_scope([(&options, one, "x"), (&options, two, "y")]);
            assert_eq!(both.is_ok(), takes(one) || takes(two), "{name}");
            let given_to_one = check_either_scope([(&options, one, "x"), (&ReadOptions::default(), two, "y")]);
            assert_eq!(given_to_one.is_ok(), takes(one), "{name}");
        }
    }
}

#[test]
fn defaults_apply_everywhere() {
    for place in places() {
        check_read_scope(&ReadOptions::default(), place, None, "x").unwrap();
        let is_read_only = place.file_format() == Some(&EXCEL);
        assert_eq!(check_write_scope(&WriteOptions::default(), place, "x").is_ok(), !is_read_only);
    }
}

#[test]
fn unknown_settings_of_stores_name_the_nearest() {
    let storage = [("aws_regoin".to_owned(), "x".to_owned())].into_iter().collect();
    let options = ReadOptions { storage, ..ReadOptions::default() };
    let error = check_read_scope(&options, PlaceKind::Table(&DELTA), None, "x").unwrap_err();
    assert_eq!(error.to_string(), "unknown storage option \"aws_regoin\" (did you mean aws_region?)");
}
