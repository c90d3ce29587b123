//! Schemas as text: `id int64, price decimal(15,2), at timestamp(us, UTC), "full name" utf8 not null`.

use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use lakerace_io::{Error, Result};

use crate::extension_types::{has_uuid_values, mark_uuid};
use crate::nested_types::inner_fields;
use crate::uuids::UUID_BYTES;

/// Parses a schema: columns separated by commas, each a name, a type and an optional `not null`.
///
/// A name with blanks or punctuation is in double quotes, a quote in it doubled. Types are Arrow's names (`int64`,
/// `utf8_view`, `timestamp(us, UTC)`, …) or SQL's: `int` is 32 bits, `bigint` 64, `float` 32, `double` 64, `string`
/// and `text` are `utf8_view`, `date` is `date32`, `timestamp` and `datetime` are `timestamp(us)`, `timestamptz` is
/// `timestamp(us, UTC)`, `numeric(p,s)` is `decimal(p,s)`. Nested types are `list(int64)`, `large_list(…)`,
/// `list_view(…)`, `large_list_view(…)`, `fixed_size_list(…, 3)`, `struct(a int64, b utf8)`, `map(utf8, int64)` and `dictionary(int32, utf8)`.
///
/// # Errors
/// `Usage`, naming the column and the nearest type, or a time zone that is not known.
pub fn parse_schema(text: &str) -> Result<Schema> {
    let mut parser = SchemaParser { text, position: 0, depth: 0 };
    let mut fields: Vec<Field> = Vec::new();
    loop {
        parser.skip_blanks();
        if parser.rest().is_empty() {
            // A trailing comma is harmless, an empty schema is not.
            if fields.is_empty() {
                return Err(Error::usage("the schema names no column").advice("write it as: id int64, name utf8"));
            }
            return Ok(Schema::new(fields));
        }
        let field = parser.field()?;
        refuse_unknown_zones(field.data_type())
            .map_err(|error| error.at(format!("column {:?} of the schema", field.name())))?;
        if fields.iter().any(|f| f.name() == field.name()) {
            return Err(Error::usage(format!("the schema names column {:?} twice", field.name())));
        }
        fields.push(field);
        parser.skip_blanks();
        if !parser.take(',') && !parser.rest().is_empty() {
            let near: String = parser.rest().chars().take(20).collect();
            return Err(Error::usage(format!("the schema has {near:?} where a comma should be"))
                .advice("write it as: id int64, name utf8 not null"));
        }
    }
}

/// An error for a time zone whose clock is not known: rows that have one could be written and not be read.
fn refuse_unknown_zones(data_type: &DataType) -> Result<()> {
    match data_type {
        DataType::Timestamp(_, Some(zone)) if zone.parse::<Tz>().is_err() => {
            Err(Error::usage(format!("there is no time zone {zone:?}"))
                .advice("write a name such as Europe/Berlin, UTC, or an offset such as +02:00"))
        }
        DataType::Dictionary(_, values) => refuse_unknown_zones(values),
        other => {
            inner_fields(other).into_iter().flatten().try_for_each(|field| refuse_unknown_zones(field.data_type()))
        }
    }
}

/// Parses one type, as [`parse_schema`] takes them, with a time zone of any name.
///
/// # Errors
/// `Usage`, naming the nearest type.
pub fn parse_type(text: &str) -> Result<DataType> {
    let mut parser = SchemaParser { text, position: 0, depth: 0 };
    parser.skip_blanks();
    let data_type = parser.data_type()?;
    parser.skip_blanks();
    if parser.rest().is_empty() {
        Ok(data_type)
    } else {
        Err(Error::usage(format!("the type {text:?} continues after its end")))
    }
}

/// The text of a schema, which [`parse_schema`] reads back.
pub fn print_schema(schema: &Schema) -> String {
    let fields: Vec<String> = schema.fields().iter().map(|f| print_field(f)).collect();
    fields.join(", ")
}

/// The spelling of a column's name in a schema, quoted where needed.
pub fn quoted_name(name: &str) -> String {
    if name.chars().all(|c| c.is_alphanumeric() || c == '_') { name.to_owned() } else { format!("{name:?}") }
}

/// The text of a type. Nested types print as `list(int64)`, `struct(a int64, b utf8)`, `map(utf8, int64)`.
pub fn print_type(data_type: &DataType) -> String {
    type_text(data_type, &|field| print_type(field.data_type()))
}

