#![allow(clippy::unwrap_used)]

use arrow::array::{Decimal128Array, Float64Array, ListArray, StringArray, TimestampMicrosecondArray};
use arrow::datatypes::Int32Type;
use delta_kernel::expressions::ColumnName;
use delta_kernel::schema::StructType;
use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn the_least_and_the_largest_text_are_kept(texts in proptest::collection::vec(proptest::option::of("[ab\u{0}é]{0,16}"), 0..40)) {
        let array: StringViewArray = texts.iter().map(Option::as_deref).collect();
        let (least, largest) = (texts.iter().flatten().min(), texts.iter().flatten().max());
        let expected = least.zip(largest).map(|(least, largest)| vec![least.clone(), largest.clone()]);
        let values = |two: ArrayRef| two.as_string_view().iter().flatten().map(str::to_owned).collect::<Vec<_>>();
        prop_assert_eq!(extremes(&(Arc::new(array) as ArrayRef)).unwrap().map(values), expected.clone());
        let plain: StringArray = texts.iter().map(Option::as_deref).collect();
        let values = |two: ArrayRef| two.as_string::<i32>().iter().flatten().map(str::to_owned).collect::<Vec<_>>();
        prop_assert_eq!(extremes(&(Arc::new(plain) as ArrayRef)).unwrap().map(values), expected);
    }
}

/// Rows of many types; some texts are longer than the log's bounds, and some structs are null.
fn batch(range: std::ops::Range<i64>) -> RecordBatch {
    let scattered = |n: i64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 40;
    let some = |n: i64| (n % 7 != 3).then(|| scattered(n));
    let texts: StringViewArray = range.clone().map(|n| some(n).map(|n| format!("{n:x}").repeat(9))).collect();
    let large: StringArray = range.clone().map(|n| Some(format!("{}\u{10ffff}", scattered(n)))).collect();
    let numbers: Int64Array = range.clone().map(some).collect();
    let floats: Float64Array = range.clone().map(|n| some(n).map(|n| n as f64 / 3.0)).collect();
    let decimals: Decimal128Array = range.clone().map(|n| some(n).map(i128::from)).collect();
    let decimals = decimals.with_precision_and_scale(38, 2).unwrap();
    let times = TimestampMicrosecondArray::from_iter_values(range.clone().map(scattered)).with_timezone("UTC");
    let flags: BooleanArray = range.clone().map(|n| Some(n % 2 == 0)).collect();
    let lists = range.clone().map(|n| (n % 5 != 0).then(|| vec![Some(n as i32)]));
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(lists);
    let inner = vec![("text", Arc::new(texts.clone()) as ArrayRef), ("number", Arc::new(numbers.clone()) as ArrayRef)];
    let (fields, arrays, _) = StructArray::try_from(inner).unwrap().into_parts();
    let valid = NullBuffer::from_iter(range.clone().map(|n| n % 4 != 1));
    let nested = StructArray::try_new(fields, arrays, Some(valid)).unwrap();
    let nothing = new_null_array(&DataType::Int32, texts.len());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("texts", Arc::new(texts)),
        ("large", Arc::new(large)),
        ("numbers", Arc::new(numbers)),
        ("floats", Arc::new(floats)),
        ("decimals", Arc::new(decimals)),
        ("times", Arc::new(times)),
        ("flags", Arc::new(flags)),
        ("lists", Arc::new(lists)),
        ("nested", Arc::new(nested)),
        ("nothing", nothing),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true))).unwrap()
}

fn kernel() -> FileStatsAccumulator {
    let names = ["texts", "large", "numbers", "floats", "decimals", "times", "flags", "lists", "nested", "nothing"];
    let names: Vec<ColumnName> = names.into_iter().map(|name| ColumnName::new([name])).collect();
    FileStatsAccumulator::new(&names, &StructType::try_new([]).unwrap())
}

/// The statistics of the kernel, with these bounds of the booleans.
fn with_bounds_of_flags(statistics: &StructArray, least: bool, greatest: bool) -> StructArray {
    [("minValues", least), ("maxValues", greatest)].into_iter().fold(statistics.clone(), |statistics, (name, bound)| {
        let flag = |_: &ArrayRef| Ok(Arc::new(BooleanArray::from(vec![bound])) as ArrayRef);
        map_child(&statistics, name, &|bounds| Ok(Arc::new(map_child(bounds.as_struct(), "flags", &flag)?) as _))
            .unwrap()
    })
}

#[test]
fn many_batches_have_the_statistics_of_one_and_keep_few_values() {
    let mut expected = kernel();
    expected.merge(&batch(0..3000)).unwrap();
    let expected = with_bounds_of_flags(&expected.finish().unwrap().unwrap(), false, true);
    for rows in [1, 7, 3000] {
        let mut statistics = StatisticsCollector::new(kernel());
        for at in (0..3000).step_by(rows) {
            statistics.merge(&batch(at..3000.min(at + rows as i64))).unwrap();
        }
        let (_, columns) = statistics.known.as_ref().unwrap();
        let kept = |column: &CollectedStatistics| matches!(&column.values, LeafValues::Leaf(kept) if kept.len() >= KEPT_AT_MOST);
        assert!(!columns.iter().any(kept));
        assert_eq!(statistics.finish().unwrap(), expected, "{rows} rows");
    }
}

#[test]
fn columns_without_nulls_have_statistics() {
    let fields = vec![Field::new("texts", DataType::Utf8View, false), Field::new("flags", DataType::Boolean, false)];
    let rows = batch(4..9).project(&[0, 6]).unwrap();
    let rows = RecordBatch::try_new(Arc::new(Schema::new(fields)), rows.columns().to_vec()).unwrap();
    let mut statistics = StatisticsCollector::new(kernel());
    statistics.merge(&rows).unwrap();
    let found = statistics.finish().unwrap();
    let mut expected = kernel();
    expected.merge(&rows).unwrap();
    assert_eq!(found, with_bounds_of_flags(&expected.finish().unwrap().unwrap(), false, true));
}
