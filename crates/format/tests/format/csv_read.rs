//! CSV and TBL text to batches, through files.

use std::io::Write;
use std::path::Path;

use arrow::array::{Array, AsArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType};
use arrow::record_batch::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use lakerace_format::csv::{CsvSource, Dialect};
use lakerace_format::schema_text::print_schema;
use lakerace_format::{CompareOp, CsvOptions, Expr, Literal, OnBadRow, ReadRequest, Source};
use lakerace_io::{Error, ErrorKind, Job, JobOptions, Location, Object, Result, StorageOptions};

fn job(threads: usize) -> Job {
    Job::new(JobOptions { threads, ..JobOptions::default() })
}

fn object(path: &Path, job: &Job) -> Object {
    let location = Location::parse(path.to_str().unwrap()).unwrap();
    location.object(&StorageOptions::default(), job).unwrap()
}

/// Files by name and content, read as one table by `threads` threads.
pub struct Case<'a> {
    pub files: Vec<(&'a str, Vec<u8>)>,
    dialect: Dialect,
    pub options: CsvOptions,
    request: ReadRequest,
    threads: usize,
}

pub struct Table {
    batch: RecordBatch,
    batches: usize,
    bad_rows: u64,
}

impl<'a> Case<'a> {
    pub fn new(text: impl Into<Vec<u8>>) -> Self {
        Self {
            files: vec![("t.csv", text.into())],
            dialect: Dialect::Csv,
            options: CsvOptions::default(),
            request: ReadRequest::default(),
            threads: 1,
        }
    }

    fn tbl(text: &str) -> Self {
        Self { dialect: Dialect::Tbl, ..Self::new(text) }
    }

    pub fn schema(mut self, schema: &str) -> Self {
        self.options.schema = Some(schema.to_owned());
        self
    }

    pub fn on_bad_row(mut self, on_bad_row: OnBadRow) -> Self {
        self.options.on_bad_row = on_bad_row;
        self
    }

    fn no_header(mut self) -> Self {
        self.options.header = Some(false);
        self
    }

    fn columns(mut self, names: &[&str]) -> Self {
        self.request.columns = Some(names.iter().map(|n| (*n).to_owned()).collect());
        self
    }

    fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    pub fn read(&self) -> Result<Table> {
        let folder = tempfile::tempdir().unwrap();
        let job = job(self.threads);
        let objects = self.files.iter().map(|(name, content)| {
            let path = folder.path().join(name);
            std::fs::File::create(&path).unwrap().write_all(content).unwrap();
            object(&path, &job)
        });
        let source = CsvSource::open(objects.collect(), self.dialect, &self.options, &job)?;
        let plan = source.plan(&self.request)?;
        let batches = source.read(&plan)?.collect::<Result<Vec<_>>>()?;
        assert!(batches.iter().all(|b| b.schema() == plan.schema && b.num_rows() > 0));
        let batch = concat_batches(&plan.schema, &batches).unwrap();
        assert_eq!(job.meter().counts().rows_read, batch.num_rows() as u64);
        Ok(Table { batch, batches: batches.len(), bad_rows: job.meter().counts().bad_rows })
    }

    pub fn rows(&self) -> Vec<Vec<String>> {
        self.read().unwrap().rows()
    }

    pub fn error(&self) -> Error {
        match self.read() {
            Ok(table) => panic!("should fail, but gave {:?}", table.rows()),
            Err(error) => error,
        }
    }
}

impl Table {
    /// Every value as text, null as `-`.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let options = FormatOptions::default().with_null("-");
        let columns: Vec<_> =
            self.batch.columns().iter().map(|c| ArrayFormatter::try_new(c.as_ref(), &options).unwrap()).collect();
        (0..self.batch.num_rows()).map(|row| columns.iter().map(|c| c.value(row).to_string()).collect()).collect()
    }

    pub fn schema(&self) -> String {
        print_schema(&self.batch.schema())
    }
}

