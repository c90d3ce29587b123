//! Generated tables: copied, and made all at once.

use std::path::Path;

use lakerace::{
    CSV, CopyOptions, ErrorKind, Generation, Job, JobOptions, ORC, PARQUET, Result, TBL, TpchFormat, TpchMode,
    TpchOptions, TpchScale, TpchTable, TpchTarget, WriteMode, WriteOptions, copy, schema,
};

use crate::{kind, options, sum_of};

#[test]
fn generated_tables_are_copied_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job::default();
    for name in ["nation", "region", "part", "supplier", "partsupp", "customer", "orders", "lineitem"] {
        let source = format!("tpch:{name}?sf=0.001");
        let expected = sum_of(&source);
        for mode in ["baseline", "true-zero-copy"] {
            assert_eq!(sum_of(&format!("{source}&mode={mode}")), expected, "{name} {mode}");
        }
        for target in ["parquet", "orc", "csv", "csv.zst"] {
            let target = folder.path().join(format!("{name}.{target}")).to_str().unwrap().to_owned();
            for mode in ["", "&mode=true-zero-copy"] {
                let options = CopyOptions { mode: WriteMode::Overwrite, ..CopyOptions::default() };
                let written = copy(&format!("{source}{mode}"), &target, &options, &job).unwrap();
                assert_eq!(Some(written.rows), schema(&source, &options.read, &job).unwrap().info.rows);
                assert_eq!(sum_of(&target), expected, "{target} {mode}");
            }
        }
        let delta = format!("delta:{}", folder.path().join(name).to_str().unwrap());
        copy(&format!("{source}&mode=true-zero-copy"), &delta, &CopyOptions::default(), &job).unwrap();
        assert_eq!(sum_of(&delta), expected, "{delta}");
    }
}

/// What `lakerace tpch` runs.
fn generate(target: &Path, options: TpchOptions, job: &Job) -> Result<Vec<lakerace::GeneratedTable>> {
    Generation::new(TpchTarget::Folder(target.to_str().unwrap().to_owned()), options, job)?.run()
}

fn small(format: TpchFormat) -> TpchOptions {
    TpchOptions {
        scale: TpchScale::new(0.002).unwrap(),
        tables: Vec::new(),
        refresh: None,
        format,
        mode: None,
        parts: 1,
        memory_bytes: None,
        copy: CopyOptions::default(),
    }
}

/// Names below a folder, hidden ones too.
fn names(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => names.extend(self::names(&entry.path()).into_iter().map(|below| format!("{name}/{below}"))),
            false => names.push(name),
        }
    }
    names.sort();
    names
}

#[test]
fn all_tables_are_generated_at_once_in_every_format_and_mode() {
    let folder = tempfile::tempdir().unwrap();
    let formats = [
        (TpchFormat::Files(&PARQUET), ".parquet"),
        (TpchFormat::Files(&ORC), ".orc"),
        (TpchFormat::Files(&CSV), ".csv"),
        (TpchFormat::Delta, ""),
    ];
    for (number, (format, ending)) in formats.into_iter().enumerate() {
        for (threads, mode) in [(1, TpchMode::Baseline), (2, TpchMode::ZeroCopy), (5, TpchMode::TrueZeroCopy)] {
            let target = folder.path().join(format!("{number}-{threads}"));
            let job = Job::new(JobOptions { threads, ..JobOptions::default() });
            let tables = generate(&target, TpchOptions { mode: Some(mode), ..small(format) }, &job).unwrap();
            assert_eq!(tables.len(), 8);
            for table in tables {
                let name = format!("{}{ending}", target.join(table.name).to_str().unwrap());
                assert_eq!(sum_of(&name), sum_of(&format!("tpch:{}?sf=0.002", table.name)), "{name}");
                assert_eq!(
                    Some(table.rows),
                    schema(&name, &options(None), &job).unwrap().info.rows.or(Some(table.rows))
                );
                let sizes = table.files.iter().map(|file| std::fs::metadata(target.join(file)).unwrap().len());
                assert_eq!((table.bytes, table.files.is_empty()), (sizes.sum(), false), "{name}");
            }
        }
    }
}

#[test]
fn tables_are_cut_into_parts_and_old_parts_go() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("new/tables");
    let job = Job::new(JobOptions { threads: 3, ..JobOptions::default() });
    let format = TpchFormat::Files(&PARQUET);
    let tables = vec![TpchTable::LineItem, TpchTable::Nation];
    let cut = |parts, mode| TpchOptions {
        parts,
        tables: tables.clone(),
        copy: CopyOptions { mode, ..CopyOptions::default() },
        ..small(format)
    };
    generate(&target, cut(4, WriteMode::Error), &job).unwrap();
    let parts = |n| (1..=n).map(|n| format!("lineitem/lineitem.{n}.parquet"));
    assert_eq!(names(&target), parts(4).chain(["nation.parquet".to_owned()]).collect::<Vec<_>>());
    let whole = sum_of("tpch:lineitem?sf=0.002");
    let lines = target.join("lineitem").to_str().unwrap().to_owned();
    assert_eq!(sum_of(&lines), whole);
    let (found, text) = kind(generate(&target, cut(3, WriteMode::Error), &job));
    assert_eq!(found, ErrorKind::Conflict, "{text}");
    generate(&target, cut(3, WriteMode::Overwrite), &job).unwrap();
    assert_eq!(names(&target), parts(3).chain(["nation.parquet".to_owned()]).collect::<Vec<_>>());
    assert_eq!(sum_of(&lines), whole);
    let mut sized = TpchOptions { scale: TpchScale::new(0.05).unwrap(), ..cut(1, WriteMode::Error) };
    sized.copy.write.file_bytes = Some(400_000);
    sized.copy.write.row_group_rows = Some(10_000);
    let sized = generate(&folder.path().join("sized"), sized, &job).unwrap();
    assert!(sized[0].files.len() > 3, "{:?}", sized[0]);
    let bytes = |file: &String| std::fs::metadata(folder.path().join(file)).unwrap().len();
    let sizes: Vec<u64> = sized[0].files.iter().map(bytes).collect();
    // The first one tells how many rows make a file; the last one is what is left over.
    assert!(
        sizes[0] < 1_200_000 && sizes[1..sizes.len() - 1].iter().all(|size| size.abs_diff(400_000) < 40_000),
        "{sizes:?}"
    );
    assert_eq!(sum_of(folder.path().join("sized/lineitem").to_str().unwrap()), sum_of("tpch:lineitem?sf=0.05"));
}

