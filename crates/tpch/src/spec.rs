//! Names of generated tables: `tpch:lineitem?sf=1&part=2/8`.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use lakerace_format::suggestions::nearest;
use lakerace_io::{Error, Result};

use crate::mode::Mode;
use crate::refresh::Refresh;
use crate::scale::Scale;
use crate::table::Table;

/// The prefix of the names of generated tables.
pub const SCHEME: &str = "tpch:";

/// The name that generated tables give as their format.
pub const FORMAT: &str = "tpch";

/// A table at a scale, or a part of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spec {
    /// Which table.
    pub table: Table,
    /// How large.
    pub scale: Scale,
    /// The rows of a refresh stream, instead of the table's.
    pub refresh: Option<Refresh>,
    /// Which part of it.
    pub part: Part,
    /// How its columns are made.
    pub mode: Mode,
    /// `l_quantity` is a whole number (int64), which is how dbgen writes it, rather than decimal(15,2).
    pub whole_quantities: bool,
}

/// A part of a table, the rows that dbgen makes for `-C count -S number`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// From 1 to `count`.
    pub number: u32,
    /// How many there are.
    pub count: u32,
}

impl Part {
    /// All of a table.
    pub const WHOLE: Self = Self { number: 1, count: 1 };
    /// More parts than anybody needs, and few enough to number them everywhere.
    pub const MAX: u32 = 1_000_000;

    /// Part `number` of `count`, from 1.
    ///
    /// # Errors
    /// `Usage` where there is no such part.
    pub fn new(number: u32, count: u32) -> Result<Self> {
        if (1..=Self::MAX).contains(&count) && (1..=count).contains(&number) {
            return Ok(Self { number, count });
        }
        Err(Error::usage(format!("there is no part {number} of {count}"))
            .advice(format!("parts are numbered from 1, such as 1/4 to 4/4, and there can be at most {}", Self::MAX)))
    }

    /// The share of `total` items that belongs to this part: an equal number for each part, and the rest for the last
    /// one.
    pub fn share(self, total: u64) -> Range<u64> {
        let each = total / u64::from(self.count);
        let end = if self.number == self.count { total } else { each * u64::from(self.number) };
        each * u64::from(self.number - 1)..end
    }
}

impl Spec {
    /// A table at a scale, whole, in the default mode.
    pub fn new(table: Table, scale: Scale) -> Self {
        Self { table, scale, refresh: None, part: Part::WHOLE, mode: Mode::default(), whole_quantities: false }
    }

    /// The entities of its rows (see [`Table::entities`]), by their places from 0.
    pub(crate) fn entities(self) -> Range<u64> {
        let all = match self.refresh {
            Some(refresh) => refresh.orders(self.scale),
            None => 0..self.table.entities(self.scale),
        };
        let part = self.part.share(all.end - all.start);
        all.start + part.start..all.start + part.end
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SCHEME}{}?sf={}", self.table, self.scale)?;
        if let Some(refresh) = self.refresh {
            write!(f, "&{}={}", refresh.name(), refresh.stream())?;
        }
        if self.part != Part::WHOLE {
            write!(f, "&part={}", self.part)?;
        }
        if self.mode != Mode::default() {
            write!(f, "&mode={}", self.mode)?;
        }
        if self.whole_quantities { f.write_str("&quantity=integer") } else { Ok(()) }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl FromStr for Part {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let numbers = text.split_once('/').map(|(number, count)| (number.trim().parse(), count.trim().parse()));
        match numbers {
            Some((Ok(number), Ok(count))) => Self::new(number, count),
            _ => Err(Error::usage(format!("{text:?} is not a part")).advice("write it as 1/4")),
        }
    }
}

impl FromStr for Spec {
    type Err = Error;

    /// Parses `tpch:TABLE?sf=N[&insert=N|&delete=N][&part=I/N][&mode=MODE][&quantity=decimal|integer]`.
    ///
    /// # Errors
    /// `NotFound` for an unknown table, `Usage` for anything else that is wrong; both name what was probably meant.
    fn from_str(text: &str) -> Result<Self> {
        let parsed = parse(text);
        parsed.map_err(|error| error.at(text))
    }
}

/// The options of a name.
const OPTIONS: [&str; 6] = ["sf", "part", "mode", "quantity", "insert", "delete"];

fn parse(text: &str) -> Result<Spec> {
    let scheme = text.get(..SCHEME.len()).filter(|scheme| scheme.eq_ignore_ascii_case(SCHEME));
    let rest = scheme.map(|scheme| &text[scheme.len()..]);
    let Some(rest) = rest else {
        return Err(Error::usage("the name of a generated table starts with tpch:").advice("write tpch:lineitem?sf=1"));
    };
    let (table, options) = rest.split_once('?').unwrap_or((rest, ""));
    let table: Table = table.trim_matches('/').parse()?;
    let mut scale = None;
    let mut spec = Spec::new(table, Scale::new(1.0)?);
    let mut seen = Vec::new();
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        if seen.contains(&name) {
            return Err(Error::usage(format!("the option {name} is given twice")));
        }
        seen.push(name);
        match name {
            "sf" => scale = Some(value.parse()?),
            "insert" => refresh(&mut spec, Refresh::Insert(stream(value)?))?,
            "delete" => refresh(&mut spec, Refresh::Delete(stream(value)?))?,
            "part" => spec.part = value.parse()?,
            "mode" => spec.mode = value.parse()?,
            "quantity" => spec.whole_quantities = whole_quantities(value)?,
            _ => {
                let advice = match nearest(name, OPTIONS) {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("the options are {}", OPTIONS.join(", ")),
                };
                return Err(Error::usage(format!("there is no option {name:?}")).advice(advice));
            }
        }
    }
    let missing = || Error::usage("the scale factor is missing").advice(format!("write tpch:{table}?sf=1"));
    Ok(Spec { scale: scale.ok_or_else(missing)?, ..spec })
}

fn refresh(spec: &mut Spec, refresh: Refresh) -> Result<()> {
    refresh.check(spec.table)?;
    match spec.refresh.replace(refresh) {
        None => Ok(()),
        Some(_) => Err(Error::usage("rows are either inserted or deleted").advice("choose insert or delete")),
    }
}

fn stream(value: &str) -> Result<u32> {
    let wrong =
        || Error::usage(format!("{value:?} is not a number of a refresh stream")).advice("write a number such as 1");
    value.parse().map_err(|_| wrong())
}

fn whole_quantities(value: &str) -> Result<bool> {
    match value {
        "integer" => Ok(true),
        "decimal" => Ok(false),
        _ => Err(Error::usage(format!("quantities can't be of type {value:?}")).advice("choose decimal or integer")),
    }
}

#[cfg(test)]
mod tests;
