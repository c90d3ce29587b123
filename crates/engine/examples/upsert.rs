//! Keeps a Delta table in step with files of changes, by its key.
//!
//! `cargo run --example upsert -- FOLDER` makes the table `lake` in the folder.

use std::error::Error;
use std::fs;
use std::path::Path;

use lakerace::{Job, ReadOptions, RowOptions, Scan, UpsertOptions, upsert};

/// Runs the example in `folder`. Returns the number of rows of the table.
pub fn run(folder: &Path) -> Result<u64, Box<dyn Error>> {
    let path = |name: &str| folder.join(name).display().to_string();
    fs::write(path("monday.csv"), "id,price\n1,10\n2,20\n")?;
    fs::write(path("tuesday.csv"), "id,price\n2,25\n3,30\n")?;

    // `delta:` in front makes the table where there is none.
    let rows = RowOptions { key: vec!["id".into()], ..RowOptions::default() };
    let options = UpsertOptions { rows, ..UpsertOptions::default() };
    let table = format!("delta:{}", path("lake"));
    for day in ["monday.csv", "tuesday.csv"] {
        let changed = upsert(&table, &path(day), &options, &Job::default())?;
        println!("{day}: {changed:?}");
    }
    let sum = Scan::open(&path("lake"), &ReadOptions::default(), &Job::default())?.checksum()?;
    println!("{} rows, checksum {}", sum.rows, sum);
    Ok(sum.rows)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("which folder?")?;
    run(Path::new(&folder)).map(drop)
}
