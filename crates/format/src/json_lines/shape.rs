//! The kinds of values that fields have, and the types that hold them.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields};

use crate::json::{Json, JsonKind, NoJson, Read, TOO_DEEP};
use crate::text::{infer, value};

/// Deeper values are refused, as the stack is finite.
const DEEPEST: usize = 100;

/// Digits of the longest integers that have a type.
const MOST_DIGITS: usize = 38;

/// A file by its number, and a line of it.
pub(super) type Line = (usize, u64);

/// The kinds of values that a place has, with the line of the first of each.
#[derive(Debug, Clone, Default)]
pub(super) struct ValueShape {
    boolean: Option<Line>,
    integer: Option<Line>,
    /// An integer that no float holds exactly.
    wide: Option<Line>,
    float: Option<Line>,
    /// A number with more digits than a float keeps.
    precise: Option<Line>,
    /// A number that no type holds.
    beyond: Option<Line>,
    text: Option<Line>,
    list: Option<(Line, Box<ValueShape>)>,
    object: Option<(Line, Vec<(String, ValueShape)>)>,
    has_negative: bool,
    /// Integers beyond int64, and beyond uint64 as well.
    has_unsigned: bool,
    has_long: bool,
}

/// A place whose values have no common type: its path, and the kinds with their first lines.
#[derive(Debug)]
pub(super) struct MixedPlace {
    pub path: String,
    pub kinds: Vec<(&'static str, Line)>,
}

impl ValueShape {
    /// Looks at the next value.
    pub fn add(&mut self, json: &mut Json<'_>, line: Line) -> Read<()> {
        self.add_nested(json, line, 0)
    }

    fn add_nested(&mut self, json: &mut Json<'_>, line: Line, depth: usize) -> Read<()> {
        if depth > DEEPEST {
            return Err(NoJson { at: json.position(), why: TOO_DEEP });
        }
        let mut is_first = true;
        match json.kind()? {
            JsonKind::Null => json.null()?,
            JsonKind::Boolean => {
                json.boolean()?;
                self.boolean.get_or_insert(line);
            }
            JsonKind::Number => self.add_number(json.number()?, line),
            JsonKind::Text => {
                json.text()?;
                self.text.get_or_insert(line);
            }
            JsonKind::Array => {
                let (_, items) = self.list.get_or_insert_with(|| (line, Box::default()));
                json.open_array()?;
                while json.next(&mut is_first)? {
                    items.add_nested(json, line, depth + 1)?;
                }
            }
            JsonKind::Object => {
                let (_, fields) = self.object.get_or_insert_with(|| (line, Vec::new()));
                json.open_object()?;
                // Fields usually have the same order.
                let mut hint = 0;
                while let Some(name) = json.key(&mut is_first)? {
                    let is_hinted = fields.get(hint).is_some_and(|(known, _)| *known == name);
                    let known =
                        if is_hinted { Some(hint) } else { fields.iter().position(|(known, _)| *known == name) };
                    let at = known.unwrap_or_else(|| {
                        fields.push((name.into_owned(), Self::default()));
                        fields.len() - 1
                    });
                    hint = at + 1;
                    fields[at].1.add_nested(json, line, depth + 1)?;
                }
            }
        }
        Ok(())
    }

    fn add_number(&mut self, text: &str, line: Line) {
        let bytes = text.as_bytes();
        let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
        let is_float = value::float64(bytes, 0, bytes.len()).is_some_and(|float| infer::is_float(bytes, float));
        // The sign of zero is a float's.
        if bytes == b"-0" || !digits.iter().all(u8::is_ascii_digit) {
            let kind = match is_float {
                true => &mut self.float,
                false if infer::loses_digits(bytes) => &mut self.precise,
                false => &mut self.beyond,
            };
            kind.get_or_insert(line);
            return;
        }
        self.has_negative |= digits.len() < bytes.len();
        if value::int64(bytes, 0, bytes.len()).is_none() {
            match value::uint64(bytes, 0, bytes.len()) {
                Some(_) => self.has_unsigned = true,
                None => self.has_long = true,
            }
        }
        if digits.len() > MOST_DIGITS {
            self.beyond.get_or_insert(line);
            return;
        }
        self.integer.get_or_insert(line);
        if !is_float {
            self.wide.get_or_insert(line);
        }
    }

    /// The type that holds all values. A place without any value is text.
    pub fn data_type(&self, path: &str) -> Result<DataType, MixedPlace> {
        let kinds = self.kinds();
        let names: Vec<&str> = kinds.iter().map(|(name, _)| *name).collect();
        Ok(match names.as_slice() {
            [] | [TEXTS] => DataType::Utf8,
            [BOOLEANS] => DataType::Boolean,
            [INTEGERS] => match (self.has_long, self.has_unsigned, self.has_negative) {
                (false, false, _) => DataType::Int64,
                (false, true, false) => DataType::UInt64,
                _ => DataType::Decimal128(MOST_DIGITS as u8, 0),
            },
            [FLOATS] | [INTEGERS, FLOATS] => DataType::Float64,
            [LISTS] => {
                let item = self.list.iter().map(|(_, items)| items.data_type(&format!("{path}[]"))).next();
                let item = item.unwrap_or(Ok(DataType::Utf8))?;
                DataType::List(Arc::new(Field::new_list_field(item, true)))
            }
            [OBJECTS] => DataType::Struct(self.fields(path)?),
            _ => return Err(MixedPlace { path: path.to_owned(), kinds }),
        })
    }

    /// The fields of the objects, in the order of their first occurrence.
    pub fn fields(&self, path: &str) -> Result<Fields, MixedPlace> {
        self.named(path).map(|(place, name, shape)| Ok(Field::new(name, shape.data_type(&place)?, true))).collect()
    }

    /// The path, the name and the shape of each field of the objects.
    pub fn named<'a>(&'a self, path: &'a str) -> impl Iterator<Item = (String, &'a str, &'a Self)> {
        let fields = self.object.iter().flat_map(|(_, fields)| fields);
        let dot = if path.is_empty() { "" } else { "." };
        fields.map(move |(name, shape)| (format!("{path}{dot}{name}"), name.as_str(), shape))
    }

    /// Returns true if no value was added but nulls.
    pub fn is_empty(&self) -> bool {
        self.kinds().is_empty()
    }

    fn kinds(&self) -> Vec<(&'static str, Line)> {
        let list = self.list.as_ref().map(|(line, _)| *line);
        let object = self.object.as_ref().map(|(line, _)| *line);
        let has_floats = self.float.is_some();
        let kinds = [
            (BOOLEANS, self.boolean),
            (INTEGERS, self.integer),
            (WIDE, self.wide.filter(|_| has_floats)),
            (FLOATS, self.float),
            (PRECISE, self.precise),
            (BEYOND, self.beyond),
            (TEXTS, self.text),
            (LISTS, list),
            (OBJECTS, object),
        ];
        kinds.into_iter().filter_map(|(name, line)| Some((name, line?))).collect()
    }
}

const BOOLEANS: &str = "booleans";
const INTEGERS: &str = "integers";
const WIDE: &str = "integers that a float can't represent exactly";
const FLOATS: &str = "floats";
const PRECISE: &str = "numbers with more digits than a float can hold";
const BEYOND: &str = "numbers outside of all types";
const TEXTS: &str = "texts";
const LISTS: &str = "lists";
const OBJECTS: &str = "objects";

/// Kinds that a column of given floats takes: of numbers with a point, the nearest ones.
pub(super) const NEAR_FLOATS: [&str; 3] = [INTEGERS, FLOATS, PRECISE];
