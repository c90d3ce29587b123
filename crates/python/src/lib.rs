//! The native half of the Python package `lakerace`: the engine's functions as Python functions, without further logic.
//!
//! The Python modules of the package add the signatures, defaults and documentation.

mod config;
mod convert;
mod definitions;
mod diff;
mod errors;
mod files;
mod filter;
mod foreign_stream;
mod interrupt;
mod job;
mod jobs;
mod maintain;
mod merge;
mod options;
mod ranges;
mod rows;
mod scan;
mod sql;
mod stream;
mod tpch;
mod update;
mod warnings;

use std::ffi::OsString;

use lakerace_cli::{Host, SqlEngine};
use pyo3::prelude::*;

use self::sql::PackageEngine;

/// Decoders allocate and free large buffers on several threads; the system's allocator is slow at that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Runs the `lakerace` command with `arguments` (the first is the program's name) and returns the exit code. `bench` is
/// called with the arguments after `lakerace bench`, `sql` with the query of `lakerace sql`.
#[pyfunction]
#[pyo3(signature = (arguments, bench, sql=None))]
fn run(py: Python<'_>, arguments: Vec<OsString>, bench: Option<Py<PyAny>>, sql: Option<Py<PyAny>>) -> u8 {
    py.detach(|| {
        let engine = sql.map(PackageEngine);
        let call = bench.map(|bench| move |rest: &[OsString]| Python::attach(|py| call_bench(py, &bench, rest)));
        let host = Host {
            bench: call.as_ref().map(|call| call as &lakerace_cli::Bench<'_>),
            sql: engine.as_ref().map(|engine| engine as &dyn SqlEngine),
        };
        lakerace_cli::run(arguments, &host)
    })
}

fn call_bench(py: Python<'_>, bench: &Py<PyAny>, rest: &[OsString]) -> u8 {
    match bench.call1(py, (rest.to_vec(),)).and_then(|code| code.extract(py)) {
        Ok(code) => code,
        Err(error) => {
            error.print(py);
            lakerace::ErrorKind::Internal.exit_code()
        }
    }
}

/// The native half of lakerace.
#[pymodule]
fn _lakerace(module: &Bound<'_, PyModule>) -> PyResult<()> {
    lakerace_cli::allocator::register();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    files::register(module)?;
    module.add_class::<job::SharedJob>()?;
    module.add_class::<ranges::Ranges>()?;
    module.add_class::<rows::Rows>()?;
    module.add_class::<scan::Scan>()?;
    module.add_class::<stream::Stream>()?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(config::use_config, module)?)?;
    module.add_function(wrap_pyfunction!(rows::rows, module)?)?;
    module.add_function(wrap_pyfunction!(definitions::option_definitions, module)?)?;
    module.add_function(wrap_pyfunction!(filter::with_parameters, module)?)?;
    module.add_function(wrap_pyfunction!(filter::with_parameters_in, module)?)?;
    module.add_function(wrap_pyfunction!(diff::compare, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::plan_copy, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::plan_sync, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::plan_upsert, module)?)?;
    module.add_function(wrap_pyfunction!(update::plan_update, module)?)?;
    module.add_function(wrap_pyfunction!(merge::plan_merge, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::plan_delete, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::plan_delete_keys, module)?)?;
    module.add_function(wrap_pyfunction!(maintain::plan_compact, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::copy, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::sync, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::upsert, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::explain_upsert, module)?)?;
    module.add_function(wrap_pyfunction!(update::update, module)?)?;
    module.add_function(wrap_pyfunction!(merge::merge, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::delete, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::delete_keys, module)?)?;
    module.add_function(wrap_pyfunction!(maintain::compact, module)?)?;
    module.add_function(wrap_pyfunction!(maintain::vacuum, module)?)?;
    module.add_function(wrap_pyfunction!(maintain::verify, module)?)?;
    module.add_function(wrap_pyfunction!(maintain::history, module)?)?;
    module.add_function(wrap_pyfunction!(maintain::alter, module)?)?;
    module.add_function(wrap_pyfunction!(maintain::restore, module)?)?;
    module.add_function(wrap_pyfunction!(maintain::changes, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::schema, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::check, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::check_places, module)?)?;
    module.add_function(wrap_pyfunction!(jobs::checksum, module)?)?;
    module.add_function(wrap_pyfunction!(tpch::tpch, module)?)?;
    Ok(())
}
