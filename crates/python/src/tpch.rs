//! Tables of TPC-H.

use lakerace::{
    Clock, Error, FileIo, GeneratedTable, Generation, JobPlaces, Prices, RangeOptions, TpchMode, TpchTarget,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Serialize;

use crate::options::Keywords;
use crate::{convert, errors, interrupt};

/// The outcome and the cost of a generation.
#[derive(Serialize)]
struct GenerateReport {
    #[serde(flatten)]
    report: lakerace::Report,
    tables: Vec<GeneratedTable>,
    file_bytes: u64,
    mode: TpchMode,
    io: Option<FileIo>,
}

/// Generates tables, or refresh streams, into a folder; returns a dict.
#[pyfunction]
pub(crate) fn tpch(py: Python<'_>, target: String, options: Bound<'_, PyDict>) -> PyResult<Py<PyAny>> {
    let clock = Clock::start();
    let keywords = Keywords::new(options);
    let options = keywords.tpch()?;
    let job = keywords.job(RangeOptions::default())?;
    if target == "-" {
        let error = Error::usage("tables go to a folder").advice("use the command for standard output");
        return Err(errors::raised(py, &error.at(target)));
    }
    keywords.check_places(&JobPlaces::default().writes(&target), job.options())?;
    let payer = job.clone();
    let (tables, mode) = interrupt::run(py, &job, move || {
        let generation = Generation::new(TpchTarget::Folder(target), options, &payer)?;
        let mode = generation.mode();
        Ok((generation.run()?, mode))
    })?;
    let rows = tables.iter().map(|table| table.rows).sum();
    let report = clock.report(rows, &job, &Prices::default());
    let file_bytes = tables.iter().map(|table| table.bytes).sum();
    convert::to_python(py, &GenerateReport { report, tables, file_bytes, mode, io: job.file_io() })
}
