#![allow(clippy::unwrap_used)]

use arrow::array::{Array, AsArray};
use arrow::compute::cast;

use super::*;
use crate::OnBadRow;
use crate::schema_text::parse_type;

/// A column of these values, and the texts that they refer to.
fn given(data_type: &str, values: &[CellValue], texts: &SheetTexts) -> (Vec<Option<String>>, usize) {
    let field = Field::new("v", parse_type(data_type).unwrap(), true);
    let mut bad = BadValues::new(OnBadRow::Skip);
    bad.is_nullable = true;
    let array = given_array(&field, values.iter().copied().map(Some), texts, &mut bad).unwrap();
    assert_eq!(array.data_type(), field.data_type());
    let shown = cast(&array, &DataType::Utf8).unwrap();
    (shown.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect(), bad.found.len())
}

#[test]
fn given_types_take_what_their_texts_are() {
    let mut texts = SheetTexts::default();
    let (seven, word, point) = (texts.add(" 007 "), texts.add("x"), texts.add("1.25"));
    use CellValue::{Boolean, Date, Number, Text, Time, Timestamp};
    let cases: [(&str, CellValue, Option<&str>); 25] = [
        ("int32", Number(7.0), Some("7")),
        ("int32", Number(7.5), None),
        ("int8", Number(128.0), None),
        ("int32", Text(seven), Some("7")),
        ("int32", Text(word), None),
        ("int64", Number(9_007_199_254_740_992.0), None),
        ("uint8", Number(-1.0), None),
        ("float64", Number(9_007_199_254_740_992.0), Some("9007199254740992.0")),
        ("float64", Text(point), Some("1.25")),
        ("float32", Number(1e300), None),
        ("decimal(5,2)", Number(1.25), Some("1.25")),
        ("decimal(5,2)", Number(1.255), None),
        ("decimal(18,7)", Number(1e-7), Some("0.0000001")),
        ("bool", Boolean(true), Some("true")),
        ("bool", Number(1.0), Some("true")),
        ("bool", Number(2.0), None),
        ("date32", Date(0), Some("1970-01-01")),
        ("date32", Timestamp(0), Some("1970-01-01")),
        ("date32", Timestamp(1), None),
        ("date32", Number(1.0), None),
        ("timestamp(us)", Date(1), Some("1970-01-02T00:00:00")),
        ("timestamp(s)", Timestamp(1), None),
        ("time64(us)", Time(1000), Some("00:00:01")),
        ("utf8", Number(1.0), Some("1")),
        ("utf8", CellValue::Bad(crate::excel::cells::BadCell::Uncalculated), None),
    ];
    for (data_type, value, expected) in cases {
        let (shown, bad) = given(data_type, &[value], &texts);
        assert_eq!(shown, [expected.map(str::to_owned)], "{data_type} {value:?}");
        assert_eq!(bad, usize::from(expected.is_none()), "{data_type} {value:?}");
    }
    let mut bad = BadValues::new(OnBadRow::Error);
    let list = Field::new("v", parse_type("list(int64)").unwrap(), true);
    let error = given_array(&list, std::iter::empty(), &texts, &mut bad).unwrap_err();
    assert!(error.to_string().contains("can't be list(int64) in a workbook"), "{error}");
}

#[test]
fn a_text_of_many_cells_takes_memory_once() {
    let mut texts = SheetTexts::default();
    let long = "x".repeat(1000);
    let shared = texts.add_shared(&long);
    assert_eq!(texts.add_shared(&long), shared);
    let cells = vec![Some(CellValue::Text(shared)); 10_000];
    let mut bad = BadValues::new(OnBadRow::Error);
    let array = text_views(cells.into_iter(), &texts, &mut bad).unwrap();
    let views = array.as_string_view();
    assert_eq!(views.data_buffers().iter().map(arrow::buffer::Buffer::len).sum::<usize>(), 1000);
    assert!(views.iter().all(|text| text == Some(long.as_str())));
}
