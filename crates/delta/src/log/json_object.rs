//! JSON objects as texts. What other writers have written keeps its digits: no number passes through one of 64 bits.

use std::fmt;

use serde::de::{DeserializeOwned, IgnoredAny};

/// The white space of JSON.
const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// The members of a JSON object in their order, each value as its JSON text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JsonObject<'a> {
    members: Vec<ObjectMember<'a>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct ObjectMember<'a> {
    name: String,
    value: &'a str,
}

impl<'a> JsonObject<'a> {
    /// The object that a text is; `None` where it is none.
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut members = Vec::new();
        let mut rest = text.trim_matches(SPACE).strip_prefix('{')?.strip_suffix('}')?.trim_matches(SPACE);
        while !rest.is_empty() {
            let (name, after) = leading::<String>(rest)?;
            let after = after.trim_start_matches(SPACE).strip_prefix(':')?.trim_start_matches(SPACE);
            let (IgnoredAny, next) = leading(after)?;
            members.push(ObjectMember { name, value: &after[..after.len() - next.len()] });
            let next = next.trim_start_matches(SPACE);
            if next.is_empty() {
                break;
            }
            // A comma is followed by a member.
            rest = next.strip_prefix(',')?.trim_start_matches(SPACE);
            if rest.is_empty() {
                return None;
            }
        }
        Some(Self { members })
    }

    /// The value of a member. Of several with one name the last one counts.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.members.iter().rfind(|member| member.name == name).map(|member| member.value)
    }

    /// The members in their order: names, and values as JSON text.
    pub fn members(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.members.iter().map(|member| (member.name.as_str(), member.value))
    }

    /// Sets a member to this value, which is JSON itself, or adds the member.
    pub fn set(&mut self, name: &str, value: &'a str) {
        let at = self.members.iter().position(|member| member.name == name).unwrap_or(self.members.len());
        self.members.retain(|member| member.name != name);
        self.members.insert(at, ObjectMember { name: name.to_owned(), value });
    }

    /// Keeps the members with such names.
    pub fn retain(&mut self, is_kept: impl Fn(&str) -> bool) {
        self.members.retain(|member| is_kept(&member.name));
    }
}

/// The object as JSON.
impl fmt::Display for JsonObject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (number, member) in self.members.iter().enumerate() {
            let comma = if number == 0 { "" } else { "," };
            let name = serde_json::to_string(&member.name).map_err(|_| fmt::Error)?;
            write!(f, "{comma}{name}:{}", member.value)?;
        }
        f.write_str("}")
    }
}

/// Parses the value at the start of a text, and returns it with the text after it.
fn leading<T: DeserializeOwned>(text: &str) -> Option<(T, &str)> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<T>();
    let value = values.next()?.ok()?;
    Some((value, text.get(values.byte_offset()..)?))
}

#[cfg(test)]
mod tests;
