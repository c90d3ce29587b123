//! Every type there and back.

use std::sync::Arc;

use arrow::array::*;
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::*;
use lakerace_database::WriteMode;
use lakerace_io::ErrorKind;

use crate::server::*;

fn nested() -> Vec<(&'static str, ArrayRef)> {
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let values = Int64Array::from(vec![Some(1), None, Some(7)]);
    let lists = ListArray::new(
        item,
        OffsetBuffer::from_lengths([2, 0, 1, 0]),
        Arc::new(values),
        Some(vec![true, true, true, false].into()),
    );
    let fields: Fields =
        vec![Field::new("x", DataType::Int32, true), Field::new("new.dot", DataType::Utf8, true)].into();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(vec![Some(1), None, None, None])),
        Arc::new(StringArray::from(vec![Some("a"), Some("b"), None, None])),
    ];
    let structs = StructArray::new(fields, columns, Some(vec![true, true, true, false].into()));
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    for row in 0..4 {
        if row < 2 {
            maps.keys().append_value(format!("k{row}"));
            maps.values().append_value(row);
        }
        maps.append(row < 3).unwrap();
    }
    vec![("list", Arc::new(lists)), ("struct", Arc::new(structs)), ("map", Arc::new(maps.finish()))]
}

fn all_types() -> RecordBatch {
    let max = "9".repeat(38).parse::<i128>().unwrap();
    let dictionary: DictionaryArray<Int32Type> = vec![Some("007"), None, Some("7"), Some("x")].into_iter().collect();
    let decimal = Decimal128Array::from(vec![Some(max), Some(-max), Some(0), None]);
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("i64", Arc::new(Int64Array::from(vec![i64::MIN, -1, 0, i64::MAX]))),
        ("i8", Arc::new(Int8Array::from(vec![Some(i8::MIN), None, Some(0), Some(i8::MAX)]))),
        ("u32", Arc::new(UInt32Array::from(vec![0, 1, 2, u32::MAX]))),
        ("u64", Arc::new(UInt64Array::from(vec![Some(0), Some(1 << 63), None, Some(u64::MAX)]))),
        ("f32", Arc::new(Float32Array::from(vec![Some(0.1), Some(-0.0), None, Some(f32::MAX)]))),
        ("f64", Arc::new(Float64Array::from(vec![Some(0.1), Some(1e300), Some(5e-324), None]))),
        ("bool", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, Some(true)]))),
        ("decimal", Arc::new(decimal.with_precision_and_scale(38, 10).unwrap())),
        ("text", Arc::new(StringArray::from(vec![Some(""), Some("007"), None, Some("a\"\\\n\u{1}é😀")]))),
        (
            "view",
            Arc::new(StringViewArray::from(vec![Some("long enough to be out of line"), None, Some("s"), Some("")])),
        ),
        ("binary", Arc::new(BinaryArray::from_opt_vec(vec![Some(b"\x00\xff"), None, Some(b""), Some(b"x")]))),
        ("date", Arc::new(Date32Array::from(vec![Some(0), Some(-719_528), Some(2_932_896), None]))),
        ("s", Arc::new(TimestampSecondArray::from(vec![Some(-1), Some(0), Some(253_402_300_799), None]))),
        ("ms", Arc::new(TimestampMillisecondArray::from(vec![Some(-1), None, Some(1), Some(2)]).with_timezone("UTC"))),
        ("us", Arc::new(TimestampMicrosecondArray::from(vec![Some(1), None, Some(1_700_000_000_123_456), Some(0)]))),
        ("ns", Arc::new(TimestampNanosecondArray::from(vec![Some(1), None, Some(i64::MAX), Some(0)]))),
        ("time", Arc::new(Time64MicrosecondArray::from(vec![Some(1), None, Some(86_399_999_999), Some(0)]))),
        ("duration", Arc::new(DurationNanosecondArray::from(vec![Some(i64::MIN), None, Some(1), Some(i64::MAX)]))),
        ("dictionary", Arc::new(dictionary)),
        ("nothing", Arc::new(NullArray::new(4))),
        ("all_null", Arc::new(Int64Array::from(vec![None, None, None, None]))),
        ("dot.ted", Arc::new(Int64Array::from(vec![Some(1), None, Some(3), Some(4)]))),
        ("$dollar", Arc::new(Int64Array::from(vec![Some(1), None, Some(3), Some(4)]))),
    ];
    columns.extend(nested());
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

#[test]
#[ignore = "needs a server"]
fn every_type_comes_back_as_it_was() {
    let (index, batch) = (index("types"), all_types());
    let location = at(&endpoint(), &index);
    let written = load(&location, &batch, &options(WriteMode::Error)).unwrap();
    assert_eq!(written.rows, 4);
    assert_eq!(read_all(&location).unwrap(), batch);
    // Numbers, dates and texts are what other clients see, too.
    let found = ok("GET", &format!("/{index}/_search?q=bool:false"), &serde_json::Value::Null);
    let source = &found["hits"]["hits"][0]["_source"];
    assert_eq!(source["text"], "007");
    assert_eq!(source["u64"], "9223372036854775808");
}

#[test]
#[ignore = "needs a server"]
fn no_rows_make_an_index_with_its_columns() {
    let location = at(&endpoint(), &index("empty"));
    let none = all_types().slice(0, 0);
    assert_eq!(load(&location, &none, &options(WriteMode::Error)).unwrap().rows, 0);
    let back = read_all(&location).unwrap();
    assert_eq!((back.num_rows(), back.schema()), (0, none.schema()));
}

#[test]
#[ignore = "needs a server"]
fn strict_fields_take_no_number_in_quotes_from_others() {
    let index = index("strict");
    load(&at(&endpoint(), &index), &rows(0, 1, "x"), &options(WriteMode::Error)).unwrap();
    for wrong in [r#"{"n":"12"}"#, r#"{"n":1.7}"#, r#"{"other":1}"#] {
        let (status, _) = ask("POST", &format!("/{index}/_doc"), &serde_json::from_str(wrong).unwrap());
        assert_eq!(status, 400, "{wrong}");
    }
}

#[test]
#[ignore = "needs a server"]
fn microseconds_are_not_narrowed_unless_that_is_wanted() {
    let index = index("narrow");
    let mapping = serde_json::json!({ "mappings": { "properties": { "us": { "type": "date" } } } });
    ok("PUT", &format!("/{index}"), &mapping);
    let micros: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1]));
    let batch = RecordBatch::try_from_iter_with_nullable([("us", micros, true)]).unwrap();
    let location = at(&endpoint(), &index);
    let error = load(&location, &batch, &options(WriteMode::Append)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("`allow_narrowing`"), "{error}");
    assert_eq!(count(&index), 0);
    let mut narrowing = options(WriteMode::Append);
    narrowing.allow_narrowing = true;
    load(&location, &batch, &narrowing).unwrap();
    assert_eq!(count(&index), 1);
}

#[test]
#[ignore = "needs a server"]
fn long_texts_are_rejected_as_keywords_and_kept_as_text() {
    let long = "x".repeat(40_000);
    let texts: ArrayRef = Arc::new(StringArray::from(vec![long.as_str()]));
    let batch = RecordBatch::try_from_iter_with_nullable([("t", texts, true)]).unwrap();
    let location = at(&endpoint(), &index("long"));
    let error = load(&location, &batch, &options(WriteMode::Error)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("?text=") && !error.to_string().contains("xxx"), "{error}");
    let location = format!("{location}?text=t");
    load(&location, &batch, &options(WriteMode::Error)).unwrap();
    assert_eq!(read_all(&location).unwrap(), batch);
}