/// The text of a field's type for people: `uuid` for UUIDs, at any level.
///
/// ```
/// use arrow::datatypes::{DataType, Field};
/// use lakerace_format::schema_text::{parse_schema, print_field_type, print_type};
///
/// let schema = parse_schema("id uuid").unwrap();
/// assert_eq!(print_field_type(schema.field(0)), "uuid");
/// assert_eq!(print_type(schema.field(0).data_type()), "fixed_size_binary(16)");
/// ```
pub fn print_field_type(field: &Field) -> String {
    match has_uuid_values(field) {
        true => UUID.to_owned(),
        false => type_text(field.data_type(), &print_field_type),
    }
}

/// The text of a type with the types of the fields within it.
fn type_text(data_type: &DataType, inner: &dyn Fn(&Field) -> String) -> String {
    let unit = |unit: &TimeUnit| match unit {
        TimeUnit::Second => "s",
        TimeUnit::Millisecond => "ms",
        TimeUnit::Microsecond => "us",
        TimeUnit::Nanosecond => "ns",
    };
    match data_type {
        DataType::Null => "null".into(),
        DataType::Boolean => "bool".into(),
        DataType::Date32 => "date32".into(),
        DataType::Date64 => "date64".into(),
        DataType::Timestamp(u, None) => format!("timestamp({})", unit(u)),
        DataType::Timestamp(u, Some(zone)) => format!("timestamp({}, {zone})", unit(u)),
        DataType::Time32(u) => format!("time32({})", unit(u)),
        DataType::Time64(u) => format!("time64({})", unit(u)),
        DataType::Duration(u) => format!("duration({})", unit(u)),
        DataType::Utf8 => "utf8".into(),
        DataType::LargeUtf8 => "large_utf8".into(),
        DataType::Utf8View => "utf8_view".into(),
        DataType::Binary => "binary".into(),
        DataType::LargeBinary => "large_binary".into(),
        DataType::BinaryView => "binary_view".into(),
        DataType::FixedSizeBinary(n) => format!("fixed_size_binary({n})"),
        DataType::Decimal32(p, s) => format!("decimal32({p},{s})"),
        DataType::Decimal64(p, s) => format!("decimal64({p},{s})"),
        DataType::Decimal128(p, s) => format!("decimal({p},{s})"),
        DataType::Decimal256(p, s) => format!("decimal256({p},{s})"),
        DataType::List(f) => format!("list({})", inner(f)),
        DataType::LargeList(f) => format!("large_list({})", inner(f)),
        DataType::ListView(f) => format!("list_view({})", inner(f)),
        DataType::LargeListView(f) => format!("large_list_view({})", inner(f)),
        DataType::FixedSizeList(f, n) => format!("fixed_size_list({}, {n})", inner(f)),
        DataType::Struct(fields) => {
            let fields: Vec<String> = fields.iter().map(|f| field_text(f, inner(f))).collect();
            format!("struct({})", fields.join(", "))
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) if pair.len() == 2 => {
                format!("map({}, {})", inner(&pair[0]), inner(&pair[1]))
            }
            other => format!("map({})", type_text(other, inner)),
        },
        DataType::Dictionary(key, value) => {
            format!("dictionary({}, {})", type_text(key, inner), type_text(value, inner))
        }
        DataType::RunEndEncoded(_, values) => format!("run_end_encoded({})", inner(values)),
        DataType::Union(fields, _) => {
            let fields: Vec<String> = fields.iter().map(|(_, field)| field_text(field, inner(field))).collect();
            format!("union({})", fields.join(", "))
        }
        // The other types are printed with Arrow's names: int64, float64, interval, …
        other => other.to_string().to_ascii_lowercase(),
    }
}

