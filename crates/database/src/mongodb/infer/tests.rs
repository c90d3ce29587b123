#![allow(clippy::unwrap_used)]

use bson::{Bson, Document, RawDocumentBuf, doc};

use super::*;

fn schema(documents: Vec<Document>, mixed_as_json: bool) -> Result<Schema> {
    let mut inference = SchemaInference::default();
    for document in documents {
        inference.look(RawDocumentBuf::try_from(document).unwrap().as_bytes())?;
    }
    inference.schema(mixed_as_json)
}

fn type_of(values: Vec<Bson>) -> DataType {
    let documents = values.into_iter().map(|value| doc! { "v": value }).collect();
    schema(documents, false).unwrap().field(0).data_type().clone()
}

fn decimal(text: &str) -> Bson {
    Bson::Decimal128(text.parse().unwrap())
}

#[test]
fn types_are_widened_as_far_as_all_values_stay_exact() {
    assert_eq!(type_of(vec![Bson::Null]), DataType::Null);
    assert_eq!(type_of(vec![1_i32.into(), Bson::Null]), DataType::Int32);
    assert_eq!(type_of(vec![1_i32.into(), i64::MAX.into()]), DataType::Int64);
    assert_eq!(type_of(vec![1_i32.into(), 1.5.into(), (1_i64 << 53).into()]), DataType::Float64);
    assert_eq!(type_of(vec![decimal("1.50"), decimal("-20")]), DataType::Decimal128(3, 1));
    assert_eq!(type_of(vec![decimal("0.5"), 1_i32.into()]), DataType::Decimal128(20, 1));
    assert_eq!(type_of(vec![decimal("1E+30"), decimal("1E-30")]), DataType::Decimal256(61, 30));
    assert_eq!(type_of(vec![decimal("NaN")]), DataType::Utf8);
    assert_eq!(type_of(vec![decimal("1E+6000")]), DataType::Utf8);
    assert_eq!(type_of(vec![Bson::Array(vec![])]), DataType::new_list(DataType::Null, true));
    assert_eq!(type_of(vec![Bson::MinKey, Bson::Null]), DataType::Utf8);
}

#[test]
fn types_that_differ_are_told_with_their_documents() {
    for (first, second) in [
        (Bson::from(1), Bson::from("x")),
        (Bson::from(1.5), Bson::from((1_i64 << 53) + 1)),
        (Bson::from(1.5), decimal("1.5")),
        (Bson::from(true), Bson::from(1)),
        (Bson::from(doc! { "a": 1 }), Bson::Array(vec![])),
    ] {
        let documents = vec![doc! { "_id": "first", "v": first }, doc! { "_id": "second", "v": second }];
        let error = schema(documents.clone(), false).unwrap_err().to_string();
        assert!(error.contains("first") && error.contains("second"), "{error}");
        assert_eq!(schema(documents, true).unwrap().field(1).data_type(), &DataType::Utf8);
    }
}

#[test]
fn names_that_are_data_are_refused() {
    let documents = (0..11_000).map(|n| doc! { format!("name {n}"): 1 }).collect();
    assert!(schema(documents, false).unwrap_err().to_string().contains("10000 fields"));
}
