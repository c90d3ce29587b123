//! Tables of every type to text and back.

use std::path::Path;
use std::sync::Arc;

use arrow::array::types::*;
use arrow::array::*;
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit, i256};
use arrow::record_batch::RecordBatch;
use lakerace_format::csv::{CsvSink, CsvSource, Dialect};
use lakerace_format::schema_text::{parse_type, print_schema};
use lakerace_format::{Codec, Compression, CsvOptions, ReadRequest, Source, WriteOptions, Written};
use lakerace_io::{ErrorKind, IfExists, Job, JobOptions, Location, Output, RangeOptions, Result, StorageOptions};
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const TYPES: &[&str] = &[
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "decimal32(9,2)",
    "decimal64(18,18)",
    "decimal(38,10)",
    "decimal(15,2)",
    "decimal(5,0)",
    "decimal256(76,3)",
    "date32",
    "date64",
    "time32(s)",
    "time32(ms)",
    "time64(us)",
    "time64(ns)",
    "timestamp(s)",
    "timestamp(ms, UTC)",
    "timestamp(us)",
    "timestamp(us, Europe/Berlin)",
    "timestamp(ns)",
    "utf8",
    "large_utf8",
    "utf8_view",
    "null",
];

fn job(threads: usize) -> Job {
    Job::new(JobOptions { threads, ..JobOptions::default() })
}

fn write(path: &Path, batches: &[RecordBatch], dialect: Dialect, options: &WriteOptions, job: &Job) -> Result<Written> {
    let location = Location::parse(path.to_str().unwrap())?;
    let (store, path) = location.open(&StorageOptions::default(), job)?;
    let output = Output::create(&store, &path, IfExists::Error)?;
    let mut sink = CsvSink::create(output, batches[0].schema(), dialect, options, job)?;
    for batch in batches {
        sink.write(batch.clone())?;
    }
    sink.finish()
}

fn read(path: &Path, schema: &SchemaRef, dialect: Dialect, options: &CsvOptions, job: &Job) -> Result<RecordBatch> {
    let options = CsvOptions { schema: Some(print_schema(schema)), ..options.clone() };
    let object = Location::parse(path.to_str().unwrap())?.object(&StorageOptions::default(), job)?;
    let source = CsvSource::open(vec![object], dialect, &options, job)?;
    let batches = source.read(&source.plan(&ReadRequest::default())?)?.collect::<Result<Vec<_>>>()?;
    Ok(concat_batches(&source.schema(), &batches).unwrap())
}

/// Anything at all, and often something near a border.
fn integer(random: &mut StdRng, bits: u32) -> i64 {
    let (low, high) = (i64::MIN >> (64 - bits), i64::MAX >> (64 - bits));
    match random.random_range(0..6) {
        0 => low,
        1 => high,
        2 => random.random_range(-10..10),
        _ => random.random_range(low..=high),
    }
}

fn text(random: &mut StdRng, with_quotes: bool) -> String {
    let alphabet: Vec<char> = if with_quotes {
        ",;|\"'\\\n\r\t NAnull0é漢🦀xyz\u{0}\u{feff}".chars().collect()
    } else {
        "\"'\\\t NAnull0é漢🦀xyz".chars().collect()
    };
    let least = usize::from(!with_quotes);
    let len = if random.random_bool(0.8) { random.random_range(least..14) } else { random.random_range(least..80) };
    (0..len).map(|_| alphabet[random.random_range(0..alphabet.len())]).collect()
}

fn primitive<T: ArrowPrimitiveType>(
    data_type: &DataType,
    rows: usize,
    random: &mut StdRng,
    mut value: impl FnMut(&mut StdRng) -> T::Native,
) -> ArrayRef {
    let values: PrimitiveArray<T> = (0..rows).map(|_| random.random_bool(0.85).then(|| value(random))).collect();
    Arc::new(values.with_data_type(data_type.clone()))
}

fn decimal_below(random: &mut StdRng, precision: u8) -> i128 {
    let most = 10i128.pow(u32::from(precision)) - 1;
    match random.random_range(0..4) {
        0 => most,
        1 => -most,
        2 => random.random_range(-99..99).clamp(-most, most),
        _ => random.random_range(-most..=most),
    }
}

