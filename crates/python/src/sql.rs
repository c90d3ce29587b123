//! `lakerace sql` of the command, answered by the package.

use lakerace::{Batches, Error, Job, Result};
use lakerace_cli::{SqlAnswer, SqlEngine, SqlQuery};
use lakerace_io::option::{MEMORY_LIMIT, THREADS};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::errors::caught;
use crate::foreign_stream::import;
use crate::job::SharedJob;

/// The function of the package that answers queries of the command.
pub(crate) struct PackageEngine(pub Py<PyAny>);

/// An answer of the package.
struct PackageAnswer(Py<PyAny>);

impl SqlEngine for PackageEngine {
    fn ask(&self, query: &SqlQuery<'_>, job: &Job) -> Result<Box<dyn SqlAnswer>> {
        Python::attach(|py| {
            let ask = || {
                let options = PyDict::new(py);
                options.set_item("storage_options", query.storage.options.clone())?;
                options.set_item("output", query.output)?;
                options.set_item("memory_limit", query.memory_limit)?;
                options.set_item("threads", job.options().threads)?;
                let relations: Vec<_> = query.relations.to_vec();
                self.0.call1(py, (query.text, relations, options, SharedJob::of_command(job)))
            };
            let answer = ask().map_err(|raised| with_command_options(caught(py, &raised)))?;
            Ok(Box::new(PackageAnswer(answer)) as Box<dyn SqlAnswer>)
        })
    }
}

impl SqlAnswer for PackageAnswer {
    fn explain(&self) -> Result<(String, Value)> {
        let told = Python::attach(|py| {
            let told = self.0.call_method0(py, "explained").and_then(|told| told.extract::<(String, String)>(py));
            told.map_err(|raised| with_command_options(caught(py, &raised)))
        });
        let (text, json) = told?;
        Ok((text, serde_json::from_str(&json).map_err(Error::unexpected)?))
    }

    fn batches(&self) -> Result<Batches> {
        let begun = Python::attach(|py| {
            let begin = || {
                let schema = import(self.0.bind(py).call_method0("empty_table")?.as_any())?;
                PyResult::Ok((schema, self.0.call_method0(py, "tables")?))
            };
            begin().map_err(|raised| with_command_options(caught(py, &raised)))
        });
        let (empty, tables) = begun?;
        let schema = empty.schema().clone();
        let mut table: Option<Batches> = None;
        Ok(Batches::new(
            schema,
            std::iter::from_fn(move || {
                loop {
                    if let Some(batch) = table.as_mut().and_then(Iterator::next) {
                        return Some(batch);
                    }
                    match next_table(&tables) {
                        Ok(Some(next)) => table = Some(next),
                        Ok(None) => return None,
                        Err(error) => return Some(Err(error)),
                    }
                }
            }),
        ))
    }
}

/// The advice of the query's engine that names keywords of Python.
const MEMORY_ADVICE: &str = "raise memory_limit, or lower threads";

/// An error whose advice names the options of the command.
fn with_command_options(error: Error) -> Error {
    match error.advice_text() {
        Some(MEMORY_ADVICE) => error.advice(format!("raise {MEMORY_LIMIT}, or lower {THREADS}")),
        _ => error,
    }
}

/// The batches of the next table of a Python iterator.
fn next_table(tables: &Py<PyAny>) -> Result<Option<Batches>> {
    Python::attach(|py| {
        let next = tables.bind(py).try_iter().and_then(|mut tables| match tables.next() {
            Some(table) => import(&table?).map(Some),
            None => Ok(None),
        });
        next.map_err(|raised| with_command_options(caught(py, &raised)))
    })
}
