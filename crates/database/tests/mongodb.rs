//! MongoDB against a server: `tests/rust.py` starts one.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int8Array, Int32Array, Int64Array, ListArray, MapArray, NullArray, RecordBatch,
    StringArray, StringViewArray, StructArray, TimestampMicrosecondArray, TimestampMillisecondArray, UInt64Array,
};
use arrow::compute::{concat_batches, sort_to_indices, take_record_batch};
use arrow::datatypes::{DataType, Field, Int32Type, Schema, i256};
use bson::{Bson, Document, doc};
use lakerace_database::{BatchRows, MONGODB, SinkOptions, SourceOptions, WriteMode, open_sink, open_source};
use lakerace_format::{CompareOp, Expr, Literal, ReadRequest, Written};
use lakerace_io::{ErrorKind, Job, JobOptions, Result, runtime};

struct Server {
    url: String,
    database: mongodb::Database,
}

impl Server {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let url = std::env::var("LAKERACE_TEST_MONGODB").expect("tests/rust.py starts a server and names it");
        let name = format!("lakerace_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let client = wait(async { mongodb::Client::with_uri_str(&url).await.unwrap() });
        Self { database: client.database(&name), url }
    }

    fn at(&self, rest: &str) -> String {
        format!("{}/{}/{rest}", self.url, self.database.name())
    }

    fn insert(&self, collection: &str, documents: Vec<Document>) {
        wait(async { self.database.collection::<Document>(collection).insert_many(documents).await.unwrap() });
    }

    fn all(&self, collection: &str) -> Vec<Document> {
        use futures::TryStreamExt;
        wait(async {
            let collection = self.database.collection::<Document>(collection);
            let sorted = collection.find(doc! {}).sort(doc! { "_id": 1 });
            sorted.await.unwrap().try_collect().await.unwrap()
        })
    }

    /// The documents of the one collection whose name begins so.
    fn count_of(&self, name: &str) -> usize {
        let names = self.collections();
        let [found] = names.iter().filter(|found| found.starts_with(name)).collect::<Vec<_>>()[..] else {
            panic!("{names:?}")
        };
        self.all(found).len()
    }