#[test]
fn types_are_inferred() {
    let text = "i,f,b,d,t,z,n,s,zip,big,huge,phone,nothing,mixed\n\
        1,1.5,true,2024-02-29,2024-02-29 12:30:00,2024-02-29T12:30:00.5+02:00,2024-01-01T00:00:00.123456789,x,007,\
        18446744073709551616,18446744073709551617,+49,,1\n\
        -9223372036854775808,3,False,1969-12-31,1969-12-31T23:59:59.999999,1969-12-31T23:59:59Z,2024-01-01,,1,1,1,1,,a\n\
        ,,,,,,,\"\",,,,,,\n";
    let table = Case::new(text).read().unwrap();
    assert_eq!(
        table.schema(),
        "i int64, f float64, b bool, d date32, t timestamp(us), z timestamp(us, UTC), n timestamp(ns), s utf8_view, \
         zip utf8_view, big float64, huge utf8_view, phone utf8_view, nothing utf8_view, mixed utf8_view"
    );
    let batch = &table.batch;
    assert_eq!(batch.column(0).as_primitive::<Int64Type>().value(1), i64::MIN);
    assert_eq!(batch.column(1).as_primitive::<Float64Type>().value(0), 1.5);
    assert!(!batch.column(2).as_boolean().value(1));
    assert_eq!(batch.column(3).as_primitive::<Date32Type>().values()[..2], [19_782, -1]);
    assert_eq!(batch.column(4).as_primitive::<TimestampMicrosecondType>().value(1), -1);
    assert_eq!(batch.column(5).as_primitive::<TimestampMicrosecondType>().value(0), 1_709_202_600_500_000);
    let texts = batch.column(7).as_string_view();
    assert!(texts.is_null(1) && texts.is_valid(2) && texts.value(2).is_empty());
    assert!((0..7).all(|c| batch.column(c).is_null(2)));
}

#[test]
fn quotes_line_ends_and_blank_lines() {
    let text = "\u{feff}a,\"b \"\"x\"\"\",c\r\n1,\"two\nlines, and \"\"quotes\"\"\",x\"y\r\n\r\n\n2,\"\",\"a long text, with a comma\"";
    let table = Case::new(text).read().unwrap();
    assert_eq!(table.schema(), "a int64, \"b \"\"x\"\"\" utf8_view, c utf8_view");
    assert_eq!(table.rows(), [["1", "two\nlines, and \"quotes\"", "x\"y"], ["2", "", "a long text, with a comma"]]);
}

#[test]
fn other_dialects() {
    let mut case = Case::new("a;b\n'x;\\'y\\\\';NA\n'NA';''\n");
    case.options.delimiter = Some(b';');
    case.options.quote = Some(Some(b'\''));
    case.options.escape = Some(b'\\');
    case.options.null_strings = Some(vec!["NA".into()]);
    assert_eq!(case.rows(), [["x;'y\\", "-"], ["NA", ""]]);

    let mut case = Case::new("a\tb\n\"x\t1\n");
    case.options.delimiter = Some(b'\t');
    case.options.quote = Some(None);
    assert_eq!(case.rows(), [["\"x", "1"]]);

    let mut case = Case::new("a,b\n1,2\n");
    case.options.delimiter = Some(b'"');
    assert_eq!(case.error().kind(), ErrorKind::Usage);
}

#[test]
fn tbl_lines_end_with_a_bar() {
    let table = Case::tbl("1|a||\n2|b \"q\"|3.50|\n").read().unwrap();
    assert_eq!(table.schema(), "column_1 int64, column_2 utf8_view, column_3 float64");
    assert_eq!(table.rows(), [["1", "a", "-"], ["2", "b \"q\"", "3.5"]]);
    let table = Case::tbl("1|a||\r\n2|b|3.50|").schema("id int32, name utf8, price decimal(15,2)").read().unwrap();
    assert_eq!(table.batch.column(2).as_primitive::<Decimal128Type>().value(1), 350);
    assert_eq!(table.rows(), [["1", "a", "-"], ["2", "b", "3.50"]]);
}

#[test]
fn headers_get_unique_names() {
    let table = Case::new("a,,a,a_2,a,column_2\n1,2,3,4,5,6\n").read().unwrap();
    let names: Vec<String> = table.batch.schema().fields().iter().map(|f| f.name().clone()).collect();
    assert_eq!(names, ["a", "column_2", "a_3", "a_2", "a_4", "column_2_2"]);
}

#[test]
fn one_column_has_nulls_for_blank_lines() {
    assert_eq!(Case::new("a\n1\n\n3\n").rows(), [["1"], ["-"], ["3"]]);
    assert_eq!(Case::new("a\n1\n\r\n3").rows(), [["1"], ["-"], ["3"]]);
}

