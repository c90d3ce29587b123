//! The common schema of many files.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Fields, Metadata, Schema, SchemaRef};
use lakerace_io::option::UNION_COLUMNS;
use lakerace_io::{Error, Result};

use crate::extension_types::join_extension_types;
use crate::field_positions::FieldPositions;
use crate::file_notes::common_notes;
use crate::files::{OpenFile, is_visible};
use crate::options::ColumnUnion;
use crate::place_columns::with_place_fields;
use crate::schema_text::{print_field_type, print_type};

/// Merges the schemas of all files: the columns of all of them in the order of their first appearance. A column that is
/// missing somewhere is nullable; a type that is wider somewhere is the wider one.
///
/// # Errors
/// `Invalid` for files that are not of one table by `union`, and for a column whose types have no wider one.
pub(crate) fn merge<F: OpenFile>(files: &[Arc<F>], union: ColumnUnion) -> Result<SchemaRef> {
    let Some(first) = files.first() else { return Ok(Arc::new(Schema::empty())) };
    let same_constants = |file: &F| file.constants().map(|c| c.fields()) == first.constants().map(|c| c.fields());
    if files.iter().all(|file| file.schema().fields() == first.schema().fields() && same_constants(file)) {
        let fields = with_place_fields(
            visible(first.as_ref()).cloned().collect(),
            files.iter().filter_map(|file| file.constants()),
        );
        return Ok(Arc::new(Schema::new_with_metadata(fields, notes(files))));
    }
    let mut merged: Vec<MergedColumn<'_, F>> = Vec::new();
    let mut positions = HashMap::new();
    for (index, file) in files.iter().enumerate() {
        if union == ColumnUnion::Related {
            check_related(file.as_ref(), &positions, first.url())?;
        }
        for field in visible(file.as_ref()) {
            match positions.get(field.name()) {
                None => {
                    positions.insert(field.name().clone(), merged.len());
                    merged.push(MergedColumn {
                        field: field.as_ref().clone(),
                        from: file.as_ref(),
                        seen: 1,
                        last: index,
                    });
                }
                Some(&at) => {
                    let known: &mut MergedColumn<'_, F> = &mut merged[at];
                    known.widen(field, file)?;
                    // A name that a file has twice counts once.
                    known.seen += usize::from(known.last != index);
                    known.last = index;
                }
            }
        }
    }
    for column in merged.iter_mut().filter(|column| column.seen < files.len()) {
        column.widen_to_places(files)?;
    }
    let fields: Vec<FieldRef> = merged
        .into_iter()
        .map(|column| {
            let nullable = column.field.is_nullable() || column.seen < files.len();
            Arc::new(column.field.with_nullable(nullable))
        })
        .collect();
    let fields = with_place_fields(fields, files.iter().filter_map(|file| file.constants()));
    Ok(Arc::new(Schema::new_with_metadata(fields, notes(files))))
}

/// The columns of a file that are read.
fn visible<F: OpenFile>(file: &F) -> impl Iterator<Item = &FieldRef> {
    file.schema().fields().iter().filter(|field| is_visible(field))
}

/// Refuses a file that has fewer than half of the columns in common with those before it, counted by the fewer of both.
fn check_related<F: OpenFile>(file: &F, known: &HashMap<String, usize>, first: &str) -> Result<()> {
    let names: HashSet<&String> = visible(file).map(|field| field.name()).collect();
    let shared = names.iter().filter(|name| known.contains_key(**name)).count();
    if shared * 2 >= names.len().min(known.len()) {
        return Ok(());
    }
    let shared = if shared == 0 { "none".to_owned() } else { shared.to_string() };
    let (count, s) = (names.len(), if names.len() == 1 { "" } else { "s" });
    let message = format!("{shared} of its {count} column{s} are also in the files before it, such as {first}");
    Err(Error::invalid(message).at(file.url()).advice(format!(
        "name the files of one table with a pattern such as folder/part-*.parquet, or combine the columns of all files \
         with {UNION_COLUMNS}"
    )))
}

/// The notes of the files.
fn notes<F: OpenFile>(files: &[Arc<F>]) -> Metadata {
    common_notes(files.iter().map(|file| file.schema().metadata()))
}

/// A column under way, and the file that its type is from.
struct MergedColumn<'a, F> {
    field: Field,
    from: &'a F,
    seen: usize,
    last: usize,
}

impl<'a, F: OpenFile> MergedColumn<'a, F> {
    fn widen(&mut self, other: &Field, file: &'a F) -> Result<()> {
        let nullable = self.field.is_nullable() || other.is_nullable();
        let Some(joined) = joined(self.field.data_type(), other.data_type()) else {
            let (name, ours, theirs) = (other.name(), print_field_type(&self.field), print_field_type(other));
            let message = format!("column {name:?} is {theirs} here, but {ours} in {}", self.from.url());
            return Err(Error::invalid(message)
                .at(file.url())
                .advice("read the files separately, or rewrite one with the other's type"));
        };
        join_extension_types(&mut self.field, other);
        if joined != *self.field.data_type() {
            self.from = file;
            self.field.set_data_type(joined);
        }
        self.field.set_nullable(nullable);
        Ok(())
    }

