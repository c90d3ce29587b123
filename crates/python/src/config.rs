//! The configuration file of the process.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::errors;

/// Chooses the configuration file; `None`: the one that the environment names.
#[pyfunction]
pub(crate) fn use_config(py: Python<'_>, file: Option<PathBuf>) -> PyResult<()> {
    lakerace_io::config::use_file(file).map_err(|e| errors::raised(py, &e))
}
