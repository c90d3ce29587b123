//! Helpers for the tests of several crates: the conformance corpora. Only these may be absent in a test.
//!
//! A corpus is a folder of files that other implementations wrote. It is next to the repository, or in the folder that the
//! variable `LAKERACE_CONFORMANCE` names. A test without its corpus or file is left out. It then adds a line to the file
//! that the variable `LAKERACE_LEFT_OUT` names. `make test` counts these lines.
//!
//! ```
//! lakerace_testing::corpus("parquet", |folder| assert!(folder.is_dir()));
//! ```

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Runs a test on the folder of one corpus, such as `orc`, or leaves it out.
pub fn corpus(name: &str, test: impl FnOnce(&Path)) {
    match root() {
        Some(root) if root.join(name).is_dir() => test(&root.join(name)),
        _ => left_out(&format!("the corpus {name} is absent")),
    }
}

/// Runs a test on one file or folder of a corpus, such as `orc/zero.orc`, or leaves it out.
pub fn corpus_entry(path: &str, test: impl FnOnce(&Path)) {
    match root().map(|root| root.join(path)) {
        Some(entry) if entry.exists() => test(&entry),
        _ => left_out(&format!("{path} is not in the corpus")),
    }
}

/// The folder that holds the corpora.
fn root() -> Option<PathBuf> {
    let named = std::env::var_os("LAKERACE_CONFORMANCE").map(PathBuf::from);
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|folder| folder.join("shared/conformance"));
    named.into_iter().chain(beside).find(|folder| folder.is_dir())
}

fn left_out(reason: &str) {
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("{test}: {reason}\n");
    eprint!("left out: {line}");
    if let Some(path) = std::env::var_os("LAKERACE_LEFT_OUT") {
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        assert!(written.is_ok(), "{}: {written:?}", Path::new(&path).display());
    }
}