/// The scalar types by every name they can be given, the first name of each the one that is printed.
const SIMPLE: &[(&str, DataType)] = &[
    ("null", DataType::Null),
    ("bool", DataType::Boolean),
    ("boolean", DataType::Boolean),
    ("int8", DataType::Int8),
    ("tinyint", DataType::Int8),
    ("int16", DataType::Int16),
    ("smallint", DataType::Int16),
    ("int32", DataType::Int32),
    ("int", DataType::Int32),
    ("integer", DataType::Int32),
    ("int64", DataType::Int64),
    ("bigint", DataType::Int64),
    ("long", DataType::Int64),
    ("uint8", DataType::UInt8),
    ("uint16", DataType::UInt16),
    ("uint32", DataType::UInt32),
    ("uint64", DataType::UInt64),
    ("float16", DataType::Float16),
    ("float32", DataType::Float32),
    ("float", DataType::Float32),
    ("real", DataType::Float32),
    ("float64", DataType::Float64),
    ("double", DataType::Float64),
    ("utf8", DataType::Utf8),
    ("large_utf8", DataType::LargeUtf8),
    ("utf8_view", DataType::Utf8View),
    ("string", DataType::Utf8View),
    ("str", DataType::Utf8View),
    ("text", DataType::Utf8View),
    ("varchar", DataType::Utf8View),
    (UUID, DataType::FixedSizeBinary(UUID_BYTES)),
    ("date32", DataType::Date32),
    ("date", DataType::Date32),
    ("date64", DataType::Date64),
    ("binary", DataType::Binary),
    ("large_binary", DataType::LargeBinary),
    ("binary_view", DataType::BinaryView),
];

/// The type of UUIDs, which a field's metadata has.
pub(crate) const UUID: &str = "uuid";

/// The names of types that take arguments.
const WITH_ARGUMENTS: &[&str] = &[
    "decimal",
    "numeric",
    "decimal32",
    "decimal64",
    "decimal128",
    "decimal256",
    "timestamp",
    "datetime",
    "timestamptz",
    "time32",
    "time64",
    "time",
    "duration",
    "fixed_size_binary",
];

fn print_field(field: &Field) -> String {
    field_text(field, print_type(field.data_type()))
}

fn field_text(field: &Field, data_type: String) -> String {
    let plain = field.name().chars().all(is_name_char) && !field.name().is_empty();
    let name = if plain { field.name().clone() } else { format!("\"{}\"", field.name().replace('"', "\"\"")) };
    let null = if field.is_nullable() { "" } else { " not null" };
    format!("{name} {data_type}{null}")
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$' | '#' | '@' | '/')
}

/// Types that hold other types.
const NESTED: &[&str] =
    &["list", "array", "large_list", "list_view", "large_list_view", "fixed_size_list", "struct", "map", "dictionary"];

/// Types nested deeper than this are refused, as the stack is finite.
const DEEPEST: usize = 100;

struct SchemaParser<'a> {
    text: &'a str,
    position: usize,
    depth: usize,
}

