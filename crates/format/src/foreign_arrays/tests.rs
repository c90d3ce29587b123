#![allow(clippy::type_complexity, clippy::unwrap_used)]

use std::sync::Arc;

use arrow::array::{
    Array, ArrayData, ArrayRef, AsArray, DictionaryArray, Int32Array, ListArray, RecordBatch, StringArray, StructArray,
};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Int32Type, Schema, SchemaRef};
use lakerace_io::ErrorKind;

use super::{checked_batch, with_plain_nulls};

fn schema(data_type: &DataType) -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("x", data_type.clone(), true)]))
}

/// A struct of one column that nothing has checked.
fn handed_over(column: ArrayData) -> (SchemaRef, ArrayData) {
    let schema = schema(column.data_type());
    let whole = ArrayData::builder(DataType::Struct(schema.fields().clone())).len(column.len());
    // SAFETY: only what is under test looks at it.
    let whole = unsafe { whole.add_child_data(column).build_unchecked() };
    (schema, whole)
}

/// Texts that nothing has checked.
fn texts(bytes: &[u8], offsets: Vec<i32>, nulls: Option<Vec<bool>>) -> ArrayData {
    let rows = offsets.len() - 1;
    let builder = ArrayData::builder(DataType::Utf8).len(rows).nulls(nulls.map(NullBuffer::from));
    let builder = builder.add_buffer(Buffer::from_vec(offsets)).add_buffer(Buffer::from(bytes));
    // SAFETY: only what is under test looks at it.
    unsafe { builder.build_unchecked() }
}

fn checked(column: ArrayData) -> lakerace_io::Result<RecordBatch> {
    let (schema, whole) = handed_over(column);
    checked_batch(&schema, whole, 100)
}

#[test]
fn texts_are_utf8_each_for_itself() {
    assert_eq!(checked(texts("aößé".as_bytes(), vec![0, 1, 3, 5, 7], None)).unwrap().num_rows(), 4);
    for (bytes, offsets) in [(&b"a\xffb"[..], vec![0, 1, 2, 3]), ("öö".as_bytes(), vec![0, 2, 3, 4])] {
        let error = checked(texts(bytes, offsets, None)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("row 101 is not valid UTF-8"), "{error}");
    }
}

#[test]
fn bytes_of_nulls_are_left_out() {
    let batch = checked(texts(b"a\xffb", vec![0, 1, 2, 3], Some(vec![true, false, true]))).unwrap();
    let texts: Vec<_> = batch.column(0).as_string::<i32>().iter().collect();
    assert_eq!(texts, [Some("a"), None, Some("b")]);
}

#[test]
fn offsets_stay_in_order_and_within_their_bytes() {
    for offsets in [vec![0, 5, 3, 6], vec![-1, 1, 2, 3], vec![0, 1, 2, 30]] {
        assert_eq!(checked(texts(b"abcdef", offsets, None)).unwrap_err().kind(), ErrorKind::Invalid);
    }
}

#[test]
fn a_slice_is_judged_by_its_own_rows() {
    let whole = texts(b"a\xffb", vec![0, 1, 2, 3], None);
    assert_eq!(checked(whole.slice(2, 1)).unwrap().num_rows(), 1);
    checked(whole.slice(1, 1)).unwrap_err();
}

#[test]
fn the_number_of_nulls_is_counted() {
    let validity = Buffer::from([0b001_u8]);
    let builder = ArrayData::builder(DataType::Int32).len(3).null_bit_buffer(Some(validity)).null_count(1);
    // SAFETY: only what is under test looks at it.
    let wrong = unsafe { builder.add_buffer(Buffer::from_vec(vec![1, 2, 3])).build_unchecked() };
    let item = Arc::new(Field::new_list_field(DataType::Int32, true));
    let list = ArrayData::builder(DataType::List(item)).len(1).add_buffer(Buffer::from_vec(vec![0, 3]));
    // SAFETY: as above.
    let whole = unsafe { list.add_child_data(wrong).build_unchecked() };
    assert!(checked(whole).unwrap_err().to_string().contains("1 of its values are null, but 2 are"));
}

/// Three rows: a value, a null that is a value of the dictionary, and one of the rows.
fn dictionary() -> DictionaryArray<Int32Type> {
    let keys = Int32Array::from(vec![Some(0), Some(1), None]);
    DictionaryArray::new(keys, Arc::new(StringArray::from(vec![Some("a"), None])))
}

fn in_list(values: ArrayRef) -> ArrayRef {
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([1, 2]), values, None))
}

fn in_struct(values: ArrayRef) -> ArrayRef {
    let field = Arc::new(Field::new("inner", values.data_type().clone(), true));
    Arc::new(StructArray::new(vec![field].into(), vec![values], None))
}

#[test]
fn nulls_among_the_values_of_a_dictionary_become_nulls_of_the_rows() {
    let plain = |batch: &RecordBatch, inner: fn(&ArrayRef) -> ArrayRef| {
        let dictionary = inner(batch.column(0));
        assert_eq!(dictionary.null_count(), 2, "{dictionary:?}");
        assert_eq!(dictionary.as_dictionary::<Int32Type>().keys().value(0), 0);
    };
    let whole: ArrayRef = Arc::new(dictionary());
    let cases: [(ArrayRef, fn(&ArrayRef) -> ArrayRef); 3] = [
        (Arc::clone(&whole), Arc::clone),
        (in_list(Arc::clone(&whole)), |array| Arc::clone(array.as_list::<i32>().values())),
        (in_struct(whole), |array| Arc::clone(array.as_struct().column(0))),
    ];
    for (array, inner) in cases {
        let batch = RecordBatch::try_new(schema(array.data_type()), vec![Arc::clone(&array)]).unwrap();
        plain(&with_plain_nulls(batch).unwrap(), inner);
        plain(&checked(array.to_data()).unwrap(), inner);
    }
}

#[test]
fn a_column_without_nulls_has_none_in_its_dictionary() {
    let field = Field::new("x", dictionary().data_type().clone(), false);
    let keys = Int32Array::from(vec![0, 1]);
    let array = DictionaryArray::new(keys, Arc::clone(dictionary().values()));
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![Arc::new(array)]).unwrap();
    assert_eq!(with_plain_nulls(batch).unwrap_err().kind(), ErrorKind::Invalid);
}
