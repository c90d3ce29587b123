//! Row groups that a filter excludes: by statistics and bloom filters, of our files and of other writers'.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use arrow::datatypes::{DataType, Field};
use lakerace_format::{CompareOp, Expr, Literal, OrcSource, ReadRequest, RowGroupsPlan, Source};
use lakerace_io::{ErrorKind, Job};
use lakerace_orc::Codec;
use lakerace_orc::proto;
use lakerace_orc::read::{FileTail, Projection, Stripe, TailStep};
use lakerace_orc::write::WriterOptions;
use prost::Message;

use super::{assert_same, case, open, write_with};
use crate::common::{self, compare, filter_on, filtered, greater, job, number, numbered, read_plan, rows_left};

fn groups_of(rows: u32) -> WriterOptions {
    WriterOptions { row_index_stride: rows, block_size: 4 << 10, ..WriterOptions::default() }
}

/// What the plan of a filter says of the only stripe, how many rows it gives, and how many bytes it wants.
fn left(source: &OrcSource, filter: Expr) -> (Result<Option<RowGroupsPlan>, String>, usize, u64) {
    let plan = source.plan(&filtered(filter)).unwrap();
    let unit = &plan.files[0].units[0];
    let state = unit.pruned.clone().map_or(Ok(unit.row_groups.clone()), Err);
    assert_eq!(unit.rows_after_pages.is_some(), unit.row_groups.is_some());
    (state, read_plan(source, &plan).unwrap().num_rows(), plan.requests.wanted_bytes)
}

fn gets(job: &Job) -> u64 {
    job.meter().counts().requests.get
}

#[test]
fn statistics_of_the_row_index_prune() {
    let (_folder, path) = case();
    write_with(&path, &numbered(50_000), groups_of(1000));
    let source = open(&[&path], &job(2)).unwrap();
    let whole = source.plan(&ReadRequest::default()).unwrap().requests.wanted_bytes;
    let (state, rows, bytes) = left(&source, greater("id", 48_500));
    let reason = "row group statistics: id max 999 < 48500".to_owned();
    assert_eq!((state, rows), (Ok(Some(RowGroupsPlan { all: 50, kept: 2, reason })), 1499));
    assert!(bytes < whole / 5, "{bytes} of {whole}");
    // Two runs of row groups.
    let ends = Expr::Or(vec![greater("id", 48_500), compare("id", CompareOp::Less, number(1500))]);
    let (state, rows, _) = left(&source, ends);
    assert_eq!((state.unwrap().unwrap().kept, rows), (4, 2999));
    // Only row groups know that 999.5 is between two of them.
    let between = Expr::And(vec![
        compare("id", CompareOp::Greater, Literal::Number { digits: 9990, scale: 1 }),
        compare("id", CompareOp::Less, Literal::Number { digits: 10_000, scale: 1 }),
    ]);
    let (state, rows, _) = left(&source, between);
    assert_eq!(rows, 0);
    assert!(state.unwrap_err().starts_with("no row group can match: row group statistics: id max "));
    assert_eq!(left(&source, Expr::IsNull(Box::new(Expr::Column("half".to_owned())))).0, Ok(None));
}

#[test]
fn bloom_filters_prune_where_statistics_can_not() {
    let (_folder, path) = case();
    let mixed = |i: i64| (i * 7919) % 50_021;
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values((0..50_000).map(mixed)));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values((0..50_000).map(|i| format!("name {}", mixed(i)))));
    let table = RecordBatch::try_from_iter([("id", ids), ("name", names)]).unwrap();
    let options =
        WriterOptions { bloom_filters: vec!["id".into(), "name".into()], bloom_fpp: 0.001, ..groups_of(1000) };
    write_with(&path, &table, options);
    let source = open(&[&path], &job(2)).unwrap();
    let (state, rows, _) = left(&source, compare("id", CompareOp::Eq, number(mixed(31_500).into())));
    let groups = state.unwrap().unwrap();
    assert_eq!(rows, 1);
    assert!((1..4).contains(&groups.kept), "{groups:?}");
    assert_eq!(groups.reason, "bloom filter: id has none of the values");
    let name = Literal::Text(format!("name {}", mixed(7)));
    let (state, rows, _) = left(&source, compare("name", CompareOp::Eq, name));
    assert!(state.unwrap().unwrap().kept < 4 && rows == 1);
    let missing = mixed(50_000);
    let (state, rows, _) = left(&source, compare("id", CompareOp::Eq, number(missing.into())));
    assert_eq!(rows, 0);
    assert!(state.is_err() || state.unwrap().unwrap().kept < 3);
}

