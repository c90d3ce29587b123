//! Ways of making columns.

use std::fmt;
use std::str::FromStr;

use lakerace_format::suggestions::nearest;
use lakerace_io::{Error, Result};
use serde::{Deserialize, Serialize};

/// How columns are made. The values are the same by all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Rows as structs, by the reference generator, and builders that copy their fields into columns. All columns of a
    /// row are made, even those that were not requested.
    Baseline,
    /// Each column separately, directly into the buffers of its array. Texts are copied once, into memory of their
    /// batch, and are views of it: a batch keeps no other memory alive.
    #[default]
    ZeroCopy,
    /// Nothing is copied: comments are views of the generator's pool of text, which arrays share, and columns of few
    /// words are dictionaries of shared words. For encoders in this process, as an array that leaves it includes the
    /// whole pool.
    TrueZeroCopy,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Baseline, Self::ZeroCopy, Self::TrueZeroCopy];

    /// Its name in locations and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::ZeroCopy => "zero-copy",
            Self::TrueZeroCopy => "true-zero-copy",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Mode {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let names = Self::ALL.map(Self::name);
        if let Some(mode) = Self::ALL.into_iter().find(|mode| mode.name() == text) {
            return Ok(mode);
        }
        let advice = match nearest(text, names) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("choose {}", names.join(", ")),
        };
        Err(Error::usage(format!("unknown generation mode {text:?}")).advice(advice))
    }
}