#[test]
fn no_rows_are_fine_where_a_header_is() {
    for text in ["a,b\n", "a,b", "\n\na,b\r\n"] {
        let table = Case::new(text).read().unwrap();
        assert_eq!((table.schema().as_str(), table.rows().len()), ("a utf8_view, b utf8_view", 0));
    }
    assert_eq!(Case::tbl("").schema("a int64").read().unwrap().rows().len(), 0);
    for text in ["", "\n", "\u{feff}"] {
        let error = Case::new(text).error();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("empty"), "{error}");
    }
    assert_eq!(Case::tbl("").error().kind(), ErrorKind::Invalid);
}

#[test]
fn a_bad_value_is_named_with_file_line_and_column() {
    let mut case = Case::new("id,price\n1,\"a\nb\"\n2,c\nx3,d\n");
    case.options.infer_rows = Some(2);
    let error = case.error();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let said = error.to_string();
    assert!(said.contains("t.csv, line 5, column \"id\": \"x3\" is not a value of type int64"), "{said}");
    assert!(said.contains("schema"), "{said}");
    assert_eq!(
        Case::new("id,s\n1,a\n2,b\n3,c,d\n").error().to_string().matches("line 4: the row has 3 fields, not 2").count(),
        1
    );
    let error = Case::new("id,s\n1,a\n2\n").error();
    assert!(error.to_string().contains("line 3: the row has 1 field, not 2"), "{error}");
    let error = Case::new("a,b\n1,\"x\"y\n").schema("b utf8").error();
    assert!(
        error.to_string().contains("line 2, column \"b\": \"\\\"x\\\"y\" continues after its closing quote"),
        "{error}"
    );
    let error = Case::new("a,b\n1,\n").schema("b utf8 not null").error();
    assert!(error.to_string().contains("not null"), "{error}");
}

#[test]
fn bad_rows_are_left_out_or_mended() {
    let text =
        "id,s,d\n1,a,2024-01-01\nx,b,2024-01-02\n3,c\n4,d,2024-02-30\n5,e,2024-01-05,9\n6,\"f\"f,2024-01-06\n7,g,\n";
    let schema = "id int64, s utf8, d date32";
    let skipped = Case::new(text).schema(schema).on_bad_row(OnBadRow::Skip).read().unwrap();
    assert_eq!(skipped.rows(), [["1", "a", "2024-01-01"], ["7", "g", "-"]]);
    assert_eq!(skipped.bad_rows, 5);
    let mended = Case::new(text).schema(schema).on_bad_row(OnBadRow::Null).read().unwrap();
    assert_eq!(
        mended.rows(),
        [
            ["1", "a", "2024-01-01"],
            ["-", "b", "2024-01-02"],
            ["3", "c", "-"],
            ["4", "d", "-"],
            ["5", "e", "2024-01-05"],
            ["6", "-", "2024-01-06"],
            ["7", "g", "-"]
        ]
    );
    assert_eq!(mended.bad_rows, 5);
    // A column that is not read is not looked at.
    let some = Case::new(text).schema(schema).on_bad_row(OnBadRow::Skip).columns(&["s"]).read().unwrap();
    assert_eq!(some.rows(), [["a"], ["b"], ["d"], ["g"]]);
    // Null has no place in a column that takes none.
    let strict = "id int64 not null, s utf8, d date32";
    assert_eq!(Case::new(text).schema(strict).on_bad_row(OnBadRow::Skip).read().unwrap().rows().len(), 2);
    let error = Case::new(text).schema(strict).on_bad_row(OnBadRow::Null).error();
    assert!(error.to_string().contains("line 3, column \"id\""), "{error}");
}

#[test]
fn text_must_be_utf8() {
    let error = Case::new(b"a,b\n1,x\n2,caf\xe9\n".to_vec()).error();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("line 3, byte 6 of it: byte 0xe9 is not valid UTF-8"), "{error}");
    let case = Case::new(b"a,b\n1,x\n2,caf\xe9\n3,y\n".to_vec());
    assert_eq!(case.on_bad_row(OnBadRow::Skip).rows(), [["1", "x"], ["3", "y"]]);
    let case = Case::new(b"a,b\n1,x\n2,a longer caf\xe9\n".to_vec());
    assert_eq!(case.on_bad_row(OnBadRow::Null).rows(), [["1", "x"], ["2", "-"]]);
    let utf16: Vec<u8> = "\u{feff}a,b\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let error = Case::new(utf16).error();
    assert!(error.to_string().contains("UTF-16"), "{error}");
    assert_eq!(Case::new("a\r1\r2\r").error().kind(), ErrorKind::Invalid);
}

