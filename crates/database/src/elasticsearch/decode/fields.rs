//! The fields of an object, by name.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, FieldRef};
use lakerace_format::json::{Json, Kind};
use lakerace_io::Result;
use serde_json::{Map, Value};

use super::slot::Slot;
use super::{Pushed, Wrong, wrong};

/// Columns, or the fields of a struct, that are filled object by object.
pub(super) struct Fields {
    fields: Vec<FieldRef>,
    slots: Vec<Slot>,
    /// Their names as keys are written; none of those that need escapes.
    keys: Vec<Vec<u8>>,
    /// The object, counted from 1, in which each was seen last.
    seen: Vec<u64>,
    objects: u64,
    /// Whether some must not be null.
    has_required: bool,
    /// Whether dots may lead from a key to a field, or from a field into an object.
    has_paths: bool,
}

impl Fields {
    /// Fields that are empty yet.
    pub fn new(fields: &[FieldRef]) -> Result<Self> {
        let slots = fields.iter().map(|field| Slot::new(field)).collect::<Result<Vec<_>>>()?;
        let has_paths = fields.iter().any(|field| is_object(field) || field.name().contains('.'));
        Ok(Self {
            fields: fields.to_vec(),
            keys: fields.iter().map(|field| key_of(field.name())).collect(),
            seen: vec![0; slots.len()],
            slots,
            objects: 0,
            has_required: fields.iter().any(|field| !field.is_nullable()),
            has_paths,
        })
    }

    /// Takes an object.
    pub fn push(&mut self, json: &mut Json<'_>) -> Pushed {
        self.objects += 1;
        let (mut is_first, mut expected, mut seen) = (true, 0, 0);
        let mut others: Vec<(String, Value)> = Vec::new();
        json.open_object()?;
        loop {
            if self.keys.get(expected).is_some_and(|key| !key.is_empty() && json.expected_key(key, &mut is_first)) {
                self.take(expected, json)?;
                (expected, seen) = (expected + 1, seen + 1);
                continue;
            }
            let Some(key) = json.key(&mut is_first)? else { break };
            let Some(index) = self.find(&key, expected) else {
                let bytes = json.skip()?;
                if self.has_paths && self.leads_somewhere(&key) {
                    let value = serde_json::from_slice(bytes).map_err(|error| Wrong::Value(error.to_string()))?;
                    others.push((key.into_owned(), value));
                }
                continue;
            };
            self.take(index, json)?;
            (expected, seen) = (index + 1, seen + 1);
        }
        if !others.is_empty() {
            self.push_paths(others)?;
        }
        if seen == self.slots.len() && !self.has_required {
            return Ok(());
        }
        self.fill()
    }

    /// Takes the value of a field.
    fn take(&mut self, index: usize, json: &mut Json<'_>) -> Pushed {
        let name = self.fields[index].name();
        if std::mem::replace(&mut self.seen[index], self.objects) == self.objects {
            return wrong(format!("{name:?} is there twice"));
        }
        self.slots[index].push(json).map_err(|error| named(error, name))
    }

    /// Takes an object without any field.
    pub fn push_missing(&mut self) -> Pushed {
        self.objects += 1;
        self.fill()
    }

    /// Takes the place of an object that is null.
    pub fn push_null(&mut self) {
        for slot in &mut self.slots {
            slot.push_null();
        }
    }

    /// Mostly, fields come in the order of the object before.
    fn find(&self, key: &str, expected: usize) -> Option<usize> {
        if self.fields.get(expected).is_some_and(|field| field.name() == key) {
            return Some(expected);
        }
        self.fields.iter().position(|field| field.name() == key)
    }

    fn leads_somewhere(&self, key: &str) -> bool {
        let first = key.split('.').next().unwrap_or(key);
        self.fields.iter().any(|field| {
            (is_object(field) && field.name() == first && first.len() < key.len())
                || field.name().strip_prefix(key).is_some_and(|rest| rest.starts_with('.'))
        })
    }

    /// Takes keys whose dots lead into objects, and objects that lead to fields with dots: a server sees no difference.
    fn push_paths(&mut self, others: Vec<(String, Value)>) -> Pushed {
        let mut tree = Map::new();
        for (key, value) in others {
            if !graft(&mut tree, &key, value) {
                return wrong(format!("{key:?} is there twice"));
            }
        }
        for index in 0..self.fields.len() {
            let name = self.fields[index].name().clone();
            let Some(value) = find(&tree, &name) else { continue };
            if std::mem::replace(&mut self.seen[index], self.objects) == self.objects {
                return wrong(format!("{name:?} is there both as an object and with dots in its keys"));
            }
            let text = value.to_string();
            self.slots[index].push(&mut Json::new(text.as_bytes())).map_err(|error| named(error, &name))?;
        }
        Ok(())
    }

    fn fill(&mut self) -> Pushed {
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if self.seen[index] != self.objects {
                slot.push_null();
            }
            if !self.fields[index].is_nullable() && slot.ends_with_null() {
                return wrong(format!(
                    "{:?} is null or missing, which its column must not be",
                    self.fields[index].name()
                ));
            }
        }
        Ok(())
    }

    /// The arrays of all objects since the last call.
    pub fn finish(&mut self) -> Result<Vec<ArrayRef>> {
        self.slots.iter_mut().zip(&self.fields).map(|(slot, field)| slot.finish(field.data_type())).collect()
    }
}

/// A name as a key of JSON, with its colon; nothing where it needs escapes.
fn key_of(name: &str) -> Vec<u8> {
    if name.bytes().any(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
        return Vec::new();
    }
    format!("\"{name}\":").into_bytes()
}

/// An object, or a list of them.
fn is_object(field: &Arc<Field>) -> bool {
    match field.data_type() {
        DataType::Struct(_) => true,
        DataType::List(item) | DataType::LargeList(item) => item.data_type().is_nested(),
        _ => false,
    }
}

fn named(error: Wrong, key: &str) -> Wrong {
    match error {
        Wrong::Value(reason) if reason.starts_with('.') => Wrong::Value(format!("{key}{reason}")),
        Wrong::Value(reason) => Wrong::Value(format!("field {key:?}: {reason}")),
        syntax => syntax,
    }
}

fn graft(tree: &mut Map<String, Value>, key: &str, value: Value) -> bool {
    let Some((first, rest)) = key.split_once('.') else {
        return match (tree.get_mut(key), value) {
            (Some(Value::Object(there)), Value::Object(more)) => {
                more.into_iter().all(|(key, value)| graft(there, &key, value))
            }
            (Some(_), _) => false,
            (None, value) => tree.insert(key.to_owned(), value).is_none(),
        };
    };
    match tree.entry(first).or_insert_with(|| Value::Object(Map::new())) {
        Value::Object(inner) => graft(inner, rest, value),
        _ => false,
    }
}

fn find<'a>(tree: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    if let Some(value) = tree.get(name) {
        return Some(value);
    }
    let (first, rest) = name.split_once('.')?;
    find(tree.get(first)?.as_object()?, rest)
}

impl Slot {
    /// Takes an object, a list of objects or null into the fields of a struct.
    pub(super) fn push_object(fields: &mut Fields, json: &mut Json<'_>) -> Pushed<bool> {
        match json.kind()? {
            Kind::Object => fields.push(json).map(|()| true),
            Kind::Null => {
                json.null()?;
                fields.push_null();
                Ok(false)
            }
            other => wrong(format!("{} where an object belongs", super::slot::name_of(other))),
        }
    }
}
