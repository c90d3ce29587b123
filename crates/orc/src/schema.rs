//! The type tree of a file, and Arrow's types for it.
//!
//! Every node of the tree is a column with an id: ids count the nodes in pre-order, the root being 0, and name the column in
//! streams, encodings and statistics. The root is a struct nearly always; its fields are the columns of the table.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit, UnionFields, UnionMode};

use crate::error::{Error, Result};
use crate::proto;

/// Types nest no deeper than this, so that a damaged or hostile file can't exhaust the stack.
pub const MAX_DEPTH: usize = 64;

/// A file has no more columns than this, nested ones counted.
pub const MAX_COLUMNS: usize = 1 << 20;

/// The greatest precision of a decimal.
pub const MAX_DECIMAL_PRECISION: u8 = 38;

/// A union has no more members than this: Arrow counts them in a signed byte.
pub const MAX_UNION_MEMBERS: usize = 127;

/// The scale that decimals of Hive 0.11, which have none, are read at: that of ORC's C++ reader.
pub const UNKNOWN_DECIMAL_SCALE: u8 = 6;

/// The attribute that Spark takes a column's type from. Without it, Spark can't infer the schema of a file with a
/// [`OrcKind::TimestampInstant`], whose name in ORC's Java library is none of Spark's types.
const SPARK_TYPE: &str = "spark.sql.catalyst.type";

/// The type that [`SPARK_TYPE`] gives to a column of [`OrcKind::Micros`].
const SPARK_TIMESTAMP_NTZ: &str = "timestamp_ntz";

/// The name of the only column where the root of a file isn't a struct.
pub const UNNAMED_COLUMN: &str = "_col0";

/// A node of the type tree: a column with its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrcType {
    /// The column id of this node.
    pub id: u32,
    /// The greatest column id in this node's tree; its own where it has no children.
    pub last_id: u32,
    /// The type, with its children.
    pub kind: OrcKind,
    /// Attributes by name, such as Iceberg's field ids.
    pub attributes: Vec<(String, String)>,
}

/// The kind of an [`OrcType`], with its parameters and children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrcKind {
    /// Boolean.
    Boolean,
    /// A signed integer of 8 bits (tinyint).
    Byte,
    /// A signed integer of 16 bits (smallint).
    Short,
    /// A signed integer of 32 bits (int).
    Int,
    /// A signed integer of 64 bits (bigint).
    Long,
    /// A float of 32 bits.
    Float,
    /// A float of 64 bits.
    Double,
    /// Text in UTF-8.
    String,
    /// Text of at most this many characters.
    Varchar(u32),
    /// Text of exactly this many characters, padded by spaces.
    Char(u32),
    /// Bytes.
    Binary,
    /// Bytes that hold a geometry as WKB.
    Geometry,
    /// Date and time of day, on no zone's clock.
    Timestamp,
    /// A point in time.
    TimestampInstant,
    /// A point in time, stored as its writer's clock showed it: a timestamp as readers with a time zone interpret it.
    /// The file doesn't record this; see [`ReaderClock`](crate::read::ReaderClock).
    ClockInstant,
    /// Date and time of day, on no zone's clock, in microseconds since 1970: a bigint that Spark marks by the attribute
    /// `spark.sql.catalyst.type`.
    Micros,
    /// A day.
    Date,
    /// A decimal number.
    Decimal {
        /// Digits in total, 1 to 38.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// A list of values of one type.
    List(Box<OrcType>),
    /// Pairs of a key and a value.
    Map(Box<OrcType>, Box<OrcType>),
    /// Named fields.
    Struct(Vec<(String, OrcType)>),
    /// A value of one of several types.
    Union(Vec<OrcType>),
}

