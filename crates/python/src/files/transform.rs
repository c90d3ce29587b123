//! Transforms that are Python objects.

use std::sync::Arc;

use lakerace::{Error, Result};
use lakerace_files::Transform;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;

use super::raise;
use crate::errors;

/// A transform that is a Python object with `apply` and `remove`.
struct PyTransform {
    name: String,
    object: Py<PyAny>,
}

impl std::fmt::Debug for PyTransform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

impl PyTransform {
    fn call(&self, method: &str, data: &[u8]) -> Result<Vec<u8>> {
        Python::attach(|py| {
            let answer = self.object.bind(py).call_method1(method, (PyBytes::new(py, data),))?;
            answer.extract::<PyBackedBytes>().map(|bytes| bytes.to_vec()).map_err(PyErr::from)
        })
        .map_err(|e: PyErr| Error::invalid(format!("the transform's {method} failed: {e}")))
    }
}

impl Transform for PyTransform {
    fn spec(&self) -> String {
        self.name.clone()
    }

    fn apply(&self, _piece: u64, data: &[u8]) -> Result<Vec<u8>> {
        self.call("apply", data)
    }

    fn remove(&self, _piece: u64, data: &[u8]) -> Result<Vec<u8>> {
        self.call("remove", data)
    }
}

/// Resolves a list of names and objects to transforms.
pub(super) fn transforms(list: &[Bound<'_, PyAny>]) -> PyResult<Vec<Arc<dyn Transform>>> {
    list.iter()
        .map(|item| {
            if let Ok(name) = item.extract::<String>() {
                return raise(item.py(), <dyn Transform>::named(&name));
            }
            let name = match item.getattr("name") {
                Ok(name) => name.extract::<String>()?,
                Err(_) => item.get_type().name()?.to_string(),
            };
            let name = format!("python:{name}");
            if name.contains(';') {
                return Err(errors::raised(
                    item.py(),
                    &Error::usage("the name of a transform can't contain ;").at(name),
                ));
            }
            Ok(Arc::new(PyTransform { name, object: item.clone().unbind() }) as Arc<dyn Transform>)
        })
        .collect()
}