#[test]
fn fields_of_structs_prune() {
    let (_folder, path) = case();
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(0..5000));
    let outer = StructArray::from(vec![(Arc::new(Field::new("id", DataType::Int64, true)), id)]);
    write_with(&path, &RecordBatch::try_from_iter([("s", Arc::new(outer) as ArrayRef)]).unwrap(), groups_of(500));
    let source = open(&[&path], &job(1)).unwrap();
    let (state, rows, _) = left(&source, greater("s.id", 4600));
    assert_eq!((state.unwrap().unwrap().kept, rows), (1, 399));
}

#[test]
fn indexes_are_read_where_a_filter_can_use_them_and_once() {
    let (_folder, path) = case();
    write_with(&path, &numbered(50_000), groups_of(1000));
    let job = job(2);
    let source = open(&[&path], &job).unwrap();
    assert_eq!(gets(&job), 1, "the tail, with the stripe's footer");
    source.plan(&ReadRequest::default()).unwrap();
    let sum = |op| {
        let add = Expr::Arithmetic {
            op: lakerace_format::ArithmeticOp::Add,
            left: Box::new(Expr::Column("id".to_owned())),
            right: Box::new(Expr::Column("half".to_owned())),
        };
        Expr::Compare { op, left: Box::new(add), right: Box::new(Expr::Literal(number(74_000))) }
    };
    source.plan(&filtered(sum(CompareOp::Greater))).unwrap();
    source.plan(&filtered(greater("id", 60_000))).unwrap();
    assert_eq!(gets(&job), 1, "no filter, one that no statistics decide, and one that the file's do");
    let plan = source.plan(&filtered(greater("id", 48_500))).unwrap();
    let of_index = gets(&job) - 1;
    assert!((1..=3).contains(&of_index), "{of_index}");
    assert_eq!(source.plan(&plan.request).unwrap().files, plan.files);
    assert_eq!(gets(&job), 1 + of_index, "the index is not read again");
    assert_eq!(read_plan(&source, &plan).unwrap().num_rows(), 1499);
    // Elsewhere, a part of the plan reads what it needs.
    let text = serde_json::to_string(&plan).unwrap();
    let elsewhere = open(&[&path], &common::job(1)).unwrap();
    assert_eq!(read_plan(&elsewhere, &serde_json::from_str(&text).unwrap()).unwrap().num_rows(), 1499);
    let mut other = plan.clone();
    other.request.filter = Some(greater("id", 10_000));
    let error = read_plan(&elsewhere, &other).unwrap_err();
    assert_eq!((error.kind(), error.message().contains("row groups of stripe 0")), (ErrorKind::Usage, true), "{error}");
}

/// The tail, and the first stripe with all columns.
fn first_stripe(file: &[u8]) -> (Arc<FileTail>, Stripe) {
    let TailStep::Done(tail) = FileTail::parse(file, file.len() as u64).unwrap() else { panic!() };
    let tail: Arc<FileTail> = Arc::from(tail);
    let (at, length) = tail.stripes()[0].footer_range();
    let footer = &file[at as usize..(at + length) as usize];
    let stripe = Stripe::new(&tail, 0, &Projection::all(tail.root()), footer).unwrap();
    (tail, stripe)
}

