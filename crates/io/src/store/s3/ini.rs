//! The text of AWS's configuration files, as Python's `configparser` reads it, on which Amazon's own tools are built.

/// A section of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IniSection {
    /// The text within the brackets.
    pub name: String,
    /// Names in lower case and values, in the order of the file. A value of several lines has line breaks.
    pub entries: Vec<(String, String)>,
}

/// A line that is neither a section nor an entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct IniFault {
    /// Its number, from 1.
    pub line: usize,
    /// The reason, without the line, which may be a secret.
    pub reason: &'static str,
}

/// The sections of a file. A line that is indented deeper than its entry continues the value.
pub(super) fn parse(text: &str) -> Result<Vec<IniSection>, IniFault> {
    let mut sections: Vec<IniSection> = Vec::new();
    let (mut indent, mut has_entry) = (0, false);
    for (number, line) in (1..).zip(text.strip_prefix('\u{feff}').unwrap_or(text).lines()) {
        let content = line.trim();
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        let depth = line.len() - line.trim_start().len();
        let last = sections.last_mut().and_then(|section| section.entries.last_mut());
        if let Some((_, value)) = last.filter(|_| has_entry && depth > indent) {
            value.push('\n');
            value.push_str(content);
            continue;
        }
        indent = depth;
        if let Some(name) = section_name(content) {
            sections.push(IniSection { name: name.trim().to_owned(), entries: Vec::new() });
            has_entry = false;
            continue;
        }
        let fault = |reason| IniFault { line: number, reason };
        let section = sections.last_mut().ok_or_else(|| fault("the line is before the first [section]"))?;
        let entry = content.split_once(['=', ':']).map(|(name, value)| (name.trim_end(), value.trim_start()));
        let (name, value) = entry
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| fault("the line is neither a [section] nor name = value"))?;
        section.entries.push((name.to_lowercase(), value.to_owned()));
        has_entry = true;
    }
    Ok(sections)
}

fn section_name(content: &str) -> Option<&str> {
    let rest = content.strip_prefix('[')?;
    rest.get(..rest.rfind(']')?).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests;
