//! Columns as fields of structs, by their names.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StructArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use lakerace_format::{MAX_NESTING, nested_too_deep};
use lakerace_io::option::{COLUMNS, UNFLATTEN};
use lakerace_io::{Error, Result};

/// The columns of a schema, with structs in place of those whose names have several parts.
#[derive(Debug, Clone)]
pub(super) struct UnflattenedColumns {
    schema: SchemaRef,
    columns: Vec<NestedColumn>,
}

/// A column of the result, or a field of one.
#[derive(Debug, Clone)]
enum NestedColumn {
    /// The column of the input at this position.
    Column(usize),
    Struct {
        fields: Fields,
        children: Vec<NestedColumn>,
        is_nullable: bool,
    },
}

/// Columns by the parts of their names that are left, in the order of the first of each name.
#[derive(Default)]
struct NameGroup<'a> {
    members: Vec<(&'a str, GroupMember<'a>)>,
    positions: HashMap<&'a str, usize>,
}

enum GroupMember<'a> {
    /// The position of a column.
    Column(usize),
    /// Columns whose names begin with the same parts, of which the first has this position.
    Group(NameGroup<'a>, usize),
}

impl UnflattenedColumns {
    /// The columns of this schema. The separator divides their names.
    ///
    /// # Errors
    /// `Usage` for a column that would be both a struct and a value, or twice in a struct; `Unsupported` for a name with too
    /// many parts.
    pub fn new(input: &Schema, separator: &str) -> Result<Self> {
        let mut root = NameGroup::default();
        for (at, field) in input.fields().iter().enumerate() {
            let mut parts: Vec<&str> = field.name().split(separator).collect();
            // A heading such as `No.` is a name of its own.
            if parts.iter().any(|part| part.is_empty()) {
                parts = vec![field.name()];
            }
            if parts.len() > MAX_NESTING {
                return Err(nested_too_deep().at(format!("column {:?}", field.name())).at(UNFLATTEN));
            }
            root.add(at, &parts).map_err(|other| same_name(input.field(other).name(), field.name()))?;
        }
        let (fields, columns): (Vec<FieldRef>, Vec<NestedColumn>) =
            root.members.into_iter().map(|(name, member)| member.into_column(name, input)).unzip();
        Ok(Self { schema: Arc::new(Schema::new_with_metadata(fields, input.metadata().clone())), columns })
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds the positions of the columns of the input that a column is made of.
    pub fn add_sources(&self, at: usize, positions: &mut Vec<usize>) {
        if let Some(column) = self.columns.get(at) {
            column.add_sources(positions);
        }
    }

    pub fn project_batch(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.columns.iter().map(|column| column.array(batch)).collect::<Result<_>>()?;
        let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &rows).map_err(Error::unexpected)
    }
}

impl<'a> NameGroup<'a> {
    /// Adds the column at a position; fails with the position of the column that has its place.
    fn add(&mut self, at: usize, parts: &[&'a str]) -> Result<(), usize> {
        let Some((name, rest)) = parts.split_first() else { return Ok(()) };
        let known = self.positions.get(name).and_then(|position| self.members.get_mut(*position));
        match (known, rest.is_empty()) {
            (None, is_column) => {
                self.positions.insert(name, self.members.len());
                let member = match is_column {
                    true => GroupMember::Column(at),
                    false => {
                        let mut group = NameGroup::default();
                        group.add(at, rest)?;
                        GroupMember::Group(group, at)
                    }
                };
                self.members.push((name, member));
                Ok(())
            }
            (Some((_, GroupMember::Group(group, _))), false) => group.add(at, rest),
            (Some((_, GroupMember::Column(other) | GroupMember::Group(_, other))), _) => Err(*other),
        }
    }
}

impl GroupMember<'_> {
    fn into_column(self, name: &str, input: &Schema) -> (FieldRef, NestedColumn) {
        match self {
            Self::Column(at) => {
                let field = input.field(at).clone().with_name(name);
                (Arc::new(field), NestedColumn::Column(at))
            }
            Self::Group(group, _) => {
                let members = group.members.into_iter().map(|(name, member)| member.into_column(name, input));
                let (fields, children): (Vec<FieldRef>, Vec<NestedColumn>) = members.unzip();
                let fields = Fields::from(fields);
                // A struct with a value in each row is never null.
                let is_nullable = fields.iter().all(|field| field.is_nullable());
                let field = Field::new(name, DataType::Struct(fields.clone()), is_nullable);
                (Arc::new(field), NestedColumn::Struct { fields, children, is_nullable })
            }
        }
    }
}

impl NestedColumn {
    fn add_sources(&self, positions: &mut Vec<usize>) {
        match self {
            Self::Column(at) => positions.push(*at),
            Self::Struct { children, .. } => children.iter().for_each(|child| child.add_sources(positions)),
        }
    }

    fn array(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        match self {
            Self::Column(at) => Ok(Arc::clone(batch.column(*at))),
            Self::Struct { fields, children, is_nullable } => {
                let arrays = children.iter().map(|child| child.array(batch)).collect::<Result<Vec<_>>>()?;
                let nulls = if *is_nullable { nulls_of_all(&arrays) } else { None };
                let nested = StructArray::try_new(fields.clone(), arrays, nulls).map_err(Error::unexpected)?;
                Ok(Arc::new(nested))
            }
        }
    }
}

/// The rows in which all of these arrays are null.
fn nulls_of_all(arrays: &[ArrayRef]) -> Option<NullBuffer> {
    let mut is_valid: Option<BooleanBuffer> = None;
    for array in arrays {
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0)?;
        is_valid = Some(match is_valid {
            None => nulls.into_inner(),
            Some(others) => &others | nulls.inner(),
        });
    }
    is_valid.map(NullBuffer::new)
}

fn same_name(first: &str, second: &str) -> Error {
    let message = match first == second {
        true => format!("{UNFLATTEN}: two columns have the name {first:?}"),
        false => {
            let (column, field) = if first.len() < second.len() { (first, second) } else { (second, first) };
            format!("{UNFLATTEN}: column {column:?} can't be the struct of column {field:?}, too")
        }
    };
    Error::usage(message).advice(format!("choose another separator, or omit or rename one of them with {COLUMNS}"))
}
