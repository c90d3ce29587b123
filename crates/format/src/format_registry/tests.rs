#![allow(clippy::unwrap_used, clippy::panic)]

use lakerace_io::ErrorKind;

use super::*;
use crate::Compression;

/// The name of the format that a file's name says.
fn named(name: &str) -> &'static str {
    FileFormat::of_file_name(name).map_or("", |format| format.name)
}

#[test]
fn names_of_files_say_their_formats() {
    let cases = [
        ("a/b.parquet", "parquet"),
        ("B.PQ", "parquet"),
        ("a.orc", "orc"),
        ("a.arrow", "arrow"),
        ("a.arrows", "arrow"),
        ("a.feather", "arrow"),
        ("a.AVRO", "avro"),
        ("a.b.csv", "csv"),
        ("a.csv.gz", "csv"),
        ("a.tbl.ZST", "tbl"),
        ("a.ndjson.gz", "jsonl"),
        ("a.jsonl", "jsonl"),
        ("a.json", "json"),
        ("a.tsv", "tsv"),
        ("a.tab.gz", "tsv"),
        ("a.csv.bz2", "csv"),
        ("a.json.xz", "json"),
        ("a.tsv.zip", "tsv"),
        ("a.csv.zstd", "csv"),
        ("a.XLSX", "excel"),
        ("a.xlsm", "excel"),
    ];
    for (name, format) in cases {
        assert_eq!(named(name), format, "{name}");
    }
    for name in [
        "",
        "a",
        "csv",
        ".csv",
        "a/.csv",
        ".csv.gz",
        "a.gz",
        "a.parquet.gz",
        "a.orc.zst",
        "a.xlsx.gz",
        "a.xls",
        "a.csv.lz4",
        "a.zip",
        "a.csv/b",
    ] {
        assert_eq!(named(name), "", "{name}");
    }
}

#[test]
fn names_are_found_in_letters_of_any_case() {
    assert_eq!("Parquet".parse::<&FileFormat>().unwrap(), &PARQUET);
    assert_eq!(FileFormat::find("Parquet"), None);
    let error = "lance".parse::<&FileFormat>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown format \"lance\" (choose one of parquet, orc, csv, tsv, tbl, arrow, avro, jsonl, json, excel)"
    );
}

#[test]
fn a_format_that_is_only_read_says_what_to_write() {
    let error = EXCEL.check_writable().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(error.to_string().contains("Excel files are read, and never written (write CSV"), "{error}");
    assert!(FileFormat::all().filter(|format| *format != &EXCEL).all(|format| format.check_writable().is_ok()));
}

#[test]
fn new_files_have_the_first_ending_and_text_that_of_its_codec() {
    let ending = |format: &FileFormat, codec: Option<Codec>| {
        format.ending(&WriteOptions { compression: codec.map(Compression::new), ..WriteOptions::default() })
    };
    assert_eq!(ending(&CSV, None), "csv");
    assert_eq!(ending(&CSV, Some(Codec::Gzip)), "csv.gz");
    assert_eq!(ending(&JSON_LINES, Some(Codec::Zstd)), "jsonl.zst");
    assert_eq!(ending(&PARQUET, Some(Codec::Zstd)), "parquet");
    assert_eq!(ending(&ARROW_IPC, Some(Codec::Zstd)), "arrow");
}

#[test]
fn names_and_endings_of_others_are_refused() {
    static NAMED: FileFormat = FileFormat::new("csv", PARQUET.open, PARQUET.create);
    static ENDING: FileFormat =
        FileFormat { endings: &["pqx", "pq"], ..FileFormat::new("other", PARQUET.open, PARQUET.create) };
    static MARK: FileFormat = FileFormat { marks: &[b"PAR"], ..FileFormat::new("other", PARQUET.open, PARQUET.create) };
    static DOTTED: FileFormat =
        FileFormat { endings: &[".x"], ..FileFormat::new("other", PARQUET.open, PARQUET.create) };
    let cases = [
        (&NAMED, "there is already a file format \"csv\""),
        (&ENDING, "the ending .pq belongs to"),
        (&MARK, "files of the file format parquet start with the same bytes"),
        (&DOTTED, "\".x\" can't be the ending of a file name"),
    ];
    for (format, message) in cases {
        let error = FileFormat::register(format).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(error.to_string().contains(message), "{error}");
    }
    assert_eq!(FileFormat::all().count(), BUILT_IN.len());
}

/// A page of the guide.
fn guide(page: &str) -> String {
    std::fs::read_to_string(format!("{}/../../docs/guide/{page}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

#[test]
fn the_guide_names_each_format_and_its_endings() {
    let line = |page: &str, front: &str| {
        guide(page).lines().find(|line| line.starts_with(front)).unwrap_or_default().to_owned()
    };
    let spark = line("spark.md", "| `format` |");
    let rows = guide("locations.md");
    let locations: String = rows.lines().filter(|line| line.starts_with("| `a.")).collect();
    let pipes = guide("pipes.md");
    for format in FileFormat::all() {
        for ending in format.endings {
            assert!(locations.contains(&format!("`a.{ending}`")), ".{ending} is missing in locations.md");
        }
        assert!(spark.contains(&format!("`{}`", format.name)), "{} is missing in spark.md", format.name);
        let rows = pipes.lines().filter(|line| line.starts_with("| ") && line.contains(format.title));
        let [row] = rows.collect::<Vec<_>>()[..] else { panic!("{} in the table of pipes.md", format.title) };
        assert_eq!(row.contains("from a temporary file"), !format.is_streamed, "{}", format.title);
        assert_eq!(row.contains("refused"), format.is_read_only, "{}", format.title);
    }
}

#[test]
fn a_target_has_the_format_of_its_name() {
    let of = |name, given| FileFormat::of_target(name, given, &lakerace_io::option::OUTPUT_FORMAT);
    for (name, given, expected) in [
        ("a.parquet", None, "parquet"),
        ("a.parquet", Some(&PARQUET), "parquet"),
        ("a", Some(&CSV), "csv"),
        ("b.csv/a.txt", Some(&ORC), "orc"),
        ("a.csv.gz", Some(&CSV), "csv"),
        ("a.json", Some(&JSON_LINES), "jsonl"),
        ("a.pq", Some(&PARQUET), "parquet"),
    ] {
        assert_eq!(of(name, given).unwrap().map(|format| format.name), Some(expected), "{name}");
    }
    assert_eq!(of("a", None).unwrap(), None);
    for (name, given) in [
        ("a.parquet", &CSV),
        ("a.csv", &PARQUET),
        ("a.csv.gz", &PARQUET),
        ("a.tsv", &CSV),
        ("a.jsonl", &JSON),
        ("a.ORC", &CSV),
    ] {
        assert_eq!(of(name, Some(given)).unwrap_err().kind(), ErrorKind::Usage, "{name}");
    }
}
