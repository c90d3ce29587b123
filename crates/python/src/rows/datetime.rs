//! Dates and times of Python's module `datetime`.
//!
//! The module has a table of C functions that make its objects, several times as fast as calls of its classes. The
//! table is not part of the stable ABI: it is used if its first entries are the expected ones, and otherwise the
//! classes are called.

use std::ffi::c_int;

use lakerace_format::calendar::civil_from_days;
use pyo3::exceptions::PyOverflowError;
use pyo3::ffi::{PyCapsule_Import, PyErr_Clear, PyObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

const DAY_SECONDS: i64 = 86_400;

/// The front of `PyDateTime_CAPI`, as it has been since Python 3.7.
#[repr(C)]
struct DatetimeApi {
    date_class: *mut PyObject,
    datetime_class: *mut PyObject,
    time_class: *mut PyObject,
    delta_class: *mut PyObject,
    zone_class: *mut PyObject,
    utc: *mut PyObject,
    date: unsafe extern "C" fn(c_int, c_int, c_int, *mut PyObject) -> *mut PyObject,
    datetime: unsafe extern "C" fn(
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
        *mut PyObject,
        *mut PyObject,
    ) -> *mut PyObject,
    time: unsafe extern "C" fn(c_int, c_int, c_int, c_int, *mut PyObject, *mut PyObject) -> *mut PyObject,
    delta: unsafe extern "C" fn(c_int, c_int, c_int, c_int, *mut PyObject) -> *mut PyObject,
}

// SAFETY: nothing writes to the table once the interpreter has made it, and it is never freed.
unsafe impl Sync for DatetimeApi {}

/// Makes dates and times.
pub(super) struct DatetimeMaker {
    date: Py<PyType>,
    datetime: Py<PyType>,
    time: Py<PyType>,
    delta: Py<PyType>,
    utc: Py<PyAny>,
    table: Option<&'static DatetimeApi>,
}

static MAKER: PyOnceLock<DatetimeMaker> = PyOnceLock::new();

impl DatetimeMaker {
    /// The one of this interpreter.
    pub fn get(py: Python<'_>) -> PyResult<&Self> {
        MAKER.get_or_try_init(py, || Self::new(py))
    }

    fn new(py: Python<'_>) -> PyResult<Self> {
        let mut maker = Self::of_classes(py)?;
        // SAFETY: the name ends in a zero byte; the returned pointer is checked below.
        let table = unsafe { PyCapsule_Import(c"datetime.datetime_CAPI".as_ptr(), 0) }.cast::<DatetimeApi>();
        if table.is_null() {
            // SAFETY: the interpreter is attached.
            unsafe { PyErr_Clear() };
            return Ok(maker);
        }
        // SAFETY: the capsule of this name holds a table that lives as long as the interpreter and starts with six
        // pointers.
        let table = unsafe { &*table };
        let known = [
            maker.date.as_ptr(),
            maker.datetime.as_ptr(),
            maker.time.as_ptr(),
            maker.delta.as_ptr(),
            maker.utc.as_ptr(),
        ];
        if known == [table.date_class, table.datetime_class, table.time_class, table.delta_class, table.utc] {
            maker.table = Some(table);
        }
        Ok(maker)
    }

    /// Makes a constructor that calls the classes.
    fn of_classes(py: Python<'_>) -> PyResult<Self> {
        let module = py.import("datetime")?;
        let class = |name: &str| -> PyResult<Py<PyType>> { Ok(module.getattr(name)?.cast_into::<PyType>()?.unbind()) };
        Ok(Self {
            date: class("date")?,
            datetime: class("datetime")?,
            time: class("time")?,
            delta: class("timedelta")?,
            utc: module.getattr("timezone")?.getattr("utc")?.unbind(),
            table: None,
        })
    }

    /// The date of days since 1970-01-01.
    pub fn date(&self, py: Python<'_>, days: i64) -> PyResult<Py<PyAny>> {
        let (year, month, day) = civil_from_days(days);
        let (year, month, day) = (whole(year)?, whole(month)?, whole(day)?);
        match self.table {
            // SAFETY: the signature is that of the table's function.
            Some(table) => owned_object(py, unsafe { (table.date)(year, month, day, table.date_class) }),
            None => self.date.call1(py, (year, month, day)),
        }
    }

    /// The time of seconds since 1970-01-01 and microseconds of a second: in UTC, or in no zone.
    pub fn datetime(&self, py: Python<'_>, seconds: i64, micros: i64, is_utc: bool) -> PyResult<Py<PyAny>> {
        let (year, month, day) = civil_from_days(seconds.div_euclid(DAY_SECONDS));
        let (year, month, day) = (whole(year)?, whole(month)?, whole(day)?);
        let (hour, minute, second, micro) = clock(seconds.rem_euclid(DAY_SECONDS), micros)?;
        let zone = if is_utc { self.utc.clone_ref(py) } else { py.None() };
        match self.table {
            Some(table) => {
                let (zone, class) = (zone.as_ptr(), table.datetime_class);
                // SAFETY: the signature is that of the table's function.
                owned_object(py, unsafe {
                    (table.datetime)(year, month, day, hour, minute, second, micro, zone, class)
                })
            }
            None => self.datetime.call1(py, (year, month, day, hour, minute, second, micro, zone)),
        }
    }

    /// The time of day of seconds since midnight and microseconds of a second.
    pub fn time(&self, py: Python<'_>, seconds: i64, micros: i64) -> PyResult<Py<PyAny>> {
        let (hour, minute, second, micro) = clock(seconds, micros)?;
        match self.table {
            Some(table) => {
                let (zone, class) = (py.None(), table.time_class);
                // SAFETY: the signature is that of the table's function.
                owned_object(py, unsafe { (table.time)(hour, minute, second, micro, zone.as_ptr(), class) })
            }
            None => self.time.call1(py, (hour, minute, second, micro)),
        }
    }

    /// So many seconds and microseconds.
    pub fn delta(&self, py: Python<'_>, seconds: i64, micros: i64) -> PyResult<Py<PyAny>> {
        let days = whole(seconds.div_euclid(DAY_SECONDS))?;
        let (seconds, micros) = (whole(seconds.rem_euclid(DAY_SECONDS))?, whole(micros)?);
        match self.table {
            // SAFETY: the signature is that of the table's function; the values are already normalised.
            Some(table) => owned_object(py, unsafe { (table.delta)(days, seconds, micros, 0, table.delta_class) }),
            None => self.delta.call1(py, (days, seconds, micros)),
        }
    }
}

fn clock(seconds: i64, micros: i64) -> PyResult<(c_int, c_int, c_int, c_int)> {
    Ok((whole(seconds / 3600)?, whole(seconds / 60 % 60)?, whole(seconds % 60)?, whole(micros)?))
}

fn whole(value: i64) -> PyResult<c_int> {
    c_int::try_from(value).map_err(|_| PyOverflowError::new_err("a time is outside the range of Python"))
}

fn owned_object(py: Python<'_>, object: *mut PyObject) -> PyResult<Py<PyAny>> {
    if object.is_null() {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: a new reference, which is ours.
    Ok(unsafe { Bound::from_owned_ptr(py, object) }.unbind())
}
