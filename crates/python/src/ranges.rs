//! Byte ranges of one object, through the planner and the fetcher of every scan.

use lakerace::{Error, Job, JobPlaces, RangeOptions};
use lakerace_io::{Fetcher, Location, Object, PathProfile, RequestPlan, Wanted, plan_requests};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::Serialize;

use crate::options::Keywords;
use crate::{convert, errors, interrupt};

/// An object whose byte ranges are planned, priced and read as a scan's are.
#[pyclass(frozen, module = "lakerace._lakerace")]
pub(crate) struct Ranges {
    object: Object,
    job: Job,
}

/// A plan, and the path that it was priced for.
#[derive(Serialize)]
struct PricedPlan {
    #[serde(flatten)]
    plan: RequestPlan,
    path: PathProfile,
}

#[pymethods]
impl Ranges {
    #[new]
    fn new(py: Python<'_>, location: String, options: Bound<'_, PyDict>) -> PyResult<Self> {
        let keywords = Keywords::new(options);
        let job = keywords.job(RangeOptions::default())?;
        let storage = keywords.storage()?;
        keywords.check_places(&JobPlaces::default().reads(&location), job.options())?;
        let opened = Location::parse(&location).and_then(|parsed| parsed.object(&storage, &job));
        Ok(Self { object: opened.map_err(|e| errors::raised(py, &e))?, job })
    }

    /// The requests for these ranges (begin and end, in bytes) and their expected cost, as a dict.
    fn plan(&self, py: Python<'_>, ranges: Vec<(u64, u64)>) -> PyResult<Py<PyAny>> {
        let wanted = wanted(py, &ranges)?;
        let path = self.object.store.profile();
        convert::to_python(py, &PricedPlan { plan: plan_requests(&wanted, &self.job.options().ranges, &path), path })
    }

    /// The bytes of these ranges, one after the other.
    fn read<'py>(&self, py: Python<'py>, ranges: Vec<(u64, u64)>) -> PyResult<Bound<'py, PyBytes>> {
        let wanted = wanted(py, &ranges)?;
        let (object, job) = (self.object.clone(), self.job.clone());
        let parts = interrupt::run(py, &self.job, move || {
            let plan = plan_requests(&wanted, &job.options().ranges, &object.store.profile());
            let fetcher = Fetcher::start(vec![object], &plan, &job)?;
            wanted.into_iter().map(|w| fetcher.bytes(w.file, w.range)).collect::<Result<Vec<_>, Error>>()
        })?;
        Ok(PyBytes::new(py, &parts.concat()))
    }
}

fn wanted(py: Python<'_>, ranges: &[(u64, u64)]) -> PyResult<Vec<Wanted>> {
    let wanted = ranges.iter().map(|&(begin, end)| match begin <= end {
        true => Ok(Wanted { file: 0, range: begin..end }),
        false => Err(Error::usage(format!("the range {begin}..{end} ends before it starts"))),
    });
    wanted.collect::<Result<_, _>>().map_err(|e| errors::raised(py, &e))
}