fn column(data_type: &DataType, rows: usize, random: &mut StdRng, with_quotes: bool) -> ArrayRef {
    use DataType as D;
    let t = data_type;
    macro_rules! integers {
        ($type:ty, $bits:expr) => {
            primitive::<$type>(t, rows, random, |r| integer(r, $bits) as _)
        };
    }
    let texts = |random: &mut StdRng| -> Vec<Option<String>> {
        (0..rows).map(|_| random.random_bool(0.85).then(|| text(random, with_quotes))).collect()
    };
    match t {
        D::Null => Arc::new(NullArray::new(rows)),
        D::Boolean => {
            let values = (0..rows).map(|_| random.random_bool(0.85).then(|| random.random_bool(0.5)));
            Arc::new(values.collect::<BooleanArray>())
        }
        D::Int8 => integers!(Int8Type, 8),
        D::Int16 => integers!(Int16Type, 16),
        D::Int32 => integers!(Int32Type, 32),
        D::Int64 => integers!(Int64Type, 64),
        D::UInt8 => integers!(UInt8Type, 8),
        D::UInt16 => integers!(UInt16Type, 16),
        D::UInt32 => integers!(UInt32Type, 32),
        D::UInt64 => integers!(UInt64Type, 64),
        D::Float16 => primitive::<Float16Type>(t, rows, random, |r| {
            <Float16Type as ArrowPrimitiveType>::Native::from_f32(r.random_range(-70_000.0..70_000.0))
        }),
        D::Float32 => primitive::<Float32Type>(t, rows, random, |r| match r.random_range(0..4) {
            0 => f32::from_bits(r.random()),
            1 => r.random_range(-1000..1000) as f32 / 100.0,
            _ => r.random(),
        }),
        D::Float64 => primitive::<Float64Type>(t, rows, random, |r| match r.random_range(0..6) {
            0 => f64::from_bits(r.random()),
            1 => f64::from(r.random_range(-1_000_000..1_000_000)) / 100.0,
            2 => -0.0,
            3 => f64::INFINITY,
            _ => r.random(),
        }),
        D::Decimal32(p, _) => {
            let p = *p;
            primitive::<Decimal32Type>(t, rows, random, |r| decimal_below(r, p) as i32)
        }
        D::Decimal64(p, _) => {
            let p = *p;
            primitive::<Decimal64Type>(t, rows, random, |r| decimal_below(r, p) as i64)
        }
        D::Decimal128(p, _) => {
            let p = *p;
            primitive::<Decimal128Type>(t, rows, random, |r| decimal_below(r, p))
        }
        D::Decimal256(_, _) => primitive::<Decimal256Type>(t, rows, random, |r| {
            let most = i256::from_i128(10i128.pow(38) - 1);
            let part = i256::from_i128(decimal_below(r, 38));
            if r.random_bool(0.5) { part } else { part.wrapping_mul(most) }
        }),
        D::Date32 => primitive::<Date32Type>(t, rows, random, |r| {
            if r.random_bool(0.2) { integer(r, 32) as i32 } else { r.random_range(-30_000..30_000) }
        }),
        D::Date64 => integers!(Date64Type, 64),
        D::Time32(TimeUnit::Second) => primitive::<Time32SecondType>(t, rows, random, |r| r.random_range(0..86_400)),
        D::Time32(_) => primitive::<Time32MillisecondType>(t, rows, random, |r| r.random_range(0..86_400_000)),
        D::Time64(TimeUnit::Microsecond) => {
            primitive::<Time64MicrosecondType>(t, rows, random, |r| r.random_range(0..86_400_000_000))
        }
        D::Time64(_) => primitive::<Time64NanosecondType>(t, rows, random, |r| r.random_range(0..86_400_000_000_000)),
        D::Timestamp(TimeUnit::Second, _) => integers!(TimestampSecondType, 64),
        D::Timestamp(TimeUnit::Millisecond, _) => integers!(TimestampMillisecondType, 64),
        D::Timestamp(TimeUnit::Microsecond, _) => integers!(TimestampMicrosecondType, 64),
        D::Timestamp(TimeUnit::Nanosecond, _) => integers!(TimestampNanosecondType, 64),
        D::Utf8 => Arc::new(StringArray::from(texts(random))),
        D::LargeUtf8 => Arc::new(LargeStringArray::from(texts(random))),
        D::Utf8View => Arc::new(StringViewArray::from_iter(texts(random))),
        other => panic!("no values of {other}"),
    }
}