#[test]
fn an_unclosed_quote_is_named_by_its_line() {
    let error = Case::new("a,b\n1,2\n3,\"x\n4,5\n6,7\n").schema("a int64, b utf8").error();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("line 3: the quote that opens here is never closed"), "{error}");
}

#[test]
fn columns_filter_and_limit() {
    let text: String =
        std::iter::once("a,b,c\n".to_owned()).chain((0..100).map(|i| format!("{i},t{i},{}\n", i % 7))).collect();
    let mut case = Case::new(text).columns(&["c", "a"]);
    case.request.filter = Some(Expr::Compare {
        op: CompareOp::Eq,
        left: Box::new(Expr::Column("b".into())),
        right: Box::new(Expr::Literal(Literal::Text("t20".into()))),
    });
    assert_eq!(case.rows(), [["6", "20"]]);
    case.request.filter = None;
    case.request.limit = Some(3);
    assert_eq!(case.rows(), [["0", "0"], ["1", "1"], ["2", "2"]]);
    case.request.limit = None;
    case.request.batch_rows = Some(7);
    assert_eq!(case.read().unwrap().batches, 15);
    let case = case.columns(&[]);
    assert_eq!(case.read().unwrap().batch.num_rows(), 100);
    let error = case.columns(&["bb"]).error();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("did you mean"), "{error}");
}

#[test]
fn a_bad_row_after_the_limit_does_no_harm() {
    let mut case = Case::new("a\n1\n2\nx\n").schema("a int64");
    case.request.limit = Some(2);
    assert_eq!(case.rows(), [["1"], ["2"]]);
    case.request.limit = Some(3);
    assert_eq!(case.error().kind(), ErrorKind::Invalid);
}

#[test]
fn a_schema_may_name_some_columns() {
    let table = Case::new("zip,n,x\n1,2,3\n").schema("n float64, zip utf8").read().unwrap();
    assert_eq!(table.schema(), "zip utf8, n float64, x int64");
    let error = Case::new("zip,n\n1,2\n").schema("zap utf8").error();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("\"zip\""), "{error}");
    assert_eq!(Case::new("a\n1\n").schema("a binary").error().kind(), ErrorKind::Unsupported);
    let table = Case::new("1,2\n").no_header().schema("x int8, y int8").read().unwrap();
    assert_eq!(table.schema(), "x int8, y int8");
}

#[test]
fn many_files_are_one_table() {
    for threads in [1, 3] {
        let mut case = Case::new("a,b\n1,x\n2,y\n").threads(threads);
        case.files.push(("u.csv", b"b,a\nz,3\n".to_vec()));
        case.files.push(("v.csv", b"a,b\n".to_vec()));
        case.files.push(("w.csv", b"a,b\n4,w".to_vec()));
        assert_eq!(case.rows(), [["1", "x"], ["2", "y"], ["3", "z"], ["4", "w"]]);
        case.files.push(("bad.csv", b"a,c\n5,x\n".to_vec()));
        let said = case.error().to_string();
        assert!(said.contains("bad.csv") && said.contains("t.csv") && said.contains("\"b\""), "{said}");
    }
    // Where the first file has no row, the next one tells the types.
    let mut case = Case::new("a,b\n");
    case.files.push(("u.csv", b"b,a\nz,3\n".to_vec()));
    assert_eq!(case.read().unwrap().schema(), "a int64, b utf8_view");
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn packed_files_are_unpacked() {
    let text = b"a,b\n1,x\n2,y\n";
    let (front, back) = text.split_at(7);
    let members = [gzip(front), gzip(back)].concat();
    let frames = [zstd::encode_all(front, 0).unwrap(), zstd::encode_all(back, 0).unwrap()].concat();
    for (name, packed) in
        [("t.csv.gz", &members), ("t.csv.zst", &frames), ("by_magic.csv", &members), ("m.csv", &frames)]
    {
        let mut case = Case::new("");
        case.files = vec![(name, packed.clone())];
        assert_eq!(case.rows(), [["1", "x"], ["2", "y"]], "{name}");
    }
    // Zeros behind a member are padding; anything else is damage.
    let zeros = |count: usize| vec![0; count];
    for padding in [1, 512, 300_000] {
        let mut case = Case::new("");
        let padded = [gzip(front), zeros(padding), gzip(back), zeros(padding)].concat();
        case.files = vec![("t.csv.gz", padded.clone()), ("u.csv.gz", [padded, gzip(b"3,z\n")].concat())];
        assert_eq!(case.rows(), [["1", "x"], ["2", "y"], ["1", "x"], ["2", "y"], ["3", "z"]]);
        case.files = vec![("t.csv.gz", [members.clone(), zeros(padding), b"x".to_vec()].concat())];
        assert_eq!(case.error().kind(), ErrorKind::Corrupt);
    }
    for (name, packed) in [("t.csv.gz", &members), ("t.csv.zst", &frames)] {
        for len in 1..packed.len() {
            let mut case = Case::new("");
            case.files = vec![(name, packed[..len].to_vec())];
            // A cut between two members leaves a whole file.
            if let Err(error) = case.read() {
                assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Invalid), "{name} {len}: {error:?}");
                assert!(error.to_string().contains(name), "{error}");
            } else {
                assert!(len == gzip(front).len() || len == zstd::encode_all(front, 0).unwrap().len(), "{name} {len}");
            }
        }
    }
    let mut case = Case::new("");
    case.files = vec![("t.csv.gz", text.to_vec())];
    assert_eq!(case.error().kind(), ErrorKind::Corrupt);
}