impl OrcType {
    /// The tree that the types of a footer describe.
    ///
    /// # Errors
    /// Corrupt where the types aren't the pre-order walk of one tree, or their parameters are out of range; Unsupported where
    /// a kind is unknown or the tree is deeper than [`MAX_DEPTH`].
    pub(crate) fn from_proto(types: &[proto::Type]) -> Result<Self> {
        if types.len() > MAX_COLUMNS {
            return Err(Error::corrupt(format!("the schema has {} types, more than {MAX_COLUMNS}", types.len())));
        }
        let mut next = 0;
        let root = Self::node(types, &mut next, 0)?;
        if next != types.len() {
            return Err(Error::corrupt(format!(
                "only {next} of {} types belong to the tree of the schema",
                types.len()
            )));
        }
        Ok(root)
    }

    fn node(types: &[proto::Type], next: &mut usize, depth: usize) -> Result<Self> {
        let at = *next;
        let place = || format!("type {at} of the schema");
        let fail = |message: String| Error::corrupt(message).at(place());
        let Some(wire) = types.get(at) else {
            return Err(fail(format!("is missing: the schema has {} types", types.len())));
        };
        if depth > MAX_DEPTH {
            return Err(Error::unsupported(format!("types nest deeper than {MAX_DEPTH}")).at(place()));
        }
        *next += 1;
        let mut child = |nth: usize| match wire.subtypes.get(nth) {
            Some(&id) if id as usize == *next => Self::node(types, next, depth + 1),
            Some(id) => Err(fail(format!("its child is type {id}, not {next}, the next in order"))),
            None => Err(fail(format!("has {} children, too few for its kind", wire.subtypes.len()))),
        };
        let kind = wire.kind.unwrap_or_default();
        let Ok(kind) = proto::TypeKind::try_from(kind) else {
            return Err(Error::unsupported(format!("has the unknown kind {kind}")).at(place()));
        };
        use proto::TypeKind as Wire;
        let children = match kind {
            Wire::List => 1,
            Wire::Map => 2,
            Wire::Struct | Wire::Union => wire.subtypes.len(),
            _ => 0,
        };
        if children != wire.subtypes.len() {
            return Err(fail(format!("has {} children, but its kind has {children}", wire.subtypes.len())));
        }
        let kind = match kind {
            Wire::Boolean => OrcKind::Boolean,
            Wire::Byte => OrcKind::Byte,
            Wire::Short => OrcKind::Short,
            Wire::Int => OrcKind::Int,
            Wire::Long if wire.attributes.iter().any(is_timestamp_ntz) => OrcKind::Micros,
            Wire::Long => OrcKind::Long,
            Wire::Float => OrcKind::Float,
            Wire::Double => OrcKind::Double,
            Wire::String => OrcKind::String,
            Wire::Varchar => OrcKind::Varchar(wire.maximum_length.unwrap_or(u32::MAX)),
            Wire::Char => OrcKind::Char(wire.maximum_length.unwrap_or(u32::MAX)),
            Wire::Binary => OrcKind::Binary,
            Wire::Geometry => OrcKind::Geometry,
            Wire::Timestamp => OrcKind::Timestamp,
            Wire::TimestampInstant => OrcKind::TimestampInstant,
            Wire::Date => OrcKind::Date,
            Wire::Decimal => decimal(wire).map_err(|e| e.at(place()))?,
            Wire::List => OrcKind::List(Box::new(child(0)?)),
            Wire::Map => OrcKind::Map(Box::new(child(0)?), Box::new(child(1)?)),
            Wire::Struct => {
                if wire.field_names.len() != children {
                    return Err(fail(format!("has {} names for {children} fields", wire.field_names.len())));
                }
                let field = |(nth, name): (usize, &String)| Ok((name.clone(), child(nth)?));
                OrcKind::Struct(wire.field_names.iter().enumerate().map(field).collect::<Result<_>>()?)
            }
            Wire::Union if children > MAX_UNION_MEMBERS => {
                let message = format!("a union has {children} members, more than Arrow's {MAX_UNION_MEMBERS}");
                return Err(Error::unsupported(message).at(place()));
            }
            Wire::Union => OrcKind::Union((0..children).map(child).collect::<Result<_>>()?),
        };
        let attributes = wire.attributes.iter().map(|a| (a.key().to_owned(), a.value().to_owned())).collect();
        Ok(Self { id: at as u32, last_id: (*next - 1) as u32, kind, attributes })
    }

