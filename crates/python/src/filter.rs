//! Filters with parameters.

use lakerace::{Error, FilterParameter};
use pyo3::prelude::*;

use crate::errors::raised;

/// The filter with parameters in the places of `?`: each is a type and a text.
#[pyfunction]
#[pyo3(name = "with_parameters")]
pub(crate) fn with_parameters(py: Python<'_>, r#where: String, params: Vec<(String, String)>) -> PyResult<String> {
    let parameters = params.into_iter().map(parameter).collect::<lakerace::Result<Vec<_>>>();
    parameters
        .and_then(|parameters| lakerace::with_parameters(&r#where, &parameters))
        .map_err(|error| raised(py, &error))
}

/// The texts of a statement with parameters in the places of `?`, in the order of the texts.
#[pyfunction]
#[pyo3(name = "with_parameters_in")]
pub(crate) fn with_parameters_in(
    py: Python<'_>,
    texts: Vec<String>,
    params: Vec<(String, String)>,
) -> PyResult<Vec<String>> {
    let parameters = params.into_iter().map(parameter).collect::<lakerace::Result<Vec<_>>>();
    parameters
        .and_then(|parameters| lakerace::with_parameters_in(&texts, &parameters))
        .map_err(|error| raised(py, &error))
}

fn parameter((kind, text): (String, String)) -> lakerace::Result<FilterParameter> {
    Ok(match kind.as_str() {
        "null" => FilterParameter::Null,
        "boolean" => FilterParameter::Boolean(text == "true"),
        "number" => FilterParameter::Number(text),
        "text" => FilterParameter::Text(text),
        // Each character is a byte.
        "binary" => FilterParameter::Binary(text.chars().map(|c| c as u8).collect()),
        "date" => FilterParameter::Date(text),
        "timestamp" => FilterParameter::Timestamp(text),
        other => return Err(Error::internal(format!("a parameter of type {other:?}"))),
    })
}