    fn collections(&self) -> Vec<String> {
        let mut names = wait(async { self.database.list_collection_names().await.unwrap() });
        names.sort();
        names
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        wait(async { self.database.drop().await.unwrap() });
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    runtime().unwrap().block_on(future)
}

fn write(location: &str, batches: &[RecordBatch], options: &SinkOptions) -> Result<Written> {
    let mut sink = open_sink(&MONGODB, location, batches[0].schema(), options, &Job::default())?;
    for batch in batches {
        sink.write(batch.clone())?;
    }
    sink.finish()
}

fn read_request(location: &str, options: &SourceOptions, request: &ReadRequest) -> Result<RecordBatch> {
    let source = open_source(&MONGODB, location, options, &Job::default())?;
    let plan = source.plan(request)?;
    let batches = source.read(&plan)?.collect::<Result<Vec<_>>>()?;
    Ok(concat_batches(&plan.schema, &batches).unwrap())
}

fn read(location: &str) -> Result<RecordBatch> {
    read_request(location, &SourceOptions::default(), &ReadRequest::default())
}

fn sorted(batch: &RecordBatch, by: &str) -> RecordBatch {
    let order = sort_to_indices(batch.column_by_name(by).unwrap(), None, None).unwrap();
    take_record_batch(batch, &order).unwrap()
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn ids_and_names(ids: std::ops::Range<i64>) -> RecordBatch {
    let names: StringArray = ids.clone().map(|id| (id % 7 != 0).then(|| format!("name {id}"))).collect();
    batch(vec![("id", Arc::new(Int64Array::from_iter_values(ids))), ("name", Arc::new(names))])
}

/// Rows of 4 KB each: some hundred of them fill a command.
fn long_rows(ids: std::ops::Range<i64>) -> RecordBatch {
    let texts: StringArray = ids.clone().map(|id| Some(format!("{id:04}").repeat(1000))).collect();
    batch(vec![("id", Arc::new(Int64Array::from_iter_values(ids))), ("text", Arc::new(texts))])
}

fn mode(mode: WriteMode) -> SinkOptions {
    SinkOptions { mode, ..SinkOptions::default() }
}

fn keyed(write_mode: WriteMode) -> SinkOptions {
    SinkOptions { key: vec!["id".to_owned()], ..mode(write_mode) }
}

fn all_types() -> RecordBatch {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), Some(vec![]), None]);
    let inner: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, None]));
    let structs = StructArray::new(
        vec![Field::new("inner", DataType::Utf8, true)].into(),
        vec![inner],
        Some(vec![true, true, false].into()),
    );
    let map = MapArray::new_from_strings(
        ["x", "y", "x"].into_iter(),
        &Int64Array::from(vec![Some(1), None, Some(i64::MIN)]),
        &[0, 2, 3, 3],
    )
    .unwrap();
    let uuid = FixedSizeBinaryArray::try_from_sparse_iter_with_size(
        [Some([7_u8; 16]), None, Some([0_u8; 16])].into_iter(),
        16,
    )
    .unwrap();
    let wide = i256::from_i128(10_i128.pow(33)) * i256::from_i128(9);
    batch(vec![
        ("row", Arc::new(Int32Array::from(vec![0, 1, 2]))),
        ("nothing", Arc::new(NullArray::new(3))),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        ("tiny", Arc::new(Int8Array::from(vec![Some(i8::MIN), Some(i8::MAX), None]))),
        ("long", Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(i64::MAX), None]))),
        ("unsigned", Arc::new(UInt64Array::from(vec![Some(u64::MAX), Some(1 << 63), Some(0)]))),
        ("single", Arc::new(Float32Array::from(vec![Some(0.1), Some(f32::INFINITY), None]))),
        ("double", Arc::new(Float64Array::from(vec![Some(-0.0), Some(f64::MIN_POSITIVE), Some(f64::NEG_INFINITY)]))),
        (
            "decimal",
            Arc::new(
                Decimal128Array::from(vec![Some(10_i128.pow(34) - 1), Some(-150), None])
                    .with_precision_and_scale(38, 10)
                    .unwrap(),
            ),
        ),
        (
            "wide",
            Arc::new(
                Decimal256Array::from(vec![Some(wide), Some(i256::MINUS_ONE), None])
                    .with_precision_and_scale(60, 2)
                    .unwrap(),
            ),
        ),
        ("day", Arc::new(Date32Array::from(vec![Some(-1), Some(19_000), None]))),
        ("at", Arc::new(TimestampMicrosecondArray::from(vec![Some(-1000), Some(1_700_000_000_123_000), None]))),
        (
            "at_utc",
            Arc::new(TimestampMillisecondArray::from(vec![Some(-1), Some(0), None]).with_timezone("Europe/Berlin")),
        ),
        ("text", Arc::new(StringArray::from(vec![Some(""), Some("007 \u{1F600} \0"), None]))),
        ("view", Arc::new(StringViewArray::from(vec![Some("a text of more than twelve bytes"), Some(""), None]))),
        ("bytes", Arc::new(BinaryArray::from_opt_vec(vec![Some(b"\x00\xff"), Some(b""), None]))),
        ("uuid", Arc::new(uuid)),
        ("list", Arc::new(list)),
        ("struct", Arc::new(structs)),
        ("map", Arc::new(map)),
        ("dotted.name", Arc::new(Int32Array::from(vec![Some(1), None, None]))),
        ("", Arc::new(Int32Array::from(vec![Some(2), None, None]))),
    ])
}

