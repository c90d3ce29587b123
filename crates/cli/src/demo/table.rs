//! The demo's second half: a Delta table that orders are upserted into.

use std::collections::BTreeMap;

use lakerace::{
    Checksum, CompactOptions, CopyOptions, Error, ReadOptions, Result, RowOptions, Scan, UpsertOptions, WriteMode,
};

use super::{DemoFolder, DemoRun};

impl DemoRun<'_> {
    /// Loads orders into a table, upserts a tenth as many by their number, half of them new, reads the previous
    /// version, and compacts. `loaded` is the checksum of the loaded orders.
    pub(super) fn table(&mut self, folder: &DemoFolder, parquet: &str, loaded: &Checksum) -> Result<()> {
        let (table, changes) = (folder.file("orders"), folder.file("changes.csv"));
        let first_version = self.load(parquet, &table)?;
        let count = (self.args.rows / 10).max(2);
        let begin = self.args.rows + 1 - count / 2;
        self.generate("generate changes", &changes, begin..=begin + count - 1, self.args.seed.wrapping_add(1))?;
        self.upsert(&changes, &table)?;

        let (others, changed) = (format!("order_id < {begin}"), format!("order_id >= {begin}"));
        let (was, is) = (self.sum(parquet, false, Some(&others))?, self.sum(&table, false, Some(&others))?);
        agree("the orders that were not changed", &was, &is)?;
        let (was, is) = (self.sum(&changes, true, None)?, self.sum(&table, false, Some(&changed))?);
        agree("the orders that were upserted", &was, &is)?;

        let at = Some(first_version.to_string());
        let before = ReadOptions { at, ..self.read_options(false, None) };
        let first = self.checksum("scan the version before", &table, &before)?;
        agree("the version before the upsert", loaded, &first)?;
        let upserted = self.sum(&table, false, None)?;
        self.compact(&table)?;
        let plain = self.read_options(false, None);
        let compacted = self.checksum("scan the compacted table", &table, &plain)?;
        agree("the compacted table", &upserted, &compacted)
    }

    fn load(&mut self, parquet: &str, table: &str) -> Result<u64> {
        let key = BTreeMap::from([("lakerace.primaryKey".to_owned(), "order_id".to_owned())]);
        let read = self.read_options(false, None);
        let options = CopyOptions { read, mode: WriteMode::Overwrite, table_properties: key, ..CopyOptions::default() };
        let target = format!("delta:{table}");
        self.step("load into a Delta table", |job| {
            let written = lakerace::copy(parquet, &target, &options, job)?;
            let version = written.version.ok_or_else(|| Error::internal("the table has no version"))?;
            Ok((written.rows, version))
        })
    }

    fn upsert(&mut self, changes: &str, table: &str) -> Result<()> {
        let options = UpsertOptions {
            read: self.read_options(true, None),
            rows: RowOptions::default(),
            ..UpsertOptions::default()
        };
        self.step("upsert by key from CSV", |job| {
            let changed = lakerace::upsert(table, changes, &options, job)?;
            Ok((changed.written.rows, ()))
        })
    }

    fn compact(&mut self, table: &str) -> Result<()> {
        let storage = self.read_options(false, None).storage;
        self.step("compact", |job| {
            let compacted = lakerace::compact(table, &CompactOptions::default(), &storage, job)?;
            Ok((compacted.rows, ()))
        })
    }

    /// The checksum of some rows, for a check that is no step of the demo.
    fn sum(&self, location: &str, is_csv: bool, filter: Option<&str>) -> Result<Checksum> {
        let all = self.read_options(is_csv, None);
        let options = ReadOptions { filter: filter.map(str::to_owned), ..all };
        Scan::open(location, &options, &self.session.job)?.checksum()
    }
}

fn agree(what: &str, expected: &Checksum, found: &Checksum) -> Result<()> {
    if found == expected {
        return Ok(());
    }
    let text = format!("{} rows, checksum {expected}, became {} rows, {found}", expected.rows, found.rows);
    Err(Error::internal(format!("{what}: {text}")))
}
