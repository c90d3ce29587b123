//! The form of options and jobs in a text: between noncharacters, which Unicode reserves for use within a program.

use std::fmt;

use super::{JobCall, JobDefinition, OptionDefinition, OptionValue};

const OPTION: char = '\u{fdd0}';
const VALUE: char = '\u{fdd1}';
const END: char = '\u{fdd2}';
const JOB: char = '\u{fdd3}';
const END_OF_JOB: char = '\u{fdd4}';
const END_OF_PLACE: char = '\u{fdd5}';

pub(super) fn write_option(f: &mut fmt::Formatter<'_>, id: &str, value: Option<&str>) -> fmt::Result {
    match value {
        None => write!(f, "{OPTION}{id}{END}"),
        Some(value) => write!(f, "{OPTION}{id}{VALUE}{value}{END}"),
    }
}

fn write_job(f: &mut fmt::Formatter<'_>, name: &str, place: Option<&str>, options: &[OptionValue]) -> fmt::Result {
    write!(f, "{JOB}{name}{VALUE}")?;
    if let Some(place) = place {
        write!(f, "{place}{END_OF_PLACE}")?;
    }
    options.iter().try_for_each(|option| write!(f, "{option}"))?;
    write!(f, "{END_OF_JOB}")
}

impl fmt::Display for JobDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_job(f, self.name, None, &[])
    }
}

impl fmt::Display for JobCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_job(f, self.job.name, self.place.as_deref(), &self.options)
    }
}

/// A part of a text.
#[derive(Debug, Clone)]
pub(super) enum TextPart<'a> {
    Words(&'a str),
    Option(OptionValue),
    Job(JobCall),
}

/// The parts of a text. Text that looks like an option, but is not one, stays unchanged.
pub(super) fn parts(text: &str) -> Vec<TextPart<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find([OPTION, JOB]) {
        let (words, marked) = rest.split_at(at);
        let Some((part, after)) = option(marked).or_else(|| job(marked)) else {
            let (words, after) = rest.split_at(at + OPTION.len_utf8());
            parts.push(TextPart::Words(words));
            rest = after;
            continue;
        };
        parts.extend([TextPart::Words(words), part]);
        rest = after;
    }
    parts.push(TextPart::Words(rest));
    parts
}

/// Returns true if a text has no option.
pub(super) fn is_plain(text: &str) -> bool {
    !text.contains([OPTION, JOB])
}

fn option(marked: &str) -> Option<(TextPart<'_>, &str)> {
    let (inside, after) = marked.strip_prefix(OPTION)?.split_once(END)?;
    let (id, value) = match inside.split_once(VALUE) {
        Some((id, value)) => (id, Some(value.to_owned())),
        None => (inside, None),
    };
    Some((TextPart::Option(OptionValue { definition: OptionDefinition::find(id)?, value }), after))
}

fn job(marked: &str) -> Option<(TextPart<'_>, &str)> {
    let (inside, after) = marked.strip_prefix(JOB)?.split_once(END_OF_JOB)?;
    let (name, rest) = inside.split_once(VALUE)?;
    let (place, options) = match rest.split_once(END_OF_PLACE) {
        Some((place, options)) => (Some(place.to_owned()), options),
        None => (None, rest),
    };
    let given = parts(options).into_iter().filter_map(|part| match part {
        TextPart::Option(option) => Some(option),
        TextPart::Words(_) | TextPart::Job(_) => None,
    });
    let job = JobDefinition::find(name)?;
    Some((TextPart::Job(JobCall { job, place, options: given.collect() }), after))
}

/// A text with another option in the place of one.
pub fn with_option_replaced(text: &str, one: &OptionDefinition, other: &'static OptionDefinition) -> String {
    let shown = |part| match part {
        TextPart::Words(words) => words.to_owned(),
        TextPart::Option(option) if option.definition.id == one.id => {
            OptionValue { definition: other, value: option.value }.to_string()
        }
        TextPart::Option(option) => option.to_string(),
        TextPart::Job(call) => call.to_string(),
    };
    parts(text).into_iter().map(shown).collect()
}

/// An option or a job that a text names.
#[derive(Debug, Clone)]
pub enum Mention {
    /// An option.
    Option(OptionValue),
    /// A job with its options.
    Job(&'static JobDefinition, Vec<OptionValue>),
}

/// The options and jobs that a text names, in order.
pub fn mentions(text: &str) -> Vec<Mention> {
    let of = |part| match part {
        TextPart::Words(_) => None,
        TextPart::Option(option) => Some(Mention::Option(option)),
        TextPart::Job(call) => Some(Mention::Job(call.job, call.options)),
    };
    parts(text).into_iter().filter_map(of).collect()
}
