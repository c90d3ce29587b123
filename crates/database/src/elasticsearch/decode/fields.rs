//! The fields of an object, by name.

use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, FieldRef};
use lakerace_format::json::{Json, JsonKind};
use lakerace_io::Result;

use super::slot::Slot;
use super::{DocumentMisfit, MappedField, Pushed, UnmappedNames, wrong};
use crate::elasticsearch::json_tree::JsonTree;

/// Columns, or the fields of a struct, that are filled object by object.
pub(super) struct Fields {
    fields: Vec<FieldRef>,
    slots: Vec<Slot>,
    /// Their names as keys are written; none of those that need escapes.
    keys: Vec<Vec<u8>>,
    /// The object, counted from 1, in which each was seen last.
    seen: Vec<u64>,
    objects: u64,
    /// True if some must not be null.
    has_required: bool,
    /// True if dots may lead from a key to a field, or from a field into an object.
    has_paths: bool,
}

impl Fields {
    /// Fields that are empty yet, each as the index maps it.
    pub fn new(fields: Vec<(FieldRef, MappedField<'_>)>) -> Result<Self> {
        let slots = fields.iter().map(|(field, mapped)| Slot::new(field, *mapped)).collect::<Result<Vec<_>>>()?;
        let fields: Vec<FieldRef> = fields.into_iter().map(|(field, _)| field).collect();
        let has_paths = fields.iter().any(|field| is_object(field) || field.name().contains('.'));
        Ok(Self {
            keys: fields.iter().map(|field| key_of(field.name())).collect(),
            seen: vec![0; slots.len()],
            slots,
            objects: 0,
            has_required: fields.iter().any(|field| !field.is_nullable()),
            has_paths,
            fields,
        })
    }

    /// Takes an object. Names of values that no field takes are noted.
    pub fn push(&mut self, json: &mut Json<'_>, unmapped: &mut UnmappedNames) -> Pushed {
        self.objects += 1;
        let (mut is_first, mut expected, mut seen) = (true, 0, 0);
        let mut others: Vec<(Cow<'_, str>, JsonTree<'_>)> = Vec::new();
        json.open_object()?;
        loop {
            if self.keys.get(expected).is_some_and(|key| !key.is_empty() && json.expected_key(key, &mut is_first)) {
                self.take(expected, json, unmapped)?;
                (expected, seen) = (expected + 1, seen + 1);
                continue;
            }
            let Some(key) = json.key(&mut is_first)? else { break };
            let Some(index) = self.find(&key, expected) else {
                if self.has_paths && self.leads_somewhere(&key) {
                    others.push((key, JsonTree::read(json)?));
                } else {
                    unmapped.note(&key, json.skip()?);
                }
                continue;
            };
            self.take(index, json, unmapped)?;
            (expected, seen) = (index + 1, seen + 1);
        }
        if !others.is_empty() {
            self.push_paths(others, unmapped)?;
        }
        if seen == self.slots.len() && !self.has_required {
            return Ok(());
        }
        self.fill()
    }

    /// Takes the value of a field.
    fn take(&mut self, index: usize, json: &mut Json<'_>, unmapped: &mut UnmappedNames) -> Pushed {
        let name = self.fields[index].name();
        if std::mem::replace(&mut self.seen[index], self.objects) == self.objects {
            return wrong(format!("{name:?} appears twice"));
        }
        unmapped.within(name, |unmapped| self.slots[index].push(json, unmapped)).map_err(|error| named(error, name))
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
    fn push_paths(&mut self, others: Vec<(Cow<'_, str>, JsonTree<'_>)>, unmapped: &mut UnmappedNames) -> Pushed {
        let mut tree = JsonTree::Object(Vec::new());
        for (key, value) in others {
            if !tree.graft(&key, value) {
                return wrong(format!("{key:?} appears twice"));
            }
        }
        for index in 0..self.fields.len() {
            let name = self.fields[index].name().clone();
            let Some(value) = tree.remove(&name) else { continue };
            if std::mem::replace(&mut self.seen[index], self.objects) == self.objects {
                return wrong(format!("{name:?} appears both as an object and as keys with dots"));
            }
            let mut text = Vec::new();
            value.write(&mut text);
            let slot = &mut self.slots[index];
            unmapped
                .within(&name, |unmapped| slot.push(&mut Json::new(&text), unmapped))
                .map_err(|error| named(error, &name))?;
        }
        unmapped.note_tree(&tree);
        Ok(())
    }

    fn fill(&mut self) -> Pushed {
        for (index, slot) in self.slots.iter_mut().enumerate() {
            if self.seen[index] != self.objects {
                slot.push_null();
            }
            if !self.fields[index].is_nullable() && slot.ends_with_null() {
                return wrong(format!(
                    "{:?} is null or missing, but its column is not nullable",
                    self.fields[index].name()
                ));
            }
        }
        Ok(())
    }

    /// Tells each field, by its name after `prefix`, that has cut digits of a time.
    pub fn cut_fields(&self, prefix: &str, told: &mut Vec<String>) {
        for (slot, field) in self.slots.iter().zip(&self.fields) {
            slot.cut_fields(&format!("{prefix}{}", field.name()), told);
        }
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

pub(super) fn named(error: DocumentMisfit, key: &str) -> DocumentMisfit {
    match error {
        DocumentMisfit::Value(reason) if reason.starts_with('.') => DocumentMisfit::Value(format!("{key}{reason}")),
        DocumentMisfit::Value(reason) => DocumentMisfit::Value(format!("field {key:?}: {reason}")),
        syntax => syntax,
    }
}

impl Slot {
    /// Takes an object, a list of objects or null into the fields of a struct.
    pub(super) fn push_object(fields: &mut Fields, json: &mut Json<'_>, unmapped: &mut UnmappedNames) -> Pushed<bool> {
        match json.kind()? {
            JsonKind::Object => fields.push(json, unmapped).map(|()| true),
            JsonKind::Null => {
                json.null()?;
                fields.push_null();
                Ok(false)
            }
            other => wrong(format!("{} where an object is expected", super::slot::name_of(other))),
        }
    }
}
