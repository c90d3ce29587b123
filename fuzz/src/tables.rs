//! Delta tables in memory whose log, or deletion vector, is any bytes. The fuzz targets and the tests of `crates/delta` share it.

use std::sync::{Arc, OnceLock};

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use crc::{CRC_32_ISO_HDLC, Crc};
use futures::StreamExt;
use futures::executor::block_on;
use lakerace_delta::{DeltaSink, DeltaSource, Evolve, Table, TableWrite, VersionSpec, WriteMode, changes, history};
use lakerace_format::{Batches, ReadRequest, Sink, Source, WriteOptions};
use lakerace_io::object_store::memory::InMemory;
use lakerace_io::object_store::path::Path;
use lakerace_io::object_store::{GetOptions, ObjectStore, PutOptions};
use lakerace_io::profile::Observations;
use lakerace_io::{ErrorKind, Job, JobOptions, JobStore, Result};
use serde_json::{Value, json};

/// Rows of the table's one file.
const ROWS: i64 = 10;
/// The file with vectors, by a name that the log has in Base85, and that name.
const VECTORS: &str = "deletion_vector_00000000-0000-0000-0000-000000000000.bin";
const VECTORS_NAME: &str = "00000000000000000000";
/// What stands in front of a bitmap.
const MAGIC: u32 = 1_681_511_377;

/// Opens and reads a table of which an entry of the log is `bytes`: its only one, and the one behind the first. Any outcome
/// is right but a panic, a hang, a huge allocation or an internal error.
pub fn with_entry(bytes: &[u8]) {
    for version in [0, 1] {
        let inner = Arc::new(InMemory::new());
        table_of().iter().for_each(|(name, bytes)| put(&inner, name, bytes.clone()));
        put(&inner, &entry_name(version), bytes.to_vec());
        let table = open(&inner);
        let at = VersionSpec::Version(version);
        checked(rows(&table, None));
        checked(rows(&table, Some(at)));
        checked(history(&table, None).map(drop));
        let read = |all: Batches| all.into_iter().try_for_each(|batch| batch.map(drop));
        checked(changes(&table, 0, None).and_then(read));
    }
}

/// Opens and reads a table whose file has a deletion vector of these bytes. The first byte says whether they are in the log,
/// in a file with the right length and checksum around them, or are the whole file; the second one how many rows the log
/// says that it hides. Gives the rows that are left.
pub fn with_vector(bytes: &[u8]) -> Option<usize> {
    let [kind, count, body @ ..] = bytes else { return None };
    let inner = Arc::new(InMemory::new());
    let mut add = Value::Null;
    for (name, bytes) in table_of() {
        if name == &entry_name(0) {
            let mut lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
            add = lines.find(|line: &Value| line.get("add").is_some()).expect("the table has a file");
        }
        put(&inner, name, bytes.clone());
    }
    let mut vector = json!({ "storageType": "u", "pathOrInlineDv": VECTORS_NAME, "offset": 1, "cardinality": count });
    let with_magic = [&MAGIC.to_le_bytes()[..], body].concat();
    match kind % 3 {
        0 => {
            let padded = [&with_magic[..], &vec![0; (4 - with_magic.len() % 4) % 4]].concat();
            vector["storageType"] = "i".into();
            vector["pathOrInlineDv"] = z85::encode(&padded).into();
            vector["offset"] = Value::Null;
            vector["sizeInBytes"] = padded.len().into();
        }
        1 => {
            let mut file = vec![1];
            file.extend((with_magic.len() as u32).to_be_bytes());
            file.extend_from_slice(&with_magic);
            file.extend(Crc::<u32>::new(&CRC_32_ISO_HDLC).checksum(&with_magic).to_be_bytes());
            vector["sizeInBytes"] = with_magic.len().into();
            put(&inner, &format!("lake/table/{VECTORS}"), file);
        }
        _ => {
            vector["sizeInBytes"] = body.len().saturating_sub(9).into();
            put(&inner, &format!("lake/table/{VECTORS}"), body.to_vec());
        }
    }
    let remove = json!({ "remove": { "path": add["add"]["path"], "dataChange": true, "deletionTimestamp": 1 } });
    add["add"]["deletionVector"] = vector;
    put(&inner, &entry_name(1), format!("{remove}\n{add}\n").into_bytes());
    checked(rows(&open(&inner), None))
}

/// The objects of a table with one file: their names and bytes.
fn table_of() -> &'static [(String, Vec<u8>)] {
    static OBJECTS: OnceLock<Vec<(String, Vec<u8>)>> = OnceLock::new();
    OBJECTS.get_or_init(|| {
        let inner = Arc::new(InMemory::new());
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
        let batch = RecordBatch::try_from_iter_with_nullable([("id", ids, true)]).expect("one column");
        let write = TableWrite {
            mode: WriteMode::Error,
            partition_by: Vec::new(),
            properties: [("delta.enableChangeDataFeed".to_owned(), "true".to_owned())].into(),
            evolve: Evolve::default(),
            keep_not_null: false,
            options: WriteOptions::default(),
            load_name: None,
            replace_where: None,
            resumes: false,
        };
        let mut sink: Box<dyn Sink> = DeltaSink::create(&open(&inner), &batch.schema(), &write).expect("a new table");
        sink.write(batch).expect("memory takes it");
        sink.finish().expect("memory takes it");
        block_on(async {
            let listed: Vec<_> = inner.list(None).collect().await;
            let mut objects = Vec::new();
            for meta in listed {
                let path = meta.expect("it was listed").location;
                let bytes = inner.get_opts(&path, GetOptions::default()).await.expect("it is there").bytes().await;
                objects.push((path.to_string(), bytes.expect("it is there").to_vec()));
            }
            objects
        })
    })
}

fn entry_name(version: u64) -> String {
    format!("lake/table/_delta_log/{version:020}.json")
}

fn put(inner: &Arc<InMemory>, name: &str, bytes: Vec<u8>) {
    block_on(inner.put_opts(&Path::from(name), bytes.into(), PutOptions::default())).expect("memory takes it");
}

fn open(inner: &Arc<InMemory>) -> Table {
    let job = Job::new(JobOptions { threads: 1, ..JobOptions::default() });
    let store =
        JobStore::wrapping(Arc::clone(inner) as Arc<dyn ObjectStore>, "fuzz://", Observations::local_disk(), &job);
    Table::on(&store, &Path::from("lake/table")).expect("a table in memory")
}

fn rows(table: &Table, at: Option<VersionSpec>) -> Result<usize> {
    let source = DeltaSource::open(table.snapshot(at)?)?;
    let plan = source.plan(&ReadRequest::default())?;
    source.read(&plan)?.map(|batch| batch.map(|batch| batch.num_rows())).sum()
}

fn checked<T>(outcome: Result<T>) -> Option<T> {
    outcome.map_err(|error| assert_ne!(error.kind(), ErrorKind::Internal, "{error}")).ok()
}