    /// Widens the type to that of the places, which give the values of files without the column.
    fn widen_to_places(&mut self, files: &[Arc<F>]) -> Result<()> {
        let name = self.field.name().clone();
        for file in files {
            let constant = file.constants().and_then(|constants| constants.get(&name));
            let Some((constant, Some(_))) = constant.filter(|_| visible(file.as_ref()).all(|own| *own.name() != name))
            else {
                continue;
            };
            let Some(joined) = joined(self.field.data_type(), constant.data_type()) else {
                let (ours, theirs) = (print_field_type(&self.field), print_type(constant.data_type()));
                let message =
                    format!("column {name:?} is {ours} in {}, but {theirs} in the names of folders", self.from.url());
                return Err(Error::invalid(message)
                    .at(file.url())
                    .advice("read the files that have the column and the others separately"));
            };
            self.field.set_data_type(joined);
        }
        Ok(())
    }
}

/// The type that holds the values of both, if there is one. A struct has the fields of both.
fn joined(known: &DataType, other: &DataType) -> Option<DataType> {
    use DataType as T;
    Some(match (known, other) {
        (a, b) if a == b => a.clone(),
        // A writer that saw only nulls did not know the type.
        (T::Null, typed) | (typed, T::Null) => typed.clone(),
        (T::Int32, T::Int64) | (T::Int64, T::Int32) => T::Int64,
        (T::Float32, T::Float64) | (T::Float64, T::Float32) => T::Float64,
        (T::Struct(a), T::Struct(b)) => T::Struct(joined_fields(a, b)?),
        (T::List(a), T::List(b)) => T::List(joined_field(a, b)?),
        (T::LargeList(a), T::LargeList(b) | T::List(b)) | (T::List(a), T::LargeList(b)) => {
            T::LargeList(joined_field(a, b)?)
        }
        // Libraries have their own ideas of the width of offsets, and hint at them in their files.
        (T::Utf8 | T::LargeUtf8 | T::Utf8View, T::Utf8 | T::LargeUtf8 | T::Utf8View) => T::LargeUtf8,
        (T::Binary | T::LargeBinary | T::BinaryView, T::Binary | T::LargeBinary | T::BinaryView) => T::LargeBinary,
        (T::Dictionary(_, value), plain) | (plain, T::Dictionary(_, value)) => match plain {
            T::Dictionary(_, other) => joined(value, other)?,
            plain => joined(value, plain)?,
        },
        (T::Map(a, sorted), T::Map(b, other_sorted)) => T::Map(joined_entries(a, b)?, *sorted && *other_sorted),
        // Names and nullability within other nested types differ by `==`, but the values are the same.
        (a, b) if a.is_nested() && a.equals_datatype(b) => a.clone(),
        _ => return None,
    })
}

fn joined_field(known: &FieldRef, other: &FieldRef) -> Option<FieldRef> {
    let data_type = joined(known.data_type(), other.data_type())?;
    let nullable = known.is_nullable() || other.is_nullable();
    let mut field = known.as_ref().clone();
    join_extension_types(&mut field, other);
    Some(Arc::new(field.with_data_type(data_type).with_nullable(nullable)))
}

/// The fields of both in the order of their first appearance. One that only one of them has is nullable.
fn joined_fields(known: &Fields, other: &Fields) -> Option<Fields> {
    let (of_known, of_other) = (FieldPositions::new(known), FieldPositions::new(other));
    let missing = |field: &FieldRef| Arc::new(field.as_ref().clone().with_nullable(true));
    let mut fields = Vec::with_capacity(known.len());
    for field in known {
        fields.push(match of_other.of_name(field.name()) {
            Some(same) => joined_field(field, &other[same])?,
            None => missing(field),
        });
    }
    fields.extend(other.iter().filter(|field| of_known.of_name(field.name()).is_none()).map(missing));
    Some(fields.into())
}

/// The key and the value of a map are identified by position.
fn joined_entries(known: &FieldRef, other: &FieldRef) -> Option<FieldRef> {
    let (DataType::Struct(a), DataType::Struct(b)) = (known.data_type(), other.data_type()) else { return None };
    let ([key, value], [other_key, other_value]) = (a.as_ref(), b.as_ref()) else { return None };
    let fields = vec![joined_field(key, other_key)?, joined_field(value, other_value)?];
    Some(Arc::new(known.as_ref().clone().with_data_type(DataType::Struct(fields.into()))))
}
