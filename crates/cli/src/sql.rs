//! `lakerace sql`: the host answers queries with its own SQL engine over scans of this job.

use lakerace::{Batches, Error, Job, Result, StorageOptions};
use serde_json::{Value, json};

use crate::Host;
use crate::args::SqlArgs;
use crate::scan::RowTarget;
use crate::session::{Session, storage_options};
use crate::stdout;

/// A query over locations.
#[derive(Debug)]
pub struct SqlQuery<'a> {
    /// One statement that returns rows.
    pub text: &'a str,
    /// Names in it, and the locations that they stand for.
    pub relations: &'a [(String, String)],
    /// Settings of the stores.
    pub storage: StorageOptions,
    /// The path or URL that the rows go to; `None`: standard output.
    pub output: Option<&'a str>,
    /// Bytes of memory for joins, groups and sorts.
    pub memory_limit: Option<u64>,
}

/// An engine of SQL.
pub trait SqlEngine {
    /// Opens the locations of a query and checks it. All that is read counts for `job`.
    ///
    /// # Errors
    /// A query that is wrong, a location that can't be opened, or an engine that is not installed.
    fn ask(&self, query: &SqlQuery<'_>, job: &Job) -> Result<Box<dyn SqlAnswer>>;
}

/// A query whose locations are open.
pub trait SqlAnswer {
    /// The plan, for people and for programs. Reads no data.
    ///
    /// # Errors
    /// Those of planning the scans.
    fn explain(&self) -> Result<(String, Value)>;

    /// Runs the query.
    ///
    /// # Errors
    /// Those of the scans, and of values that the query can't compute with. The batches may return them, too.
    fn batches(&self) -> Result<Batches>;
}

pub(crate) fn run(args: &SqlArgs, session: &Session, host: &Host<'_>) -> Result<()> {
    let target = RowTarget::new(&args.rows, "sql");
    // Errors of the target are reported before anything is read.
    target.format()?;
    let engine = host.sql.ok_or_else(|| {
        Error::unsupported("this build has no SQL engine")
            .advice("run `pip install \"lakerace[sql]\"`, and use the `lakerace` command of that environment")
    })?;
    let query = SqlQuery {
        text: &args.query,
        relations: &args.relation,
        storage: storage_options(&args.store),
        output: target.file(),
        memory_limit: args.memory_limit,
    };
    let answer = engine.ask(&query, &session.job)?;
    if args.explain {
        let (text, json) = answer.explain()?;
        return match session.global.json {
            true => session.done("", 0, json!({ "explain": json })),
            false => stdout::line(text.trim_end()),
        };
    }
    let rows = target.print(answer.batches()?, &args.store, session)?;
    session.done("answered", rows, json!({}))
}