impl<'a> SchemaParser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    fn skip_blanks(&mut self) {
        self.position = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, c: char) -> bool {
        let found = self.rest().starts_with(c);
        self.position += if found { c.len_utf8() } else { 0 };
        found
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.position += end;
        &rest[..end]
    }

    /// A word in any case, as a whole: `not` does not match `nothing`.
    fn take_word(&mut self, word: &str) -> bool {
        let before = self.position;
        self.skip_blanks();
        if self.take_while(is_name_char).eq_ignore_ascii_case(word) {
            return true;
        }
        self.position = before;
        false
    }

    fn field(&mut self) -> Result<Field> {
        let name = self.name()?;
        self.skip_blanks();
        self.take(':');
        self.skip_blanks();
        let field = self.typed_field(&name).map_err(|e| e.at(format!("column {name:?} of the schema")))?;
        let mut nullable = true;
        if self.take_word("not") {
            if !self.take_word("null") {
                return Err(Error::usage(format!("`not` of column {name:?} of the schema lacks its `null`")));
            }
            nullable = false;
        } else {
            // `NULL`, as in SQL, states the default.
            self.take_word("null");
        }
        Ok(field.with_nullable(nullable))
    }

    /// A field of the type that follows.
    fn typed_field(&mut self, name: &str) -> Result<Field> {
        let start = self.position;
        let mut field = Field::new(name, self.data_type()?, true);
        if self.text[start..self.position].eq_ignore_ascii_case(UUID) {
            mark_uuid(&mut field);
        }
        Ok(field)
    }

    fn name(&mut self) -> Result<String> {
        if !self.take('"') {
            let name = self.take_while(is_name_char);
            if name.is_empty() {
                let near: String = self.rest().chars().take(20).collect();
                return Err(Error::usage(format!("the schema has {near:?} where a column's name should be"))
                    .advice("put names with other characters in double quotes"));
            }
            return Ok(name.to_owned());
        }
        let mut name = String::new();
        loop {
            name.push_str(self.take_while(|c| c != '"'));
            if !self.take('"') {
                return Err(Error::usage(format!("the quote of name {name:?} in the schema is not closed")));
            }
            if !self.take('"') {
                return Ok(name);
            }
            name.push('"');
        }
    }

    fn data_type(&mut self) -> Result<DataType> {
        let written = self.take_while(is_name_char);
        let name = written.to_ascii_lowercase().replace("utf8view", "utf8_view").replace("largeutf8", "large_utf8");
        if let Some((_, data_type)) = SIMPLE.iter().find(|(n, _)| *n == name) {
            return Ok(data_type.clone());
        }
        if NESTED.contains(&name.as_str()) {
            return self.nested(&name);
        }
        if !WITH_ARGUMENTS.contains(&name.as_str()) {
            return Err(unknown_type(written, &name));
        }
        let arguments = self.arguments(written)?;
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        match name.as_str() {
            "timestamp" | "datetime" | "timestamptz" => timestamp(&name, &arguments),
            "time32" | "time64" | "time" | "duration" => time(&name, &arguments),
            "fixed_size_binary" => match arguments.as_slice() {
                [size] => size.parse().map(DataType::FixedSizeBinary).map_err(|_| unknown_type(written, &name)),
                _ => Err(unknown_type(written, &name)),
            },
            _ => decimal(&name, &arguments),
        }
    }

    /// A nested type, after its name.
    fn nested(&mut self, name: &str) -> Result<DataType> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Error::usage("the types of the schema are nested too deeply"));
        }
        let wrong = || {
            Error::usage(format!("{name} lacks the types of its values"))
                .advice("write list(int64), struct(a int64, b utf8), map(utf8, int64) or fixed_size_list(int64, 3)")
        };
        let next = |parser: &mut Self, separator: char| {
            parser.skip_blanks();
            if parser.take(separator) { Ok(()) } else { Err(wrong()) }
        };
        self.skip_blanks();
        next(self, '(')?;
        self.skip_blanks();
        let data_type = match name {
            "struct" => {
                let mut fields = Vec::new();
                while !self.rest().starts_with(')') {
                    if !fields.is_empty() {
                        next(self, ',')?;
                        self.skip_blanks();
                    }
                    fields.push(self.field()?);
                    self.skip_blanks();
                }
                DataType::Struct(fields.into())
            }
            "dictionary" => {
                let key = self.data_type()?;
                if !key.is_dictionary_key_type() {
                    return Err(Error::usage(format!(
                        "the keys of a dictionary must be integers, not {}",
                        print_type(&key)
                    )));
                }
                next(self, ',')?;
                self.skip_blanks();
                DataType::Dictionary(Box::new(key), Box::new(self.data_type()?))
            }
            "map" => {
                let key = self.typed_field("key")?;
                next(self, ',')?;
                self.skip_blanks();
                let pair = vec![key.with_nullable(false), self.typed_field("value")?];
                DataType::Map(Arc::new(Field::new_struct("entries", pair, false)), false)
            }
            "fixed_size_list" => {
                let item = Arc::new(self.typed_field(Field::LIST_FIELD_DEFAULT_NAME)?);
                next(self, ',')?;
                self.skip_blanks();
                let size = self.take_while(|c| c.is_ascii_digit()).parse().map_err(|_| wrong())?;
                DataType::FixedSizeList(item, size)
            }
            _ => {
                let item = Arc::new(self.typed_field(Field::LIST_FIELD_DEFAULT_NAME)?);
                match name {
                    "large_list" => DataType::LargeList(item),
                    "list_view" => DataType::ListView(item),
                    "large_list_view" => DataType::LargeListView(item),
                    _ => DataType::List(item),
                }
            }
        };
        next(self, ')')?;
        self.depth -= 1;
        Ok(data_type)
    }

    /// Parses the arguments in parentheses after a type, split at commas. Empty if there are none.
    fn arguments(&mut self, name: &str) -> Result<Vec<String>> {
        let before = self.position;
        self.skip_blanks();
        if !self.take('(') {
            self.position = before;
            return Ok(Vec::new());
        }
        let inside = self.take_while(|c| c != ')');
        if !self.take(')') {
            return Err(Error::usage(format!("the parenthesis of type {name:?} is not closed")));
        }
        Ok(inside.split(',').map(|a| a.trim().to_owned()).collect())
    }
}

