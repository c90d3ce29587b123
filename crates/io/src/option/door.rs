//! Options as the users of a door write them.

use std::borrow::Cow;

use super::mark::{TextPart, is_plain, parts};
use super::{JobCall, OptionValue, PythonName, SparkName, ValueKind};

/// A way in which users give options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// None in particular: an option is written as `mode=overwrite`. For logs, and for callers of the library.
    Library,
    /// The command: `--mode overwrite`.
    CommandLine,
    /// The Python package: `mode="overwrite"`.
    Python,
    /// The Spark connector: `.option("where", "…")`.
    Spark,
}

impl Door {
    /// A text with its options and jobs in the spelling of this door. An option that a door lacks is written as in
    /// [`Door::Library`].
    pub fn show(self, text: &str) -> Cow<'_, str> {
        if is_plain(text) {
            return Cow::Borrowed(text);
        }
        let shown = parts(text).into_iter().map(|part| match part {
            TextPart::Words(words) => words.to_owned(),
            TextPart::Option(option) => self.option(&option),
            TextPart::Job(call) => self.job(&call),
        });
        Cow::Owned(shown.collect())
    }

    fn option(self, option: &OptionValue) -> String {
        let shown = match self {
            Self::Library => None,
            Self::CommandLine => flag(option),
            Self::Python => keyword(option),
            Self::Spark => spark(option),
        };
        shown.unwrap_or_else(|| format!("`{}`", plain(option)))
    }

    fn job(self, call: &JobCall) -> String {
        let JobCall { job, place, options } = call;
        let given = options.iter().map(|option| match self {
            Self::Library | Self::Spark => Self::CommandLine.option(option),
            Self::CommandLine | Self::Python => self.option(option),
        });
        let given = given.collect::<Vec<_>>();
        match self {
            Self::Python => {
                let method = place.as_ref().zip(job.python.strip_prefix("Table."));
                let call = match method {
                    Some((place, method)) => format!("Table({place:?}).{method}"),
                    None => job.python.to_owned(),
                };
                format!("`{call}({})`", given.join(", "))
            }
            // Spark has no such jobs: its users run the command.
            Self::Library | Self::CommandLine | Self::Spark => {
                let arguments = match place {
                    Some(place) => job.arguments.replacen("TABLE", &word(place), 1),
                    None => job.arguments.to_owned(),
                };
                let words = ["lakerace".to_owned(), job.name.to_owned(), arguments];
                let words = words.into_iter().chain(given).filter(|word| !word.is_empty()).collect::<Vec<_>>();
                format!("`{}`", words.join(" "))
            }
        }
    }
}

/// `mode=overwrite`.
fn plain(option: &OptionValue) -> String {
    match (&option.value, option.definition.kind) {
        (Some(value), _) => format!("{}={value}", option.definition.id),
        (None, ValueKind::Off) => format!("{}=false", option.definition.id),
        (None, _) => option.definition.id.to_owned(),
    }
}

/// `--mode overwrite`, with quotes where a shell needs them.
fn flag(option: &OptionValue) -> Option<String> {
    let name = format!("--{}", option.definition.flag?.replace('_', "-"));
    Some(match &option.value {
        None => name,
        // A tab can't be seen, and the command takes its escape.
        Some(value) if value == "\t" => format!(r"{name} '\t'"),
        Some(value) => format!("{name} {}", word(value)),
    })
}

/// A word of a command, with quotes where a shell needs them.
fn word(text: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || "_-.,:=/@%+".contains(c);
    // A mark alone, such as a comma, would be read as one of the sentence.
    match text.chars().any(char::is_alphanumeric) && text.chars().all(is_safe) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// `mode="overwrite"`.
fn keyword(option: &OptionValue) -> Option<String> {
    let definition = option.definition;
    let name = match definition.python? {
        PythonName::Keyword(name) => name,
        PythonName::Setting(name) => {
            let value = option.value.as_deref().unwrap_or(if is_flag(definition.kind) { "true" } else { "…" });
            return Some(format!("storage_options={{{name:?}: {value:?}}}"));
        }
    };
    let shown = match (definition.kind, &option.value) {
        (ValueKind::Flag, _) => "True".to_owned(),
        (ValueKind::Off, _) => "False".to_owned(),
        (_, None) => return Some(name.to_owned()),
        (ValueKind::Names, Some(value)) => format!("{:?}", value.split(',').collect::<Vec<_>>()),
        (ValueKind::Pairs, Some(value)) => match value.split_once('=') {
            Some((name, value)) => format!("{{{name:?}: {value:?}}}"),
            None => value.clone(),
        },
        (ValueKind::Number | ValueKind::Bytes, Some(value)) if value.bytes().all(|c| c.is_ascii_digit()) => {
            value.clone()
        }
        (_, Some(value)) => {
            let named = definition.python_values.iter().find(|(general, _)| general == value);
            format!("{:?}", named.map_or(value.as_str(), |(_, own)| own))
        }
    };
    Some(format!("{name}={shown}"))
}

/// `.option("where", "…")`.
fn spark(option: &OptionValue) -> Option<String> {
    let definition = option.definition;
    let value = match (definition.kind, &option.value) {
        (ValueKind::Flag, _) => "\"true\"".to_owned(),
        (ValueKind::Off, _) => "\"false\"".to_owned(),
        (_, Some(value)) => format!("{value:?}"),
        (_, None) => "…".to_owned(),
    };
    Some(match definition.spark? {
        SparkName::Option(name) => format!(".option({name:?}, {value})"),
        SparkName::OtherValues(name) => format!(".option({name:?}, …)"),
        SparkName::Method(name) => format!(".{name}({value})"),
        SparkName::Prefix(prefix) => match option.value.as_ref().and_then(|pair| pair.split_once('=')) {
            Some((name, value)) => format!(".option(\"{prefix}{name}\", {value:?})"),
            None => format!(".option(\"{prefix}…\", …)"),
        },
    })
}

fn is_flag(kind: ValueKind) -> bool {
    kind == ValueKind::Flag
}
