//! JSON as a tree whose numbers keep their digits.

use std::borrow::Cow;

use lakerace_format::json::{Json, JsonKind, NoJson, write_text};

/// Values nested deeper than this are refused, as the stack is finite.
const MAX_DEPTH: usize = 512;

/// A value of JSON. Numbers keep their written form: none goes through a float.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JsonTree<'a> {
    /// `null`, `true` and `false`.
    Word(&'static str),
    Number(Cow<'a, str>),
    Text(Cow<'a, str>),
    Array(Vec<Self>),
    /// Fields in the order of the text.
    Object(Vec<(Cow<'a, str>, Self)>),
}

impl<'a> JsonTree<'a> {
    /// Reads one value.
    pub fn read(json: &mut Json<'a>) -> Result<Self, NoJson> {
        Self::read_at(json, 0)
    }

    /// Reads bytes that hold one value and nothing else.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, NoJson> {
        let mut json = Json::new(bytes);
        let tree = Self::read(&mut json)?;
        match json.is_at_end() {
            true => Ok(tree),
            false => Err(NoJson { at: json.position(), why: "the value must end here" }),
        }
    }

    fn read_at(json: &mut Json<'a>, depth: usize) -> Result<Self, NoJson> {
        if depth > MAX_DEPTH {
            return Err(NoJson { at: json.position(), why: "values are nested too deeply" });
        }
        let mut is_first = true;
        Ok(match json.kind()? {
            JsonKind::Null => json.null().map(|()| Self::Word("null"))?,
            JsonKind::Boolean => Self::Word(if json.boolean()? { "true" } else { "false" }),
            JsonKind::Number => Self::Number(Cow::Borrowed(json.number()?)),
            JsonKind::Text => Self::Text(json.text()?),
            JsonKind::Array => {
                let mut items = Vec::new();
                json.open_array()?;
                while json.next(&mut is_first)? {
                    items.push(Self::read_at(json, depth + 1)?);
                }
                Self::Array(items)
            }
            JsonKind::Object => {
                let mut fields = Vec::new();
                json.open_object()?;
                while let Some(key) = json.key(&mut is_first)? {
                    fields.push((key, Self::read_at(json, depth + 1)?));
                }
                Self::Object(fields)
            }
        })
    }

    /// Appends the value as JSON.
    pub fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Word(word) => out.extend_from_slice(word.as_bytes()),
            Self::Number(digits) => out.extend_from_slice(digits.as_bytes()),
            Self::Text(text) => write_text(out, text.as_bytes()),
            Self::Array(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    item.write(out);
                }
                out.push(b']');
            }
            Self::Object(fields) => {
                out.push(b'{');
                for (index, (key, value)) in fields.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    write_text(out, key.as_bytes());
                    out.push(b':');
                    value.write(out);
                }
                out.push(b'}');
            }
        }
    }

    /// The value of a field.
    pub fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => fields.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Takes the value of a name out of an object. Dots of the name may lead into objects.
    pub fn remove(&mut self, name: &str) -> Option<Self> {
        let Self::Object(fields) = self else { return None };
        if let Some(index) = fields.iter().position(|(key, _)| key == name) {
            return Some(fields.remove(index).1);
        }
        let (first, rest) = name.split_once('.')?;
        fields.iter_mut().find(|(key, _)| key == first)?.1.remove(rest)
    }

    /// Puts a value into an object at the path of its dotted key; false if another value has that path.
    pub fn graft(&mut self, key: &str, value: Self) -> bool {
        let Self::Object(fields) = self else { return false };
        let (first, rest) = match key.split_once('.') {
            Some((first, rest)) => (first, Some(rest)),
            None => (key, None),
        };
        let there = fields.iter_mut().find(|(name, _)| name == first).map(|(_, value)| value);
        match (there, rest, value) {
            (Some(there), Some(rest), value) => there.graft(rest, value),
            (Some(there @ Self::Object(_)), None, Self::Object(more)) => {
                more.into_iter().all(|(key, value)| there.graft(&key, value))
            }
            (Some(_), None, _) => false,
            (None, None, value) => {
                fields.push((Cow::Owned(first.to_owned()), value));
                true
            }
            (None, Some(rest), value) => {
                let mut inner = Self::Object(Vec::new());
                let is_grafted = inner.graft(rest, value);
                fields.push((Cow::Owned(first.to_owned()), inner));
                is_grafted
            }
        }
    }

    /// Returns true if two values are the same, in any order of their fields.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Array(items), Self::Array(others)) => {
                items.len() == others.len() && items.iter().zip(others).all(|(item, other)| item.is_same(other))
            }
            (Self::Object(fields), Self::Object(others)) => {
                fields.len() == others.len()
                    && fields.iter().zip(others).all(|((key, value), (other_key, other_value))| {
                        // Servers keep the order, so that a search is rarely needed.
                        let found = if key == other_key { Some(other_value) } else { other.get(key) };
                        found.is_some_and(|found| value.is_same(found))
                    })
            }
            _ => self == other,
        }
    }

    /// Returns true if it holds no value: null, and lists and objects of nothing else.
    pub fn is_void(&self) -> bool {
        match self {
            Self::Word(word) => *word == "null",
            Self::Array(items) => items.iter().all(Self::is_void),
            Self::Object(fields) => fields.iter().all(|(_, value)| value.is_void()),
            Self::Number(_) | Self::Text(_) => false,
        }
    }
}

#[cfg(test)]
mod tests;
