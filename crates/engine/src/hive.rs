//! Hive partitions: folders named `column=value`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, i256};
use lakerace_format::Constants;
use lakerace_format::folder::NULL_FOLDER;
use lakerace_format::predicate::Value;
use lakerace_format::predicate::time::parse_date;
use lakerace_io::option::FILE_NAME_COLUMN;
use lakerace_io::{Error, Object, Result};
use percent_encoding::percent_decode_str;

use crate::files::FileSource;

/// A folder's columns and values.
type Pairs = Vec<(String, Option<String>)>;

/// For each file, the columns in the names of its folders, below the given folder or pattern. A column's type is
/// `int64` where all values of all files are integers without leading zeros or a plus, `date32` where all are dates,
/// else text. A file whose folders lack a column of others is null there.
///
/// After them comes a column of this name, if there is one, with the path or URL of the file.
///
/// # Errors
/// `Invalid` for a folder's name that is not UTF-8; `Usage` where a folder has a column of this name.
pub(crate) fn partitions(files: &FileSource, file_name_column: Option<&str>) -> Result<Vec<Option<Arc<Constants>>>> {
    let constants = folder_constants(files)?;
    let Some(name) = file_name_column else { return Ok(constants) };
    let none = Arc::new(Constants::new([]));
    let with_name = |(object, constants): (&Object, Option<Arc<Constants>>)| {
        let constants = constants.unwrap_or_else(|| Arc::clone(&none));
        if name.is_empty() || constants.get(name).is_some() {
            return Err(Error::usage(format!("{FILE_NAME_COLUMN}: no column can be called {name:?} here"))
                .at(object.url())
                .advice("give a name that no column has"));
        }
        let value = Value::Bytes(object.url().into_bytes());
        Ok(Some(Arc::new(constants.with(Field::new(name, DataType::Utf8View, false), Some(value)))))
    };
    files.objects.iter().zip(constants).map(with_name).collect()
}

fn folder_constants(files: &FileSource) -> Result<Vec<Option<Arc<Constants>>>> {
    let mut of_folder: HashMap<&str, Pairs> = HashMap::new();
    let mut columns: Vec<String> = Vec::new();
    let mut folders: Vec<&str> = Vec::with_capacity(files.objects.len());
    for (object, root_bytes) in files.objects.iter().zip(&files.root_bytes) {
        let path = object.path.as_ref();
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let below = folder.get(*root_bytes..).unwrap_or("");
        folders.push(below);
        if of_folder.contains_key(below) {
            continue;
        }
        let pairs = pairs(below).map_err(|e| e.at(object.url()))?;
        for (name, _) in &pairs {
            if !columns.contains(name) {
                columns.push(name.clone());
            }
        }
        of_folder.insert(below, pairs);
    }
    if columns.is_empty() {
        return Ok(vec![None; folders.len()]);
    }
    let types: Vec<DataType> = columns.iter().map(|name| infer(name, of_folder.values())).collect();
    let mut constants: HashMap<&str, Arc<Constants>> = HashMap::with_capacity(of_folder.len());
    for (folder, pairs) in &of_folder {
        let mut fields = Vec::with_capacity(columns.len());
        for (name, data_type) in columns.iter().zip(&types) {
            let text = pairs.iter().find(|(n, _)| n == name).and_then(|(_, value)| value.as_deref());
            fields.push((Field::new(name, data_type.clone(), true), text.map(|t| value(t, data_type)).transpose()?));
        }
        constants.insert(*folder, Arc::new(Constants::new(fields)));
    }
    Ok(folders.iter().map(|folder| constants.get(folder).cloned()).collect())
}

/// The `column=value` parts of a path. A later one of the same name wins.
fn pairs(folder: &str) -> Result<Pairs> {
    let mut pairs: Pairs = Vec::new();
    for part in folder.split('/') {
        let Some((name, value)) = part.split_once('=').filter(|(name, _)| !name.is_empty()) else { continue };
        let decoded = |text: &str| {
            let decoded = percent_decode_str(text).decode_utf8();
            decoded
                .map(|t| t.into_owned())
                .map_err(|_| Error::invalid(format!("folder {part:?} is not valid UTF-8 when decoded")))
        };
        let name = decoded(name)?;
        let value = if value == NULL_FOLDER || value.is_empty() { None } else { Some(decoded(value)?) };
        pairs.retain(|(known, _)| *known != name);
        pairs.push((name, value));
    }
    Ok(pairs)
}

fn infer<'a>(name: &str, folders: impl Iterator<Item = &'a Pairs> + Clone) -> DataType {
    let mut values = folders.flat_map(|p| p.iter().filter(|(n, _)| n == name)).filter_map(|(_, v)| v.as_deref());
    let Some(first) = values.clone().next() else { return DataType::Utf8View };
    // A value that does not survive a round trip through a number is a code: `01234`, `+49`, `-0`. The same holds in
    // CSV files.
    let is_integer = |value: &str| value.parse::<i64>().is_ok_and(|number| number.to_string() == value);
    if is_integer(first) && values.clone().all(is_integer) {
        return DataType::Int64;
    }
    if values.all(|v| parse_date(v).is_some()) { DataType::Date32 } else { DataType::Utf8View }
}

fn value(text: &str, data_type: &DataType) -> Result<Value> {
    let wrong = || Error::internal(format!("{text:?} is not {data_type}"));
    let integer = |i: i128| Value::Integer(i256::from_i128(i));
    Ok(match data_type {
        DataType::Int64 => integer(text.parse::<i64>().map_err(|_| wrong())?.into()),
        DataType::Date32 => integer(parse_date(text).ok_or_else(wrong)?.into()),
        _ => Value::Bytes(text.as_bytes().to_vec()),
    })
}