    /// The tree as types of a footer.
    pub(crate) fn to_proto(&self) -> Vec<proto::Type> {
        let mut types = Vec::with_capacity((self.last_id - self.id + 1) as usize);
        self.push_proto(&mut types);
        types
    }

    fn push_proto(&self, types: &mut Vec<proto::Type>) {
        use proto::TypeKind as Wire;
        let mut wire = proto::Type::default();
        let kind = match &self.kind {
            OrcKind::Boolean => Wire::Boolean,
            OrcKind::Byte => Wire::Byte,
            OrcKind::Short => Wire::Short,
            OrcKind::Int => Wire::Int,
            OrcKind::Long | OrcKind::Micros => Wire::Long,
            OrcKind::Float => Wire::Float,
            OrcKind::Double => Wire::Double,
            OrcKind::String => Wire::String,
            OrcKind::Varchar(length) => {
                wire.maximum_length = Some(*length);
                Wire::Varchar
            }
            OrcKind::Char(length) => {
                wire.maximum_length = Some(*length);
                Wire::Char
            }
            OrcKind::Binary => Wire::Binary,
            OrcKind::Geometry => Wire::Geometry,
            OrcKind::Timestamp | OrcKind::ClockInstant => Wire::Timestamp,
            OrcKind::TimestampInstant => Wire::TimestampInstant,
            OrcKind::Date => Wire::Date,
            OrcKind::Decimal { precision, scale } => {
                wire.precision = Some(u32::from(*precision));
                wire.scale = Some(u32::from(*scale));
                Wire::Decimal
            }
            OrcKind::List(_) => Wire::List,
            OrcKind::Map(..) => Wire::Map,
            OrcKind::Struct(fields) => {
                wire.field_names = fields.iter().map(|(name, _)| name.clone()).collect();
                Wire::Struct
            }
            OrcKind::Union(_) => Wire::Union,
        };
        wire.set_kind(kind);
        wire.subtypes = self.children().map(|child| child.id).collect();
        let pair =
            |(key, value): &(String, String)| proto::StringPair { key: Some(key.clone()), value: Some(value.clone()) };
        wire.attributes = self.attributes.iter().map(pair).collect();
        types.push(wire);
        self.children().for_each(|child| child.push_proto(types));
    }

    /// The children in order.
    pub fn children(&self) -> impl Iterator<Item = &OrcType> {
        let children: Vec<&OrcType> = match &self.kind {
            OrcKind::List(item) => vec![item],
            OrcKind::Map(key, value) => vec![key, value],
            OrcKind::Struct(fields) => fields.iter().map(|(_, child)| child).collect(),
            OrcKind::Union(members) => members.iter().collect(),
            _ => Vec::new(),
        };
        children.into_iter()
    }

    /// The node with the column id `id` in this tree.
    pub fn find(&self, id: u32) -> Option<&OrcType> {
        let mut node = self;
        while id != node.id {
            // Ids go up from child to child, and tables may have many.
            node = match &node.kind {
                OrcKind::List(item) => item,
                OrcKind::Map(key, value) => {
                    if id <= key.last_id {
                        key
                    } else {
                        value
                    }
                }
                OrcKind::Struct(fields) => &fields.get(fields.partition_point(|(_, child)| child.last_id < id))?.1,
                OrcKind::Union(members) => members.get(members.partition_point(|child| child.last_id < id))?,
                _ => return None,
            };
            if !(node.id..=node.last_id).contains(&id) {
                return None;
            }
        }
        Some(node)
    }

