//! Names of files as Python gives them.

use std::ops::Deref;

use lakerace::Error;
use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use crate::errors;

/// A name, or a part of one. Half of a surrogate pair, which UTF-8 can't hold, is a usage error that shows the name.
pub(crate) struct NameText(pub(super) PyBackedStr);

impl Deref for NameText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl FromPyObject<'_, '_> for NameText {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        value.extract().map(Self).map_err(|error: PyErr| {
            if !error.is_instance_of::<PyUnicodeEncodeError>(value.py()) {
                return error;
            }
            let shown = value.repr().map_or_else(|_| "the name".to_owned(), |shown| shown.to_string());
            let error = Error::usage(format!("{shown} has half of a surrogate pair"));
            errors::raised(value.py(), &error.advice("give whole characters"))
        })
    }
}