fn table(seed: u64, types: &[usize], rows: usize, with_quotes: bool) -> RecordBatch {
    let mut random = StdRng::seed_from_u64(seed);
    let types: Vec<DataType> = types.iter().map(|t| parse_type(TYPES[*t]).unwrap()).collect();
    let fields: Vec<Field> =
        types.iter().enumerate().map(|(i, t)| Field::new(format!("c {i}"), t.clone(), true)).collect();
    let columns = types.iter().map(|t| column(t, rows, &mut random, with_quotes)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

/// NaN is equal to NaN here, whatever its bits.
fn assert_same(got: &RecordBatch, wanted: &RecordBatch) {
    assert_eq!(got.schema(), wanted.schema());
    for (got, wanted) in got.columns().iter().zip(wanted.columns()) {
        let plain = |array: &ArrayRef| -> ArrayRef {
            match array.data_type() {
                DataType::Float64 => Arc::new(
                    array
                        .as_primitive::<Float64Type>()
                        .unary::<_, Float64Type>(|v| if v.is_nan() { f64::NAN } else { v }),
                ),
                DataType::Float32 => Arc::new(
                    array
                        .as_primitive::<Float32Type>()
                        .unary::<_, Float32Type>(|v| if v.is_nan() { f32::NAN } else { v }),
                ),
                _ => Arc::clone(array),
            }
        };
        assert_eq!(&plain(got), &plain(wanted));
    }
}

fn dialects() -> Vec<(Dialect, CsvOptions)> {
    let plain = CsvOptions::default();
    vec![
        (Dialect::Csv, plain.clone()),
        (Dialect::Csv, CsvOptions { header: Some(false), ..plain.clone() }),
        (
            Dialect::Csv,
            CsvOptions {
                delimiter: Some(b';'),
                quote: Some(Some(b'\'')),
                escape: Some(b'\\'),
                null_strings: Some(vec!["NA".into(), "0".into()]),
                ..plain.clone()
            },
        ),
        (Dialect::Csv, CsvOptions { delimiter: Some(b'-'), null_strings: Some(vec!["NULL".into()]), ..plain.clone() }),
        (Dialect::Csv, CsvOptions { delimiter: Some(b','), quote: Some(None), ..plain.clone() }),
        (Dialect::Tbl, plain),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn every_table_comes_back(
        seed: u64,
        types in proptest::collection::vec(0..TYPES.len(), 1..12),
        rows in 0usize..300,
        dialect in 0usize..6,
        packing in 0usize..4,
        threads in 1usize..4,
    ) {
        let (dialect, csv) = dialects().swap_remove(dialect);
        let with_quotes = dialect == Dialect::Csv && csv.quote != Some(None);
        let batch = table(seed, &types, rows, with_quotes);
        let folder = tempfile::tempdir().unwrap();
        let (name, compression) = [
            ("t.csv", None),
            ("t.csv.gz", None),
            ("t.csv.zst", None),
            ("t.csv", Some(Compression { codec: Codec::Gzip, level: Some(1) })),
        ][packing];
        let path = folder.path().join(name);
        let job = job(threads);
        let options = WriteOptions { compression, csv: csv.clone(), ..WriteOptions::default() };
        let middle = rows / 3;
        let batches = [batch.slice(0, middle), batch.slice(middle, rows - middle)];
        let written = write(&path, &batches, dialect, &options, &job).unwrap();
        prop_assert_eq!(written.rows, rows as u64);
        prop_assert_eq!(written.bytes, std::fs::metadata(&path).unwrap().len());
        let back = read(&path, &batch.schema(), dialect, &csv, &job).unwrap();
        assert_same(&back, &batch);
    }
}

#[test]
fn many_pieces_stay_in_order() {
    let all: Vec<usize> = (0..TYPES.len()).collect();
    let batch = table(7, &all, 20_000, true);
    for (name, threads) in [("a.csv", 1), ("b.csv", 3), ("c.csv.gz", 3), ("d.csv.zst", 2)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        let job = job(threads);
        let written =
            write(&path, &[batch.clone(), batch.slice(5, 5000)], Dialect::Csv, &WriteOptions::default(), &job);
        assert_eq!(written.unwrap().rows, 25_000);
        let back = read(&path, &batch.schema(), Dialect::Csv, &CsvOptions::default(), &job).unwrap();
        assert_same(&back.slice(0, 20_000), &batch);
        assert_same(&back.slice(20_000, 5000), &batch.slice(5, 5000));
        assert_eq!(job.meter().counts().rows_written, 25_000);
    }
}

#[test]
fn dictionaries_are_written_as_their_values() {
    let values: DictionaryArray<Int32Type> = [Some("a"), None, Some("b,"), Some("a")].into_iter().collect();
    let batch = RecordBatch::try_from_iter([("d", Arc::new(values) as ArrayRef)]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    write(&path, &[batch], Dialect::Csv, &WriteOptions::default(), &job(1)).unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "d\na\n\n\"b,\"\na\n");
}

#[test]
fn values_of_dictionaries_are_printed_once_and_only_those_in_use_have_to_fit() {
    let folder = tempfile::tempdir().unwrap();
    let texts = |batch: &RecordBatch, dialect: Dialect, name: &str| {
        let path = folder.path().join(name);
        write(&path, std::slice::from_ref(batch), dialect, &WriteOptions::default(), &job(1))?;
        Ok::<_, lakerace_io::Error>(std::fs::read_to_string(path).unwrap())
    };
    // Keys by which nulls are told, values that are null, and one that TBL can't hold.
    let values =
        StringViewArray::from(vec![Some("plain"), Some("a|b"), None, Some("quo\"te, and more than twelve bytes")]);
    let keys = UInt8Array::from(vec![Some(0), Some(3), None, Some(2), Some(0), Some(1), Some(3)]);
    let column: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::new(values)));
    let batch = RecordBatch::try_from_iter([("d", column)]).unwrap();
    let quoted = "\"quo\"\"te, and more than twelve bytes\"";
    let expected = format!("d\nplain\n{quoted}\n\n\nplain\na|b\n{quoted}\n");
    assert_eq!(texts(&batch, Dialect::Csv, "a.csv").unwrap(), expected);
    assert_eq!(texts(&batch.slice(3, 2), Dialect::Csv, "b.csv").unwrap(), "d\n\nplain\n");
    assert_eq!(texts(&batch.slice(0, 1), Dialect::Tbl, "a.tbl").unwrap(), "plain|\n");
    assert_eq!(texts(&batch.slice(0, 5), Dialect::Tbl, "b.tbl").unwrap().lines().count(), 5);
    let error = texts(&batch, Dialect::Tbl, "c.tbl").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("row 6, column \"d\""), "{error}");
    // Nothing but nulls, and numbers.
    let none: ArrayRef = Arc::new(DictionaryArray::new(
        Int32Array::from(vec![None, None]),
        Arc::new(StringArray::from(Vec::<&str>::new())),
    ));
    let numbers: ArrayRef =
        Arc::new(DictionaryArray::new(Int64Array::from(vec![0, 0]), Arc::new(Float64Array::from(vec![0.5]))));
    let batch = RecordBatch::try_from_iter([("n", none), ("f", numbers)]).unwrap();
    assert_eq!(texts(&batch, Dialect::Csv, "c.csv").unwrap(), "n,f\n,0.5\n,0.5\n");
}