    /// Makes timestamps of the tree instants by a reader's clock.
    pub(crate) fn with_clock_instants(mut self) -> Self {
        self.map_kinds(&|kind| match kind {
            OrcKind::Timestamp => Some(OrcKind::ClockInstant),
            _ => None,
        });
        self
    }

    /// Makes timestamps of the tree count microseconds, on no zone's clock, as Spark has them.
    pub(crate) fn with_micros(mut self) -> Self {
        self.map_kinds(&|kind| match kind {
            OrcKind::Timestamp => Some(OrcKind::Micros),
            _ => None,
        });
        self
    }

    /// Replaces the kinds of nodes without children.
    fn map_kinds(&mut self, map: &impl Fn(&OrcKind) -> Option<OrcKind>) {
        match &mut self.kind {
            OrcKind::List(item) => item.map_kinds(map),
            OrcKind::Map(key, value) => [key, value].into_iter().for_each(|part| part.map_kinds(map)),
            OrcKind::Struct(fields) => fields.iter_mut().for_each(|(_, field)| field.map_kinds(map)),
            OrcKind::Union(members) => members.iter_mut().for_each(|member| member.map_kinds(map)),
            leaf => {
                let Some(kind) = map(leaf) else { return };
                if kind == OrcKind::Micros {
                    self.attributes.push((SPARK_TYPE.to_owned(), SPARK_TIMESTAMP_NTZ.to_owned()));
                }
                self.kind = kind;
            }
        }
    }

    /// The tree for the columns of an Arrow schema.
    ///
    /// # Errors
    /// Unsupported where ORC has no type for one of Arrow's; the place names the column.
    pub fn from_arrow(schema: &Schema) -> Result<Self> {
        let mut next = 0;
        from_data_type(&DataType::Struct(schema.fields().clone()), &mut next, 0)
    }

    /// The Arrow type of this node, timestamps in `unit`.
    pub fn to_arrow(&self, unit: TimeUnit) -> DataType {
        match &self.kind {
            OrcKind::Boolean => DataType::Boolean,
            OrcKind::Byte => DataType::Int8,
            OrcKind::Short => DataType::Int16,
            OrcKind::Int => DataType::Int32,
            OrcKind::Long => DataType::Int64,
            OrcKind::Float => DataType::Float32,
            OrcKind::Double => DataType::Float64,
            OrcKind::String | OrcKind::Varchar(_) | OrcKind::Char(_) => DataType::Utf8View,
            OrcKind::Binary | OrcKind::Geometry => DataType::BinaryView,
            OrcKind::Timestamp | OrcKind::Micros => DataType::Timestamp(unit, None),
            OrcKind::TimestampInstant | OrcKind::ClockInstant => DataType::Timestamp(unit, Some("UTC".into())),
            OrcKind::Date => DataType::Date32,
            OrcKind::Decimal { precision, scale } => DataType::Decimal128(*precision, *scale as i8),
            OrcKind::List(item) => DataType::List(Arc::new(Field::new("item", item.to_arrow(unit), true))),
            OrcKind::Map(key, value) => {
                let key = Field::new("key", key.to_arrow(unit), false);
                let value = Field::new("value", value.to_arrow(unit), true);
                let entries = DataType::Struct(Fields::from(vec![key, value]));
                DataType::Map(Arc::new(Field::new("entries", entries, false)), false)
            }
            OrcKind::Struct(fields) => DataType::Struct(struct_fields(fields, unit)),
            OrcKind::Union(members) => {
                let fields = members.iter().enumerate().map(|(nth, member)| {
                    let field = Field::new(nth.to_string(), member.to_arrow(unit), true);
                    (nth as i8, Arc::new(field))
                });
                DataType::Union(fields.collect::<UnionFields>(), UnionMode::Dense)
            }
        }
    }