#[test]
fn damaged_indexes_are_errors_that_name_them() {
    let (_folder, path) = case();
    write_with(&path, &numbered(5000), WriterOptions { codec: Codec::None, ..groups_of(500) });
    let whole = std::fs::read(&path).unwrap();
    let (_, stripe) = first_stripe(&whole);
    let range = stripe.index_ranges(&[3], false)[0];
    let place = range.offset as usize..(range.offset + range.length) as usize;
    let index = proto::RowIndex::decode(&whole[place.clone()]).unwrap();
    let request = filtered(greater("id", 4600));
    let check = |bytes: &[u8], says: &str| {
        let mut file = whole.clone();
        file[place.clone()].copy_from_slice(bytes);
        std::fs::write(&path, &file).unwrap();
        let source = open(&[&path], &job(1)).unwrap();
        let error = common::read(&source, &request).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        let text = error.to_string();
        assert!(text.contains("a.orc") && text.contains("stripe 0, column 3") && text.contains(says), "{text}");
        // Without a filter nobody asks the index.
        assert_eq!(common::read(&source, &ReadRequest::default()).unwrap().num_rows(), 5000);
    };
    let mut swapped = index.clone();
    let positions = std::mem::take(&mut swapped.entry[2].positions);
    swapped.entry[2].positions = std::mem::replace(&mut swapped.entry[9].positions, positions);
    check(&swapped.encode_to_vec(), "starts before the preceding one");
    let mut broken = whole[place.clone()].to_vec();
    broken[0] = 0x0f;
    check(&broken, "unknown kind");
    // One entry that holds two is one too few.
    let mut fewer = whole[place.clone()].to_vec();
    let (first, second) = (usize::from(fewer[1]), usize::from(fewer[3 + usize::from(fewer[1])]));
    fewer[1] = (first + second + 2) as u8;
    if first + second + 2 < 128 {
        check(&fewer, "");
    }
}

#[test]
fn flipped_bytes_of_an_index_do_no_harm() {
    let (_folder, path) = case();
    let options = WriterOptions { codec: Codec::None, bloom_filters: vec!["id".into()], ..groups_of(100) };
    write_with(&path, &numbered(600), options);
    let whole = std::fs::read(&path).unwrap();
    let (tail, _) = first_stripe(&whole);
    let index = tail.stripes()[0].offset as usize..(tail.stripes()[0].offset + tail.stripes()[0].index_bytes) as usize;
    let requests = [filtered(greater("id", 450)), filtered(compare("id", CompareOp::Eq, number(321)))];
    let mut failed = 0;
    for at in index.clone() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x55;
        std::fs::write(&path, &flipped).unwrap();
        let source = open(&[&path], &job(1)).unwrap();
        for request in &requests {
            match common::read(&source, request) {
                // A wrong position may lead to other rows of the same kind.
                Ok(rows) => assert!(rows.num_rows() <= 600),
                Err(error) => {
                    assert!(matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Unsupported), "{error}");
                    assert_eq!(error.to_string().matches("a.orc").count(), 1, "{error}");
                    failed += 1;
                }
            }
        }
    }
    assert!(failed > index.len() / 50, "{failed} of {}", index.len());
}

/// ORC files of other writers: those of the corpus, where it is there, and pyarrow's of the ORC crate.
fn files_of_others() -> Vec<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let given = std::env::var_os("LAKERACE_CONFORMANCE").map(PathBuf::from);
    let corpora = given.into_iter().chain(manifest.ancestors().map(|folder| folder.join("shared/conformance")));
    let corpus = corpora.map(|folder| folder.join("orc")).find(|folder| folder.is_dir());
    let folders = corpus.into_iter().chain([manifest.join("../orc/tests/data")]);
    let entries = folders.flat_map(|folder| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()));
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "orc")).collect();
    files.sort();
    files
}

#[test]
fn filters_leave_the_same_rows_of_files_of_other_writers() {
    let (mut checked, mut pruned) = (0, 0);
    for path in files_of_others() {
        let Ok(source) = open(&[&path], &job(2)) else { continue };
        if !(1..100_000).contains(&source.info().rows.unwrap()) {
            continue;
        }
        let Ok(all) = common::read(&source, &ReadRequest::default()) else { continue };
        let schema = all.schema();
        for (nth, field) in schema.fields().iter().enumerate() {
            for pick in 0..6u32 {
                // Rows spread over the file, each with another comparison; equality twice.
                let row = (all.num_rows() as u32 / 7).wrapping_mul(pick + 1) + nth as u32;
                let op = if pick == 5 { 0 } else { pick };
                let Some(filter) = filter_on(&all, &[field.name().as_str()], &[row << 8 | op << 4]) else { continue };
                let request = filtered(filter);
                let plan = source.plan(&request).unwrap();
                pruned += plan.files[0].units.iter().filter(|u| u.pruned.is_some() || u.row_groups.is_some()).count();
                let ours = read_plan(&source, &plan).unwrap_or_else(|e| panic!("{request:?}: {e}"));
                assert_same(&ours, &rows_left(&all, &request), &format!("{}: {:?}", path.display(), request.filter));
                checked += 1;
            }
        }
    }
    assert!(checked > 50 && pruned > 5, "{checked} filters, {pruned} stripes pruned");
}