#[test]
#[ignore = "needs a MongoDB server"]
fn all_types_come_back_as_they_were() {
    let server = Server::new();
    let rows = all_types();
    let written = write(&server.at("types"), std::slice::from_ref(&rows), &mode(WriteMode::Error)).unwrap();
    assert_eq!(written.rows, 3);
    assert_eq!(sorted(&read(&server.at("types")).unwrap(), "row"), rows);
    let documents = server.all("types");
    assert_eq!(documents.len(), 3);
    assert_eq!(documents[0].get("tiny"), Some(&Bson::Int32(-128)));
    assert_eq!(documents[0].get("long"), Some(&Bson::Int64(i64::MIN)));
    assert_eq!(documents[0].get("unsigned").unwrap().to_string(), "18446744073709551615");
    assert_eq!(documents[1].get("decimal").unwrap().to_string(), "-1.50E-8");
    assert_eq!(documents[0].get_document("map").unwrap(), &doc! { "x": 1_i64, "y": Bson::Null });
    assert_eq!(documents[1].get_array("list").unwrap(), &Vec::<Bson>::new());
    assert_eq!(documents[2].get("list"), Some(&Bson::Null));
    assert_eq!(server.collections(), ["lakerace.schemas", "types"]);
}

#[test]
#[ignore = "needs a MongoDB server"]
fn modes_do_what_they_say() {
    let server = Server::new();
    let at = server.at("people");
    write(&at, &[ids_and_names(0..100)], &keyed(WriteMode::Error)).unwrap();
    let exists = write(&at, &[ids_and_names(0..1)], &mode(WriteMode::Error)).unwrap_err();
    assert_eq!(exists.kind(), ErrorKind::Conflict);
    assert!(exists.to_string().contains("`mode=append`"), "{exists}");
    // A key that is there already: the whole load stops, and names no value.
    let double = write(&at, &[ids_and_names(50..150)], &keyed(WriteMode::Append)).unwrap_err();
    assert_eq!(double.kind(), ErrorKind::Conflict);
    write(&at, &[ids_and_names(150..160)], &keyed(WriteMode::Append)).unwrap();
    // The newest version of a key stays, the one in the last batch of several.
    let older = batch(vec![
        ("id", Arc::new(Int64Array::from(vec![5, 5, 200]))),
        ("name", Arc::new(StringArray::from(vec!["old", "older", "new"]))),
    ]);
    let newer = batch(vec![
        ("id", Arc::new(Int64Array::from(vec![5, 6]))),
        ("name", Arc::new(StringArray::from(vec!["newest", "six"]))),
    ]);
    let written = write(&at, &[older, newer], &keyed(WriteMode::Upsert)).unwrap();
    assert_eq!(written.rows, 5);
    let names = |id: i64| server.all("people").into_iter().find(|d| d.get_i64("id").unwrap() == id).unwrap();
    assert_eq!(names(5).get_str("name").unwrap(), "newest");
    assert_eq!(names(200).get_str("name").unwrap(), "new");
    write(&at, &[ids_and_names(0..50)], &keyed(WriteMode::Delete)).unwrap();
    assert!(server.all("people").iter().all(|document| document.get_i64("id").unwrap() >= 50));
    write(&at, &[ids_and_names(7..9)], &keyed(WriteMode::Overwrite)).unwrap();
    assert_eq!(sorted(&read(&at).unwrap(), "id"), ids_and_names(7..9));
    assert_eq!(server.all("people")[0].get("_id"), Some(&Bson::Int64(7)));
}