#[test]
fn text_looks_as_documented() {
    let at = TimestampMicrosecondArray::from(vec![Some(1_500_000), Some(-1)]).with_timezone("+02:00");
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("i", Arc::new(Int64Array::from(vec![Some(-5), None])) as ArrayRef, true),
        ("f", Arc::new(Float64Array::from(vec![1.0, 1e300])), true),
        ("d", Arc::new(Decimal128Array::from(vec![-5, 12345]).with_precision_and_scale(9, 2).unwrap()), true),
        ("t", Arc::new(at), true),
        ("s", Arc::new(StringArray::from(vec![Some(""), None])), true),
        ("b", Arc::new(BooleanArray::from(vec![true, false])), true),
        ("y", Arc::new(Date32Array::from(vec![-719_529, 2_932_897])), true),
    ])
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    write(&path, std::slice::from_ref(&batch), Dialect::Csv, &WriteOptions::default(), &job(2)).unwrap();
    assert_eq!(
        std::fs::read_to_string(path).unwrap(),
        "i,f,d,t,s,b,y\n-5,1.0,-0.05,1970-01-01T00:00:01.500Z,\"\",true,-0001-12-31\n\
         ,1e+300,123.45,1969-12-31T23:59:59.999999Z,,false,+10000-01-01\n"
    );
    let path = folder.path().join("t.tbl");
    write(&path, &[batch], Dialect::Tbl, &WriteOptions::default(), &job(1)).unwrap();
    assert!(
        std::fs::read_to_string(path)
            .unwrap()
            .ends_with("|1e+300|123.45|1969-12-31T23:59:59.999999Z||false|+10000-01-01|\n")
    );
}