#[test]
fn ten_thousand_columns() {
    let header: Vec<String> = (0..10_000).map(|i| format!("c{i}")).collect();
    let row: Vec<String> = (0..10_000).map(|i| i.to_string()).collect();
    let text = format!("{}\n{}\n{}\n", header.join(","), row.join(","), row.join(","));
    let table = Case::new(text).columns(&["c9999", "c0"]).read().unwrap();
    assert_eq!(table.rows(), [["9999", "0"], ["9999", "0"]]);
}

#[test]
fn nul_bytes_are_characters() {
    assert_eq!(Case::new("a,b\nx\0y,1\n").rows(), [["x\0y", "1"]]);
}

/// Enough rows for many blocks, with records across their borders, and line feeds and quotes all over.
#[test]
fn blocks_are_put_together_in_order() {
    let mut text = String::from("id,text,amount\n");
    let mut expected = Vec::new();
    for i in 0..60_000u64 {
        let mixed = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let field = match mixed % 5 {
            0 => format!("line {i}\nand \"another\", of a row"),
            1 => "\n".repeat((mixed % 50) as usize),
            2 => format!("plain {mixed}"),
            3 => "\"".repeat((mixed % 9) as usize),
            _ => "x".repeat((mixed % 200) as usize),
        };
        text.push_str(&format!("{i},\"{}\",{}.25\n", field.replace('"', "\"\""), mixed));
        expected.push((i as i64, field, mixed as f64 + 0.25));
    }
    assert!(text.len() > 3 << 20);
    for threads in [1, 2, 4] {
        let table = Case::new(text.as_str()).threads(threads).read().unwrap();
        let (ids, texts) = (table.batch.column(0).as_primitive::<Int64Type>(), table.batch.column(1).as_string_view());
        let amounts = table.batch.column(2).as_primitive::<Float64Type>();
        assert_eq!(table.batch.num_rows(), expected.len());
        for (row, (id, field, amount)) in expected.iter().enumerate() {
            assert_eq!((ids.value(row), texts.value(row), amounts.value(row)), (*id, field.as_str(), *amount));
        }
    }
    // The line of an error behind many blocks.
    let lines = text.matches('\n').count() + 1;
    text.push_str("x,y,z\n");
    for threads in [1, 3] {
        let said = Case::new(text.as_str()).threads(threads).error().to_string();
        assert!(said.contains(&format!("line {lines}, column \"id\"")), "{said}");
    }
}

#[test]
fn a_record_may_be_longer_than_a_block() {
    let long = "a,b\nc".repeat(1 << 20);
    let text = format!("x,y\n1,\"{long}\"\n2,z\n");
    for threads in [1, 3] {
        let table = Case::new(text.as_str()).threads(threads).schema("x int64, y utf8_view").read().unwrap();
        assert_eq!(table.batch.column(1).as_string_view().value(0).len(), long.len());
        assert_eq!(table.batch.column(1).as_string_view().value(1), "z");
    }
}
