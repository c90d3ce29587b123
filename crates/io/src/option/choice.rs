//! Options whose values are a few names.

use crate::error::{Error, Result};

/// A value with a name. The command, Python and Spark take the same names.
pub trait Choice: Copy + PartialEq + 'static {
    /// All values and their names, in the order in which help shows them.
    const CHOICES: &'static [(&'static str, Self)];

    /// The name of this value.
    fn choice_name(self) -> &'static str {
        Self::CHOICES.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| name)
    }
}

/// The value of a name.
///
/// # Errors
/// `Usage`, with the names that there are.
pub fn parse_choice<T: Choice>(text: &str) -> Result<T> {
    T::CHOICES.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = T::CHOICES.iter().map(|(name, _)| *name).collect();
        Error::usage(format!("unknown choice {text:?}")).advice(format!("choose one of {}", names.join(", ")))
    })
}
