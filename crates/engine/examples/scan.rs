//! Generates a small table, prints the plan of a scan with a filter and what it has cost.
//!
//! `cargo run --example scan -- FOLDER` writes `nation.parquet` to the folder.

use std::error::Error;
use std::path::Path;

use lakerace::{CopyOptions, Job, ReadOptions, Scan, copy};

/// Runs the example in `folder`. Returns how many rows the filter keeps.
pub fn run(folder: &Path) -> Result<usize, Box<dyn Error>> {
    let file = folder.join("nation.parquet").display().to_string();
    let job = Job::default();
    copy("tpch:nation?sf=1", &file, &CopyOptions::default(), &job)?;

    let options = ReadOptions {
        columns: Some(vec!["n_name".into()]),
        filter: Some("n_regionkey = 3".into()),
        ..ReadOptions::default()
    };
    let job = Job::default();
    let scan = Scan::open(&file, &options, &job)?;
    println!("{}", scan.explain());
    let mut rows = 0;
    for batch in scan.batches()? {
        rows += batch?.num_rows();
    }
    println!("{rows} rows; {:?}", job.meter().counts());
    Ok(rows)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("which folder?")?;
    run(Path::new(&folder)).map(drop)
}
