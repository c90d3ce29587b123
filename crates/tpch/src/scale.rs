//! Scale factors.

use std::fmt;
use std::str::FromStr;

use lakerace_io::{Error, Result};
use serde::{Deserialize, Serialize};

/// A scale factor: 1 is approximately a gigabyte of text, 0.01 ten megabytes.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Scale(f64);

impl Scale {
    /// The largest scale factor, approximately 10 TB of text. From 30,000 on, the reference generator draws keys of 64
    /// bits, and the draws depend on where each of its processes started. Between the two, keys do not fit into its
    /// draws.
    pub const MAX: f64 = 10_000.0;
    /// The smallest one: ten suppliers. (Below 0.03 some parts have the same supplier twice, as dbgen makes them.)
    pub const MIN: f64 = 0.001;

    /// A scale factor.
    ///
    /// # Errors
    /// `Usage` for anything below [`Self::MIN`] or above [`Self::MAX`].
    pub fn new(factor: f64) -> Result<Self> {
        if factor.is_finite() && (Self::MIN..=Self::MAX).contains(&factor) {
            return Ok(Self(factor));
        }
        let what = if factor > Self::MAX { "is too large" } else { "can't be" };
        Err(Error::usage(format!("a scale factor of {factor} {what}")).advice(format!(
            "choose {} to {}; 1 is about 1 GB of text",
            Self::MIN,
            Self::MAX
        )))
    }

    /// The factor.
    pub fn factor(self) -> f64 {
        self.0
    }

    pub(crate) fn parts(self) -> u64 {
        self.scaled(200_000)
    }

    pub(crate) fn suppliers(self) -> u64 {
        self.scaled(10_000)
    }

    pub(crate) fn customers(self) -> u64 {
        self.scaled(150_000)
    }

    pub(crate) fn orders(self) -> u64 {
        self.scaled(1_500_000)
    }

    /// Clerks, of whom there are a thousand at least.
    pub(crate) fn clerks(self) -> u64 {
        self.scaled(1000).max(1000)
    }

    /// As the reference: in floating point, and cut off.
    fn scaled(self, base: u32) -> u64 {
        (f64::from(base) * self.0) as u64
    }
}

impl TryFrom<f64> for Scale {
    type Error = Error;

    fn try_from(factor: f64) -> Result<Self> {
        Self::new(factor)
    }
}

impl From<Scale> for f64 {
    fn from(scale: Scale) -> Self {
        scale.0
    }
}

impl FromStr for Scale {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.trim().parse() {
            Ok(factor) => Self::new(factor),
            Err(_) => {
                Err(Error::usage(format!("{text:?} is not a scale factor")).advice("write a number such as 1 or 0.01"))
            }
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