#[test]
#[ignore = "needs a MongoDB server"]
fn upserts_into_documents_of_others_take_a_unique_index() {
    let server = Server::new();
    server.insert("theirs", vec![doc! { "_id": "x", "id": 1_i64, "name": "one", "more": true }]);
    let at = server.at("theirs");
    let refused = write(&at, &[ids_and_names(1..3)], &keyed(WriteMode::Upsert)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    assert!(refused.to_string().contains("createIndex"), "{refused}");
    wait(async {
        let index =
            doc! { "createIndexes": "theirs", "indexes": [{ "key": { "id": 1 }, "name": "id_1", "unique": true }] };
        server.database.run_command(index).await.unwrap();
    });
    write(&at, &[ids_and_names(1..3)], &keyed(WriteMode::Upsert)).unwrap();
    let documents = server.all("theirs");
    assert_eq!(documents.len(), 2);
    assert!(documents.contains(&doc! { "_id": "x", "id": 1_i64, "name": "name 1" }));
}

#[test]
#[ignore = "needs a MongoDB server"]
fn a_load_goes_on_after_what_was_acknowledged_and_doubles_nothing() {
    let server = Server::new();
    for write_mode in [WriteMode::Append, WriteMode::Error, WriteMode::Overwrite] {
        let at = server.at(&format!("loaded_{write_mode:?}"));
        let options = SinkOptions {
            load_name: Some("people.parquet@1".to_owned()),
            batch_rows: BatchRows::Rows(NonZeroU64::new(100).unwrap()),
            ..mode(write_mode)
        };
        let schema = long_rows(0..0).schema();
        let mut sink = open_sink(&MONGODB, &at, Arc::clone(&schema), &options, &Job::default()).unwrap();
        assert_eq!(sink.acknowledged_rows(), 0);
        sink.write(long_rows(0..100)).unwrap();
        sink.checkpoint().unwrap();
        // The first ones of these reach the server, and no checkpoint acknowledges them.
        sink.write(long_rows(100..700)).unwrap();
        drop(sink);
        assert!((101..700).contains(&server.count_of(&format!("loaded_{write_mode:?}"))));
        let options = SinkOptions { resume: true, ..options };
        let mut sink = open_sink(&MONGODB, &at, schema, &options, &Job::default()).unwrap();
        assert_eq!(sink.acknowledged_rows(), 100);
        sink.write(long_rows(100..1000)).unwrap();
        sink.checkpoint().unwrap();
        assert_eq!(sink.finish().unwrap().rows, 900);
        let rows = sorted(&read(&at).unwrap(), "id");
        assert_eq!(rows, long_rows(0..1000));
        let finished = open_sink(&MONGODB, &at, rows.schema(), &options, &Job::default()).unwrap();
        assert_eq!(finished.acknowledged_rows(), 1000);
        assert_eq!(finished.finish().unwrap().rows, 0);
    }
    assert!(server.collections().iter().all(|name| !name.contains("loading")), "{:?}", server.collections());
}

#[test]
#[ignore = "needs a MongoDB server"]
fn rejected_rows_go_to_the_dead_letter_file() {
    let server = Server::new();
    let folder = tempfile::tempdir().unwrap();
    let letters = folder.path().join("rejected.jsonl");
    let at = server.at("rejecting");
    let rows = batch(vec![
        ("id", Arc::new(Int64Array::from(vec![Some(1), Some(2), None, Some(1)]))),
        ("at", Arc::new(TimestampMicrosecondArray::from(vec![0, 1, 2000, 3000]))),
    ]);
    let strict = write(&at, std::slice::from_ref(&rows), &keyed(WriteMode::Error)).unwrap_err();
    assert_eq!(strict.kind(), ErrorKind::Invalid);
    assert!(strict.to_string().contains("microseconds"), "{strict}");
    assert!(server.collections().iter().all(|name| !name.contains("rejecting")), "{:?}", server.collections());
    let options = SinkOptions { dead_letter: Some(letters.clone()), ..keyed(WriteMode::Error) };
    let written = write(&at, std::slice::from_ref(&rows), &options).unwrap();
    assert_eq!((written.rows, written.rejected), (1, 3));
    let text = std::fs::read_to_string(letters).unwrap();
    assert_eq!(text.lines().count(), 3);
    for reason in ["microseconds", "the key is null", "already exists"] {
        assert!(text.contains(reason), "{text}");
    }
    let narrowed = SinkOptions { allow_narrowing: true, ..mode(WriteMode::Overwrite) };
    assert_eq!(write(&at, &[rows], &narrowed).unwrap().rows, 4);
}

#[test]
#[ignore = "needs a MongoDB server"]
fn documents_of_any_shape_get_a_schema_from_all_of_them() {
    let server = Server::new();
    let mut documents: Vec<Document> = (0..500).map(|n| doc! { "_id": n, "n": 1_i32, "deep": { "a": [] } }).collect();
    documents.push(doc! { "_id": 500, "n": 1.5, "deep": { "a": [ { "x": "1" } ], "b": Bson::Null }, "last": true });
    server.insert("any", documents);
    let rows = sorted(&read(&server.at("any")).unwrap(), "_id");
    assert_eq!(rows.num_rows(), 501);
    let types: Vec<String> = rows.schema().fields().iter().map(|field| field.data_type().to_string()).collect();
    assert_eq!(types[..2], ["Int32", "Float64"]);
    assert_eq!(types[3], "Boolean");
    assert!(rows.column_by_name("last").unwrap().is_valid(500));
    assert_eq!(rows.column_by_name("last").unwrap().null_count(), 500);
    server.insert("any", vec![doc! { "_id": 501, "n": "x" }]);
    let mixed = read(&server.at("any")).unwrap_err();
    assert_eq!(mixed.kind(), ErrorKind::Invalid);
    assert!(mixed.to_string().contains("501") && mixed.to_string().contains("mixed=json"), "{mixed}");
    let rows = sorted(&read(&server.at("any?mixed=json")).unwrap(), "_id");
    let n = rows.column_by_name("n").unwrap().as_any().downcast_ref::<StringArray>().unwrap();
    assert_eq!((n.value(0), n.value(501)), (r#"{"$numberInt":"1"}"#, r#""x""#));
    // Written again, they are what they were.
    write(&server.at("again"), &[rows], &mode(WriteMode::Error)).unwrap();
    assert_eq!(server.all("again")[501].get("n"), Some(&Bson::from("x")));
}

#[test]
#[ignore = "needs a MongoDB server"]
fn a_field_that_a_kept_schema_lacks_is_told() {
    let server = Server::new();
    write(&server.at("kept"), &[ids_and_names(0..3)], &mode(WriteMode::Error)).unwrap();
    server.insert("kept", vec![doc! { "_id": "late", "id": 3_i64, "name": "x", "added": 1 }]);
    let error = read(&server.at("kept")).unwrap_err();
    assert!(error.to_string().contains("added") && error.to_string().contains("late"), "{error}");
}

#[test]
#[ignore = "needs a MongoDB server"]
fn filters_columns_and_limits_are_exact() {
    let server = Server::new();
    let rows = batch(vec![
        ("id", Arc::new(Int64Array::from_iter_values(0..1000))),
        (
            "x",
            Arc::new(Float64Array::from_iter((0..1000).map(|n| match n % 10 {
                0 => None,
                1 => Some(f64::NAN),
                _ => Some(f64::from(n) / 4.0),
            }))),
        ),
        ("s", Arc::new(StringArray::from_iter((0..1000).map(|n| (n % 3 != 0).then(|| format!("t{n}")))))),
    ]);
    let at = server.at("filtered");
    write(&at, std::slice::from_ref(&rows), &mode(WriteMode::Error)).unwrap();
    server.insert("filtered", vec![doc! { "_id": "missing", "id": 1000_i64 }]);
    let column = |name: &str| Box::new(Expr::Column(name.to_owned()));
    let number = |digits, scale| Box::new(Expr::Literal(Literal::Number { digits, scale }));
    let compare = |op, left, right| Expr::Compare { op, left, right };
    let filters = [
        (compare(CompareOp::Less, column("x"), number(1005, 1)), 320),
        (compare(CompareOp::Eq, column("x"), number(505, 1)), 1),
        (Expr::Not(Box::new(compare(CompareOp::Less, column("x"), number(100, 0)))), 580),
        (Expr::IsNull(column("x")), 101),
        (Expr::Not(Box::new(Expr::IsNull(column("x")))), 900),
        (compare(CompareOp::GreaterOrEq, column("id"), number(9905, 1)), 10),
        (compare(CompareOp::Eq, column("s"), Box::new(Expr::Literal(Literal::Text("t7".to_owned())))), 1),
        (compare(CompareOp::NotEq, column("s"), Box::new(Expr::Literal(Literal::Text("t7".to_owned())))), 665),
    ];
    for (filter, expected) in filters {
        let request = ReadRequest {
            columns: Some(vec!["s".to_owned(), "id".to_owned()]),
            filter: Some(filter.clone()),
            ..ReadRequest::default()
        };
        let found = read_request(&at, &SourceOptions::default(), &request).unwrap();
        assert_eq!(found.num_rows(), expected, "{filter:?}");
        let limited = ReadRequest { limit: Some(5), ..request };
        let found = read_request(&at, &SourceOptions::default(), &limited).unwrap();
        assert_eq!(found.num_rows(), expected.min(5), "{filter:?}");
    }
    let none = ReadRequest { columns: Some(Vec::new()), ..ReadRequest::default() };
    assert_eq!(read_request(&at, &SourceOptions::default(), &none).unwrap().num_rows(), 1001);
}

#[test]
#[ignore = "needs a MongoDB server"]
fn large_collections_are_read_in_parts_that_are_all_of_it() {
    let server = Server::new();
    write(&server.at("large"), &[ids_and_names(0..2000)], &mode(WriteMode::Error)).unwrap();
    // Each part is small enough for one batch.
    let options = SourceOptions { split_documents: Some(2000), ..SourceOptions::default() };
    let job = Job::new(JobOptions { threads: 4, ..JobOptions::default() });
    let source = open_source(&MONGODB, &server.at("large"), &options, &job).unwrap();
    let plan = source.plan(&ReadRequest::default()).unwrap();
    let batches = source.read(&plan).unwrap().collect::<Result<Vec<_>>>().unwrap();
    assert_eq!(batches.len(), 4);
    assert_eq!(sorted(&concat_batches(&plan.schema, &batches).unwrap(), "id"), ids_and_names(0..2000));
}

#[test]
#[ignore = "needs a MongoDB server"]
fn pipelines_read_and_do_not_write() {
    let server = Server::new();
    server.insert("piped", (0..10).map(|n| doc! { "_id": n, "g": n % 2 }).collect());
    let at = server.at(r#"piped?pipeline=[{"$group":{"_id":"$g","n":{"$sum":1}}}]"#);
    assert_eq!(read(&at).unwrap().num_rows(), 2);
    let out = server.at(r#"piped?pipeline=[{"$out":"stolen"}]"#);
    assert_eq!(read(&out).unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
#[ignore = "needs a MongoDB server"]
fn documents_beyond_the_limit_are_rejected_and_large_ones_are_not() {
    let server = Server::new();
    let large = |bytes: usize| batch(vec![("text", Arc::new(StringArray::from(vec!["x".repeat(bytes)])) as ArrayRef)]);
    let at = server.at("big");
    let written = write(&at, &[large(16_000_000), large(1), large(16_000_000)], &mode(WriteMode::Error)).unwrap();
    assert_eq!(written.rows, 3);
    let error = write(&at, &[large(20_000_000)], &mode(WriteMode::Append)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(read(&at).unwrap().num_rows(), 3);
}

#[test]
fn a_server_that_is_not_there_is_told_without_credentials() {
    let at = "mongodb://me:canary@127.0.0.1:9/a/b?serverSelectionTimeoutMS=300";
    let error = read(at).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
    assert!(error.to_string().starts_with("mongodb://127.0.0.1:9/a/b: "), "{error}");
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int32, true)]));
    let error = open_sink(&MONGODB, at, schema, &SinkOptions::default(), &Job::default()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}