#[test]
fn what_text_can_not_hold_is_an_error_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let one = |name: &str, array: ArrayRef, dialect| {
        let batch = RecordBatch::try_from_iter([("c", array)]).unwrap();
        let error = write(&folder.path().join(name), &[batch], dialect, &WriteOptions::default(), &job(2)).unwrap_err();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{name}");
        error
    };
    let binary = one("t.csv", Arc::new(BinaryArray::from(vec![&b"x"[..]])), Dialect::Csv);
    assert_eq!(binary.kind(), ErrorKind::Unsupported);
    assert!(binary.to_string().contains("\"c\""), "{binary}");
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)])]);
    assert_eq!(one("t.csv", Arc::new(list), Dialect::Csv).kind(), ErrorKind::Unsupported);
    for bad in ["a|b", "a\nb", "a\rb"] {
        let error = one("t.tbl", Arc::new(StringArray::from(vec!["fine", bad])), Dialect::Tbl);
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("row 2, column \"c\""), "{error}");
    }
    let error = one("t.csv", Arc::new(Time32SecondArray::from(vec![86_400])), Dialect::Csv);
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let batch = RecordBatch::try_from_iter([("c", Arc::new(Int8Array::from(vec![1])) as ArrayRef)]).unwrap();
    for codec in [Codec::Snappy, Codec::Zstd] {
        let options = WriteOptions { compression: Some(Compression::new(codec)), ..WriteOptions::default() };
        let error =
            write(&folder.path().join("t.csv.gz"), std::slice::from_ref(&batch), Dialect::Csv, &options, &job(1));
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Usage);
    }
}

/// Small requests cut a file into as many blocks; packed text goes over their borders.
#[test]
fn a_plan_reads_every_byte_once() {
    let batch = table(11, &[4, 11, 31], 20_000, true);
    for name in ["t.csv", "t.csv.gz"] {
        let ranges = RangeOptions { max_request_bytes: Some(64 << 10), ..RangeOptions::default() };
        let job = Job::new(JobOptions { threads: 2, ranges, ..JobOptions::default() });
        let location = Location::parse(&format!("memory://csv-requests/{name}")).unwrap();
        let (store, path) = location.open(&StorageOptions::default(), &job).unwrap();
        let output = Output::create(&store, &path, IfExists::Replace).unwrap();
        let mut sink = CsvSink::create(output, batch.schema(), Dialect::Csv, &WriteOptions::default(), &job).unwrap();
        sink.write(batch.clone()).unwrap();
        let bytes = sink.finish().unwrap().bytes;
        let object = location.object(&StorageOptions::default(), &job).unwrap();
        let options = CsvOptions { schema: Some(print_schema(&batch.schema())), ..CsvOptions::default() };
        let source = CsvSource::open(vec![object], Dialect::Csv, &options, &job).unwrap();
        let plan = source.plan(&ReadRequest::default()).unwrap();
        assert_eq!((plan.requests.wanted_bytes, plan.requests.read_through_bytes), (bytes, 0));
        assert!(plan.requests.requests.len() as u64 >= bytes.div_ceil(64 << 10));
        let before = job.meter().counts();
        let batches = source.read(&plan).unwrap().collect::<Result<Vec<_>>>().unwrap();
        let after = job.meter().counts();
        assert_same(&concat_batches(&batch.schema(), &batches).unwrap(), &batch);
        assert_eq!(after.bytes_read - before.bytes_read, bytes);
        assert_eq!(after.requests.get - before.requests.get, plan.requests.requests.len() as u64);
    }
}

#[test]
fn a_cancelled_job_stops() {
    let batch = table(12, &[4, 31], 1000, true);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    write(&path, std::slice::from_ref(&batch), Dialect::Csv, &WriteOptions::default(), &job(1)).unwrap();
    for threads in [1, 3] {
        let job = job(threads);
        let object = Location::parse(path.to_str().unwrap()).unwrap().object(&StorageOptions::default(), &job).unwrap();
        let source = CsvSource::open(vec![object], Dialect::Csv, &CsvOptions::default(), &job).unwrap();
        let plan = source.plan(&ReadRequest::default()).unwrap();
        job.cancel();
        let kinds: Vec<_> = source
            .read(&plan)
            .map_or_else(|e| vec![e.kind()], |batches| batches.filter_map(|b| b.err()).map(|e| e.kind()).collect());
        assert_eq!(kinds, [ErrorKind::Cancelled]);
    }
    let job = job(2);
    let location = Location::parse(folder.path().join("u.csv").to_str().unwrap()).unwrap();
    let (store, path) = location.open(&StorageOptions::default(), &job).unwrap();
    let output = Output::create(&store, &path, IfExists::Error).unwrap();
    let mut sink = CsvSink::create(output, batch.schema(), Dialect::Csv, &WriteOptions::default(), &job).unwrap();
    sink.write(batch).unwrap();
    job.cancel();
    assert_eq!(sink.finish().unwrap_err().kind(), ErrorKind::Cancelled);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
