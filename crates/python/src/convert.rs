//! Values of the engine as Python objects.

use lakerace::Error;
use lakerace_io::option::Door;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;
use serde_json::Value;

use crate::errors;

/// Any serialisable value as dicts, lists, strings and numbers.
pub(crate) fn to_python(py: Python<'_>, value: &impl Serialize) -> PyResult<Py<PyAny>> {
    let value = serde_json::to_value(value).map_err(|e| errors::raised(py, &Error::unexpected(e)))?;
    object(py, &value)
}

fn object(py: Python<'_>, value: &Value) -> PyResult<Py<PyAny>> {
    match value {
        Value::Null => Ok(py.None()),
        Value::Bool(b) => b.into_py_any(py),
        Value::Number(n) => match (n.as_u64(), n.as_i64()) {
            (Some(n), _) => n.into_py_any(py),
            (None, Some(n)) => n.into_py_any(py),
            (None, None) => n.as_f64().into_py_any(py),
        },
        Value::String(text) => Door::Python.show(text).into_py_any(py),
        Value::Array(items) => {
            let items = items.iter().map(|item| object(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_py_any(py)
        }
        Value::Object(fields) => {
            let dict = PyDict::new(py);
            for (name, value) in fields {
                dict.set_item(name, object(py, value)?)?;
            }
            dict.into_py_any(py)
        }
    }
}