    /// The Arrow schema of a file with this root, timestamps in `unit`.
    ///
    /// A root that isn't a struct becomes the only column, named [`UNNAMED_COLUMN`].
    pub fn to_arrow_schema(&self, unit: TimeUnit) -> SchemaRef {
        let fields = match &self.kind {
            OrcKind::Struct(fields) => struct_fields(fields, unit),
            _ => Fields::from(vec![Field::new(UNNAMED_COLUMN, self.to_arrow(unit), true)]),
        };
        Arc::new(Schema::new(fields))
    }
}

fn struct_fields(fields: &[(String, OrcType)], unit: TimeUnit) -> Fields {
    fields.iter().map(|(name, child)| Field::new(name, child.to_arrow(unit), true)).collect()
}

fn is_timestamp_ntz(attribute: &proto::StringPair) -> bool {
    attribute.key() == SPARK_TYPE && attribute.value() == SPARK_TIMESTAMP_NTZ
}

/// Decodes a decimal type. Files of Hive 0.11 have decimals without a precision, where each value has a scale; they are
/// read with the widest precision and at [`UNKNOWN_DECIMAL_SCALE`].
fn decimal(wire: &proto::Type) -> Result<OrcKind> {
    let (precision, scale) = match wire.precision {
        None | Some(0) => (u32::from(MAX_DECIMAL_PRECISION), u32::from(UNKNOWN_DECIMAL_SCALE)),
        Some(precision) => (precision, wire.scale.unwrap_or(0)),
    };
    if precision > u32::from(MAX_DECIMAL_PRECISION) || scale > precision {
        return Err(Error::corrupt(format!("a decimal can't have precision {precision} and scale {scale}")));
    }
    Ok(OrcKind::Decimal { precision: precision as u8, scale: scale as u8 })
}

fn from_data_type(data_type: &DataType, next: &mut u32, depth: usize) -> Result<OrcType> {
    if depth > MAX_DEPTH {
        return Err(Error::unsupported(format!("types nest deeper than {MAX_DEPTH}")));
    }
    let id = *next;
    *next += 1;
    let mut child = |field: &Field| from_data_type(field.data_type(), next, depth + 1).map_err(|e| e.at(field.name()));
    let kind = match data_type {
        DataType::Boolean => OrcKind::Boolean,
        DataType::Int8 => OrcKind::Byte,
        DataType::Int16 => OrcKind::Short,
        DataType::Int32 => OrcKind::Int,
        DataType::Int64 => OrcKind::Long,
        DataType::Float32 => OrcKind::Float,
        DataType::Float64 => OrcKind::Double,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => OrcKind::String,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            OrcKind::Binary
        }
        DataType::Timestamp(_, None) => OrcKind::Timestamp,
        DataType::Timestamp(_, Some(_)) => OrcKind::TimestampInstant,
        DataType::Date32 => OrcKind::Date,
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
            if *scale >= 0 && *scale as u8 <= *precision =>
        {
            OrcKind::Decimal { precision: *precision, scale: *scale as u8 }
        }
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            OrcKind::List(Box::new(child(item)?))
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                OrcKind::Map(Box::new(child(&fields[0])?), Box::new(child(&fields[1])?))
            }
            _ => return Err(Error::invalid("a map's entries must be a struct of key and value")),
        },
        DataType::Struct(fields) => OrcKind::Struct(
            fields.iter().map(|field| Ok((field.name().clone(), child(field)?))).collect::<Result<_>>()?,
        ),
        DataType::Dictionary(_, value) => {
            *next = id;
            return from_data_type(value, next, depth);
        }
        other => return Err(Error::unsupported(format!("ORC has no type for {other}; cast the column first"))),
    };
    let attributes = match kind {
        OrcKind::TimestampInstant => vec![(SPARK_TYPE.to_owned(), "timestamp".to_owned())],
        _ => Vec::new(),
    };
    Ok(OrcType { id, last_id: *next - 1, kind, attributes })
}

#[cfg(test)]
mod tests;