#[test]
fn a_generation_that_fails_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let format = TpchFormat::Files(&TBL);
    std::fs::write(folder.path().join("part.tbl"), "mine").unwrap();
    let job = Job::default();
    let (found, text) = kind(generate(folder.path(), small(format), &job));
    assert_eq!(found, ErrorKind::Conflict, "{text}");
    assert!(text.contains("part.tbl"), "{text}");
    assert_eq!(names(folder.path()), ["part.tbl"]);
    // It fails in the middle: a codec that text files do not have.
    let write = WriteOptions { compression: Some("snappy".parse().unwrap()), ..WriteOptions::default() };
    let copy = CopyOptions { write, mode: WriteMode::Overwrite, ..CopyOptions::default() };
    let (found, text) = kind(generate(folder.path(), TpchOptions { copy, ..small(format) }, &job));
    assert_eq!(found, ErrorKind::Usage, "{text}");
    assert_eq!(names(folder.path()), ["part.tbl"]);
    // It is cancelled while files are under way.
    let large = TpchOptions { scale: TpchScale::new(100.0).unwrap(), ..small(TpchFormat::Files(&PARQUET)) };
    let target = TpchTarget::Folder(folder.path().join("large").to_str().unwrap().to_owned());
    let generation = Generation::new(target, large, &job).unwrap();
    let tables = generation.tables();
    let outcome = std::thread::scope(|scope| {
        let run = scope.spawn(|| generation.run());
        while tables.iter().all(|table| table.rows() == 0) {
            std::thread::yield_now();
        }
        job.cancel();
        run.join().unwrap()
    });
    assert_eq!(kind(outcome).0, ErrorKind::Cancelled);
    assert_eq!(names(folder.path()), ["part.tbl"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("part.tbl")).unwrap(), "mine");
}

/// Folders below one in which nothing is.
fn empty_folders(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    if entries.is_empty() {
        return vec![folder.to_owned()];
    }
    entries.iter().filter(|entry| entry.is_dir()).flat_map(|entry| empty_folders(entry)).collect()
}

#[test]
fn tables_that_are_cancelled_are_whole_or_leave_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    for batches in 0..12 {
        let target = folder.path().join(batches.to_string()).join("lake");
        let job = Job::default();
        let options = TpchOptions { scale: TpchScale::new(0.1).unwrap(), ..small(TpchFormat::Delta) };
        let to = TpchTarget::Folder(target.to_str().unwrap().to_owned());
        let generation = Generation::new(to, options, &job).unwrap();
        let tables = generation.tables();
        let outcome = std::thread::scope(|scope| {
            let run = scope.spawn(|| generation.run());
            let rows = || tables.iter().map(|table| table.rows()).sum::<u64>();
            while rows() < batches * 60_000 && !run.is_finished() {
                std::thread::yield_now();
            }
            job.cancel();
            run.join().unwrap()
        });
        let entries = std::fs::read_dir(&target).map_or(0, |entries| entries.count());
        for entry in std::fs::read_dir(&target).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            assert_eq!(sum_of(path.to_str().unwrap()), sum_of(&format!("tpch:{name}?sf=0.1")), "{name}");
        }
        assert!(entries == 8 || outcome.is_err_and(|error| error.kind() == ErrorKind::Cancelled));
        assert_eq!(target.exists(), entries > 0, "{batches}");
        assert!(empty_folders(folder.path()).iter().all(|empty| empty == folder.path()), "{batches}");
    }
}

#[test]
fn options_that_do_not_fit_together_are_refused() {
    let job = Job::default();
    let delta = TpchOptions { parts: 2, ..small(TpchFormat::Delta) };
    let streams = small(TpchFormat::Files(&CSV));
    let none = TpchOptions { parts: 0, ..small(TpchFormat::Files(&CSV)) };
    let folder = || TpchTarget::Folder("x".to_owned());
    for (target, options) in
        [(folder(), delta), (TpchTarget::Stream(Box::new(std::io::sink())), streams), (folder(), none)]
    {
        let (found, text) = kind(Generation::new(target, options, &job));
        assert_eq!(found, ErrorKind::Usage, "{text}");
    }
}
