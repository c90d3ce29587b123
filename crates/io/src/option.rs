//! Options by their definition, so that an error can give advice that does not depend on the caller.
//!
//! A text names an option by its definition, `format!("replace it by {}", MODE.to("overwrite"))`, and stays a `String`.
//! It contains the option as a value: its id and its new setting, between characters that no text has. A [`Door`] shows
//! them in the spelling of its users: `--mode overwrite`, `mode="overwrite"`, `.mode("overwrite")`.
//!
//! ```
//! use lakerace_io::Error;
//! use lakerace_io::option::{COLUMNS, Door, MODE};
//! let error = Error::conflict("it exists").advice(format!("say {}, or leave {COLUMNS} out", MODE.to("overwrite")));
//! assert_eq!(error.to_string(), "it exists (say `mode=overwrite`, or leave `columns` out)");
//! let text = error.text(Door::CommandLine);
//! assert_eq!(text.advice.as_deref(), Some("say --mode overwrite, or leave --columns out"));
//! ```

mod choice;
mod door;
mod jobs;
mod mark;
mod table;

use std::fmt;

pub use choice::{Choice, parse_choice};
pub use door::Door;
pub use jobs::{ALL_JOBS, ALTER, COMPACT, COPY, HISTORY, JobCall, JobDefinition, SQL, TPCH, UPSERT, VERIFY_TABLE};
pub use mark::{Mention, mentions, with_option_replaced};
pub use table::*;

/// The type of an option's value, and its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// True if it is given.
    Flag,
    /// False if it is given: the command has a flag that turns a default off.
    Off,
    /// A text.
    Text,
    /// A name of a few.
    Choice,
    /// A number.
    Number,
    /// A number of bytes, such as 4MiB.
    Bytes,
    /// A time, such as 10m.
    Time,
    /// Names of columns, tables or properties.
    Names,
    /// Names with values.
    Pairs,
}

/// An option's name in the command: `--NAME`, if it has one.
type Flag = Option<&'static str>;

/// An option's name in Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PythonName {
    /// A keyword argument.
    Keyword(&'static str),
    /// A name in `storage_options`.
    Setting(&'static str),
}

/// An option's name in Spark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SparkName {
    /// A name for `.option(…)`.
    Option(&'static str),
    /// The prefix of names for `.option(…)`, for example that of a table's properties.
    Prefix(&'static str),
    /// A name for `.option(…)` with values of another kind than at the other doors.
    OtherValues(&'static str),
    /// A method of reader or writer.
    Method(&'static str),
}

/// An option as all doors know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionDefinition {
    /// The name by which texts have it; of each option another one.
    pub id: &'static str,
    /// The type of its value.
    pub kind: ValueKind,
    /// Its name in the command, with underscores for dashes.
    pub flag: Flag,
    /// Its name in Python.
    pub python: Option<PythonName>,
    /// Its name in Spark.
    pub spark: Option<SparkName>,
    /// The variable of the environment that gives its value by default.
    pub environment: Option<&'static str>,
    /// Its default value, if it is the same in all jobs.
    pub default: Option<&'static str>,
    /// Commands that accept it, separated by spaces. Those of `files` are `files-put` and so on.
    pub jobs: &'static str,
    /// Values that have another name in Python.
    pub python_values: &'static [(&'static str, &'static str)],
}

impl OptionDefinition {
    /// An option with this name in the command and in Python, which Spark lacks.
    pub(crate) const fn new(id: &'static str, kind: ValueKind, jobs: &'static str) -> Self {
        let python = Some(PythonName::Keyword(id));
        let (spark, environment, default) = (None, None, None);
        Self { id, kind, flag: Some(id), python, spark, environment, default, jobs, python_values: &[] }
    }

    const fn flag(mut self, name: &'static str) -> Self {
        self.flag = Some(name);
        self
    }

    const fn keyword(mut self, name: &'static str) -> Self {
        self.python = Some(PythonName::Keyword(name));
        self
    }

    const fn setting(mut self) -> Self {
        self.python = Some(PythonName::Setting(self.id));
        self
    }

    const fn not_in_python(mut self) -> Self {
        self.python = None;
        self
    }

    const fn spark(mut self, name: SparkName) -> Self {
        self.spark = Some(name);
        self
    }

    const fn spark_option(self, name: &'static str) -> Self {
        self.spark(SparkName::Option(name))
    }

    const fn environment(mut self, name: &'static str) -> Self {
        self.environment = Some(name);
        self
    }

    const fn default(mut self, value: &'static str) -> Self {
        self.default = Some(value);
        self
    }

    const fn python_values(mut self, values: &'static [(&'static str, &'static str)]) -> Self {
        self.python_values = values;
        self
    }

    /// The option with a value: `MODE.to("overwrite")`.
    pub fn to(&'static self, value: impl Into<String>) -> OptionValue {
        OptionValue { definition: self, value: Some(value.into()) }
    }

    /// The option as a flag that is given: `VERIFY_TABLE.with([REPAIR.given()])`.
    pub fn given(&'static self) -> OptionValue {
        OptionValue { definition: self, value: None }
    }

    /// The definition with this id.
    pub fn find(id: &str) -> Option<&'static Self> {
        ALL.iter().copied().find(|known| known.id == id)
    }
}

/// An option, and its new setting.
#[derive(Debug, Clone)]
pub struct OptionValue {
    /// The option.
    pub definition: &'static OptionDefinition,
    /// Its value; `None` where the text speaks of the option alone.
    pub value: Option<String>,
}

impl fmt::Display for OptionDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        mark::write_option(f, self.id, None)
    }
}

impl fmt::Display for OptionValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        mark::write_option(f, self.definition.id, self.value.as_deref())
    }
}

#[cfg(test)]
mod tests;