fn unknown_type(written: &str, name: &str) -> Error {
    let known = SIMPLE.iter().map(|(n, _)| *n).chain(WITH_ARGUMENTS.iter().chain(NESTED).copied());
    let nearest = known.min_by_key(|k| strsim::damerau_levenshtein(k, name)).unwrap_or("utf8");
    let error = if written.is_empty() {
        Error::usage("the type is missing")
    } else {
        Error::usage(format!("unknown type {written:?}"))
    };
    error.advice(format!(
        "the nearest is {nearest}; others are int64, float64, bool, date32, timestamp(us, UTC), decimal(15,2), utf8"
    ))
}

fn parse_unit(text: &str) -> Result<TimeUnit> {
    match text.to_ascii_lowercase().as_str() {
        "s" | "second" | "seconds" => Ok(TimeUnit::Second),
        "ms" | "millisecond" | "milliseconds" => Ok(TimeUnit::Millisecond),
        "us" | "µs" | "microsecond" | "microseconds" => Ok(TimeUnit::Microsecond),
        "ns" | "nanosecond" | "nanoseconds" => Ok(TimeUnit::Nanosecond),
        _ => Err(Error::usage(format!("unknown time unit {text:?}")).advice("choose s, ms, us or ns")),
    }
}

fn timestamp(name: &str, arguments: &[&str]) -> Result<DataType> {
    let utc = || Some(Arc::from("UTC"));
    match arguments {
        [] => Ok(DataType::Timestamp(TimeUnit::Microsecond, if name == "timestamptz" { utc() } else { None })),
        [unit] => Ok(DataType::Timestamp(parse_unit(unit)?, if name == "timestamptz" { utc() } else { None })),
        [unit, zone] if !zone.is_empty() => {
            let zone = zone.trim_matches(|c| c == '"' || c == '\'');
            Ok(DataType::Timestamp(parse_unit(unit)?, Some(Arc::from(zone))))
        }
        _ => {
            Err(Error::usage("a timestamp takes a unit and a zone").advice("write timestamp(us) or timestamp(us, UTC)"))
        }
    }
}

fn time(name: &str, arguments: &[&str]) -> Result<DataType> {
    let unit = match (name, arguments) {
        ("time", []) => return Ok(DataType::Time64(TimeUnit::Microsecond)),
        (_, [unit]) => parse_unit(unit)?,
        _ => return Err(Error::usage(format!("{name} takes one unit")).advice(format!("write {name}(us)"))),
    };
    let coarse = matches!(unit, TimeUnit::Second | TimeUnit::Millisecond);
    match (name, coarse) {
        ("duration", _) => Ok(DataType::Duration(unit)),
        ("time" | "time32", true) => Ok(DataType::Time32(unit)),
        ("time" | "time64", false) => Ok(DataType::Time64(unit)),
        ("time32", false) => Err(Error::usage("time32 has only the units s and ms").advice("use time64 for us and ns")),
        _ => Err(Error::usage("time64 has only the units us and ns").advice("use time32 for s and ms")),
    }
}

fn decimal(name: &str, arguments: &[&str]) -> Result<DataType> {
    let wrong = || {
        Error::usage(format!("{name}({}) is not a decimal type", arguments.join(",")))
            .advice("write decimal(p,s) with p digits, s of them after the decimal point, such as decimal(15,2)")
    };
    let (precision, scale) = match arguments {
        [precision] => (*precision, "0"),
        [precision, scale] => (*precision, *scale),
        _ => return Err(wrong()),
    };
    let precision: u8 = precision.parse().map_err(|_| wrong())?;
    let scale: i8 = scale.parse().map_err(|_| wrong())?;
    let most = match name {
        "decimal32" => 9,
        "decimal64" => 18,
        "decimal128" => 38,
        _ => 76,
    };
    if precision == 0 || precision > most || scale < 0 || scale.unsigned_abs() > precision {
        return Err(wrong()
            .advice(format!("{name} can have 1 to {most} digits, and no more after the decimal point than in total")));
    }
    Ok(match name {
        "decimal32" => DataType::Decimal32(precision, scale),
        "decimal64" => DataType::Decimal64(precision, scale),
        "decimal256" => DataType::Decimal256(precision, scale),
        _ if precision > 38 => DataType::Decimal256(precision, scale),
        _ => DataType::Decimal128(precision, scale),
    })
}

#[cfg(test)]
mod tests;
