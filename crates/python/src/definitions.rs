//! The definitions of options, so that tests of the package hold its doors against them.

use lakerace::option::{self, OptionDefinition, PythonName, SparkName};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::convert;

/// Every option with its names, as a list of dicts.
#[pyfunction]
pub(crate) fn option_definitions(py: Python<'_>) -> PyResult<Py<PyAny>> {
    convert::to_python(py, &option::ALL.iter().map(|definition| object(definition)).collect::<Vec<_>>())
}

fn object(definition: &OptionDefinition) -> Value {
    let (keyword, setting) = match definition.python {
        Some(PythonName::Keyword(name)) => (Some(name), None),
        Some(PythonName::Setting(name)) => (None, Some(name)),
        None => (None, None),
    };
    let spark = match definition.spark {
        Some(SparkName::Option(name) | SparkName::OtherValues(name) | SparkName::Prefix(name)) => Some(name),
        Some(SparkName::Method(_)) | None => None,
    };
    json!({
        "id": definition.id,
        "keyword": keyword,
        "setting": setting,
        "spark": spark,
        "default": definition.default,
        "jobs": definition.jobs.split(' ').collect::<Vec<_>>(),
    })
}
