#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int32Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow::datatypes::{DataType, Field, Int32Type, Schema};
use parquet::arrow::{ArrowWriter, parquet_to_arrow_schema};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::properties::WriterProperties;

use super::*;

/// A file of three row groups with numbers, texts, structs and lists in turn.
fn footer(columns: usize) -> Vec<u8> {
    let numbers = || Arc::new(Int32Array::from_iter((0..30).map(|n| (n % 7 > 0).then_some(n)))) as ArrayRef;
    let array = |column: usize| -> ArrayRef {
        match column % 4 {
            0 => numbers(),
            1 => Arc::new(StringArray::from_iter_values((0..30).map(|n| format!("{column} of {n}")))),
            2 => {
                let field = |name: &str| Arc::new(Field::new(name, DataType::Int32, true));
                Arc::new(StructArray::from(vec![(field("a"), numbers()), (field("b"), numbers())]))
            }
            _ => Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>((0..30).map(|n| Some(vec![Some(n); 2])))),
        }
    };
    let arrays: Vec<ArrayRef> = (0..columns).map(array).collect();
    let name = |column: usize| if column == 8 { "dotted.name".to_owned() } else { format!("c{column}") };
    let field = |(column, array): (usize, &ArrayRef)| Field::new(name(column), array.data_type().clone(), true);
    let fields: Vec<Field> = arrays.iter().enumerate().map(field).collect();
    let notes = [("mine".to_owned(), "x".to_owned())].into_iter().collect::<Metadata>();
    let batch = RecordBatch::try_new(Arc::new(Schema::new_with_metadata(fields, notes)), arrays).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(10)).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    let file = writer.into_inner().unwrap();
    let trailer = file.len() - 8;
    let length = u32::from_le_bytes(file[trailer..trailer + 4].try_into().unwrap()) as usize;
    file[trailer - length..trailer].to_vec()
}

fn decoded(footer: &[u8]) -> ParquetMetaData {
    ParquetMetaDataReader::decode_metadata(footer).unwrap()
}

fn arrow_schema(metadata: &ParquetMetaData) -> Schema {
    let file = metadata.file_metadata();
    parquet_to_arrow_schema(file.schema_descr(), file.key_value_metadata()).unwrap()
}

fn cut(footer: &[u8], names: &[&str]) -> Option<Vec<u8>> {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    narrowed(footer, &RootNames::of_request(&names))
}

#[test]
fn what_is_kept_is_as_in_the_whole_footer() {
    let footer = footer(400);
    let whole = decoded(&footer);
    let requests: [(&[&str], &[&str]); 4] = [
        (&["c0"], &["c0"]),
        (&["c399", "c5", "c398", "c4"], &["c4", "c5", "c398", "c399"]),
        (&["c10.b", "c11"], &["c10", "c11"]),
        (&["dotted.name", "c10.a", "c10.b"], &["dotted.name", "c10"]),
    ];
    for (request, expected) in requests {
        let narrow = decoded(&cut(&footer, request).unwrap());
        let schema = arrow_schema(&narrow);
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, expected);
        assert_eq!(schema.metadata().get("mine").map(String::as_str), Some("x"));
        for field in schema.fields() {
            assert_eq!(arrow_schema(&whole).field_with_name(field.name()).unwrap(), field.as_ref());
        }
        assert_eq!(narrow.file_metadata().num_rows(), 30);
        assert_eq!(narrow.file_metadata().created_by(), whole.file_metadata().created_by());
        assert_eq!(narrow.num_row_groups(), whole.num_row_groups());
        let orders = narrow.file_metadata().column_orders().unwrap();
        assert_eq!(orders.len(), narrow.file_metadata().schema_descr().num_columns());
        for (group, of_whole) in narrow.row_groups().iter().zip(whole.row_groups()) {
            assert_eq!(group.num_rows(), of_whole.num_rows());
            for chunk in group.columns() {
                let same = |other: &&ColumnChunkMetaData| other.column_path() == chunk.column_path();
                assert_eq!(of_whole.columns().iter().find(same).unwrap(), chunk);
            }
        }
    }
}

#[test]
fn a_footer_that_need_not_or_cannot_be_cut_is_left_whole() {
    assert!(cut(&footer(WIDE_COLUMNS - 1), &["c0"]).is_none(), "it is not wide");
    let footer = footer(WIDE_COLUMNS);
    assert!(cut(&footer, &["c0"]).is_some());
    assert!(cut(&footer, &["c0", "other"]).is_none(), "a column is missing");
    assert!(cut(&footer, &["dotted"]).is_none(), "half of a name is none");
    assert!(cut(&footer, &[]).is_none());
    let third: Vec<String> = (0..WIDE_COLUMNS / 3).map(|column| format!("c{column}")).collect();
    let third: Vec<&str> = third.iter().filter(|name| *name != "c8").map(String::as_str).collect();
    assert!(cut(&footer, &third).is_none(), "it would spare too little");
    let signed = [footer.as_slice(), &[7; 28]].concat();
    assert!(cut(&signed, &["c0"]).is_none(), "it is signed");
}

#[test]
fn damaged_footers_are_left_to_the_decoder() {
    let footer = footer(WIDE_COLUMNS);
    for end in (0..footer.len()).step_by(footer.len() / 500) {
        assert!(cut(&footer[..end], &["c0"]).is_none());
    }
    for at in (0..footer.len()).step_by(footer.len() / 500) {
        let mut damaged = footer.clone();
        damaged[at] ^= 0x55;
        // Whatever comes of it, it is no panic.
        let _ = cut(&damaged, &["c0", "c2.a"]);
    }
}
